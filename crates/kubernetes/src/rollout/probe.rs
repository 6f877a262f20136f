//! Probe pods, which test whether a node can pull an image ([`Cluster::probe`]). A pod is created, observed, and
//! deleted again.

use std::time::Duration;

use http::Method;
use progress::ProgressSink;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Suspicion;
use super::diagnosis::{self, Observation};
use super::state::{self, AwaitedCondition};
use crate::cluster::Cluster;
use crate::cluster::request::{Call, escape};
use crate::error::{Error, bounded};
use crate::failure::{PodProblem, PullFailure};
use crate::lease::{HeldLeases, LeaseCount};
use crate::limits;
use crate::object::Object;
use crate::poll::{Poll, Schedule, poll};
use crate::read::object_in;
use crate::write::apply::FieldManager;

/// The waiting reasons of a container whose image was pulled but that cannot be created or started.
const PULLED: [&str; 4] = [
    "CreateContainerConfigError",
    "CreateContainerError",
    "PreStartHookError",
    "RunContainerError",
];

/// The state of a probe pod.
#[derive(Debug)]
enum PullState {
    /// The node of the pod has the image.
    Pulled,
    /// The node does not have the image yet, or cannot pull it.
    Without {
        observation: Option<Observation>,
        awaited: Option<AwaitedCondition>,
    },
    /// The pod terminated before its image was pulled, for this reason.
    Terminated(String),
}

/// A pod that tests an image pull. It is deleted with this value: immediately by [`Probe::remove`], in the background
/// if the value is dropped. Must be dropped in a tokio runtime.
#[derive(Debug)]
pub struct Probe {
    cluster: Cluster,
    pod: Object,
    /// The count of this probe among the held leases, so that a program that exits waits for its deletion.
    counted: Option<LeaseCount>,
}

impl Cluster {
    /// Creates a probe pod. Fails with [`Error::Pull`] if quotas or admission rules reject it, and with
    /// [`Error::Changed`] if a pod of the same name exists.
    pub async fn probe(
        &self,
        pod: &Object,
        manager: &FieldManager,
        leases: &HeldLeases,
    ) -> Result<Probe, Error> {
        let doing = format!("create {}", pod.reference());
        let path = format!(
            "{}?fieldManager={}&fieldValidation=Strict",
            self.collection_path(pod.gvk(), pod.namespace()).await?,
            escape(manager.as_str()),
        );
        let call = Call::json(Method::POST, path, pod.as_value(), &doing)?;
        match self.call(&call).await {
            Ok(reply) => Ok(Probe {
                cluster: self.clone(),
                pod: object_in(&reply, &doing)?,
                counted: Some(leases.count()),
            }),
            Err(Error::Forbidden { message, .. } | Error::Invalid { message, .. }) => {
                let stuck = diagnosis::refusal(&message);
                Err(failure(pod, None, stuck, &message))
            }
            Err(error) => Err(error),
        }
    }

    async fn pull_state(&self, pod: &Object) -> Result<PullState, Error> {
        let value = pod.as_value();
        if has_image(value) {
            return Ok(PullState::Pulled);
        }
        if let Some(why) = termination_reason(value) {
            return Ok(PullState::Terminated(why));
        }
        let namespace = pod.namespace().unwrap_or_default();
        // Only events show whether a scheduled pod pulls its image.
        let events = if value["spec"]["nodeName"].is_string() {
            self.events_of(namespace, &value["metadata"]["uid"]).await?
        } else {
            Vec::new()
        };
        if has_pulled(value, &events) {
            return Ok(PullState::Pulled);
        }
        let observation = diagnosis::diagnose_pod(value, &events);
        let awaited = match &observation {
            Some(observation) => Some(AwaitedCondition::Cause {
                stuck: observation.stuck.clone(),
                pod: observation.pod.clone(),
                detail: observation.detail.clone(),
            }),
            None => state::pod_condition(value, &events),
        };
        Ok(PullState::Without {
            observation,
            awaited,
        })
    }
}

