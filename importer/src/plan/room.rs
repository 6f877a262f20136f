//! The capacity of nodes that accept pods, minus the requests of running pods ([`Room`]), and the quantities of
//! Kubernetes ([`billionths`]). Pure functions of nodes and pods.

use std::collections::BTreeMap;

use deployer::Object;
use serde_json::Value;

use crate::model::request::Nodes;

/// The prefix of the taints that Kubernetes itself sets for node conditions.
const CONDITIONS: &str = "node.kubernetes.io/";
/// The effects of taints that keep pods from a node.
const AWAY: [&str; 2] = ["NoSchedule", "NoExecute"];
/// The decimal units, each 1000 times the previous one, from a billionth on.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// The maximum number of digits before the point. Kubernetes has no larger quantities.
const DIGITS: usize = 19;
/// The number of digits after the point. Kubernetes rounds to billionths.
const FRACTION: u32 = 9;

/// The nodes that accept pods, with their free capacity.
#[derive(Debug)]
pub(crate) struct Room {
    /// The free billionths of each resource, by node.
    nodes: BTreeMap<String, BTreeMap<&'static str, i128>>,
}

impl Room {
    /// Returns the nodes that accept pods. If the request waits for nodes, it includes those that will accept pods once
    /// they are Ready.
    pub(crate) fn of(nodes: &[Object], awaited: Nodes, resources: &[&'static str]) -> Self {
        let takes = |node: &&Object| takes_pods(node.as_value(), awaited);
        let nodes = nodes.iter().filter(takes).map(|node| {
            let allocatable = &node.as_value()["status"]["allocatable"];
            let free = resources
                .iter()
                .map(|resource| (*resource, amount(&allocatable[*resource])));
            (node.name().to_owned(), free.collect())
        });
        Self {
            nodes: nodes.collect(),
        }
    }

    /// Returns the number of nodes.
    pub(crate) fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Subtracts the requests of a pod from the free capacity of its node.
    pub(crate) fn take(&mut self, pod: &Object) {
        let pod = pod.as_value();
        let phase = &pod["status"]["phase"];
        if phase == "Succeeded" || phase == "Failed" {
            return;
        }
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        for (resource, free) in self.nodes.get_mut(node).into_iter().flatten() {
            *free -= asked(&pod["spec"], resource);
        }
    }

    /// Returns the free billionths of a resource on all nodes together. An overcommitted node counts as zero.
    pub(crate) fn free(&self, resource: &str) -> i128 {
        let free = self.nodes.values().filter_map(|free| free.get(resource));
        free.map(|amount| (*amount).max(0)).sum()
    }
}

fn takes_pods(node: &Value, awaited: Nodes) -> bool {
    let conditions = node["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let is_ready =
        conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    let is_awaited = matches!(awaited, Nodes::Awaited(_));
    let taints = node["spec"]["taints"].as_array().into_iter().flatten();
    let mut taints = taints.filter(|taint| {
        let key = taint["key"].as_str().unwrap_or_default();
        !(is_awaited && key.starts_with(CONDITIONS))
    });
    let keeps_away = taints.any(|taint| AWAY.iter().any(|effect| taint["effect"] == *effect));
    (is_ready || is_awaited) && node["spec"]["unschedulable"] != true && !keeps_away
}

/// Returns a pod's request for a resource. It is the sum over its containers, or the request of an init container with
/// the sidecars started before it, if that is larger. See "Resource sharing within containers" in the documentation of
/// Kubernetes.
fn asked(pod: &Value, resource: &str) -> i128 {
    let requests = |of: &Value| amount(&of["resources"]["requests"][resource]);
    let overhead = amount(&pod["overhead"][resource]);
    if !pod["resources"]["requests"][resource].is_null() {
        return requests(pod) + overhead;
    }
    let containers = |list: &str| pod[list].as_array().into_iter().flatten();
    let (mut beside, mut first) = (0, 0);
    for container in containers("initContainers") {
        if container["restartPolicy"] == "Always" {
            beside += requests(container);
            first = first.max(beside);
        } else {
            first = first.max(beside + requests(container));
        }
    }
    let together = containers("containers").map(requests).sum::<i128>() + beside;
    together.max(first) + overhead
}

fn amount(value: &Value) -> i128 {
    value.as_str().and_then(billionths).unwrap_or_default()
}

/// Parses a quantity of Kubernetes into billionths; none if it is invalid. Exponents such as `1e3` are not supported,
/// since quantities are not written like this in practice.
pub(crate) fn billionths(text: &str) -> Option<i128> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() > DIGITS || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let whole: i128 = match whole {
        "" => 0,
        whole => whole.parse().ok()?,
    };
    let kept: String = fraction.chars().take(FRACTION as usize).collect();
    let fraction: i128 = match kept.as_str() {
        "" => 0,
        kept => kept.parse().ok()?,
    };
    let digits = u32::try_from(kept.len()).ok()?;
    let number = whole * 10_i128.pow(FRACTION) + fraction * 10_i128.pow(FRACTION - digits);
    let place = |units: &[&str]| units.iter().position(|known| *known == unit);
    if let Some(power) = place(&BINARY) {
        return number.checked_mul(1024_i128.checked_pow(u32::try_from(power).ok()? + 1)?);
    }
    match u32::try_from(place(&DECIMAL)?).ok()? {
        power @ 3.. => number.checked_mul(1000_i128.checked_pow(power - 3)?),
        power => Some(number / 1000_i128.pow(3 - power)),
    }
}

/// Formats an amount in the usual unit: processors in thousandths, memory in mebibytes.
pub(crate) fn shown(resource: &str, billionths: i128) -> String {
    match resource {
        "cpu" => format!("{}m", billionths / 1_000_000),
        _ => format!("{}Mi", billionths / 1_000_000_000 / 1024 / 1024),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    const BOTH: [&str; 2] = ["cpu", "memory"];
    const AWAITED: Nodes = Nodes::Awaited(Duration::from_secs(1));

    fn node(name: &str, ready: &str, spec: &Value) -> Object {
        Object::new(json!({
            "apiVersion": "v1", "kind": "Node", "metadata": { "name": name }, "spec": spec,
            "status": {
                "conditions": [{ "type": "Ready", "status": ready }],
                "allocatable": { "cpu": "2", "memory": "4Gi" },
            },
        }))
        .unwrap()
    }

    fn pod(node: &str, phase: &str, spec: Value) -> Object {
        let mut spec = spec;
        spec["nodeName"] = json!(node);
        Object::new(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" },
            "spec": spec, "status": { "phase": phase },
        }))
        .unwrap()
    }

