//! The state of a rollout: its progress, and the condition that it waits for. The functions only evaluate objects that
//! were read before.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::diagnosis::{DiagnosisInput, Observation, containers, is_being_set_up};
use crate::error::cut;
use crate::failure::PodProblem;
use crate::limits;

/// The progress of a rollout in pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RolloutProgress {
    /// The desired number of pods.
    pub wanted: u64,
    /// The pods of the new version.
    pub updated: u64,
    /// The pods of any version that have been ready long enough.
    pub available: u64,
    /// The pods of all versions.
    pub existing: u64,
}

impl RolloutProgress {
    /// Returns the number of available pods of the current version that the numbers prove: every pod of an earlier
    /// version is assumed to be available. The result is at most the desired number, because surplus pods are about to
    /// be stopped.
    #[must_use]
    pub fn ready(&self) -> u64 {
        let former = self.existing.saturating_sub(self.updated);
        self.available.saturating_sub(former).min(self.wanted)
    }
}

/// The state of a rollout at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutState {
    /// The numbers.
    pub progress: RolloutProgress,
    /// The condition that it waits for; `None` if all pods are of the current version and available.
    pub awaited: Option<AwaitedCondition>,
}

/// The condition that a rollout waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "what", rename_all = "camelCase")]
#[schemars(rename = "Awaited")]
pub enum AwaitedCondition {
    /// The cluster has not observed the current version.
    Notice,
    /// The pods of the current version are not created yet.
    Pods,
    /// A pod has no node.
    Node {
        /// The pod.
        pod: String,
    },
    /// A node pulls an image.
    Image {
        /// The pod.
        pod: String,
        /// The reference of the image.
        image: String,
    },
    /// A node is setting up a pod.
    Start {
        /// The pod.
        pod: String,
    },
    /// A problem prevents a pod from becoming ready.
    Cause {
        /// The cause.
        #[serde(flatten)]
        stuck: PodProblem,
        /// The pod in which it is seen.
        #[serde(skip_serializing_if = "Option::is_none")]
        pod: Option<String>,
        /// The message of the cluster.
        detail: String,
    },
    /// Pods of earlier versions are still running.
    Former {
        /// The number of these pods.
        pods: u64,
    },
    /// The pods cannot be read, perhaps because of missing rights.
    Unseen,
}

impl fmt::Display for AwaitedCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Notice => f.write_str("the cluster has not observed this version yet"),
            Self::Pods => f.write_str("no pod of this version has been created yet"),
            Self::Node { pod } => write!(f, "pod {pod} has no node yet"),
            Self::Image { pod, image } => write!(f, "pulling image {image}, pod {pod}"),
            Self::Start { pod } => write!(f, "the node is setting up pod {pod}"),
            Self::Cause { stuck, pod, detail } => stuck.write(pod.as_deref(), detail, f),
            Self::Former { pods: 1 } => f.write_str("a pod of another version is still running"),
            Self::Former { pods } => write!(f, "{pods} pods of other versions are still running"),
            Self::Unseen => f.write_str("the reason is unknown"),
        }
    }
}

/// Returns the condition that an incomplete rollout waits for, given the diagnosis of the same objects.
pub(crate) fn awaited_condition(
    input: &DiagnosisInput,
    progress: &RolloutProgress,
    observation: Option<&Observation>,
) -> AwaitedCondition {
    if let Some(observation) = observation {
        return AwaitedCondition::Cause {
            stuck: observation.stuck.clone(),
            pod: observation.pod.clone(),
            detail: observation.detail.clone(),
        };
    }
    // Without the owner, the pods are missing only because the user may not read them.
    if input.owner.is_some() && input.pods.is_empty() {
        return AwaitedCondition::Pods;
    }
    let coming = input
        .pods
        .iter()
        .find_map(|pod| pod_condition(pod, &input.events));
    coming.unwrap_or(match progress.existing.saturating_sub(progress.updated) {
        0 => AwaitedCondition::Unseen,
        pods => AwaitedCondition::Former { pods },
    })
}

impl Observation {
    /// Returns the sighting for a timeout without an observed cause.
    pub(crate) fn without_cause(awaited: Option<&AwaitedCondition>) -> Self {
        Self {
            stuck: PodProblem::NoCause,
            pod: None,
            container: None,
            detail: awaited.map(ToString::to_string).unwrap_or_default(),
        }
    }
}

