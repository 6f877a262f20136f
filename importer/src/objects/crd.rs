//! The changes to the CRDs of a cluster when a version is activated or deployed: [`decide`] for CRDs that all
//! environments share, [`judge`] for every CRD including those of one deployment. All environments use shared CRDs, so
//! a version must keep every API version that another running version may need.
//!
//! [`Unknown`] collects objects of kinds that the cluster does not serve and that no part of the deployment defines
//! before them. It creates one blocker for each kind, with the versions of the kind that exist elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{Cluster, ConflictPolicy, Gvk, Object, ObjectRef};
use manifests::Definition;
use planner::{AdoptionPolicy, vocabulary as v};
use rules::{self, SortedMetadata};
use schemas::{SolutionName, Version};
use serde_json::{Value, json};

use crate::model::blocker::{Blocker, ContentBlocker, KindIn};
use crate::model::error::Error;
use crate::model::request::PlanRequest;
use crate::objects::narrowing::Narrowing;

/// The migration of a CRD that removes API versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Migration {
    /// The removed API versions.
    pub(crate) gone: BTreeSet<String>,
    /// The storage version after the migration.
    pub(crate) storage: String,
}

/// A CRD and its change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedCrd {
    /// The CRD in the archive.
    pub(crate) definition: Value,
    /// The applied form of the CRD.
    pub(crate) object: Object,
    pub(crate) change: CrdChange,
    /// The narrowings compared with the active CRD.
    pub(crate) narrowings: Vec<Narrowing>,
    /// The active CRD without server fields, if it is migrated.
    pub(crate) active: Option<Object>,
    /// The CRD with the API versions before and after the migration, if it is migrated.
    pub(crate) transition: Option<Object>,
}

impl PlannedCrd {
    /// Returns the object to write; none if the CRD of a newer version is kept.
    pub(crate) fn written(&self) -> Option<&Object> {
        (!matches!(self.change, CrdChange::KeepNewer(_))).then_some(&self.object)
    }

    /// Returns the policy for fields that other field managers own. If the user adopts the CRD, all of its fields are
    /// taken over.
    pub(crate) fn conflicts(&self, asked: &PlanRequest<'_>) -> ConflictPolicy {
        match self.change {
            CrdChange::Adopt => ConflictPolicy::Force,
            CrdChange::Create
            | CrdChange::Update
            | CrdChange::Migrate(_)
            | CrdChange::KeepNewer(_) => asked.request.allowed.conflicts,
        }
    }

    /// Returns the object that the API server can dry-run. The server accepts the final form of a migrated CRD only
    /// after its objects have been stored again, so the form with all API versions is used there. Its schemas are those
    /// of the final form, so that the server finds their faults before the first write.
    pub(crate) fn tried(&self) -> Option<&Object> {
        match self.change {
            CrdChange::Migrate(_) => self.transition.as_ref(),
            _ => self.written(),
        }
    }

    /// Checks whether `next` is the rest of this change. Once a CRD is migrated, its stored versions no longer require
    /// a migration.
    pub(crate) fn is_followed_by(&self, next: &Self) -> bool {
        match self.migration() {
            Some(_) => self.change == next.change || next.change == CrdChange::Update,
            None => (&self.change, &self.narrowings) == (&next.change, &next.narrowings),
        }
    }

    /// Returns the migration, if the objects of the CRD must be stored in another version.
    pub(crate) fn migration(&self) -> Option<&Migration> {
        match &self.change {
            CrdChange::Migrate(migration) => Some(migration),
            _ => None,
        }
    }
}

/// The change to one CRD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CrdChange {
    /// The CRD does not exist.
    Create,
    /// The CRD belongs to this Solution and is replaced. The same or an older version wrote it, or a newer one if an
    /// older version is being activated.
    Update,
    /// The CRD existed before any Solution, and this Solution takes it over.
    Adopt,
    /// The CRD belongs to this Solution and loses API versions. Its objects are stored in another version before it is
    /// replaced.
    Migrate(Migration),
    /// A newer version of the Solution wrote the CRD, and it serves everything that this version needs.
    KeepNewer(Version),
}

