//! The wait for nodes before a deployment that needs them.

use deployer::{Cluster, Waited};
use importer::{Event, Ready};
use watch::Tell;

use crate::failure::Failure;

/// Waits until the nodes are ready, where a plan asks for it, and tells what keeps them.
pub(super) async fn wait_nodes(
    ready: &Ready<'_>,
    cluster: &Cluster,
    tell: Tell<'_, Event>,
) -> Result<Waited, Failure> {
    let Some(longest) = ready.awaits_nodes() else {
        return Ok(Waited::No);
    };
    let tell = |nodes| tell(Event::Nodes(nodes));
    let waited = cluster.wait_nodes(longest, &tell).await;
    Ok(waited.map_err(importer::Error::from)?)
}
