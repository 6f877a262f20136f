//! A plan in words, for people and for programs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use change::Recreate;
use deployer::{
    Applied, Cluster, Conflicts, Difference, FieldChange, FieldConflict, Object, ObjectRef, Trial,
};
use helm::Helm;
use schemars::JsonSchema;
use schemas::{Digest, Version};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shelf::{Placement, Record, Survey};
use validator::Finding;

use crate::model::obstacle::{Obstacle, Unfit};
use crate::model::request::{LeftOpen, Request};
use crate::model::sight::Unseen;
use crate::model::site::SiteValue;
use crate::plan::diff;
use crate::plan::hidden::HiddenTexts;
use crate::plan::migration::PlannedMigration;
use crate::plan::narrowing::Narrowing;

/// The plan of an import, for people and for programs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanSummary {
    /// The context of the kubeconfig.
    pub context: Option<String>,
    /// The API server.
    pub server: String,
    /// The version of Kubernetes.
    pub kubernetes: String,
    /// The id of the Solution, `<name>-<version>`.
    pub solution: String,
    /// SHA-256 of the signed statement.
    #[schemars(with = "Digest")]
    pub archive_id: String,
    /// The registry that images are pushed to.
    pub registry: String,
    /// The registry that nodes pull images from.
    pub pull_registry: String,
    /// The repositories of the images, where they are not the usual ones.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    pub placement: Placement,
    /// Images in the archive.
    pub images: usize,
    /// Images that the registry has already.
    pub images_present: usize,
    /// Signatures and other referrers of images, if there are any.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    pub referrers: usize,
    /// Bytes of all distinct blobs.
    pub bytes: u64,
    /// Bytes that the registry lacks.
    pub bytes_to_push: u64,
    /// Repositories that do not exist and are created first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub creates: Vec<String>,
    /// Whether the version is recorded already.
    pub recorded: bool,
    /// The change to each CRD.
    pub crds: Vec<PlannedObject>,
    /// CRDs whose objects are stored anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub migrations: Vec<PlannedMigration>,
    /// The namespace that the operator would run in; null if it is not deployed.
    pub target: Option<PlannedTarget>,
    /// The notes that are worth knowing, and no reason to stop.
    pub notes: Vec<String>,
    /// The findings about the archive though it is accepted.
    pub findings: Vec<Finding>,
    /// The values that nobody asked for, and that stand or are usual.
    #[serde(skip)]
    pub defaults: Vec<PlannedDefault>,
    /// The parts that could not be seen when it was made with the rights of an administrator of only a namespace.
    #[serde(skip)]
    pub unseen: Vec<Unseen>,
    /// The objects that would be applied, by kind and name. A plan's file has them beside the summary.
    #[serde(skip)]
    pub(crate) applied: BTreeMap<String, AppliedObject>,
}

/// An object that would be applied, as it is sent to the API server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AppliedObject {
    /// The digest of the object.
    pub(crate) sent: Digest,
    /// Whether the API server could dry-run it. It cannot before the namespace or the kind of the object exists.
    pub(crate) is_dry_run: bool,
}

impl PlanSummary {
    /// Returns every object that is written or removed, in order.
    pub fn objects(&self) -> impl Iterator<Item = &PlannedObject> {
        let target = self.target.iter();
        let of_target = target.flat_map(|target| {
            let of_charts = target.releases.iter().flat_map(|it| &it.objects);
            target
                .objects
                .iter()
                .chain(&target.removed)
                .chain(of_charts)
        });
        self.crds.iter().chain(of_target)
    }

    /// Returns the same objects, to be changed.
    pub(crate) fn objects_mut(&mut self) -> impl Iterator<Item = &mut PlannedObject> {
        let target = self.target.iter_mut();
        let of_target = target.flat_map(|target| {
            let of_charts = target.releases.iter_mut().flat_map(|it| &mut it.objects);
            let own = target.objects.iter_mut().chain(&mut target.removed);
            own.chain(of_charts)
        });
        self.crds.iter_mut().chain(of_target)
    }
}

/// A value that was not asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedDefault {
    /// The choice that was left open.
    pub what: LeftOpen,
    /// The value.
    pub value: String,
    /// The source of the value.
    pub why: Cow<'static, str>,
}

/// A right in plain words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedRight {
    /// The actions that are allowed, and their scope.
    pub right: String,
    /// The danger that the right brings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub danger: Option<Cow<'static, str>>,
}

/// The reach of a plan beyond the namespaces of the environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedBeyond {
    /// The id that accepts it: a hash of what is shown.
    pub id: String,
    /// Whether it is accepted, by this request or before.
    pub accepted: bool,
    /// Whether it was accepted before, by its words alone, and so is asked for once more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Each thing of it.
    pub lines: Vec<PlannedLine>,
}

