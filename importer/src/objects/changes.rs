//! The planned change to each object: [`PlannedObject`], and [`PlannedChart`] for a release of a chart. [`planned`]
//! creates it from a dry run at the API server. The types are part of the summary of a plan, so their JSON form is
//! public.

use kubernetes::{
    ApplyOutcome, ConflictPolicy, Difference, DryRunResult, FieldChange, FieldConflict, Object,
    ObjectRef,
};
use planner::RecreateRequest;
use schemars::JsonSchema;
use schemas::{Digest, Version};
use serde::{Deserialize, Serialize};

use crate::choices::redact::HiddenTexts;
use crate::model::blocker::{Blocker, ContentBlocker};
use crate::objects::diff;
use crate::objects::narrowing::Narrowing;
use crate::records::site::SiteValue;

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

/// Returns the planned change to an object. If the API server rejects the object, or if other field managers own its
/// fields, the error is the blocker.
pub(crate) fn planned(
    object: &Object,
    trial: DryRunResult,
    conflicts: ConflictPolicy,
    hidden: &HiddenTexts,
) -> Result<PlannedObject, Blocker> {
    let (applied, changes, diff, taken, live) = match trial {
        DryRunResult::Would(difference) | DryRunResult::Redefined(difference) => {
            let Difference {
                applied,
                changes,
                before,
                after,
                taken,
            } = *difference;
            if conflicts == ConflictPolicy::Refuse && !taken.is_empty() {
                return Err(fields_owned(object, &taken));
            }
            let diff = diff::unified(before.as_ref(), Some(&after), hidden);
            let live = before
                .as_ref()
                .map(|before| diff::live_digest(before, hidden));
            (applied, changes, diff, taken, live)
        }
        DryRunResult::Later { .. } => (
            ApplyOutcome::Created,
            Vec::new(),
            diff::unified(None, Some(object), hidden),
            Vec::new(),
            None,
        ),
        DryRunResult::Refused(error) => return Err(refused(object, &error, hidden)),
    };
    let (action, changes) = match applied {
        ApplyOutcome::Created => ("create", Vec::new()),
        ApplyOutcome::Changed => ("change", changes),
        ApplyOutcome::Unchanged => (KEEP, Vec::new()),
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
pub(crate) fn fields_owned(object: &Object, owned: &[FieldConflict]) -> Blocker {
    Blocker::FieldsOwned {
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
fn refused(object: &Object, error: &kubernetes::Error, hidden: &HiddenTexts) -> Blocker {
    let why = hidden.say(&error.to_string());
    let is_immutable = matches!(error, kubernetes::Error::Invalid { .. })
        && IMMUTABLE.iter().any(|words| why.contains(words));
    let recreate = RecreateRequest {
        kind: object.gvk().kind.clone(),
        name: object.name().to_owned(),
    };
    if is_immutable {
        ContentBlocker::Immutable {
            object: object.reference().to_string(),
            recreate,
            why,
        }
        .into()
    } else {
        Blocker::ObjectRefused {
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
                applied: ApplyOutcome::Changed,
                changes: Vec::new(),
                before: Some(object.clone()),
                after: object.clone(),
                taken,
            };
            let trial = DryRunResult::Would(Box::new(difference));
            planned(&object, trial, conflicts, &HiddenTexts::default())
        };
        let both = || vec![field("x"), field("y")];
        let words = "ConfigMap n/a has fields that are owned by other field managers: .data.x (them), .data.y (them)";
        let refused = planned(both(), ConflictPolicy::Refuse).unwrap_err();
        assert_eq!(refused.to_string(), words);
        let taken = planned(both(), ConflictPolicy::Force).unwrap().taken_over;
        assert_eq!(
            taken,
            both()
                .into_iter()
                .map(PlannedField::from)
                .collect::<Vec<_>>()
        );
        let free = planned(Vec::new(), ConflictPolicy::Refuse).unwrap();
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
