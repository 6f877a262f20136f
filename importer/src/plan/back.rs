//! Going back to the CRDs of an older version: only where a person asks for it, and nothing needs those of the newer one.

use deployer::{Cluster, Object, Selector};
use schemas::Version;

use crate::model::error::Error;
use crate::model::inventory::{self, custom_resources};
use crate::model::obstacle::Obstacle;
use crate::model::request::Asked;
use crate::model::state::ClusterState;
use crate::model::vocabulary as v;
use crate::plan::crd::written_by;

/// What needs the CRDs of newer versions: operators of such versions, and custom resources. Nothing, where no CRD in the
/// cluster is newer.
pub(crate) async fn check(
    asked: &Asked<'_>,
    cluster: &Cluster,
    state: &ClusterState,
    obstacles: &mut Vec<Obstacle>,
) -> Result<(), Error> {
    let (name, version) = (asked.id.name(), asked.id.version());
    let ours = Selector::label(v::SOLUTION, name.as_str());
    let crds = inventory::crds(cluster, &ours).await?;
    let newer = crds.into_iter().filter_map(|crd| {
        let newer = written_by(&crd).filter(|newer| newer > version)?;
        Some((crd, newer))
    });
    let newer: Vec<(Object, Version)> = newer.collect();
    if newer.is_empty() {
        return Ok(());
    }
    let running = state.deployments(name);
    let running = running.filter(|(_, running)| *running > version);
    let mut running: Vec<Obstacle> = running
        .map(|(space, running)| {
            Obstacle::Deployed(name.clone(), running.clone(), space.environment.clone())
        })
        .collect();
    // An environment may have several namespaces; they are sorted by it.
    running.dedup();
    obstacles.append(&mut running);
    for (crd, newer) in newer {
        match needed(asked, cluster, &crd, newer).await {
            Ok(needed) => obstacles.extend(needed),
            Err(Error::Refused(obstacle)) => obstacles.push(obstacle),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What needs a newer version's CRD as it is. The older one may lack fields of the objects that exist, and the API
/// server drops what it does not know.
async fn needed(
    asked: &Asked<'_>,
    cluster: &Cluster,
    crd: &Object,
    newer: Version,
) -> Result<Option<Obstacle>, Error> {
    let (name, version) = (crd.name().to_owned(), asked.id.version().clone());
    let mut definitions = asked.accepted.crds().iter();
    if !definitions.any(|known| known.document["metadata"]["name"] == name.as_str()) {
        return Ok(Some(Obstacle::CrdOnlyNewer(name, newer, version)));
    }
    let resources = custom_resources(cluster, crd).await?;
    Ok(resources.first().map(|first| {
        let first = first.reference().to_string();
        Obstacle::CrdHolds(name, resources.len(), first, version)
    }))
}
