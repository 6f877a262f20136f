//! What an administrator should know before an import, and no reason to stop.

use deployer::{Access, Cluster, Node};
use registry::Client;
use schemas::{Image, SolutionId};
use validator::Accepted;

use crate::model::error::Error;
use crate::model::sight::{Hidden, Sight};
use crate::model::state::ClusterState;
use crate::plan::deployment::Deployment;

/// Who else than the registry gets the login, versions that are newer than this one, and images that no node runs.
pub(crate) async fn notes(
    accepted: &Accepted,
    client: &Client,
    (cluster, sight): (&Cluster, &mut Sight),
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
    let right = Access::new("list", "", "nodes");
    let nodes = sight.of(cluster.nodes().await, Hidden::Nodes, &right)?;
    let nodes = nodes.unwrap_or_default();
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
    let token_server = client
        .token_server()
        .map(|host| format!("the registry delegates logins to {host}: the login is sent there"));
    Ok(token_server
        .into_iter()
        .chain(newer)
        .chain(homeless)
        .collect())
}

/// That nothing is known to collect an operator's metrics.
pub(crate) fn uncollected(deployment: &Deployment) -> Option<String> {
    let service = deployment.of_kind("Service")?.reference();
    let collected = deployment.of_kind("ServiceMonitor").is_some();
    (!collected).then(|| {
        format!(
            "the cluster has no ServiceMonitors: what collects metrics has to be told of {service}"
        )
    })
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
