//! What is in the way of the clusters of a fleet, each thing once.

use fleet::FleetFile;

use super::PlannedMember;
use super::planned::DeploymentPlan;
use crate::commands::refusal::InTheWay;
use crate::failure::Outcome;
use crate::render;

/// Something in the way, with the clusters that have it.
struct Hindrance<'a> {
    clusters: Vec<&'a str>,
    /// The deployment, behind a comma; nothing if it is the cluster as a whole.
    of: String,
    why: InTheWay,
}

/// What is in the way of any cluster, each thing once with the clusters that have it.
pub(super) fn in_the_way(
    file: &FleetFile,
    planned: &[PlannedMember],
    skips: bool,
) -> Vec<InTheWay> {
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
        for DeploymentPlan { solution, why, .. } in member.deployments() {
            let of = format!(", {}", file.spec().solutions[*solution]);
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
