//! The summary of a plan for people and programs: [`PlanSummary`]. Its JSON form is part of plan files and results, so
//! its schema is public. [`planned_target`] converts a planned [`Deployment`] to its part of the summary.

use std::borrow::Cow;
use std::collections::BTreeMap;

use helm::Helm;
use kubernetes::Cluster;
use rules::{DangerScope, Right};
use schemars::JsonSchema;
use schemas::{Digest, ParameterName, Version};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{Placement, Record, Survey};
use validator::Finding;

use crate::choices::parameters::Resolved;
use crate::choices::patches::Patched;
use crate::choices::redact;
use crate::decide::deployment::{Deployment, site_values};
use crate::decide::proof::Proof;
use crate::model::request::{LeftOpen, Request};
use crate::objects::changes::{AppliedObject, PlannedChart, PlannedObject, kept, removed};
use crate::objects::diff;
use crate::objects::effects::Line;
use crate::objects::migration::PlannedMigration;
use crate::records::site::SiteValue;
use crate::records::visibility::UnreadablePart;

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
    pub unseen: Vec<UnreadablePart>,
    /// The objects that would be applied, by kind and name. A plan file stores them separately from the summary.
    #[serde(skip)]
    pub(crate) applied: BTreeMap<String, AppliedObject>,
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
#[schemars(rename = "PlannedBeyond")]
pub struct PlannedEffects {
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
    #[serde(rename = "beyond")]
    pub external_effects: Option<PlannedEffects>,
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

/// Returns the CRDs of a deployment that keep the form of a newer version.
pub(crate) fn newer(deployment: &Deployment) -> impl Iterator<Item = PlannedObject> {
    let newer = deployment.change.newer.iter();
    newer.map(|newer| kept(newer.live.reference(), &newer.version))
}

/// Returns the objects that are deleted and recreated.
pub(crate) fn replaced(deployment: &Deployment) -> impl Iterator<Item = PlannedObject> {
    let hidden = &deployment.parameters.hidden;
    deployment.change.changes().filter_map(move |change| {
        let live = change.replaced()?;
        Some(PlannedObject {
            action: "replace".to_owned(),
            diff: diff::unified(Some(live), Some(change.object()), hidden),
            ..removed(live, hidden)
        })
    })
}

/// Returns the summary of a planned deployment. Its objects and later pods are added by the caller.
pub(crate) fn planned_target(deployment: &Deployment, proof: Option<&Proof>) -> PlannedTarget {
    let rights = |rights: &[Right]| {
        let planned = |right: &Right| PlannedRight {
            right: right.to_string(),
            danger: danger(right, deployment.is_shared).map(Cow::Borrowed),
        };
        rights.iter().map(planned).collect()
    };
    let running = deployment.current.as_ref();
    let (stale, parameters) = (deployment.stale(), &deployment.parameters);
    PlannedTarget {
        environment: deployment.place.environment.to_string(),
        namespace: deployment.namespace().to_string(),
        running: running.map(|current| current.version.clone()),
        rights_gained: rights(&deployment.rights.gained),
        rights_lost: rights(&deployment.rights.lost),
        dangers: deployment.dangers.iter().cloned().collect(),
        external_effects: planned_effects(deployment),
        pull_proof: proof.map(planned_proof),
        site: site_values(deployment),
        later_pods: None,
        helm: deployment.releases.helm.as_ref().map(PlannedHelm::from),
        releases: planned_charts(deployment),
        objects: Vec::new(),
        removed: stale
            .map(|object| removed(object, &parameters.hidden))
            .collect(),
        parameters: parameters
            .all
            .iter()
            .map(|(name, resolved)| planned_parameter(name, resolved))
            .collect(),
        patches: deployment.patched.iter().map(planned_patch).collect(),
        cleanup: deployment.cleanup.names(),
    }
}

fn planned_proof(proof: &Proof) -> PlannedProof {
    PlannedProof {
        image: proof.image.clone(),
        architectures: proof.architectures.iter().cloned().collect(),
    }
}

fn planned_charts(deployment: &Deployment) -> Vec<PlannedChart> {
    let releases = &deployment.releases;
    let hidden = &deployment.parameters.hidden;
    let all = releases.all.iter().map(|release| release.planned(hidden));
    let going = releases.departing.iter().map(|release| PlannedChart {
        release: release.to_string(),
        chart: format!("{} {}", release.chart, release.version),
        action: "uninstall".to_owned(),
        revision: release.revision,
        found: None,
        values: Vec::new(),
        objects: Vec::new(),
        random: Vec::new(),
    });
    all.chain(going).collect()
}

fn planned_patch(Patched { object, from }: &Patched) -> PlannedPatch {
    let (object, from) = (object.clone(), from.clone());
    PlannedPatch { object, from }
}

fn planned_parameter(name: &ParameterName, resolved: &Resolved) -> PlannedParameter {
    let Resolved {
        value,
        source,
        sensitive,
    } = resolved;
    PlannedParameter {
        name: name.to_string(),
        value: if *sensitive {
            Value::from(redact::SHOWN)
        } else {
            value.clone()
        },
        from: source.to_string(),
    }
}

/// Returns the danger of a right. Some rights are only dangerous if another Solution runs in the same namespace.
fn danger(right: &Right, shared: bool) -> Option<&'static str> {
    let danger = right.danger()?;
    (danger.when == DangerScope::Always || shared).then_some(danger.words)
}

pub(crate) fn planned_effects(deployment: &Deployment) -> Option<PlannedEffects> {
    let external_effects = &deployment.external_effects;
    if external_effects.lines.is_empty() {
        return None;
    }
    let before = deployment.accepted_before();
    let new = external_effects.new_lines(before);
    let line = |line: &Line| PlannedLine {
        text: line.text.clone(),
        new: new.contains(line),
        danger: line.danger,
    };
    let accepted = deployment.refused.is_none();
    Some(PlannedEffects {
        id: external_effects.id.clone(),
        accepted,
        again: !accepted && before.is_some_and(|before| before.grants.is_none()),
        lines: external_effects.lines.iter().map(line).collect(),
    })
}

#[cfg(test)]
mod tests {
    use rules::{self, Reach};
    use serde_json::json;

    use super::*;

    fn right(group: &str, resource: &str, verb: &str) -> Right {
        let role = json!({ "kind": "Role", "rules": [
            { "apiGroups": [group], "resources": [resource], "verbs": [verb] },
        ] });
        let reach = Reach::Namespace("prod".to_owned());
        rules::rights(&role, &reach).unwrap().remove(0)
    }

    #[test]
    fn making_pods_is_dangerous_where_others_run() {
        let deployments = right("apps", "deployments", "create");
        assert_eq!(danger(&deployments, false), None);
        assert!(
            danger(&deployments, true)
                .unwrap()
                .contains("ServiceAccount")
        );
        let secrets = right("", "secrets", "get");
        assert_eq!(danger(&secrets, false), danger(&secrets, true));
        assert!(danger(&secrets, false).unwrap().contains("password"));
    }
}
