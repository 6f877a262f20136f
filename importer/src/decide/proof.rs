//! The image that short-lived pods pull before a deployment changes anything, and the architectures of these pods. It
//! is the operator's image if it is new, else a new image of the packaged workloads. Images that run already need no
//! proof. The entry point is [`Proof::wanted`]; docs/decisions/0015-pull-proof.md gives the reasons.
//!
//! [`Network`] is the relation of a deployment to the pod network. Nodes without a pod network are not Ready. Objects
//! that can run there are applied before the wait for nodes, because they may set up the network.

use std::collections::BTreeSet;

use kubernetes::{Cluster, Node, Object};
use manifests::pod_specs;
use planner::{Entry, Inventory, ObjectChange, Stage, Step};
use registry::{CertificateAuthority, Client};
use schemas::{Image, Namespace, Platform, SetName, SolutionName};
use serde_json::{Map, Value, json};

use crate::decide::deployment::{Deployment, image_of, images_of};
use crate::model::error::Error;
use crate::model::request::{Nodes, PlanRequest, Unproved};
use crate::objects::operator::operator_name;
use crate::objects::releases::{hook_events, is_hook};

/// The name for any architecture.
pub(crate) const ANY: &str = "any";
/// The fields that determine the nodes and the pull credentials of an operator's pods.
const LIKE_THE_OPERATORS: [&str; 5] = [
    "serviceAccountName",
    "nodeSelector",
    "tolerations",
    "affinity",
    "priorityClassName",
];
/// The fields that determine the nodes of a packaged pod. Other fields, such as its account, priority class or pod
/// affinity, may refer to objects that do not exist yet.
const LIKE_A_CARRIED_ONE: [&str; 2] = ["nodeSelector", "tolerations"];

/// The owner of the pods that will run the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Runner {
    /// The operator.
    Operator,
    /// A workload of this set, or of this release of a chart.
    Part(SetName),
}

/// The image to pull.
#[derive(Debug)]
pub(crate) struct Proof {
    pub(crate) runner: Runner,
    pub(crate) namespace: Namespace,
    /// The image, as the workload names it.
    pub(crate) image: String,
    /// The registry, as nodes address it.
    pub(crate) host: String,
    /// The certificate authorities for pushing to the registry.
    pub(crate) authorities: Option<String>,
    /// The architectures that both the image and the nodes have. If they are unknown, the set is empty and any node
    /// counts.
    pub(crate) architectures: BTreeSet<String>,
    /// The fields that the pod copies from the workload's pods.
    pub(crate) like: Map<String, Value>,
}

/// An image that no pod of the deployment runs yet.
struct Unproven<'a> {
    runner: Runner,
    image: &'a str,
    platforms: Option<&'a BTreeSet<Platform>>,
    like: Map<String, Value>,
}

impl Unproven<'_> {
    /// Returns the architectures on which the image can be pulled; none if they are unknown.
    fn on(&self, nodes: &[Node]) -> BTreeSet<String> {
        let selector = self.like.get("nodeSelector").and_then(Value::as_object);
        let platforms = self.platforms;
        platforms
            .map(|platforms| shared(platforms, nodes, selector))
            .unwrap_or_default()
    }
}

impl Proof {
    /// Returns the image to pull; none if no image is new or the request does not want a proof.
    pub(crate) async fn wanted(
        asked: &PlanRequest<'_>,
        deployment: &Deployment,
        client: &Client,
        cluster: &Cluster,
    ) -> Result<Option<Self>, Error> {
        if asked.request.allowed.unproved == Unproved::Allow {
            return Ok(None);
        }
        let nodes = match cluster.nodes().await {
            // Without the right to list nodes, the pod may run on any node.
            Err(kubernetes::Error::Forbidden { .. }) => Vec::new(),
            nodes => nodes?,
        };
        // Pods cannot start before this deployment sets up the pod network.
        let is_first = of_deployment(deployment) == Network::Brought;
        let is_awaited = matches!(asked.request.nodes, Nodes::Awaited(_));
        if is_awaited && is_first && !nodes.iter().any(|node| node.ready) {
            return Ok(None);
        }
        let carried = || {
            let mut unproven = of_parts(asked, deployment).into_iter();
            // A DaemonSet may be for nodes that this cluster does not have, so the next image is used then.
            unproven.find(|unproven| nodes.is_empty() || !unproven.on(&nodes).is_empty())
        };
        let Some(unproven) = of_operator(asked, deployment).or_else(carried) else {
            return Ok(None);
        };
        let authorities = CertificateAuthority::join(client.authorities());
        Ok(Some(Self {
            namespace: deployment.namespace().clone(),
            image: unproven.image.to_owned(),
            host: asked.record.pull_host().to_owned(),
            authorities: Some(authorities).filter(|pem| !pem.is_empty()),
            architectures: unproven.on(&nodes),
            runner: unproven.runner,
            like: unproven.like,
        }))
    }

