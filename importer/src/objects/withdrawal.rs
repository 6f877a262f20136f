//! The removal of a deployment's packaged objects, with its order ([`Withdrawal`]): first objects that could block the
//! rest, such as webhooks, then objects that workloads must release, then workloads, then the objects that workloads
//! read.
//!
//! [`remaining`] lists the objects that remain in a namespace after a Solution is removed, since they may contain
//! secrets or much data. Programs of the Solution or other users have created them. No inventory contains them, so no
//! removal deletes them.

use std::collections::{BTreeMap, BTreeSet};

use helm::stored::SECRET_TYPE;
use kubernetes::{Cluster, Gvk, Object, ObjectRef};
use manifests::is_definition;
use planner::{
    DeletionOrder, Entry, Inventory, KeepReason, ReleaseEntry, Removal, vocabulary as v,
};
use schemas::{Namespace, SetName, SolutionName, list_names};
use serde_json::Value;

use crate::limits;
use crate::model::blocker::{Blocker, ContentBlocker};
use crate::model::error::Error;
use crate::objects::needs::check_resources;
use crate::records::cleanup::{self, Cleanup, RemoveSets, check_step};
use crate::records::inventory::{DeploymentPlace, custom_resources};
use crate::records::namespace_record::NamespaceRecord;
use crate::records::state::ClusterState;
use crate::records::storage::{live, read_if_allowed};

/// The planned removal of the packaged objects of a deployment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Withdrawal {
    /// The recorded inventory.
    pub(crate) recorded: Inventory,
    /// The objects that are applied before the removal.
    pub(crate) cleanup: Cleanup,
    /// The blockers.
    pub(crate) blockers: Vec<Blocker>,
    /// The existing objects to remove, in order.
    pub(crate) objects: Vec<Entry>,
    /// The CRDs that objects of other owners still need. Those objects could not be converted without the webhook.
    pub(crate) used: Vec<ObjectRef>,
    /// The uids of the objects to remove, and of the objects that the garbage collector removes with them.
    pub(crate) uids: BTreeSet<String>,
    /// The objects with the name of a recorded one that are not the applied ones.
    pub(crate) left: Vec<ObjectRef>,
    /// The objects of any owner that make the API server call one of the removed Services for requests.
    pub(crate) callers: Vec<Object>,
    /// The namespaces that existed before the deployment. They are kept without our labels and annotations.
    pub(crate) released: Vec<Entry>,
    /// The notes on objects that are kept.
    pub(crate) notes: Vec<String>,
}

impl Withdrawal {
    /// Plans the removal of a deployed Solution.
    pub(crate) async fn plan(
        place: DeploymentPlace<'_>,
        state: &ClusterState,
        sets: RemoveSets,
    ) -> Result<Self, Error> {
        let DeploymentPlace {
            cluster,
            solution,
            space,
            ..
        } = place;
        let recorded = place.inventory(true).await?;
        let mut withdrawal = Self::from_inventory(cluster, solution, recorded, |_, _| true).await?;
        withdrawal
            .find_cleanup(cluster, state, solution, &space.namespace, sets)
            .await?;
        Ok(withdrawal)
    }

    /// Plans the removal of the recorded objects for which `goes` holds.
    pub(crate) async fn from_inventory(
        cluster: &Cluster,
        solution: &SolutionName,
        recorded: Inventory,
        goes: impl Fn(&Entry, &Object) -> bool,
    ) -> Result<Self, Error> {
        let references: Vec<ObjectRef> = recorded.entries.iter().map(Entry::reference).collect();
        let live = live(cluster, &references).await?;
        let removal = recorded.removal(&live, solution, goes);
        Self::found(cluster, recorded, removal).await
    }