/// Returns the condition that a pod without a problem waits for.
pub(super) fn pod_condition(pod: &Value, events: &[Value]) -> Option<AwaitedCondition> {
    let name = || cut(text(&pod["metadata"]["name"]), limits::MAX_SHOWN_VALUE);
    if !pod["spec"]["nodeName"].is_string() {
        return Some(AwaitedCondition::Node { pod: name() });
    }
    let begun = containers(pod).next().is_some();
    if begun && !containers(pod).any(is_being_set_up) {
        return None;
    }
    Some(match pulling(pod, events) {
        Some(image) => AwaitedCondition::Image {
            pod: name(),
            image: cut(image, limits::MAX_SHOWN_VALUE),
        },
        None => AwaitedCondition::Start { pod: name() },
    })
}

/// Returns the image that a node is pulling. The status of a pod does not contain it, only events do.
fn pulling<'a>(pod: &Value, events: &'a [Value]) -> Option<&'a str> {
    let images = |reason: &'static str| {
        events
            .iter()
            .filter(move |event| {
                event["reason"] == reason
                    && event["involvedObject"]["uid"] == pod["metadata"]["uid"]
            })
            // The message is: Pulling image "registry/name:tag"
            .filter_map(|event| text(&event["message"]).split('"').nth(1))
    };
    images("Pulling").find(|image| images("Pulled").all(|pulled| pulled != *image))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn input(pods: Vec<Value>, events: Vec<Value>) -> DiagnosisInput {
        DiagnosisInput {
            workload: json!({}),
            owner: Some(json!({})),
            pods,
            former: Vec::new(),
            events,
        }
    }

    fn words(input: &DiagnosisInput, progress: RolloutProgress) -> String {
        awaited_condition(input, &progress, None).to_string()
    }

    fn pod(node: Option<&str>, waiting: &str) -> Value {
        json!({"metadata": {"name": "app-1", "uid": "u1"}, "spec": {"nodeName": node},
            "status": {"containerStatuses": [{"name": "main", "ready": false, "state": {"waiting": {"reason": waiting}}}]}})
    }

    fn event(reason: &str, uid: &str, message: &str) -> Value {
        json!({"reason": reason, "involvedObject": {"uid": uid}, "message": message})
    }

    #[test]
    fn pods_of_former_versions_are_not_counted_as_ready() {
        let ready = |updated, available, existing| {
            RolloutProgress {
                wanted: 2,
                updated,
                available,
                existing,
            }
            .ready()
        };
        assert_eq!(ready(2, 2, 2), 2);
        assert_eq!(ready(1, 2, 3), 0, "two old ones");
        assert_eq!(ready(2, 3, 3), 2);
        assert_eq!(ready(3, 3, 3), 2, "one has yet to end");
    }

    #[test]
    fn each_step_of_a_pod_has_its_words() {
        let progress = RolloutProgress::default();
        let shown = |pods: Vec<Value>| words(&input(pods, Vec::new()), progress);
        assert_eq!(
            shown(Vec::new()),
            "no pod of this version has been created yet"
        );
        assert_eq!(shown(vec![pod(None, "")]), "pod app-1 has no node yet");
        let creating = pod(Some("node"), "ContainerCreating");
        assert_eq!(shown(vec![creating]), "the node is setting up pod app-1");
        let silent = json!({"metadata": {"name": "app-1"}, "spec": {"nodeName": "node"}});
        assert_eq!(shown(vec![silent]), "the node is setting up pod app-1");
    }

    #[test]
    fn the_image_that_is_pulled_is_named_until_it_is_there() {
        let mut events = vec![
            event("Pulling", "u2", "Pulling image \"r/other:1\""),
            event("Pulling", "u1", "Pulling image \"r/init:1\""),
            event(
                "Pulled",
                "u1",
                "Successfully pulled image \"r/init:1\" in 2s",
            ),
            event("Pulling", "u1", "Pulling image \"r/app:1\""),
        ];
        let progress = RolloutProgress::default();
        let creating = pod(Some("node"), "ContainerCreating");
        assert_eq!(
            words(&input(vec![creating.clone()], events.clone()), progress),
            "pulling image r/app:1, pod app-1"
        );
        events.push(event(
            "Pulled",
            "u1",
            "Successfully pulled image \"r/app:1\" in 2s",
        ));
        assert_eq!(
            words(&input(vec![creating], events), progress),
            "the node is setting up pod app-1"
        );
    }

    #[test]
    fn pods_of_former_versions_are_named_when_nothing_else_is_awaited() {
        let mut running = pod(Some("node"), "");
        running["status"]["containerStatuses"][0] =
            json!({"name": "main", "ready": true, "state": {"running": {}}});
        let progress = RolloutProgress {
            wanted: 1,
            updated: 1,
            available: 2,
            existing: 2,
        };
        assert_eq!(
            words(&input(vec![running], Vec::new()), progress),
            "a pod of another version is still running"
        );
    }
}
