//! The prerequisites of a Solution: Kubernetes version, APIs, other Solutions, storage and node capacity. The entry
//! point is `Planner::check_prerequisites`, which reports all missing ones together.
//! docs/decisions/0036-prerequisites.md gives the reasons.
//!
//! [`import_order`] sorts multiple archives by their prerequisites. [`NodeCapacity`] is the capacity of nodes that
//! accept pods, minus the requests of running pods, and [`billionths`] parses the quantities of Kubernetes. These are
//! pure functions.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use kubernetes::{Cluster, Gvk, Object, ObjectRef, ServerVersion};
use schemas::{
    ApiName, FreeResources, Namespace, NeededSolution, NeededStorageClass, PlacedVersion,
    Prerequisites, Solution, SolutionSpec, list_names,
};
use serde_json::Value;

use crate::decide::setting::Planner;
use crate::model::blocker::Blocker;
use crate::model::blocker::prerequisites::UnmetPrerequisite;
use crate::model::error::Error;
use crate::model::request::Nodes;
use crate::model::writer::Authority;
use crate::objects::needs::{Needs, deny};
use crate::records::dependencies::{circle, meeting, needed_by};
use crate::status::readiness::readiness;

/// The annotations of a default storage class.
const DEFAULT_CLASS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

/// Returns a note on prerequisites that only a cluster administrator can check; none if all are checked.
pub(crate) fn not_looked_for(spec: &SolutionSpec, authority: &Authority) -> Option<String> {
    let needed = &spec.prerequisites;
    let of_everybody = Prerequisites {
        kubernetes: needed.kubernetes.clone(),
        api_groups: needed.api_groups.clone(),
        ..Prerequisites::default()
    };
    let is_some = matches!(authority, Authority::Namespace(_)) && *needed != of_everybody;
    is_some.then(|| {
        "the prerequisites on other Solutions, storage and nodes were not checked: this requires the rights of a cluster administrator".to_owned()
    })
}

