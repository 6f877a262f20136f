//! Which image short-lived pods pull, and on which architectures, before anything of an operator is changed. An image that
//! its Deployment has already proves nothing anew.

use std::collections::BTreeSet;

use deployer::{Cluster, Node};
use registry::Client;
use schemas::{Namespace, Platform};
use serde_json::{Map, Value};

use crate::model::error::Error;
use crate::model::request::{Asked, Unproved};
use crate::plan::deployment::{Deployment, image_of};
use crate::plan::summary::PlannedProof;

/// What is to be pulled.
#[derive(Debug)]
pub(crate) struct Proof {
    pub(crate) namespace: Namespace,
    /// The image, as the Deployment names it.
    pub(crate) image: String,
    /// The registry, as nodes know it.
    pub(crate) host: String,
    /// The certificate authorities that it is pushed with.
    pub(crate) authorities: Option<String>,
    /// Those that the image and nodes have; none where that cannot be told, and any node counts.
    pub(crate) architectures: BTreeSet<String>,
}

impl Proof {
    /// What is to be pulled; nothing if the image stays, or this is not wanted.
    pub(crate) async fn wanted(
        asked: &Asked<'_>,
        deployment: &Deployment,
        client: &Client,
        cluster: &Cluster,
    ) -> Result<Option<Self>, Error> {
        let workload = deployment.of_kind("Deployment");
        let Some((workload, image)) = workload.and_then(|it| Some((it, image_of(it)?))) else {
            return Ok(None);
        };
        let stays = deployment.image_before.as_deref() == Some(image);
        if stays || asked.request.allowed.unproved == Unproved::Allow {
            return Ok(None);
        }
        let nodes = match cluster.nodes().await {
            Err(deployer::Error::Forbidden { .. }) => Vec::new(),
            nodes => nodes?,
        };
        let operator = asked.accepted.manifest().spec.operator.as_ref();
        let place = operator.map(|operator| operator.image.place());
        let mut images = asked.accepted.images().iter();
        let packed = images.find(|image| Some(&image.place) == place.as_ref());
        let selector = &workload.as_value()["spec"]["template"]["spec"]["nodeSelector"];
        let on = |platforms| shared(platforms, &nodes, selector.as_object());
        let authorities = client.authorities().join(&b'\n');
        let authorities = String::from_utf8_lossy(&authorities).into_owned();
        Ok(Some(Self {
            namespace: deployment.namespace.clone(),
            image: image.to_owned(),
            host: asked.record.pull_host().to_owned(),
            authorities: Some(authorities).filter(|pem| !pem.is_empty()),
            architectures: packed.map(|it| on(&it.platforms)).unwrap_or_default(),
        }))
    }

    /// Where pods are made for it: on each architecture, or on any node.
    pub(crate) fn places(&self) -> impl Iterator<Item = Option<&str>> {
        let any = self.architectures.is_empty().then_some(None);
        let each = self.architectures.iter().map(|it| Some(it.as_str()));
        each.chain(any)
    }

    /// The same in words.
    pub(crate) fn planned(&self) -> PlannedProof {
        PlannedProof {
            image: self.image.clone(),
            architectures: self.architectures.iter().cloned().collect(),
        }
    }
}

/// The architectures that an image has and nodes which take the pod.
fn shared(
    platforms: &BTreeSet<Platform>,
    nodes: &[Node],
    selector: Option<&Map<String, Value>>,
) -> BTreeSet<String> {
    let takes = |node: &&Node| {
        let has = |(name, value): (&String, &Value)| {
            node.labels.get(name).map(String::as_str) == value.as_str()
        };
        node.ready && node.schedulable && selector.into_iter().flatten().all(has)
    };
    let runs = |node: &&Node| {
        let mut platforms = platforms.iter();
        platforms.any(|it| it.os == node.os && it.architecture == node.architecture)
    };
    let nodes = nodes.iter().filter(takes).filter(runs);
    nodes.map(|node| node.architecture.clone()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(architecture: &str, label: &str) -> Node {
        Node {
            name: architecture.to_owned(),
            os: "linux".to_owned(),
            architecture: architecture.to_owned(),
            ready: true,
            schedulable: true,
            labels: [("pool".to_owned(), label.to_owned())].into(),
        }
    }

    #[test]
    fn an_architecture_counts_that_the_image_has_and_a_node_that_takes_the_pod() {
        let platforms = ["amd64", "arm64", "s390x"].map(|architecture| {
            let platform = json!({ "os": "linux", "architecture": architecture });
            serde_json::from_value(platform).unwrap()
        });
        let platforms = BTreeSet::from(platforms);
        let (amd, arm, ppc) = (node("amd64", "a"), node("arm64", "b"), node("ppc64le", "a"));
        let cordoned = Node {
            schedulable: false,
            ..node("s390x", "a")
        };
        let down = Node {
            ready: false,
            ..node("s390x", "a")
        };
        let nodes = [amd.clone(), amd, arm, ppc, cordoned, down];
        let of = |selector: Value| {
            let shared = shared(&platforms, &nodes, selector.as_object());
            shared.into_iter().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(Value::Null), "amd64 arm64");
        assert_eq!(of(json!({ "pool": "b" })), "arm64");
        assert_eq!(of(json!({ "pool": "b", "other": "c" })), "");
    }
}
