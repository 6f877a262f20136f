//! The summary of a plan for people and programs: [`PlanSummary`]. Its JSON form is part of plan files and results, so
//! its schema is public.

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
    /// The layout of the images' repositories, if it is not the default.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    pub placement: Placement,
    /// Images in the archive.
    pub images: usize,
    /// Images that are already in the registry.
    pub images_present: usize,
    /// Signatures and other referrers of images, if there are any.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    pub referrers: usize,
    /// Bytes of all distinct blobs.
    pub bytes: u64,
    /// Bytes that are not in the registry yet.
    pub bytes_to_push: u64,
    /// Missing repositories that are created first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub creates: Vec<String>,
    /// Whether the version is already recorded.
    pub recorded: bool,
    /// The change to each CRD.
    pub crds: Vec<PlannedObject>,
    /// CRDs whose objects are rewritten in another storage version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub migrations: Vec<PlannedMigration>,
    /// The namespace that the operator would run in; null if it is not deployed.
    pub target: Option<PlannedTarget>,
    /// Notes, which do not block the change.
    pub notes: Vec<String>,
    /// The findings about the accepted archive.
    pub findings: Vec<Finding>,
    /// The values that the user did not specify: earlier choices and defaults.
    #[serde(skip)]
    pub defaults: Vec<PlannedDefault>,
    /// The objects that could not be read with the rights of a namespace administrator.
    #[serde(skip)]
    pub unseen: Vec<Unseen>,
    /// The objects that would be applied, by kind and name. A plan file stores them separately from the summary.
    #[serde(skip)]
    pub(crate) applied: BTreeMap<String, AppliedObject>,
}

/// An object that would be applied, in the form that is sent to the API server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AppliedObject {
    /// The digest of the object.
    pub(crate) sent: Digest,
    /// True if the API server could dry-run it. This is impossible before the namespace or the kind of the object
    /// exists.
    pub(crate) is_dry_run: bool,
}

impl PlanSummary {
    /// Returns every object that is written or removed, in order.
    pub fn objects(&self) -> impl Iterator<Item = &PlannedObject> {
        let target = self.target.iter();
        let of_target = target.flat_map(|target| {
            let of_charts = target.releases.iter().flat_map(|chart| &chart.objects);
            target
                .objects
                .iter()
                .chain(&target.removed)
                .chain(of_charts)
        });
        self.crds.iter().chain(of_target)
    }

    /// Returns every object that is written or removed, in order.
    pub(crate) fn objects_mut(&mut self) -> impl Iterator<Item = &mut PlannedObject> {
        let target = self.target.iter_mut();
        let of_target = target.flat_map(|target| {
            let of_charts = target
                .releases
                .iter_mut()
                .flat_map(|chart| &mut chart.objects);
            let own = target.objects.iter_mut().chain(&mut target.removed);
            own.chain(of_charts)
        });
        self.crds.iter_mut().chain(of_target)
    }
}

/// A value that the user did not specify.
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
    /// The danger of the right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub danger: Option<Cow<'static, str>>,
}

/// The effects of a plan outside the namespaces of the environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedBeyond {
    /// The consent id: a hash of the effects.
    pub id: String,
    /// Whether it is accepted by this request or an earlier one.
    pub accepted: bool,
    /// Whether the consent must be given again, because an earlier one covered only the lines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// The effects.
    pub lines: Vec<PlannedLine>,
}

/// An effect outside the namespaces of the environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedLine {
    /// A description of the effect.
    pub text: String,
    /// Whether it was not accepted for the running version.
    pub new: bool,
    /// Whether it is dangerous.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub danger: bool,
}

/// The labels with a chart's version in the objects of charts.
const STAMPS: [&str; 3] = [
    ".metadata.labels[helm.sh/chart]",
    ".metadata.labels[app.kubernetes.io/version]",
    ".metadata.labels.chart",
];

/// An object and the planned action on it.
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
    /// The losses: removed fields, served versions or allowed values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<String>,
    /// The parts of a CRD that are stricter than in the cluster. No existing object is known to be affected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub narrowed: Vec<PlannedNarrowing>,
    /// The fields that are taken over from other field managers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_over: Vec<PlannedField>,
    /// A unified YAML diff; empty if nothing changes.
    #[serde(skip)]
    pub diff: String,
    /// The digest of its present state; missing if it does not exist.
    #[serde(skip)]
    pub(crate) live: Option<Digest>,
}

/// The action on an object that does not change.
const KEEP: &str = "keep";

impl PlannedObject {
    /// Checks whether the object would be created, changed, replaced or removed.
    #[must_use]
    pub fn differs(&self) -> bool {
        ["create", "change", "replace", "remove"].contains(&self.action.as_str())
    }

    /// Checks whether the object does not change and has no warnings.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.action == KEEP && self.narrowed.is_empty() && self.taken_over.is_empty()
    }

    /// Checks whether the only changes are labels with the chart's version.
    #[must_use]
    pub fn is_stamped(&self) -> bool {
        let mut changes = self.changes.iter();
        !self.changes.is_empty() && changes.all(|path| STAMPS.contains(&path.as_str()))
    }
}