impl Planner<'_> {
    /// Adds a blocker for each missing prerequisite, and for prerequisites of other Solutions that the new version in
    /// this namespace would no longer meet.
    pub(crate) async fn check_prerequisites(
        &self,
        namespace: &Namespace,
        blockers: &mut Vec<Blocker>,
    ) -> Result<(), Error> {
        let needed = &self.asked.accepted.manifest().spec.prerequisites;
        let (solution, version) = (self.asked.id.name(), self.asked.id.version());
        let environment = &self.target.environment;
        let mut unmet = Vec::new();
        unmet.extend(other_kubernetes(needed, self.cluster.version()));
        for api in &needed.api_groups {
            if !is_served(self.cluster, api).await? {
                unmet.push(UnmetPrerequisite::NeededApi { api: api.clone() });
            }
        }
        unmet.extend(needed_by(self.state, solution, |space, running| {
            let changes = space.namespace == *namespace;
            Some(if changes { version } else { running }.clone())
        }));
        if let Authority::Cluster = self.asked.request.authority {
            for needed in &needed.solutions {
                unmet.extend(self.not_ready(needed).await?);
            }
            let solutions = &needed.solutions;
            unmet.extend(circle(self.state, environment, solution, solutions));
            let mut needs = Needs::default();
            needs.prerequisites(needed);
            let before = blockers.len();
            deny(self.cluster, &needs, blockers).await?;
            if blockers.len() == before {
                unmet.extend(self.no_class(needed.storage_class.as_ref()).await?);
                // The pods of a running version already use their share of the capacity.
                let is_new = self.state.deployed(namespace, solution).is_none();
                let (all, nothing) = (&needed.free, FreeResources::default());
                let free = if is_new { all } else { &nothing };
                let nodes = needed.nodes.map_or(0, NonZeroU32::get);
                unmet.extend(self.no_room(free, nodes).await?);
            }
        }
        blockers.extend(unmet.into_iter().map(Blocker::from));
        Ok(())
    }

    /// Returns the blocker if another Solution is not installed or not ready.
    async fn not_ready(&self, needed: &NeededSolution) -> Result<Option<UnmetPrerequisite>, Error> {
        let comes = |before: &PlacedVersion| {
            before.solution == needed.name && needed.version.contains(&before.version)
        };
        // An earlier deployment of the same run installs the Solution.
        if self.asked.request.before.iter().any(comes) {
            return Ok(None);
        }
        let spaces = match meeting(self.state, &self.target.environment, needed) {
            Ok(spaces) => spaces,
            Err(unmet) => return Ok(Some(*unmet)),
        };
        let mut found = None;
        for space in spaces {
            let status = readiness(self.cluster, self.state, space, &needed.name).await?;
            let Some(status) = status.filter(|status| !status.is_ready()) else {
                return Ok(None);
            };
            found = Some(UnmetPrerequisite::NeededReady {
                solution: status.solution,
                version: status.version,
                environment: status.environment,
                why: status.why.unwrap_or_default(),
            });
        }
        Ok(found)
    }

    async fn no_class(
        &self,
        needed: Option<&NeededStorageClass>,
    ) -> Result<Option<UnmetPrerequisite>, Error> {
        const API: &str = "storage.k8s.io/v1";
        let (is_there, class) = match needed {
            None => return Ok(None),
            Some(NeededStorageClass::Name(name)) => {
                let class = ObjectRef::cluster_scoped(API, "StorageClass", name.as_str());
                let class = self.cluster.get(&class).await?;
                (class.is_some(), Some(name.clone()))
            }
            Some(NeededStorageClass::Default(_)) => {
                let classes = Gvk::new(API, "StorageClass");
                let classes = self.cluster.list(&classes, None, None).await?;
                (classes.iter().any(is_default), None)
            }
        };
        Ok((!is_there).then_some(UnmetPrerequisite::NeededStorageClass { class }))
    }

    /// Returns the blockers if too few nodes accept pods, or if their free capacity is too small.
    async fn no_room(
        &self,
        free: &FreeResources,
        nodes: u32,
    ) -> Result<Vec<UnmetPrerequisite>, Error> {
        let wanted = [("cpu", &free.cpu), ("memory", &free.memory)];
        let wanted = wanted.map(|(resource, needed)| Some((resource, needed.as_ref()?)));
        let wanted: Vec<_> = wanted.into_iter().flatten().collect();
        if wanted.is_empty() && nodes == 0 {
            return Ok(Vec::new());
        }
        let all = Gvk::new("v1", "Node");
        let all = self.cluster.list(&all, None, None).await?;
        let resources: Vec<&str> = wanted.iter().map(|(resource, _)| *resource).collect();
        let mut room = NodeCapacity::measure(&all, self.asked.request.nodes, &resources);
        let mut unmet = Vec::new();
        if room.count() < usize::try_from(nodes).unwrap_or(usize::MAX) {
            let (needed, found) = (nodes, room.count());
            unmet.push(UnmetPrerequisite::NeededNodes { needed, found });
        }
        if !wanted.is_empty() {
            let take = |pod: Object| room.take(&pod);
            let pods = Gvk::new("v1", "Pod");
            self.cluster.visit(&pods, None, None, take).await?;
        }
        for (resource, needed) in wanted {
            let free = room.free(resource);
            if billionths(needed.as_str()).is_none_or(|amount| free < amount) {
                unmet.push(UnmetPrerequisite::NeededRoom {
                    resource,
                    needed: needed.to_string(),
                    free: shown(resource, free),
                });
            }
        }
        Ok(unmet)
    }
}

/// Checks whether a storage class is the default one.
pub(crate) fn is_default(class: &Object) -> bool {
    let annotations = &class.as_value()["metadata"]["annotations"];
    DEFAULT_CLASS
        .iter()
        .any(|annotation| annotations[*annotation] == "true")
}

async fn is_served(cluster: &Cluster, api: &ApiName) -> Result<bool, Error> {
    let (api_version, kind) = api.parts();
    Ok(match kind {
        Some(kind) => cluster.serves(&Gvk::new(api_version, kind)).await?,
        None => cluster.serves_version(api_version).await?,
    })
}