    /// Plans the removal of objects that have been read already.
    pub(crate) async fn found(
        cluster: &Cluster,
        recorded: Inventory,
        removal: Removal,
    ) -> Result<Self, Error> {
        let uids = removal.live.iter().filter_map(Object::uid);
        let definitions = removal.live.iter();
        let definitions = definitions.filter(|object| is_definition(object.as_value()));
        let definitions: Vec<Object> = definitions.cloned().collect();
        let released = removal.staying.iter();
        let released = released.filter(|(_, why)| *why == KeepReason::WasThere);
        let mut withdrawal = Self {
            recorded,
            uids: uids.map(str::to_owned).collect(),
            released: released.map(|(entry, _)| entry.clone()).collect(),
            notes: removal
                .staying
                .iter()
                .map(|(entry, why)| note(entry, *why))
                .collect(),
            objects: removal.going,
            left: removal.left,
            ..Self::default()
        };
        withdrawal.judge(cluster, &definitions).await?;
        let mut callers = withdrawal.find_callers(cluster).await?;
        let goes = |caller: &Object| {
            let mut objects = withdrawal.objects.iter();
            objects.any(|entry| entry.is(caller.reference()))
        };
        callers.retain(|caller| !goes(caller));
        withdrawal.callers = callers;
        let left = withdrawal.left.iter();
        let calls = |left: &ObjectRef| {
            let mut callers = withdrawal.callers.iter();
            callers.any(|caller| caller.reference() == left)
        };
        let left = left.filter(|left| !calls(left));
        let left =
            left.map(|left| format!("{left} is kept: it is not the object that was applied"));
        withdrawal.notes.extend(left);
        Ok(withdrawal)
    }

    /// Finds the custom resources of these CRDs that are removed with the other objects. Adds a blocker for CRDs with
    /// webhook conversion whose other resources remain: no client could read them without the webhook. Resources of
    /// other CRDs are checked when the CRD is removed.
    async fn judge(&mut self, cluster: &Cluster, definitions: &[Object]) -> Result<(), Error> {
        if check_resources(cluster, definitions.iter(), &mut self.blockers).await? {
            return Ok(());
        }
        let mut resources = Vec::new();
        for definition in definitions {
            resources.push(custom_resources(cluster, definition).await?);
        }
        // Objects that are removed with their owners may own other objects in turn.
        for _ in 0..limits::GENERATIONS {
            let all = resources.iter().flatten();
            let belonging = all.filter(|object| belongs(object, &self.uids));
            let uids = belonging.filter_map(Object::uid).map(str::to_owned);
            let uids: Vec<String> = uids.collect();
            self.uids.extend(uids);
        }
        for (definition, resources) in definitions.iter().zip(&resources) {
            let staying = resources.iter().filter(|object| !self.goes(object));
            let staying: Vec<String> = staying
                .map(|object| object.reference().to_string())
                .collect();
            if !staying.is_empty() && is_converted(definition) {
                self.used.push(definition.reference().clone());
                let needed = ContentBlocker::ConversionNeeded {
                    definition: definition.reference().to_string(),
                    objects: staying,
                };
                self.blockers.push(needed.into());
            }
        }
        Ok(())
    }

    /// Checks whether an object is removed, directly or with its owner.
    pub(crate) fn goes(&self, live: &Object) -> bool {
        live.uid().is_some_and(|uid| self.uids.contains(uid))
    }

    /// Checks whether the record contains objects to apply before the removal.
    pub(crate) fn cleans_up(&self) -> bool {
        !self.recorded.cleanup.is_empty()
    }

    /// Returns the objects that are applied before the removal.
    pub(crate) fn applied(&self) -> impl Iterator<Item = ObjectRef> {
        self.cleanup
            .steps
            .iter()
            .map(|step| step.recorded.reference())
    }

    /// Finds the objects to apply before the removal, and adds their blockers.
    async fn find_cleanup(
        &mut self,
        cluster: &Cluster,
        state: &ClusterState,
        solution: &SolutionName,
        namespace: &Namespace,
        sets: RemoveSets,
    ) -> Result<(), Error> {
        let names = self.recorded.cleanup.iter().map(SetName::to_string);
        let names: Vec<String> = names.collect();
        if names.is_empty() || self.recorded.cleaned {
            return Ok(());
        }
        if sets == RemoveSets::Skip {
            let names = names.join(", ");
            let note = format!(
                "sets of manifests that {solution} applies before its removal are skipped: {names}"
            );
            self.notes.push(note);
            return Ok(());
        }
        let Some(cleanup) = Cleanup::read(cluster, solution, namespace).await? else {
            let kept = cleanup::reference(solution, namespace).to_string();
            let lost = ContentBlocker::CleanupLost { kept, sets: names };
            self.blockers.push(lost.into());
            return Ok(());
        };
        for object in cleanup.objects()? {
            let live = match read_if_allowed(cluster, object.reference()).await {
                // An earlier object of the cleanup defines the kind.
                Err(Error::Cluster(kubernetes::Error::NoSuchKind(_))) => None,
                other => other?,
            };
            let (live, recorded) = (live.as_ref(), &self.recorded);
            let checked = check_step(&object, live, solution, recorded, Some(state));
            self.blockers.extend(checked.err());
        }
        self.cleanup = cleanup;
        Ok(())
    }