impl CrdChange {
    /// Checks whether the change replaces an existing CRD.
    pub(crate) fn replaces(&self) -> bool {
        matches!(self, Self::Update | Self::Adopt | Self::Migrate(_))
    }
}

/// The policy for a CRD that a newer version wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Newer {
    /// The CRD is kept, if it serves everything that this version needs.
    Keep,
    /// The CRD is replaced by that of this version. `losses::check_return` checks that nothing needs the newer one.
    Replace,
}

/// The operators that may need the API versions of a CRD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Users {
    /// The operators of all environments.
    Everywhere,
    /// The operators of the deployment that includes the CRD.
    Here,
}

/// The result of comparing a CRD with the live one, by their fields alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// The live CRD is replaced.
    Replaced,
    /// A newer version of the Solution wrote the live CRD, and it serves everything that the other one does.
    Kept(Version),
}

/// The fields of a CRD that the API server treats as immutable, since the keys of stored objects depend on them.
const FIXED: [&str; 4] = ["scope", "group", "names/kind", "names/plural"];

/// Returns the version of the Solution that wrote a CRD.
pub(crate) fn written_by(crd: &Object) -> Option<Version> {
    crd.labels().get(v::VERSION)?.parse().ok()
}

/// Returns the reference of a CRD in the cluster. API servers ignore a namespace in its metadata, which some releases
/// set.
pub(crate) fn reference(definition: &Value) -> ObjectRef {
    let name = definition["metadata"]["name"].as_str().unwrap_or_default();
    ObjectRef::cluster_scoped("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)
}

/// Decides the change of one CRD.
pub(crate) fn decide(
    solution: &SolutionName,
    version: &Version,
    wanted: &Value,
    active: Option<&Object>,
    adopt: AdoptionPolicy,
    newer: Newer,
) -> Result<CrdChange, Blocker> {
    let Some(active) = active else {
        return Ok(CrdChange::Create);
    };
    check_owner(solution, active, adopt)?;
    let newer = written_by(active).filter(|_| newer == Newer::Keep);
    Ok(
        match judge(version, wanted, active, newer, Users::Everywhere)? {
            Judged::Kept(newer) => CrdChange::KeepNewer(newer),
            Judged::Replaced if active.labels().contains_key(v::SOLUTION) => CrdChange::Update,
            Judged::Replaced => CrdChange::Adopt,
        },
    )
}

/// Returns the version of the Solution that wrote a CRD of a single deployment.
pub(crate) fn defined_by(crd: &Object) -> Option<Version> {
    crd.annotations().get(v::DEFINED_BY)?.parse().ok()
}

/// Decides whether the CRD of this `version` replaces the live one. It applies to CRDs of operators, of sets and of
/// chart templates. `written` is the version that wrote the live CRD, if a newer one should be kept. The check covers
/// the CRDs alone: `losses` reads the objects to ensure that none of them loses data.
pub(crate) fn judge(
    version: &Version,
    wanted: &Value,
    active: &Object,
    written: Option<Version>,
    users: Users,
) -> Result<Judged, Blocker> {
    let crd = active.name().to_owned();
    if let Some(field) = changed(active.as_value(), wanted) {
        return Err(Blocker::CrdFixed {
            crd,
            field,
            version: version.clone(),
        });
    }
    if let Some(newer) = written.filter(|written| written > version) {
        if let Some(api) = missing(wanted, active.as_value()) {
            let (newer, version) = (newer.to_string(), version.clone());
            return Err(Blocker::CrdTooNew {
                crd,
                newer,
                api,
                version,
            });
        }
        return match unconverted(active.as_value(), wanted) {
            None => Ok(Judged::Kept(newer)),
            Some(api) => Err(Blocker::CrdDrops {
                crd,
                api,
                version: version.clone(),
            }),
        };
    }
    // The operator of a single deployment is updated together with its CRD, so no other operator needs the old
    // versions.
    if users == Users::Everywhere
        && let Some(api) = missing(active.as_value(), wanted)
    {
        return Err(Blocker::CrdDrops {
            crd,
            api,
            version: version.clone(),
        });
    }
    match stored_and_gone(active.as_value(), wanted) {
        None => Ok(Judged::Replaced),
        Some(api) => Err(Blocker::CrdStored {
            crd,
            api,
            version: version.clone(),
        }),
    }
}

fn check_owner(
    solution: &SolutionName,
    active: &Object,
    adopt: AdoptionPolicy,
) -> Result<(), Blocker> {
    let crd = active.name().to_owned();
    let labels = active.labels();
    match labels.get(v::SOLUTION) {
        Some(owner) if *owner == solution.as_str() => Ok(()),
        Some(owner) => Err(Blocker::CrdOwned {
            crd,
            owner: (*owner).to_owned(),
        }),
        None if adopt == AdoptionPolicy::Allow => Ok(()),
        None => Err(Blocker::CrdUnowned { crd }),
    }
}

/// Returns the first immutable field that differs.
fn changed(active: &Value, wanted: &Value) -> Option<String> {
    let differs = |field: &&str| {
        let [is, would] = [active, wanted].map(|crd| crd["spec"].pointer(&format!("/{field}")));
        is != would
    };
    let field = FIXED.into_iter().find(differs)?;
    Some(field.replace('/', "."))
}

/// Returns a version that the first CRD serves and the second does not.
fn missing(needed: &Value, serving: &Value) -> Option<String> {
    let serving = served(serving);
    served(needed)
        .into_iter()
        .find(|version| !serving.contains(version))
}

/// Returns a version that the active CRD lists with webhook conversion and the other CRD does not list. The webhook of
/// the other CRD's version cannot convert it.
fn unconverted(active: &Value, wanted: &Value) -> Option<String> {
    let names = |crd| versions(crd).filter_map(|version| version["name"].as_str());
    let is_converted = rules::converts_by_webhook(active);
    let mut listed = names(active).filter(|_| is_converted);
    let unknown = listed.find(|name| !names(wanted).any(|known| known == *name))?;
    Some(unknown.to_owned())
}

fn stored_and_gone(active: &Value, wanted: &Value) -> Option<String> {
    let listed: Vec<&str> = versions(wanted)
        .filter_map(|version| version["name"].as_str())
        .collect();
    active["status"]["storedVersions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .find(|stored| !listed.contains(stored))
        .map(str::to_owned)
}

pub(crate) fn served(crd: &Value) -> Vec<String> {
    Definition(crd).served().map(str::to_owned).collect()
}

/// Returns the versions that a CRD lists.
pub(crate) fn versions(crd: &Value) -> impl Iterator<Item = &Value> {
    Definition(crd).versions().iter()
}

/// Checks whether a CRD existed before any Solution: it is being taken over now, or was earlier.
pub(crate) fn was_there_before(active: Option<&Object>) -> bool {
    active.is_some_and(|active| {
        !active.labels().contains_key(v::SOLUTION) || active.annotations().contains_key(v::ADOPTED)
    })
}

/// Returns the CRD with the permitted fields only: its name, labels, annotations and specification. Other metadata
/// could make the garbage collector or other programs act on the CRD, such as owner references or another tool's
/// labels.
pub(crate) fn published(crd: &Value) -> Value {
    let SortedMetadata {
        labels,
        annotations,
        ..
    } = rules::metadata(crd);
    let mut published = json!({
        "apiVersion": crd["apiVersion"],
        "kind": crd["kind"],
        "metadata": { "name": crd["metadata"]["name"], "labels": labels },
        "spec": crd["spec"],
    });
    if !annotations.is_empty() {
        published["metadata"]["annotations"] = json!(annotations);
    }
    published
}

/// Returns the definition with the live namespace of its conversion Service, if the two differ. Programs of some charts
/// enter this namespace, because the chart does not know it. Resetting it would make the stored objects unreadable.
pub(crate) fn keep_conversion_namespace(desired: &Object, live: &Object) -> Option<Object> {
    const NAMESPACE: &str = "/spec/conversion/webhook/clientConfig/service/namespace";
    let entered = live.as_value().pointer(NAMESPACE)?;
    let mut kept = desired.as_value().clone();
    let published = kept.pointer_mut(NAMESPACE)?;
    if published == entered {
        return None;
    }
    published.clone_from(entered);
    Object::new(kept).ok()
}

/// Returns the applied form of a CRD that all environments share, with labels of this Solution.
pub(crate) fn labelled(
    solution: &SolutionName,
    version: &Version,
    crd: &Value,
    was_there_before: bool,
) -> Value {
    let mut applied = published(crd);
    let metadata = &mut applied["metadata"];
    for (label, value) in [
        (v::MANAGED_BY, v::MANAGER),
        (v::SOLUTION, solution.as_str()),
        (v::VERSION, &version.to_string()),
    ] {
        metadata["labels"][label] = json!(value);
    }
    if was_there_before {
        metadata["annotations"][v::ADOPTED] = json!("true");
    }
    applied
}

/// Objects of kinds that the cluster does not serve, by kind.
#[derive(Debug, Default)]
pub(crate) struct Unknown(BTreeMap<Gvk, Vec<String>>);

impl Unknown {
    pub(crate) fn add(&mut self, kind: &Gvk, object: &Object) {
        let objects = self.0.entry(kind.clone()).or_default();
        objects.push(object.reference().to_string());
    }

    /// Returns a blocker for each kind. It lists the versions of the kind in the cluster, in the definitions that are
    /// applied before the release (`before`), and in the release itself (`own`).
    pub(crate) async fn blockers<'a>(
        self,
        cluster: &Cluster,
        before: impl IntoIterator<Item = &'a Value> + Clone,
        own: &[&Value],
    ) -> Result<Vec<Blocker>, Error> {
        let mut blockers = Vec::new();
        for (kind, objects) in self.0 {
            let found = KindIn {
                cluster: cluster.other_versions(&kind).await?,
                archive: defined(&kind, before.clone()),
                release: defined(&kind, own.iter().copied()),
            };
            let missing = ContentBlocker::NoKind {
                objects,
                kind,
                found: Box::new(found),
            };
            blockers.push(missing.into());
        }
        Ok(blockers)
    }
}

/// Returns the versions of a kind that these definitions serve.
fn defined<'a>(kind: &Gvk, definitions: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    let of_kind = definitions
        .into_iter()
        .map(Definition)
        .filter(|definition| definition.group() == kind.group && definition.kind() == kind.kind);
    let served = of_kind.flat_map(Definition::served);
    let served: BTreeSet<String> = served
        .map(|version| format!("{}/{version}", kind.group))
        .collect();
    served.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd(versions: &[(&str, bool)], labels: &Value, stored: &[&str]) -> Value {
        let versions: Vec<Value> = versions
            .iter()
            .map(|(name, served)| json!({ "name": name, "served": served }))
            .collect();
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": "apps.example.test", "labels": labels },
            "spec": { "versions": versions },
            "status": { "storedVersions": stored },
        })
    }

    fn applied(metadata: &Value, was_there_before: bool) -> Value {
        let (name, version) = ("example".parse().unwrap(), "1.1.0".parse().unwrap());
        let mut crd = crd(&[("v1", true)], &Value::Null, &["v1"]);
        crd["metadata"] = metadata.clone();
        crd["other"] = json!("field");
        labelled(&name, &version, &crd, was_there_before)
    }

    #[test]
    fn a_crd_is_made_anew_with_our_labels_from_what_may_pass() {
        let metadata = json!({
            "name": "apps.example.test",
            "generateName": "apps",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "gone", "uid": "1"}],
            "finalizers": ["example.test/never"],
            "labels": {"app": "a", v::MANAGED_BY: "Helm", v::VERSION: "9.9.9", "helm.sh/chart": "a-1"},
            "annotations": {"controller-gen.kubebuilder.io/version": "v0.17.0", v::ADOPTED: "true"},
        });
        let expected = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": "apps.example.test",
                "labels": {"app": "a", v::MANAGED_BY: v::MANAGER, v::SOLUTION: "example", v::VERSION: "1.1.0"},
                "annotations": {"controller-gen.kubebuilder.io/version": "v0.17.0"},
            },
            "spec": {"versions": [{"name": "v1", "served": true}]},
        });
        assert_eq!(applied(&metadata, false), expected);
    }

    #[test]
    fn a_crd_that_names_a_namespace_lies_in_none() {
        let metadata = json!({"name": "apps.example.test", "namespace": "default"});
        let definition = json!({ "metadata": metadata });
        let found = reference(&definition);
        assert_eq!(
            found.to_string(),
            "CustomResourceDefinition apps.example.test"
        );
        let applied = Object::new(applied(&metadata, false)).unwrap();
        assert_eq!(applied.reference(), &found);
    }

    /// The dapr chart is an example: its program enters the namespace of its installation.
    #[test]
    fn a_service_that_converts_objects_stays_in_the_namespace_that_was_entered() {
        let crd = |client: Value| {
            Object::new(json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": { "name": "apps.example.test" },
                "spec": { "conversion": { "webhook": { "clientConfig": client } } },
            }))
            .unwrap()
        };
        let service = |name: &str, namespace: &str| json!({ "service": { "name": name, "namespace": namespace } });
        let published = crd(service("new", "replaceme"));
        let kept = keep_conversion_namespace(&published, &crd(service("old", "prod")));
        assert_eq!(kept, Some(crd(service("new", "prod"))));
        for (published, live) in [
            (service("new", "prod"), service("old", "prod")),
            (
                service("new", "replaceme"),
                json!({ "url": "https://a.test" }),
            ),
            (json!({ "url": "https://a.test" }), service("old", "prod")),
        ] {
            assert_eq!(keep_conversion_namespace(&crd(published), &crd(live)), None);
        }
    }

    #[test]
    fn whatever_an_archive_says_of_labels_ours_are_added() {
        for map in [
            json!({"a": "b"}),
            json!("text"),
            json!(["list"]),
            Value::Null,
        ] {
            let metadata = json!({"name": "apps.example.test", "labels": map, "annotations": map});
            let adopted = applied(&metadata, true);
            assert_eq!(adopted["metadata"]["labels"][v::SOLUTION], "example");
            assert_eq!(adopted["metadata"]["annotations"][v::ADOPTED], "true");
            let created = applied(&metadata, false);
            assert!(created["metadata"]["annotations"].get(v::ADOPTED).is_none());
        }
    }

    fn ours(version: &str) -> Value {
        json!({ v::SOLUTION: "example", v::VERSION: version })
    }

    fn decided(
        wanted: &[(&str, bool)],
        active: Option<Value>,
        adopt: AdoptionPolicy,
        newer: Newer,
    ) -> Result<CrdChange, String> {
        let active = active.map(|value| Object::new(value).unwrap());
        let wanted = crd(wanted, &json!({}), &[]);
        let solution = "example".parse().unwrap();
        decide(
            &solution,
            &"1.1.0".parse().unwrap(),
            &wanted,
            active.as_ref(),
            adopt,
            newer,
        )
        .map_err(|blocker| blocker.to_string())
    }

    #[test]
    fn a_crd_is_created_updated_or_left_to_a_newer_version() {
        let v1 = &[("v1", true)][..];
        assert_eq!(
            decided(v1, None, AdoptionPolicy::Refuse, Newer::Keep),
            Ok(CrdChange::Create)
        );
        for version in ["1.0.0", "1.1.0"] {
            let active = crd(v1, &ours(version), &["v1"]);
            assert_eq!(
                decided(v1, Some(active), AdoptionPolicy::Refuse, Newer::Keep),
                Ok(CrdChange::Update)
            );
        }
        let newer = crd(&[("v1", true), ("v2", true)], &ours("1.2.0"), &["v1"]);
        let kept = CrdChange::KeepNewer("1.2.0".parse().unwrap());
        assert_eq!(
            decided(v1, Some(newer), AdoptionPolicy::Refuse, Newer::Keep),
            Ok(kept)
        );
    }

    #[test]
    fn what_runs_keeps_what_it_needs() {
        let refused = |wanted: &[(&str, bool)], active| {
            decided(wanted, Some(active), AdoptionPolicy::Refuse, Newer::Keep).unwrap_err()
        };
        let newer_without = crd(&[("v2", true)], &ours("1.2.0"), &[]);
        assert!(refused(&[("v1", true)], newer_without).contains("no longer serves `v1`"));
        let older_with = crd(&[("v1", true)], &ours("1.0.0"), &["v1"]);
        assert!(refused(&[("v1", false), ("v2", true)], older_with).contains("does not have it"));
        let stored = crd(
            &[("v1", false), ("v2", true)],
            &ours("1.0.0"),
            &["v1", "v2"],
        );
        assert!(refused(&[("v2", true)], stored).contains("stored as `v1`"));
    }

    #[test]
    fn what_the_api_server_cannot_change_is_refused() {
        let with = |fields: &Value| {
            let mut crd = crd(&[("v1", true)], &ours("1.0.0"), &["v1"]);
            for (field, value) in fields.as_object().unwrap() {
                crd["spec"][field] = value.clone();
            }
            crd
        };
        let decided = |before: &Value, after: &Value| {
            let (solution, version) = ("example".parse().unwrap(), "1.1.0".parse().unwrap());
            let active = Object::new(with(before)).unwrap();
            let (wanted, adopt, newer) = (with(after), AdoptionPolicy::Refuse, Newer::Keep);
            let decided = decide(&solution, &version, &wanted, Some(&active), adopt, newer);
            decided.map_err(|blocker| blocker.to_string())
        };
        let names = |kind: &str, short: &str| json!({ "scope": "Cluster", "names": { "kind": kind, "shortNames": [short] } });
        let cluster = names("App", "a");
        assert_eq!(decided(&cluster, &names("App", "b")), Ok(CrdChange::Update));
        for (after, field) in [
            (names("Other", "a"), "names.kind"),
            (json!({ "scope": "Namespaced" }), "scope"),
        ] {
            let words = format!(
                "CRD `apps.example.test`: version 1.1.0 changes `{field}`, which is immutable"
            );
            assert_eq!(decided(&cluster, &after), Err(words));
        }
    }

    #[test]
    fn going_back_takes_nothing_away_that_is_served_or_stored() {
        let back = |newer: &[(&str, bool)], stored: &[&str]| {
            let active = crd(newer, &ours("1.2.0"), stored);
            decided(
                &[("v1", true)],
                Some(active),
                AdoptionPolicy::Refuse,
                Newer::Replace,
            )
        };
        assert_eq!(back(&[("v1", true)], &["v1"]), Ok(CrdChange::Update));
        let served = back(&[("v1", true), ("v2", true)], &["v1"]).unwrap_err();
        assert!(served.contains("serves `v2`, but version 1.1.0 does not have it"));
        let stored = back(&[("v1", true), ("v2", false)], &["v1", "v2"]).unwrap_err();
        assert!(stored.contains("stored as `v2`, but version 1.1.0 does not list it"));
    }

    /// Returns a definition of a set with webhook conversion.
    fn converted(versions: &[&str], stored: &[&str]) -> Object {
        let versions: Vec<(&str, bool)> = versions.iter().map(|version| (*version, true)).collect();
        let mut crd = crd(&versions, &json!({}), stored);
        crd["spec"]["conversion"] = json!({ "strategy": "Webhook" });
        Object::new(crd).unwrap()
    }

    #[test]
    fn a_newer_definition_of_a_set_stays_where_the_older_webhook_can_convert_all_of_it() {
        let judged = |wanted: &[&str], active: &[&str], written: Option<&str>| {
            let wanted = converted(wanted, &[]);
            let written = written.map(|version| version.parse().unwrap());
            let active = converted(active, &active[..1]);
            let version = "1.1.0".parse().unwrap();
            let judged = judge(&version, wanted.as_value(), &active, written, Users::Here);
            judged.map_err(|blocker| blocker.to_string())
        };
        let kept = Judged::Kept("1.2.0".parse().unwrap());
        assert_eq!(judged(&["v1"], &["v1"], Some("1.2.0")), Ok(kept));
        for written in [None, Some("1.1.0"), Some("1.0.0")] {
            assert_eq!(
                judged(&["v1"], &["v1"], written),
                Ok(Judged::Replaced),
                "{written:?}"
            );
        }
        let unknown = judged(&["v1"], &["v1", "v2"], Some("1.2.0")).unwrap_err();
        assert!(
            unknown.contains("serves `v2`, but version 1.1.0 does not have it"),
            "{unknown}"
        );
        let lacking = judged(&["v1", "v2"], &["v1"], Some("1.2.0")).unwrap_err();
        assert!(lacking.contains("no longer serves `v2`"), "{lacking}");
        // API versions that only this deployment needs may be removed, but not stored ones.
        assert_eq!(judged(&["v1"], &["v1", "v2"], None), Ok(Judged::Replaced));
        let stored = judged(&["v1"], &["v2", "v1"], None).unwrap_err();
        assert!(stored.contains("stored as `v2`"), "{stored}");
    }

    #[test]
    fn crds_of_others_are_left_alone() {
        let v1 = &[("v1", true)][..];
        let foreign = crd(v1, &json!({ v::SOLUTION: "other" }), &[]);
        assert!(
            decided(v1, Some(foreign), AdoptionPolicy::Allow, Newer::Keep)
                .unwrap_err()
                .contains("`other`")
        );
        let unowned = crd(v1, &json!({}), &[]);
        assert!(
            decided(
                v1,
                Some(unowned.clone()),
                AdoptionPolicy::Refuse,
                Newer::Keep
            )
            .unwrap_err()
            .contains("no Solution")
        );
        assert_eq!(
            decided(v1, Some(unowned), AdoptionPolicy::Allow, Newer::Keep),
            Ok(CrdChange::Adopt)
        );
    }
}

