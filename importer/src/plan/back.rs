//! The check for activating the CRDs of an older version than the active one. Only a user's explicit request leads
//! here. The check finds operators and CRDs that need the newer definitions; `crd` and `losses` check each replaced CRD
//! for lost objects.

use change::vocabulary as v;
use deployer::{Cluster, Selector};
use schemas::Version;
use serde_json::Value;

use crate::model::error::Error;
use crate::model::labelled;
use crate::model::obstacle::Obstacle;
use crate::model::request::Asked;
use crate::model::state::ClusterState;
use crate::plan::crd::written_by;

/// Adds blockers for operators of newer versions that are still running, and for CRDs that this version does not have.
/// Adds none if no CRD in the cluster is newer.
pub(crate) async fn check(
    asked: &Asked<'_>,
    cluster: &Cluster,
    state: &ClusterState,
    obstacles: &mut Vec<Obstacle>,
) -> Result<(), Error> {
    let (name, version) = (asked.id.name(), asked.id.version());
    let ours = Selector::label(v::SOLUTION, name.as_str());
    let crds = labelled::crds(cluster, &ours).await?;
    let newer = crds.iter().filter_map(|crd| {
        let newer = written_by(crd).filter(|newer| newer > version)?;
        Some((crd.name(), newer))
    });
    let newer: Vec<(&str, Version)> = newer.collect();
    if newer.is_empty() {
        return Ok(());
    }
    let running = state.deployments(name);
    let running = running.filter(|(_, running)| *running > version);
    let mut running: Vec<Obstacle> = running
        .map(|(space, running)| Obstacle::Deployed {
            solution: name.clone(),
            version: running.clone(),
            environment: space.environment.clone(),
        })
        .collect();
    // An environment may have multiple namespaces. The deployments are sorted by environment, so equal blockers are
    // adjacent.
    running.dedup();
    obstacles.append(&mut running);
    let definitions = asked.accepted.crds().iter();
    let known: Vec<&Value> = definitions
        .map(|definition| &definition.document["metadata"]["name"])
        .collect();
    let gone = newer
        .into_iter()
        .filter(|(crd, _)| !known.iter().any(|known| *known == crd));
    obstacles.extend(gone.map(|(crd, newer)| Obstacle::CrdOnlyNewer {
        crd: crd.to_owned(),
        newer,
        version: version.clone(),
    }));
    Ok(())
}