    /// Returns all objects to remove, in order.
    pub(crate) fn references(&self) -> impl Iterator<Item = ObjectRef> {
        let objects = self.objects.iter().map(Entry::reference);
        let callers = self.callers.iter().map(Object::reference);
        callers.cloned().chain(objects)
    }

    /// Returns the objects to remove in this step.
    pub(crate) fn at(&self, departure: DeletionOrder) -> BTreeMap<ObjectRef, Entry> {
        let objects = self
            .objects
            .iter()
            .filter(|entry| DeletionOrder::from_entry(entry) == departure);
        objects
            .map(|entry| (entry.reference(), entry.clone()))
            .collect()
    }

    /// Checks whether Services of sets or charts are removed, which webhooks may call. An operator's own Service is
    /// only for metrics.
    pub(crate) fn has_services(&self) -> bool {
        let mut entries = self.recorded.entries.iter();
        entries.any(|entry| entry.part.is_some() && entry.is_service())
    }

    /// Returns the objects of any owner that make the API server call one of the removed Services.
    pub(crate) async fn find_callers(&self, cluster: &Cluster) -> Result<Vec<Object>, Error> {
        if !self.has_services() {
            return Ok(Vec::new());
        }
        let mut callers = Vec::new();
        for kind in callers_kinds() {
            let all = match cluster.list(&kind, None, None).await {
                // The check of rights reports the kinds that the user may not list.
                Err(kubernetes::Error::Forbidden { .. }) => continue,
                other => other?,
            };
            callers.extend(
                all.into_iter()
                    .filter(|live| self.recorded.is_called_by(live)),
            );
        }
        Ok(callers)
    }
}

/// Returns the kinds whose objects make the API server call a Service.
pub(crate) fn callers_kinds() -> [Gvk; 3] {
    let admission = "admissionregistration.k8s.io/v1";
    [
        Gvk::new(admission, "ValidatingWebhookConfiguration"),
        Gvk::new(admission, "MutatingWebhookConfiguration"),
        Gvk::new("apiregistration.k8s.io/v1", "APIService"),
    ]
}

/// Checks whether all owners of an object are removed, so that the garbage collector removes it.
fn belongs(object: &Object, going: &BTreeSet<String>) -> bool {
    let owners = object.as_value()["metadata"]["ownerReferences"].as_array();
    let mut owners = owners.into_iter().flatten().peekable();
    let goes = |owner: &Value| owner["uid"].as_str().is_some_and(|uid| going.contains(uid));
    owners.peek().is_some() && owners.all(goes)
}

/// Checks whether a CRD has webhook conversion.
fn is_converted(definition: &Object) -> bool {
    definition.as_value()["spec"]["conversion"]["strategy"] == "Webhook"
}

/// Returns the note on an object that is kept.
pub(crate) fn note(entry: &Entry, why: KeepReason) -> String {
    let what = entry.reference();
    match why {
        KeepReason::WasThere => format!("{what} existed before and is kept"),
        KeepReason::HoldsData => format!("{what} is kept, with its data"),
    }
}

/// The kinds of objects in which programs store data.
const KINDS: [&str; 3] = ["PersistentVolumeClaim", "Secret", "ConfigMap"];
/// The name of the ConfigMap with the cluster's certificate authority, which every namespace has.
const AUTHORITIES: &str = "kube-root-ca.crt";
/// The annotation with the Helm release that an object belongs to.
const RELEASE: &str = "meta.helm.sh/release-name";