/// A single effect beyond the namespaces of the environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedLine {
    /// The effect, in words.
    pub text: String,
    /// Whether it was not accepted for the version that runs.
    pub new: bool,
    /// Whether it makes more possible than a reader would think.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub danger: bool,
}

/// The labels in which objects of charts have the version of their chart.
const STAMPS: [&str; 3] = [
    ".metadata.labels[helm.sh/chart]",
    ".metadata.labels[app.kubernetes.io/version]",
    ".metadata.labels.chart",
];

/// An object, and what would become of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlannedObject {
    /// The object, by kind and name.
    pub object: String,
    /// The action on it: `create`, `change`, `replace`, `keep`, …
    pub action: String,
    /// The fields that would change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// The changes by which something goes: a field, a version that is served, or a value that was taken so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<String>,
    /// The narrowings that a CRD brings compared with the one that is there. No object is seen to lose anything by it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub narrowed: Vec<PlannedNarrowing>,
    /// The fields that are taken over from other field managers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_over: Vec<PlannedField>,
    /// A unified diff of it in YAML; empty if nothing changes.
    #[serde(skip)]
    pub diff: String,
    /// The digest of its present state; none if it is not there.
    #[serde(skip)]
    pub(crate) live: Option<Digest>,
}

/// The action on an object that is as it should be.
const KEEP: &str = "keep";

impl PlannedObject {
    /// Whether it would be another one than it is, or not be there.
    #[must_use]
    pub fn differs(&self) -> bool {
        ["create", "change", "replace", "remove"].contains(&self.action.as_str())
    }

    /// Whether nothing is to be said of it: it is kept as it is, and no warning is about it.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.action == KEEP && self.narrowed.is_empty() && self.taken_over.is_empty()
    }

    /// Whether all that changes in it is what its labels say of its chart's version.
    #[must_use]
    pub fn is_stamped(&self) -> bool {
        let mut changes = self.changes.iter();
        !self.changes.is_empty() && changes.all(|it| STAMPS.contains(&it.as_str()))
    }
}

/// A field that somebody else set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedField {
    /// The field, for example `.spec.replicas`.
    pub field: String,
    /// The manager that set it, by the name under which the API server knows it.
    pub manager: String,
}

impl From<FieldConflict> for PlannedField {
    fn from(FieldConflict { field, manager }: FieldConflict) -> Self {
        Self { field, manager }
    }
}

/// Something that a CRD takes away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlannedNarrowing {
    /// The version of the API.
    pub api_version: String,
    /// The place in its objects, for example `.spec.ports[].name`.
    pub path: String,
    /// The part that is taken away.
    pub problem: String,
    /// Whether objects were looked at: it takes a program to tell whether they keep a rule or a pattern.
    pub checked: bool,
}

impl From<&Narrowing> for PlannedNarrowing {
    fn from(narrowing: &Narrowing) -> Self {
        Self {
            api_version: narrowing.api.clone(),
            path: narrowing.path(),
            problem: narrowing.to_string(),
            checked: narrowing.can_be_told(),
        }
    }
}

/// The place in which the operator would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlannedTarget {
    /// The environment.
    pub environment: String,
    /// The namespace.
    pub namespace: String,
    /// The version that runs there now; null if none does.
    pub running: Option<Version>,
    /// The rights that the operator gains over that of the running version.
    pub rights_gained: Vec<PlannedRight>,
    /// The rights that the operator loses.
    pub rights_lost: Vec<PlannedRight>,
    /// The dangerous effects of its objects, whoever has rights to what, that ask for no consent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dangers: Vec<String>,
    /// The reach beyond the namespaces of the environment; null if there is none.
    pub beyond: Option<PlannedBeyond>,
    /// What pods pull before anything of the operator is changed. It is missing where its image stays, or nobody asks
    /// for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_proof: Option<PlannedProof>,
    /// The choices of the site's file for the operator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub site: Vec<SiteValue>,
    /// The values of the parameters, and where each comes from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<PlannedParameter>,
    /// The patches of the site's files to objects that are carried as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<PlannedPatch>,
    /// The objects that are applied when it is removed, and awaited before anything goes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleanup: Vec<String>,
    /// The namespaces in which pods have a login to the registry. It is missing where no login is needed or no pods are
    /// made later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later_pods: Option<PlannedLaterPods>,
    /// The program that installs charts. It is missing where there is nothing for it to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helm: Option<PlannedHelm>,
    /// The releases of charts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<PlannedChart>,
    /// The objects of the operator.
    pub objects: Vec<PlannedObject>,
    /// Objects of the running version that this one does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<PlannedObject>,
}

/// The program that installs charts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedHelm {
    /// The version, as the program says it.
    pub version: String,
    /// Whether it is the one that the archive includes.
    pub included: bool,
}