/// Returns the blocker if the cluster has another version of Kubernetes. Suffixes that distributions add to the version
/// are ignored.
fn other_kubernetes(needed: &Prerequisites, version: &ServerVersion) -> Option<UnmetPrerequisite> {
    let text = version.text.trim_start_matches('v');
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let patch = text[..end.unwrap_or(text.len())].split('.').nth(2);
    let patch = patch
        .and_then(|number| number.parse().ok())
        .unwrap_or_default();
    let numbers = [version.major.into(), version.minor.into(), patch];
    let range = needed.kubernetes.as_ref();
    let range = range.filter(|range| !range.contains_numbers(numbers))?;
    Some(UnmetPrerequisite::NeededKubernetes {
        range: range.clone(),
        version: version.text.clone(),
    })
}

/// The error for Solutions that require each other, so that no order satisfies them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot order {}: each of them requires another one first", list_names(.0.clone()))]
pub struct CyclicPrerequisites(pub Vec<String>);

/// Returns the indexes of these Solutions in the order of their import. Each follows its prerequisites and the older
/// versions of itself. Otherwise, the given order is kept. Fails if Solutions require each other.
pub fn import_order(solutions: &[&Solution]) -> Result<Vec<usize>, CyclicPrerequisites> {
    let mut order = Vec::new();
    let mut open: Vec<usize> = (0..solutions.len()).collect();
    while !open.is_empty() {
        let waits = |at: usize| {
            let mut others = open.iter();
            others.any(|other| is_before(solutions[*other], solutions[at]))
        };
        let Some(place) = open.iter().position(|at| !waits(*at)) else {
            let open = open.iter().map(|at| solutions[*at]);
            let open = open
                .map(|solution| format!("{}-{}", solution.metadata.name, solution.spec.version));
            return Err(CyclicPrerequisites(open.collect()));
        };
        order.push(open.remove(place));
    }
    Ok(order)
}

/// Checks whether one Solution must be imported before another.
fn is_before(one: &Solution, other: &Solution) -> bool {
    let (name, version) = (&one.metadata.name, &one.spec.version);
    if *name == other.metadata.name {
        return *version < other.spec.version;
    }
    let mut needed = other.spec.prerequisites.solutions.iter();
    needed.any(|needed| needed.name == *name && needed.version.contains(version))
}

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
pub(crate) struct NodeCapacity {
    /// The free billionths of each resource, by node.
    nodes: BTreeMap<String, BTreeMap<&'static str, i128>>,
}