    /// Returns the architectures for pods, or none once for any node.
    pub(crate) fn places(&self) -> impl Iterator<Item = Option<&str>> {
        let any = self.architectures.is_empty().then_some(None);
        let each = self
            .architectures
            .iter()
            .map(|architecture| Some(architecture.as_str()));
        each.chain(any)
    }

    /// Returns the name of the pod for an architecture.
    pub(crate) fn pod(&self, solution: &SolutionName, place: Option<&str>) -> String {
        let place = place.unwrap_or(ANY);
        match self.runner {
            Runner::Operator => format!("{}-pull-{place}", operator_name(solution.as_str())),
            Runner::Part(_) => format!("{solution}-carried-pull-{place}"),
        }
    }

    /// Returns the pods for the inventory, so that pods of an interrupted run are found. An operator's pods are removed
    /// with its ServiceAccount.
    pub(crate) fn recorded(&self, solution: &SolutionName) -> Inventory {
        let Runner::Part(set) = &self.runner else {
            return Inventory::default();
        };
        let pod = |place| Entry {
            part: Some(set.clone()),
            stage: Stage::Data,
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            resource: "pods".to_owned(),
            namespace: Some(self.namespace.to_string()),
            name: self.pod(solution, place),
            inputs: None,
            uid: None,
        };
        Inventory {
            entries: self.places().map(pod).collect(),
            ..Inventory::default()
        }
    }
}

/// Returns the operator's image, if it is new.
fn of_operator<'a>(asked: &'a PlanRequest<'_>, deployment: &'a Deployment) -> Option<Unproven<'a>> {
    let workload = deployment.of_kind("Deployment")?;
    let image = image_of(workload)?;
    if deployment.images_before().contains(image) {
        return None;
    }
    let operator = asked.accepted.manifest().spec.operator.as_ref();
    let place = operator.map(|operator| operator.image.place());
    let mut images = asked.accepted.images().iter();
    let packed = images.find(|image| Some(&image.place) == place.as_ref());
    Some(Unproven {
        runner: Runner::Operator,
        image,
        platforms: packed.map(|image| &image.platforms),
        like: taken(
            &workload.as_value()["spec"]["template"]["spec"],
            &LIKE_THE_OPERATORS,
        ),
    })
}

/// Returns the first new image of each packaged workload, those of sets first.
fn of_parts<'a>(asked: &'a PlanRequest<'_>, deployment: &'a Deployment) -> Vec<Unproven<'a>> {
    let host = asked.record.pull_host();
    let images_before = deployment.images_before();
    let of_sets = deployment.change.of_parts();
    let of_sets = of_sets.map(|(part, object)| (part.clone(), object));
    let changing = deployment
        .releases
        .all
        .iter()
        .filter(|release| release.changes());
    let of_releases = changing.flat_map(|release| {
        let name = &release.recorded.name;
        // Sets and releases share one namespace for names.
        let part = name.as_str().parse::<SetName>().ok();
        let objects = release.objects.iter().filter(|object| !is_hook(object));
        objects.filter_map(move |object| Some((part.clone()?, object)))
    });
    let workload = |(set, object): (SetName, &'a Object)| {
        let pod = pod_specs(object.as_value()).into_iter().next()?;
        let pod = object.as_value().pointer(&pod)?;
        let is_new = |image: &&str| {
            image.starts_with(&format!("{host}/")) && !images_before.contains(*image)
        };
        let (image, packed) = images_of(pod)
            .filter(is_new)
            .find_map(|image| Some((image, packed(image, asked.accepted.images())?)))?;
        let mut like = taken(pod, &LIKE_A_CARRIED_ONE);
        if let Some(nodes) = pod.pointer("/affinity/nodeAffinity") {
            like.insert("affinity".to_owned(), json!({ "nodeAffinity": nodes }));
        }
        if let Some(secret) = &deployment.deployed.pull_secret {
            let secrets = json!([{ "name": secret }]);
            like.insert("imagePullSecrets".to_owned(), secrets);
        }
        Some(Unproven {
            runner: Runner::Part(set),
            image,
            platforms: Some(&packed.platforms),
            like,
        })
    };
    of_sets.chain(of_releases).filter_map(workload).collect()
}

