//! The conversion of a planned [`Deployment`] to its summary in a plan, [`PlannedTarget`].

use std::borrow::Cow;

use rules::{Right, When};
use schemas::ParameterName;
use serde_json::Value;

use crate::plan::consent::Line;
use crate::plan::deployment::Deployment;
use crate::plan::diff;
use crate::plan::hidden;
use crate::plan::parameters::Resolved;
use crate::plan::patches::Patched;
use crate::plan::proof::Proof;
use crate::plan::reach;
use crate::plan::summary::{
    PlannedBeyond, PlannedChart, PlannedHelm, PlannedLine, PlannedObject, PlannedParameter,
    PlannedPatch, PlannedProof, PlannedRight, PlannedTarget, kept, removed,
};

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

pub(crate) fn planned_target(deployment: &Deployment, proof: Option<&Proof>) -> PlannedTarget {
    let rights = |rights: &[Right]| {
        let planned = |right: &Right| PlannedRight {
            right: right.to_string(),
            danger: danger(right, deployment.is_shared).map(Cow::Borrowed),
        };
        rights.iter().map(planned).collect()
    };
    let running = deployment.standing.as_ref();
    let (stale, parameters) = (deployment.stale(), &deployment.parameters);
    PlannedTarget {
        environment: deployment.place.environment.to_string(),
        namespace: deployment.namespace().to_string(),
        running: running.map(|standing| standing.version.clone()),
        rights_gained: rights(&deployment.rights.gained),
        rights_lost: rights(&deployment.rights.lost),
        dangers: deployment.dangers.iter().cloned().collect(),
        beyond: planned_beyond(deployment),
        pull_proof: proof.map(planned_proof),
        site: reach::values(deployment),
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
            Value::from(hidden::SHOWN)
        } else {
            value.clone()
        },
        from: source.to_string(),
    }
}

/// Returns the danger of a right. Some rights are only dangerous if another Solution runs in the same namespace.
fn danger(right: &Right, shared: bool) -> Option<&'static str> {
    let danger = right.danger()?;
    (danger.when == When::Always || shared).then_some(danger.words)
}

pub(crate) fn planned_beyond(deployment: &Deployment) -> Option<PlannedBeyond> {
    let beyond = &deployment.beyond;
    if beyond.lines.is_empty() {
        return None;
    }
    let before = deployment.accepted_before();
    let new = beyond.new_lines(before);
    let line = |line: &Line| PlannedLine {
        text: line.text.clone(),
        new: new.contains(line),
        danger: line.danger,
    };
    let accepted = deployment.refused.is_none();
    Some(PlannedBeyond {
        id: beyond.id.clone(),
        accepted,
        again: !accepted && before.is_some_and(|before| before.grants.is_none()),
        lines: beyond.lines.iter().map(line).collect(),
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