/// A field that is owned by another field manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedField {
    /// The field, for example `.spec.replicas`.
    pub field: String,
    /// The name of the field manager.
    pub manager: String,
}

impl From<FieldConflict> for PlannedField {
    fn from(FieldConflict { field, manager }: FieldConflict) -> Self {
        Self { field, manager }
    }
}

/// A restriction of a CRD.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlannedNarrowing {
    /// The version of the API.
    pub api_version: String,
    /// The place in its objects, for example `.spec.ports[].name`.
    pub path: String,
    /// The restriction.
    pub problem: String,
    /// Whether existing objects were checked. Rules and patterns cannot be checked.
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

/// The environment and namespace of the operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlannedTarget {
    /// The environment.
    pub environment: String,
    /// The namespace.
    pub namespace: String,
    /// The running version; null if none is running.
    pub running: Option<Version>,
    /// The rights that the operator gains compared to the running version.
    pub rights_gained: Vec<PlannedRight>,
    /// The rights that the operator loses.
    pub rights_lost: Vec<PlannedRight>,
    /// The dangerous effects of its objects that do not need consent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dangers: Vec<String>,
    /// The effects outside the namespaces of the environment; null if there are none.
    pub beyond: Option<PlannedBeyond>,
    /// What pods pull before anything of the operator is changed. It is missing where its image stays, or nobody asks
    /// for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_proof: Option<PlannedProof>,
    /// The values of the site configuration for the operator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub site: Vec<SiteValue>,
    /// The values of the parameters with their sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<PlannedParameter>,
    /// The patches of the site configuration to packaged objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<PlannedPatch>,
    /// The objects that are applied and awaited before its removal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleanup: Vec<String>,
    /// The namespaces in which pods have a pull secret. It is missing if no login is needed or no pods are
    /// created later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later_pods: Option<PlannedLaterPods>,
    /// The program that installs charts. It is missing if no charts change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helm: Option<PlannedHelm>,
    /// The releases of charts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<PlannedChart>,
    /// The objects of the operator.
    pub objects: Vec<PlannedObject>,
    /// Objects of the running version that are not part of this version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<PlannedObject>,
}

/// The program that installs charts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedHelm {
    /// The version that the program reports.
    pub version: String,
    /// Whether it is the program that the archive includes.
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

/// A release of a chart and the planned action on it.
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
    /// The observed change since the last deployment: drift, a revision from another source, or an interrupted run of Helm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The values of the site configuration, by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<SiteValue>,
    /// The objects that would be created, changed or removed, including hooks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<PlannedObject>,
    /// The objects with random values, by kind and name: the applied objects differ from the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub random: Vec<String>,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedParameter {
    /// The parameter.
    pub name: String,
    /// Its value; `***` if it is sensitive.
    pub value: Value,
    /// The source of the value.
    pub from: String,
}

/// A patch of the site configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedPatch {
    /// The object that it is applied to.
    pub object: String,
    /// The file and the position of the patch in it.
    pub from: String,
}

/// The namespaces in which pods have a pull secret. Pods that are created later in other namespaces or with other accounts
/// have none, unless the nodes themselves log in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedLaterPods {
    /// The registry that nodes pull from.
    pub host: String,
    /// The namespaces with a pull secret.
    #[schemars(length(min = 1))]
    pub namespaces: Vec<String>,
    /// The namespace of the Secret that nodes could use.
    pub namespace: String,
    /// The Secret.
    pub secret: String,
}

/// The image that short-lived pods test-pull.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedProof {
    /// The image, by digest.
    pub image: String,
    /// The architectures of the nodes for the test pull; any node if empty.
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

/// Returns the planned change to an object. If the API server rejects the object, or if other field managers own its
/// fields, the error is the blocker.
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

/// Returns the blocker for fields that other field managers own.
pub(crate) fn fields_owned(object: &Object, owned: &[FieldConflict]) -> Obstacle {
    Obstacle::FieldsOwned {
        object: object.reference().to_string(),
        fields: owned.iter().map(ToString::to_string).collect(),
    }
}

/// Checks whether a change removes a field, or restricts the permitted values.
fn is_loss(change: &FieldChange) -> bool {
    let narrower = [".required", ".enum", ".maximum", ".minimum", ".pattern"];
    change.after.is_none()
        || change.path.ends_with(".served") && change.after.as_deref() == Some("false")
        || narrower
            .iter()
            .any(|field| change.path.contains(field) && change.path.contains("openAPIV3Schema"))
}

/// Returns the summary of a CRD that keeps the form of a newer version.
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

/// Parts of the API server's messages about immutable fields.
const IMMUTABLE: [&str; 4] = [
    "immutable",
    "updates to statefulset spec",
    "cannot change",
    "may not change once set",
];

/// Returns the blocker for a rejected object, with the object to recreate if the cause is an immutable field.
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
        let words = "ConfigMap n/a has fields that are owned by other field managers: .data.x (them), .data.y (them)";
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
