//! The relation of a deployment to the pod network ([`Network`]). Nodes without a pod network are not Ready. Objects
//! that can run there are applied before the wait for nodes, because they may set up the network. Pure functions of
//! objects.

use change::{ObjectChange, Step};
use deployer::Object;
use manifests::pod_specs;
use serde_json::Value;

use crate::plan::deployment::Deployment;
use crate::plan::releases::hook_events;

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
    pub(crate) fn of<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Self {
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
            Step::Bring(_, changes) => Self::of(changes.iter().map(ObjectChange::object)),
            Step::Release(name) => match deployment.releases.named(name.as_str()) {
                Some(release) if release.changes() => Self::of(&release.objects),
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
            Network::of(&objects.collect::<Vec<_>>())
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