/// Returns these fields of a pod's specification, if it has them.
fn taken(pod: &Value, fields: &[&str]) -> Map<String, Value> {
    let field = |name: &&str| Some(((*name).to_owned(), pod.get(*name)?.clone()));
    fields.iter().filter_map(field).collect()
}

/// Returns the packaged image of a reference.
fn packed<'a>(image: &str, images: &'a [Image]) -> Option<&'a Image> {
    let (_, digest) = image.rsplit_once('@')?;
    let mut images = images.iter();
    images.find(|packed| packed.root.digest.to_string() == digest)
}

/// Returns the architectures of the image that schedulable nodes matching the selector have.
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
        platforms
            .any(|platform| platform.os == node.os && platform.architecture == node.architecture)
    };
    let nodes = nodes.iter().filter(takes).filter(runs);
    nodes.map(|node| node.architecture.clone()).collect()
}

/// The taint of a node that is not Ready.
const NOT_READY: &str = "node.kubernetes.io/not-ready";
/// The events of the Helm hooks that an installation or upgrade completes before it creates other objects.
const BEFORE: [&str; 2] = ["pre-install", "pre-upgrade"];
/// The events of all Helm hooks that an installation or upgrade waits for.
const AWAITED: [&str; 4] = ["pre-install", "pre-upgrade", "post-install", "post-upgrade"];

/// The relation of objects that are applied together to the pod network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    /// The objects have no pods.
    Unneeded,
    /// The objects have pods that run without the network, and may set it up.
    Brought,
    /// The pods of the objects need the network.
    Needed,
}

impl Network {
    /// Returns the relation of these objects by all of their pods. They may set up the network if none of the pods
    /// needs it, or if a `DaemonSet` runs without it: the other pods then wait for that `DaemonSet`.
    pub(crate) fn from_objects<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Self {
        let (mut found, mut all, mut on_every_node) = (false, true, false);
        for object in objects {
            let events = hook_events(object);
            let is_at =
                |wanted: &[&str]| events.iter().any(|event| wanted.contains(&event.as_str()));
            if !events.is_empty() && !is_at(&AWAITED) {
                continue;
            }
            for pod in pod_specs(object.as_value()) {
                let pod = object.as_value().pointer(&pod);
                let runs = pod.is_some_and(runs_without_network);
                if !runs && is_at(&BEFORE) {
                    return Self::Needed;
                }
                found = true;
                all &= runs;
                on_every_node |= runs && object.gvk().kind == "DaemonSet";
            }
        }
        match (found, all || on_every_node) {
            (false, _) => Self::Unneeded,
            (true, true) => Self::Brought,
            (true, false) => Self::Needed,
        }
    }

    /// Returns the relation of the objects of a step.
    pub(crate) fn of_step(deployment: &Deployment, step: &Step) -> Self {
        match step {
            Step::Stop(_) => Self::Unneeded,
            Step::Bring(_, changes) => Self::from_objects(changes.iter().map(ObjectChange::object)),
            Step::Release(name) => match deployment.releases.named(name.as_str()) {
                Some(release) if release.changes() => Self::from_objects(&release.objects),
                _ => Self::Unneeded,
            },
        }
    }
}

/// Returns the relation of a whole deployment. One step that may set up the network suffices.
pub(crate) fn of_deployment(deployment: &Deployment) -> Network {
    let steps = deployment.change.steps.iter();
    let all = steps.map(|step| Network::of_step(deployment, step));
    let all: Vec<Network> = all.collect();
    let has = |network| all.contains(&network);
    match (has(Network::Brought), has(Network::Needed)) {
        (true, _) => Network::Brought,
        (false, true) => Network::Needed,
        (false, false) => Network::Unneeded,
    }
}

