//! Preflight checks of a user's rights: [`deny`] adds an obstacle for each right that is missing.

use deployer::{Access, Cluster, Object};

use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::plan::rights::needs::Needs;

/// Checks whether listing the custom resources of these CRDs is denied.
pub(crate) async fn check_resources<'a>(
    cluster: &Cluster,
    definitions: impl Iterator<Item = &'a Object>,
    obstacles: &mut Vec<Obstacle>,
) -> Result<bool, Error> {
    let mut needs = Needs::default();
    needs.resources(definitions.map(Object::as_value));
    let before = obstacles.len();
    deny(cluster, &needs, obstacles).await?;
    Ok(obstacles.len() > before)
}

/// Checks whether listing running workloads is denied.
pub(crate) async fn check_looking(
    cluster: &Cluster,
    obstacles: &mut Vec<Obstacle>,
) -> Result<bool, Error> {
    let mut needs = Needs::default();
    needs.running();
    let before = obstacles.len();
    deny(cluster, &needs, obstacles).await?;
    Ok(obstacles.len() > before)
}

/// Adds an obstacle for each needed right that this user does not have.
pub(crate) async fn deny(
    cluster: &Cluster,
    needs: &Needs,
    obstacles: &mut Vec<Obstacle>,
) -> Result<(), Error> {
    let wanted: Vec<Access> = needs.wanted().cloned().collect();
    let denied = cluster.denied(&wanted).await?;
    obstacles.extend(denied.iter().map(Obstacle::denied));
    Ok(())
}
