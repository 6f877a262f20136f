//! The data that the administrator of a single namespace needs to deploy an imported version: its record, the
//! environment of the namespace, and the site configuration that applies to it. The entry point is [`imported_for`];
//! see docs/decisions/0012-least-privilege.md.

use deployer::Cluster;
use schemas::{EnvironmentName, Namespace, SolutionName, Version};
use shelf::Record;

use crate::model::error::Error;
use crate::model::obstacle::{Above, Obstacle};
use crate::model::record;
use crate::model::sight::{Hidden, Sight};
use crate::model::site::HeldSite;
use crate::model::uses::check_free;
use crate::plan::rights::missing_alone;

/// Reads a version that the administrator of `namespace` wants to deploy: its record, the environment of the namespace,
/// and the site configuration that applies there. The error lists all blockers if the namespace has no environment or
/// the version is not imported. If the version's record cannot be read, the error also lists the other missing rights,
/// so that they can be granted together.
pub async fn imported_for(
    cluster: &Cluster,
    namespace: &Namespace,
    solution: &SolutionName,
    version: &Version,
) -> Result<(Record, EnvironmentName, HeldSite), Error> {
    let mut sight = Sight::default();
    let state = sight
        .of_administrator(cluster, namespace, solution, version)
        .await?;
    let place = state.namespaces.first();
    let mut obstacles = Vec::new();
    if place.is_none() {
        let unassigned = Above::NamespaceUnassigned {
            namespace: namespace.clone(),
        };
        obstacles.push(unassigned.into());
    }
    let record = state.record(solution, version);
    if sight.hides(&Hidden::Version(solution.clone(), version.clone())) {
        let record = record::reference(solution, version);
        obstacles.extend(missing_alone(cluster, namespace, &record).await?);
    } else if record.is_none() {
        obstacles.push(Obstacle::NotImported {
            solution: solution.clone(),
            version: version.clone(),
        });
    }
    match (record, place) {
        (Some(record), Some(place)) => {
            let site = state.site.held(Some(&place.environment))?;
            Ok((record.clone(), place.environment.clone(), site))
        }
        _ => Err(check_free(obstacles, &[]).expect_err("one of both is missing")),
    }
}