/// Checks whether a pod runs on a node that is not Ready for lack of a network. It must use the node's network and
/// tolerate the taint.
fn runs_without_network(pod: &Value) -> bool {
    let tolerations = pod["tolerations"].as_array();
    let mut tolerations = tolerations.into_iter().flatten();
    pod["hostNetwork"] == true && tolerations.any(tolerates)
}

fn tolerates(toleration: &Value) -> bool {
    let text = |field: &str| toleration[field].as_str().unwrap_or_default();
    let any_value = match text("operator") {
        "Exists" => true,
        "" | "Equal" => text("key") == NOT_READY && text("value").is_empty(),
        _ => false,
    };
    any_value
        && ["", NOT_READY].contains(&text("key"))
        && ["", "NoSchedule"].contains(&text("effect"))
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

#[cfg(test)]
mod network_tests {
    use serde_json::json;

    use super::*;

    fn workload(kind: &str, event: &str, pod: &Value) -> Object {
        let annotations = match event {
            "" => json!({}),
            event => json!({ "helm.sh/hook": event }),
        };
        let api = if kind == "Job" { "batch/v1" } else { "apps/v1" };
        Object::new(json!({
            "apiVersion": api, "kind": kind,
            "metadata": { "name": "a", "annotations": annotations },
            "spec": { "template": { "spec": pod } },
        }))
        .unwrap()
    }

    fn able() -> Value {
        json!({ "hostNetwork": true, "tolerations": [{ "operator": "Exists" }] })
    }

    #[test]
    fn what_runs_without_a_network_may_bring_it_to_the_rest() {
        let (able, other) = (able(), json!({}));
        let of = |all: &[(&str, &str, &Value)]| {
            let objects = all
                .iter()
                .map(|(kind, event, pod)| workload(kind, event, pod));
            Network::from_objects(&objects.collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), Network::Unneeded);
        assert_eq!(of(&[("Deployment", "", &able)]), Network::Brought);
        assert_eq!(of(&[("Deployment", "", &other)]), Network::Needed);
        let agent = ("DaemonSet", "", &able);
        assert_eq!(of(&[agent, ("Deployment", "", &other)]), Network::Brought);
        let both = [("Deployment", "", &able), ("Deployment", "", &other)];
        assert_eq!(of(&both), Network::Needed);
        // A hook before the installation has no node to run on. One after it has, and test hooks are not run.
        assert_eq!(
            of(&[agent, ("Job", "pre-install", &other)]),
            Network::Needed
        );
        assert_eq!(
            of(&[agent, ("Job", "post-install", &other)]),
            Network::Brought
        );
        let tested = [("Deployment", "", &able), ("Job", "test", &other)];
        assert_eq!(of(&tested), Network::Brought);
    }

    #[test]
    fn a_pod_runs_without_a_network_where_the_scheduler_puts_it_on_such_a_node() {
        let runs = |host: bool, toleration: Value| {
            runs_without_network(&json!({ "hostNetwork": host, "tolerations": [toleration] }))
        };
        for toleration in [
            json!({ "operator": "Exists" }),
            json!({ "operator": "Exists", "effect": "NoSchedule" }),
            json!({ "key": NOT_READY, "operator": "Exists" }),
            json!({ "key": NOT_READY, "effect": "NoSchedule" }),
        ] {
            assert!(runs(true, toleration.clone()), "{toleration}");
            assert!(!runs(false, toleration));
        }
        for toleration in [
            json!({ "operator": "Exists", "effect": "NoExecute" }),
            json!({ "key": NOT_READY, "operator": "Exists", "effect": "NoExecute" }),
            json!({ "key": NOT_READY, "value": "true" }),
            json!({ "key": "node-role.kubernetes.io/control-plane", "operator": "Exists" }),
            json!({}),
        ] {
            assert!(!runs(true, toleration.clone()), "{toleration}");
        }
        assert!(!runs_without_network(&json!({ "hostNetwork": true })));
    }
}
