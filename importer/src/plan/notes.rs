//! What an administrator should know before an import, and no reason to stop.

use deployer::{Cluster, Node};
use registry::Client;
use schemas::{Image, SolutionId};
use validator::Accepted;

use crate::model::error::Error;
use crate::model::state::ClusterState;

/// Who else than the registry gets the login, versions that are newer than this one, images that no node runs, and what
/// is not done for the operator.
pub(crate) async fn notes(
    accepted: &Accepted,
    client: &Client,
    cluster: &Cluster,
    state: &ClusterState,
    id: &SolutionId,
) -> Result<Vec<String>, Error> {
    let newer = state
        .records
        .iter()
        .filter(|record| record.name == *id.name() && record.version > *id.version())
        .map(|record| &record.version)
        .max();
    let newer =
        newer.map(|version| format!("a newer version, {version}, has already been imported"));
    let nodes = cluster.nodes().await?;
    let homeless = accepted
        .images()
        .iter()
        .filter(|image| !fits(image, &nodes))
        .map(|image| {
            let platforms: Vec<String> = image.platforms.iter().map(ToString::to_string).collect();
            format!(
                "image {} runs only on {}, and no node has that platform",
                image.place,
                platforms.join(", ")
            )
        });
    let operator = accepted.manifest().spec.operator.as_ref();
    let metrics = operator
        .and_then(|operator| operator.metrics.as_ref())
        .filter(|metrics| metrics.enabled);
    let metrics = metrics.map(|_| {
        "the manifest asks for the operator's metrics to be collected: set that up yourself"
            .to_owned()
    });
    let token_server = client
        .token_server()
        .map(|host| format!("the registry delegates logins to {host}: the login is sent there"));
    Ok(token_server
        .into_iter()
        .chain(newer)
        .chain(homeless)
        .chain(metrics)
        .collect())
}

/// Whether some node runs the image. Artifacts name no platform, and a cluster without nodes says nothing.
fn fits(image: &Image, nodes: &[Node]) -> bool {
    let runs = |node: &Node| {
        image
            .platforms
            .iter()
            .any(|platform| platform.os == node.os && platform.architecture == node.architecture)
    };
    image.platforms.is_empty() || nodes.is_empty() || nodes.iter().any(runs)
}
