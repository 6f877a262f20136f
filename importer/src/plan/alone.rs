//! The part of an imported version that an administrator of only one namespace has to know before a plan is made.

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

/// A version that is to run in a namespace, for who administers only it: its record, the environment of the namespace, and
/// what of the site counts there. What is missing to read it is named with all else that is missing there.
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
