//! What is in the way of the clusters of a fleet, each thing once.

use std::collections::BTreeMap;

use anyhow::anyhow;
use schemas::ClusterUid;

use super::PlannedMember;
use super::planned::DeploymentPlan;
use crate::commands::refusal::InTheWay;
use crate::failure::{Failure, Outcome};
use crate::render;

/// Refuses to change what another entry leads to as well.
pub(super) fn refuse_twice(planned: &mut [PlannedMember]) {
    let mut first: BTreeMap<ClusterUid, String> = BTreeMap::new();
    for member in planned {
        let Ok(plan) = &member.plan else {
            continue;
        };
        if let Some(other) = first.get(&plan.system) {
            let same = anyhow!("it is the cluster of `{other}` (UID {})", plan.system);
            member.plan = Err(Failure::no(same).hint("leave one of the two entries out"));
        } else {
            first.insert(plan.system.clone(), member.name.clone());
        }
    }
}

/// Something in the way, with the clusters that have it.
struct Hindrance<'a> {
    clusters: Vec<&'a str>,
    /// The deployment, behind a comma; nothing if it is the cluster as a whole.
    of: String,
    why: InTheWay,
}

/// What is in the way of any cluster, each thing once with the clusters that have it.
pub(super) fn in_the_way(planned: &[PlannedMember], skips: bool) -> Vec<InTheWay> {
    let mut found: Vec<Hindrance<'_>> = Vec::new();
    let mut add = |name, of: &str, why: InTheWay| {
        let mut known = found.iter_mut();
        match known.find(|it| it.of == of && it.why.message == why.message) {
            Some(known) => known.clusters.push(name),
            None => found.push(Hindrance {
                clusters: vec![name],
                of: of.to_owned(),
                why,
            }),
        }
    };
    for member in planned {
        let name = member.name.as_str();
        match &member.plan {
            Err(failure) if !skips || failure.outcome() != Outcome::Unknown => {
                add(name, "", InTheWay::from(failure));
            }
            _ => {}
        }
        for DeploymentPlan { placed, why, .. } in member.deployments() {
            let of = format!(", {placed}");
            for it in why {
                add(name, &of, it.clone());
            }
        }
    }
    let told = |Hindrance { clusters, of, why }| InTheWay {
        message: format!("{}{of}: {}", render::list(clusters), why.message),
        ..why
    };
    found.into_iter().map(told).collect()
}