impl From<&Helm> for PlannedHelm {
    fn from(helm: &Helm) -> Self {
        Self {
            version: helm.version().to_owned(),
            included: helm.is_copied(),
        }
    }
}

/// A release of a chart, and what would become of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlannedChart {
    /// The release, as `release NAMESPACE/NAME`.
    pub release: String,
    /// The chart, with its version.
    pub chart: String,
    /// The action on it.
    #[schemars(extend("enum" = ["install", "upgrade", "keep", "leave", "uninstall"]))]
    pub action: String,
    /// Helm's newest revision. It is missing if the release is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub revision: Option<u32>,
    /// The finding that somebody else has changed it since it was deployed from here, or that a run of Helm was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The values that the site's file gives it, by their paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<SiteValue>,
    /// The objects that would be made, changed or removed, hooks among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<PlannedObject>,
    /// The objects that are others with each rendering, kind and name each: what is sent differs from what is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub random: Vec<String>,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedParameter {
    /// The parameter.
    pub name: String,
    /// Its value; `***` in the place of a sensitive one.
    pub value: Value,
    /// Where it comes from.
    pub from: String,
}

/// A patch of the site's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedPatch {
    /// The object that it is applied to.
    pub object: String,
    /// The file that it stands in, and its place there.
    pub from: String,
}

/// Where pods have a login to the registry. Those that are made later elsewhere, or with other accounts, have none unless
/// nodes themselves log in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedLaterPods {
    /// The registry, as nodes know it.
    pub host: String,
    /// The namespaces with a login.
    #[schemars(length(min = 1))]
    pub namespaces: Vec<String>,
    /// The namespace of the Secret that nodes could log in with.
    pub namespace: String,
    /// The Secret.
    pub secret: String,
}

/// The image that short-lived pods pull, to prove that nodes can.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedProof {
    /// The image, by digest.
    pub image: String,
    /// The architectures of the nodes on which a pod does; any node if there are none.
    pub architectures: Vec<String>,
}

pub(crate) fn summary(
    cluster: &Cluster,
    request: &Request,
    record: &Record,
    images: &Survey,
) -> PlanSummary {
    PlanSummary {
        context: cluster.context().map(str::to_owned),
        server: cluster.server().to_owned(),
        kubernetes: cluster.version().text.clone(),
        solution: record.id(),
        archive_id: record.archive_id.to_string(),
        registry: request.registry.to_string(),
        placement: images.placement,
        images: images.count,
        images_present: images.present,
        referrers: images.referrers,
        bytes: images.total_bytes,
        bytes_to_push: images.missing_bytes,
        ..PlanSummary::default()
    }
}

/// Returns the planned change to an object, or the obstacle to it.
pub(crate) fn planned(
    object: &Object,
    trial: Trial,
    conflicts: Conflicts,
    hidden: &HiddenTexts,
) -> Result<PlannedObject, Obstacle> {
    let (applied, changes, diff, taken, live) = match trial {
        Trial::Would(difference) | Trial::Redefined(difference) => {
            let Difference {
                applied,
                changes,
                before,
                after,
                taken,
            } = *difference;
            if conflicts == Conflicts::Refuse && !taken.is_empty() {
                return Err(fields_owned(object, &taken));
            }
            let diff = diff::unified(before.as_ref(), Some(&after), hidden);
            let live = before
                .as_ref()
                .map(|before| diff::live_digest(before, hidden));
            (applied, changes, diff, taken, live)
        }
        Trial::Later { .. } => (
            Applied::Created,
            Vec::new(),
            diff::unified(None, Some(object), hidden),
            Vec::new(),
            None,
        ),
        Trial::Refused(error) => return Err(refused(object, &error, hidden)),
    };
    let (action, changes) = match applied {
        Applied::Created => ("create", Vec::new()),
        Applied::Changed => ("change", changes),
        Applied::Unchanged => (KEEP, Vec::new()),
    };
    let losses = changes.iter().filter(|change| is_loss(change));
    Ok(PlannedObject {
        object: object.reference().to_string(),
        action: action.to_owned(),
        diff,
        live,
        losses: losses.map(|change| change.path.clone()).collect(),
        changes: changes.into_iter().map(|change| change.path).collect(),
        taken_over: taken.into_iter().map(PlannedField::from).collect(),
        narrowed: Vec::new(),
    })
}

/// Returns the obstacle that others set fields of an object to something else.
pub(crate) fn fields_owned(object: &Object, owned: &[FieldConflict]) -> Obstacle {
    Obstacle::FieldsOwned {
        object: object.reference().to_string(),
        fields: owned.iter().map(ToString::to_string).collect(),
    }
}

/// Whether something that was there or was allowed is not any more.
fn is_loss(change: &FieldChange) -> bool {
    let narrower = [".required", ".enum", ".maximum", ".minimum", ".pattern"];
    change.after.is_none()
        || change.path.ends_with(".served") && change.after.as_deref() == Some("false")
        || narrower
            .iter()
            .any(|field| change.path.contains(field) && change.path.contains("openAPIV3Schema"))
}