impl NodeCapacity {
    /// Returns the nodes that accept pods. If the request waits for nodes, it includes those that will accept pods once
    /// they are Ready.
    pub(crate) fn measure(nodes: &[Object], awaited: Nodes, resources: &[&'static str]) -> Self {
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
    use serde_json::json;

    use super::*;

    #[test]
    fn a_version_of_kubernetes_is_judged_by_its_numbers() {
        let unmet = |range: &str, text: &str| {
            let needed = Prerequisites {
                kubernetes: Some(range.parse().unwrap()),
                ..Prerequisites::default()
            };
            let (major, minor) = (1, 36);
            let text = text.to_owned();
            let version = ServerVersion { major, minor, text };
            other_kubernetes(&needed, &version).map(|unmet| unmet.to_string())
        };
        for (range, text) in [
            (">=1.36", "v1.36.2"),
            (">=1.36.2, <1.37", "v1.36.2-eks-abc"),
            ("~1.36.2", "v1.36.2+k3s1"),
            ("*", "v1.36.0-rc.1"),
            ("1.36", "v1.36"),
        ] {
            assert_eq!(unmet(range, text), None, "{range} {text}");
        }
        assert_eq!(
            unmet(">=1.37", "v1.36.2-eks-abc").unwrap(),
            "Kubernetes `>=1.37` is required, but the cluster runs v1.36.2-eks-abc"
        );
        assert!(unmet("<1.36.2", "v1.36.2-rc.1").is_some());
    }

    #[test]
    fn a_storage_class_is_the_default_one_by_its_annotation() {
        let class = |annotations| {
            let metadata = json!({ "name": "fast", "annotations": annotations });
            let class = json!({ "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata });
            is_default(&Object::new(class).unwrap())
        };
        for annotation in DEFAULT_CLASS {
            assert!(class(json!({ annotation: "true" })));
            assert!(!class(json!({ annotation: "false" })));
        }
        assert!(!class(json!({})));
    }

    #[test]
    fn what_is_not_looked_for_is_said() {
        let namespace = Authority::Namespace("prod".parse().unwrap());
        let said = |text: &str, authority: &Authority| {
            let text = format!("{{version: 1.0.0, prerequisites: {text}}}");
            let spec = schemas::yaml::from_slice(text.as_bytes()).unwrap();
            not_looked_for(&spec, authority).is_some()
        };
        let of_everybody = "{kubernetes: '1', apiGroups: [v1]}";
        assert!(!said(of_everybody, &namespace));
        for text in [
            "{solutions: [{name: db, version: '1'}]}",
            "{storageClass: {default: true}}",
            "{free: {cpu: '1'}}",
            "{nodes: 1}",
        ] {
            assert!(said(text, &namespace), "{text}");
            assert!(!said(text, &Authority::Cluster), "{text}");
        }
    }
}

#[cfg(test)]
mod order_tests {
    use schemas::SolutionId;

    use super::*;

    /// Returns a Solution with prerequisites, from `NAME-VERSION: NAME RANGE; NAME RANGE`.
    fn solution(text: &str) -> Solution {
        let (id, needed) = text.split_once(": ").unwrap_or((text, ""));
        let id: SolutionId = id.parse().unwrap();
        let needed = needed
            .split("; ")
            .filter_map(|needed| needed.split_once(' '));
        let needed = needed.map(|(name, range)| format!("{{name: {name}, version: '{range}'}}"));
        let needed = needed.collect::<Vec<_>>().join(", ");
        let manifest = format!(
            "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Solution\nmetadata: {{name: {}}}\nspec: {{version: {}, prerequisites: {{solutions: [{needed}]}}}}\n",
            id.name(),
            id.version()
        );
        Solution::from_slice(manifest.as_bytes()).unwrap()
    }

    fn order(texts: &[&str]) -> Result<Vec<String>, String> {
        let all: Vec<Solution> = texts.iter().map(|text| solution(text)).collect();
        let order = import_order(&all.iter().collect::<Vec<_>>());
        let order = order.map_err(|error| error.to_string())?;
        let ids = order.into_iter().map(|at| all[at].id().unwrap());
        Ok(ids.map(|id| id.to_string()).collect())
    }

    #[test]
    fn what_is_needed_comes_first() {
        for (given, expected) in [
            (vec!["b-1.0.0", "a-1.0.0"], vec!["b-1.0.0", "a-1.0.0"]),
            (vec!["b-1.0.0: a ^1", "a-1.0.0"], vec!["a-1.0.0", "b-1.0.0"]),
            // The given version does not meet the range. Whether the cluster has another one is not decided here.
            (vec!["b-1.0.0: a ^2", "a-1.0.0"], vec!["b-1.0.0", "a-1.0.0"]),
            (vec!["b-1.0.0: c *", "a-1.0.0"], vec!["b-1.0.0", "a-1.0.0"]),
            (
                vec!["c-1.0.0: b *", "d-1.0.0", "b-1.0.0: a *", "a-1.0.0"],
                vec!["d-1.0.0", "a-1.0.0", "b-1.0.0", "c-1.0.0"],
            ),
            (
                vec!["a-1.10.0", "b-1.0.0: a *", "a-1.9.0"],
                vec!["a-1.9.0", "a-1.10.0", "b-1.0.0"],
            ),
        ] {
            assert_eq!(order(&given).unwrap(), expected, "{given:?}");
        }
    }

    #[test]
    fn what_needs_each_other_has_no_order() {
        assert_eq!(
            order(&["x-1.0.0", "b-1.0.0: a *", "a-1.0.0: b ^1"]).unwrap_err(),
            "cannot order b-1.0.0, a-1.0.0: each of them requires another one first"
        );
        assert!(order(&["b-1.0.0: a *", "a-1.0.0: b ^2"]).is_ok());
    }
}

#[cfg(test)]
mod room_tests {
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
            let count = |awaited| NodeCapacity::measure(&nodes, awaited, &[]).count();
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
            let mut room = NodeCapacity::measure(&nodes, Nodes::AsTheyAre, &BOTH);
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