/// Returns notes on the objects that remain in the namespaces of a Solution after these objects and releases are
/// removed. They are only notes, so kinds that the user may not list are left out. Only the environment's namespace is
/// listed in detail, since other namespaces have objects of other users.
pub(crate) async fn remaining(
    cluster: &Cluster,
    place: &NamespaceRecord,
    going: &[ObjectRef],
    releases: &[ReleaseEntry],
) -> Result<Vec<String>, Error> {
    let mut notes = Vec::new();
    let mut found = Vec::new();
    for kind in KINDS {
        let kind = Gvk::new("v1", kind);
        let all = match cluster
            .list(&kind, Some(place.namespace.as_str()), None)
            .await
        {
            Err(kubernetes::Error::Forbidden { .. }) => continue,
            all => all?,
        };
        let stays = all
            .iter()
            .filter(|object| stays(object, going) && !is_login(object, place));
        found.extend(stays.map(|object| object.reference().to_string()));
    }
    if !found.is_empty() {
        let (namespace, found) = (&place.namespace, list_names(found));
        notes.push(format!(
            "objects in namespace {namespace} that no Solution created are kept: {found}"
        ));
    }
    let mut elsewhere: Vec<&Namespace> =
        releases.iter().map(|release| &release.namespace).collect();
    elsewhere.sort();
    elsewhere.dedup();
    let elsewhere = elsewhere
        .into_iter()
        .filter(|namespace| **namespace != place.namespace);
    notes.extend(elsewhere.map(|namespace| {
        format!("objects in namespace {namespace} that other programs created are kept")
    }));
    Ok(notes)
}

/// Checks whether an object is a pull secret of the environment. The site created it and knows about it.
fn is_login(live: &Object, place: &NamespaceRecord) -> bool {
    let mut logins = place
        .solutions
        .values()
        .filter_map(|deployed| deployed.pull_secret.as_ref());
    live.gvk().kind == "Secret" && logins.any(|login| login.as_str() == live.name())
}

/// Checks whether an object is neither recorded nor owned by a removed object.
fn stays(live: &Object, going: &[ObjectRef]) -> bool {
    let value = live.as_value();
    let owners = value["metadata"]["ownerReferences"].as_array();
    let kept_by_others = [SECRET_TYPE, "kubernetes.io/service-account-token"];
    let kind = value["type"].as_str().unwrap_or_default();
    owners.is_none_or(Vec::is_empty)
        && !kept_by_others.contains(&kind)
        && ![AUTHORITIES, v::ENVIRONMENT_CONFIG].contains(&live.name())
        && !live.labels().contains_key(v::SOLUTION)
        && !live.annotations().contains_key(RELEASE)
        && !live.is_being_deleted()
        && !going
            .iter()
            .any(|removed| removed.is_same_object(live.reference()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_belongs_to_what_goes_goes_with_it() {
        let owned_by = |owners: &[&str]| {
            let owners: Vec<Value> = owners.iter().map(|uid| json!({ "uid": uid })).collect();
            let object = json!({
                "apiVersion": "shop.test/v1", "kind": "Cart",
                "metadata": { "name": "c", "ownerReferences": owners },
            });
            Object::new(object).unwrap()
        };
        let going = ["a".to_owned(), "b".to_owned()].into();
        assert!(belongs(&owned_by(&["a"]), &going));
        assert!(belongs(&owned_by(&["a", "b"]), &going));
        assert!(!belongs(&owned_by(&["a", "c"]), &going), "it stays for c");
        assert!(!belongs(&owned_by(&[]), &going));
    }
}

#[cfg(test)]
mod remaining_tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_what_nobody_brought_is_named() {
        let stays_so = |more: Value| {
            let mut secret = json!({ "apiVersion": "v1", "kind": "Secret",
                "metadata": { "name": "key", "namespace": "prod" } });
            for (path, value) in more.as_object().unwrap() {
                match path.as_str() {
                    "type" => secret["type"] = value.clone(),
                    field => secret["metadata"][field] = value.clone(),
                }
            }
            stays(&Object::new(secret).unwrap(), &[])
        };
        assert!(stays_so(json!({})));
        assert!(stays_so(
            json!({ "labels": { "sealedsecrets.bitnami.com/sealed-secrets-key": "active" } })
        ));
        for more in [
            json!({ "ownerReferences": [{ "uid": "a" }] }),
            json!({ "type": SECRET_TYPE }),
            json!({ "labels": { v::SOLUTION: "shop" } }),
            json!({ "annotations": { RELEASE: "web" } }),
            json!({ "name": AUTHORITIES }),
            json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" }),
        ] {
            assert!(!stays_so(more.clone()), "{more}");
        }
        let secret = ObjectRef::namespaced("v1", "Secret", "prod", "key");
        let live = json!({ "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": "key", "namespace": "prod" } });
        assert!(!stays(&Object::new(live).unwrap(), &[secret]));
    }
}