/// A CRD that a newer version wrote and that stays.
pub(crate) fn kept(crd: &ObjectRef, newer: &Version) -> PlannedObject {
    PlannedObject {
        object: crd.to_string(),
        action: format!("keep version {newer} of"),
        ..PlannedObject::default()
    }
}

pub(crate) fn removed(object: &Object, hidden: &HiddenTexts) -> PlannedObject {
    PlannedObject {
        object: object.reference().to_string(),
        action: "remove".to_owned(),
        diff: diff::unified(Some(object), None, hidden),
        live: Some(diff::live_digest(object, hidden)),
        ..PlannedObject::default()
    }
}

/// The words in which the API server says that a field cannot be changed.
const IMMUTABLE: [&str; 4] = [
    "immutable",
    "updates to statefulset spec",
    "cannot change",
    "may not change once set",
];

/// Returns the obstacle for an object that is not taken. One that could be made anew says so.
fn refused(object: &Object, error: &deployer::Error, hidden: &HiddenTexts) -> Obstacle {
    let why = hidden.say(&error.to_string());
    let is_immutable = matches!(error, deployer::Error::Invalid { .. })
        && IMMUTABLE.iter().any(|words| why.contains(words));
    let recreate = Recreate {
        kind: object.gvk().kind.clone(),
        name: object.name().to_owned(),
    };
    if is_immutable {
        Unfit::Immutable {
            object: object.reference().to_string(),
            recreate,
            why,
        }
        .into()
    } else {
        Obstacle::ObjectRefused {
            object: object.reference().to_string(),
            why,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_of_others_are_in_the_way_unless_they_are_taken_over() {
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "n" } });
        let object = Object::new(object).unwrap();
        let field = |name: &str| FieldConflict {
            field: format!(".data.{name}"),
            manager: "them".to_owned(),
        };
        let planned = |taken: Vec<FieldConflict>, conflicts| {
            let difference = Difference {
                applied: Applied::Changed,
                changes: Vec::new(),
                before: Some(object.clone()),
                after: object.clone(),
                taken,
            };
            let trial = Trial::Would(Box::new(difference));
            planned(&object, trial, conflicts, &HiddenTexts::default())
        };
        let both = || vec![field("x"), field("y")];
        let words = "ConfigMap n/a has fields that other field managers set: .data.x (them), .data.y (them)";
        let refused = planned(both(), Conflicts::Refuse).unwrap_err();
        assert_eq!(refused.to_string(), words);
        let taken = planned(both(), Conflicts::Force).unwrap().taken_over;
        assert_eq!(
            taken,
            both()
                .into_iter()
                .map(PlannedField::from)
                .collect::<Vec<_>>()
        );
        let free = planned(Vec::new(), Conflicts::Refuse).unwrap();
        assert_eq!(
            (free.action.as_str(), free.taken_over),
            ("change", Vec::new())
        );
    }

    #[test]
    fn an_object_of_which_labels_alone_name_another_version_is_stamped() {
        const CHART: &str = ".metadata.labels[helm.sh/chart]";
        const VERSION: &str = ".metadata.labels[app.kubernetes.io/version]";
        for (changes, is_stamped) in [
            (&[][..], false),
            (&[CHART], true),
            (&[".metadata.labels.chart"], true),
            (&[CHART, VERSION], true),
            (&[CHART, ".spec"], false),
            (&[".metadata.labels.app"], false),
            (&[".metadata.labels"], false),
        ] {
            let object = PlannedObject {
                changes: changes.iter().map(ToString::to_string).collect(),
                ..PlannedObject::default()
            };
            assert_eq!(object.is_stamped(), is_stamped, "{changes:?}");
        }
    }

    #[test]
    fn what_goes_or_becomes_narrower_is_a_loss() {
        let change = |path: &str, before: Option<&str>, after: Option<&str>| FieldChange {
            path: path.to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        let schema = ".spec.versions[name=v1].schema.openAPIV3Schema.properties.spec";
        for (change, loss) in [
            (
                change(&format!("{schema}.properties.size"), Some("{}"), None),
                true,
            ),
            (
                change(&format!("{schema}.properties.size"), None, Some("{}")),
                false,
            ),
            (
                change(&format!("{schema}.required[0]"), None, Some("\"size\"")),
                true,
            ),
            (
                change(
                    ".spec.versions[name=v1].served",
                    Some("true"),
                    Some("false"),
                ),
                true,
            ),
            (
                change(".metadata.labels.version", Some("1"), Some("2")),
                false,
            ),
        ] {
            assert_eq!(is_loss(&change), loss, "{change}");
        }
    }
}