impl Probe {
    /// Waits until the node has the image, whether or not its program can be started. Fails early with [`Error::Pull`]
    /// if the state of the pod shows that the pull will not succeed. `deadline` is the time without observable
    /// progress: while a node pulls, the wait continues up to [`limits::PULLING`]. Reports each change of the awaited
    /// condition. Reads the pod, and its events if the user may read them.
    pub async fn pulled(
        &self,
        deadline: Duration,
        tell: ProgressSink<'_, AwaitedCondition>,
    ) -> Result<(), Error> {
        let schedule = Schedule::new(deadline);
        let last = schedule.begun + limits::PULLING.max(deadline);
        let mut pause = limits::FIRST_LOOK;
        let (mut reported, mut suspicion) = (None, Suspicion::default());
        let pulled = async |schedule: &mut Schedule| {
            schedule.pause = pause;
            pause = limits::POLL.min(pause * 2);
            let live = self.cluster.get(self.pod.reference()).await?;
            let Some(live) = live.filter(|live| live.uid() == self.pod.uid()) else {
                return Ok(self.fail(None, PodProblem::NoCause, "the pod was deleted"));
            };
            let (observation, awaited) = match self.cluster.pull_state(&live).await {
                Ok(PullState::Pulled) => return Ok(Poll::Met(())),
                Ok(PullState::Terminated(why)) => {
                    return Ok(self.fail(Some(&live), PodProblem::PodRefused, &why));
                }
                Ok(PullState::Without {
                    observation,
                    awaited,
                }) => (observation, awaited),
                Err(error) => return Ok(Poll::Failed(error)),
            };
            if let Some(AwaitedCondition::Image { .. }) = &awaited {
                schedule.end = last.min(Instant::now() + deadline);
            }
            let is_certain = suspicion.is_certain(observation.as_ref());
            if is_certain || schedule.is_over() {
                let observation =
                    observation.unwrap_or_else(|| Observation::without_cause(awaited.as_ref()));
                return Ok(self.fail(Some(&live), observation.stuck, &observation.detail));
            }
            if awaited.is_some() && awaited != reported {
                reported.clone_from(&awaited);
                awaited.into_iter().for_each(tell);
            }
            Ok(Poll::Pending)
        };
        poll(schedule, pulled).await.map(|((), _)| ())
    }

    fn fail(&self, live: Option<&Object>, stuck: PodProblem, detail: &str) -> Poll<()> {
        Poll::Failed(failure(&self.pod, live, stuck, detail))
    }

    /// Deletes the pod, if it is still the same one.
    pub async fn remove(mut self) -> Result<(), Error> {
        let removed = removed(&self.cluster, &self.pod).await;
        self.counted = None;
        removed
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let Some(counted) = self.counted.take() else {
            return;
        };
        let (cluster, pod) = (self.cluster.clone(), self.pod.clone());
        tokio::spawn(async move {
            let _counted = counted;
            // An error cannot be reported here. The next probe finds the pod.
            let _ = removed(&cluster, &pod).await;
        });
    }
}

/// Deletes this pod, identified by its uid, in any state.
async fn removed(cluster: &Cluster, pod: &Object) -> Result<(), Error> {
    // The pod runs nothing that needs time to stop.
    let options = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": { "uid": pod.uid() },
    });
    let path = cluster.object_path(pod.reference()).await?;
    let doing = format!("delete {}", pod.reference());
    let call = Call::json(Method::DELETE, path, &options, &doing)?;
    match cluster.call(&call).await {
        // A recreated pod with the same name is not this one.
        Ok(_) | Err(Error::NotFound { .. } | Error::Changed { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn failure(pod: &Object, live: Option<&Object>, stuck: PodProblem, detail: &str) -> Error {
    let node = live.and_then(|live| live.as_value()["spec"]["nodeName"].as_str());
    Error::Pull(Box::new(PullFailure {
        pod: pod.name().to_owned(),
        node: node.map(bounded),
        stuck,
        detail: bounded(detail),
    }))
}

/// Checks whether every container has its image: it was created from it, or could not be for another reason.
fn has_image(pod: &Value) -> bool {
    let has = |status: &Value| {
        let reason = status["state"]["waiting"]["reason"].as_str();
        let made = status["imageID"].as_str().is_some_and(|id| !id.is_empty());
        made || reason.is_some_and(|reason| PULLED.contains(&reason))
    };
    let mut containers = diagnosis::containers(pod).peekable();
    containers.peek().is_some() && containers.all(has)
}

/// Checks whether an event reports the image as pulled. It precedes the creation of the container, which takes longer
/// than pulling a small image. The event may be forged by anyone who may write events; in that case, the failure shows
/// in the pods of the Deployment.
fn has_pulled(pod: &Value, events: &[Value]) -> bool {
    let uid = &pod["metadata"]["uid"];
    let mut of_pod = events
        .iter()
        .filter(|event| event["involvedObject"]["uid"] == *uid);
    of_pod.any(|event| event["reason"] == "Pulled")
}

/// Returns the reason why a pod has terminated, if it has.
fn termination_reason(pod: &Value) -> Option<String> {
    let status = &pod["status"];
    if status["phase"] != "Failed" && status["phase"] != "Succeeded" {
        return None;
    }
    let words = [&status["reason"], &status["message"]];
    let words: Vec<&str> = words.into_iter().filter_map(Value::as_str).collect();
    Some(match words.as_slice() {
        [] => "the pod has ended".to_owned(),
        words => words.join(": "),
    })
}

#[cfg(test)]
mod tests;
