//! What is known of a cluster of a fleet, and the values that follow for each deployment there.

use fleet::{ComputeError, ComputedSite, Deployed, FleetFile, Members};
use importer::FoundFacts;

use super::member::Member;
use crate::failure::Failure;

/// What came of a deployment in a cluster.
pub(super) struct ComputedDeployment {
    /// Its place among `solutions`.
    pub(super) solution: usize,
    pub(super) values: Result<ComputedSite, Vec<ComputeError>>,
}

/// What came of a cluster that was reached.
pub(super) struct ComputedMember {
    pub(super) found: FoundFacts,
    pub(super) deployments: Vec<ComputedDeployment>,
}

/// Asks a cluster for what is known of it, and computes all that it chooses.
pub(super) async fn compute(
    file: &FleetFile,
    members: &Members<'_>,
    at: usize,
    Member {
        cluster, network, ..
    }: &Member,
) -> Result<ComputedMember, Failure> {
    let spec = file.spec();
    let member = &spec.clusters[at];
    let found = importer::find_facts(cluster, network, member, at, &spec.facts).await;
    let found = found.map_err(importer::Error::from)?;
    let solutions = spec.solutions.iter().enumerate();
    let runs = solutions.filter(|(_, it)| members.of_solution(it).contains(&at));
    let deployments = runs.map(|(solution, _)| {
        let deployed = Deployed {
            cluster: at,
            solution,
        };
        let values = fleet::compute(file, members, deployed, &found.facts);
        ComputedDeployment { solution, values }
    });
    Ok(ComputedMember {
        deployments: deployments.collect(),
        found,
    })
}