    fn requests(cpu: &str) -> Value {
        json!({ "resources": { "requests": { "cpu": cpu, "memory": "1Gi" } } })
    }

    #[test]
    fn quantities_of_kubernetes_are_numbers() {
        for (text, expected) in [
            ("2", Some(2_000_000_000)),
            ("0.5", Some(500_000_000)),
            (".5", Some(500_000_000)),
            ("1.5k", Some(1_500_000_000_000)),
            ("250m", Some(250_000_000)),
            ("7u", Some(7_000)),
            ("7n", Some(7)),
            ("1Ki", Some(1_024_000_000_000)),
            ("1.5Gi", Some(1_610_612_736_000_000_000)),
            ("1E", Some(1_000_000_000_000_000_000_000_000_000)),
            ("", None),
            (".", None),
            ("-1", None),
            ("1.2.3", None),
            ("1e3", None),
            ("1 Gi", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(billionths(text), expected, "{text}");
        }
        assert_eq!(shown("cpu", billionths("1.25").unwrap()), "1250m");
        assert_eq!(shown("memory", billionths("1.5Gi").unwrap()), "1536Mi");
    }

    #[test]
    fn nodes_take_pods_unless_something_keeps_these_away() {
        let taint =
            |key: &str, effect: &str| json!({ "taints": [{ "key": key, "effect": effect }] });
        let not_ready = taint("node.kubernetes.io/not-ready", "NoSchedule");
        let (cordoned, plain) = (json!({ "unschedulable": true }), json!({}));
        let control_plane = taint("node-role.kubernetes.io/control-plane", "NoSchedule");
        let preferred = taint("a.test/b", "PreferNoSchedule");
        for (ready, spec, now, later) in [
            ("True", &plain, 1, 1),
            ("False", &plain, 0, 1),
            ("Unknown", &not_ready, 0, 1),
            ("True", &cordoned, 0, 0),
            ("True", &control_plane, 0, 0),
            ("True", &preferred, 1, 1),
        ] {
            let nodes = [node("a", ready, spec)];
            let count = |awaited| Room::of(&nodes, awaited, &[]).count();
            let found = (count(Nodes::AsTheyAre), count(AWAITED));
            assert_eq!(found, (now, later), "{ready} {spec}");
        }
    }

    #[test]
    fn what_pods_ask_for_is_not_free() {
        let nodes = [
            node("a", "True", &json!({})),
            node("b", "True", &json!({})),
            node("c", "False", &json!({})),
        ];
        let free = |pods: &[Object]| {
            let mut room = Room::of(&nodes, Nodes::AsTheyAre, &BOTH);
            for pod in pods {
                room.take(pod);
            }
            BOTH.map(|resource| shown(resource, room.free(resource)))
        };
        let containers = |all: &[&str]| {
            let all: Vec<Value> = all.iter().map(|cpu| requests(cpu)).collect();
            json!({ "containers": all })
        };
        assert_eq!(free(&[]), ["4000m", "8192Mi"]);
        let two = containers(&["500m", "1"]);
        assert_eq!(
            free(&[pod("a", "Running", two.clone())]),
            ["2500m", "6144Mi"]
        );
        // These pods have ended, wait for a node, or run on a node that accepts no other pods.
        for elsewhere in [
            pod("a", "Succeeded", two.clone()),
            pod("", "Pending", two.clone()),
            pod("c", "Running", two),
        ] {
            assert_eq!(free(&[elsewhere]), ["4000m", "8192Mi"]);
        }
        let mut before = containers(&["500m"]);
        before["initContainers"] = json!([requests("1")]);
        assert_eq!(free(&[pod("a", "Running", before.clone())])[0], "3000m");
        before["initContainers"][0]["restartPolicy"] = json!("Always");
        before["overhead"] = json!({ "cpu": "100m" });
        assert_eq!(free(&[pod("a", "Running", before)])[0], "2400m");
        let mut whole = containers(&["500m"]);
        whole["resources"] = json!({ "requests": { "cpu": "1500m" } });
        assert_eq!(free(&[pod("a", "Running", whole)])[0], "2500m");
        // An overcommitted node does not reduce the capacity of the other nodes.
        let much = pod("a", "Running", containers(&["5"]));
        assert_eq!(free(&[much])[0], "2000m");
    }
}