#[cfg(test)]
mod kinds_tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kind_is_defined_in_the_versions_that_are_served() {
        let version = |name: &str, served| json!({ "name": name, "served": served });
        let definition = |group: &str, kind: &str, versions: &[Value]| json!({ "spec": { "group": group, "names": { "kind": kind }, "versions": versions } });
        let all = [
            definition(
                "a.test",
                "Thing",
                &[version("v2", true), version("v1", false)],
            ),
            definition(
                "a.test",
                "Thing",
                &[version("v2", true), version("v3", true)],
            ),
            definition("a.test", "Other", &[version("v4", true)]),
            definition("b.test", "Thing", &[version("v5", true)]),
        ];
        let found = |group: &str| defined(&Gvk::new(&format!("{group}/v9"), "Thing"), &all);
        assert_eq!(found("a.test"), ["a.test/v2", "a.test/v3"]);
        assert_eq!(found("c.test"), [""; 0]);
    }

    #[test]
    fn it_is_said_what_is_missing_and_what_there_is_instead() {
        let said = |cluster: &[&str], archive: &[&str], release: &[&str]| {
            let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
            let found = KindIn {
                cluster: texts(cluster),
                archive: texts(archive),
                release: texts(release),
            };
            let kind = Gvk::new("a.test/v1", "Thing");
            let missing = ContentBlocker::NoKind {
                objects: vec!["Thing n/x".to_owned()],
                kind,
                found: Box::new(found),
            };
            missing.to_string()
        };
        let missing = "cannot create Thing n/x: the cluster does not serve kind Thing in a.test/v1";
        assert_eq!(
            said(&[], &[], &[]),
            format!("{missing}, and neither the cluster nor the archive has a CRD for it")
        );
        assert_eq!(
            said(&["a.test/v2", "a.test/v3"], &[], &[]),
            format!("{missing}; the cluster serves it in a.test/v2, a.test/v3")
        );
        assert_eq!(
            said(&["a.test/v3"], &["a.test/v2"], &[]),
            format!(
                "{missing}; the cluster serves it in a.test/v3; the CRD of the archive serves it in a.test/v2"
            )
        );
        assert_eq!(
            said(&[], &[], &["a.test/v1"]),
            format!(
                "{missing}; the CRD of the release serves it in a.test/v1, but Helm checks all kinds before it creates that CRD"
            )
        );
    }
}
