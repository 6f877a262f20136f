//! Probe pods, which test whether a node can pull an image ([`Cluster::probe`]). A pod is created, observed, and
//! deleted again.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;
use watch::Tell;

use super::Suspicion;
use super::awaited::{self, Awaited};
use super::diagnose::{self, Sighting};
use crate::cluster::Cluster;
use crate::cluster::wire::{Call, endure, escape};
use crate::error::{Error, bounded};
use crate::lease::{Counted, Leases};
use crate::limits;
use crate::object::Object;
use crate::read::object_in;
use crate::stuck::{PullFailure, Stuck};
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
enum PodLook {
    /// The node of the pod has the image.
    Pulled,
    /// The node does not have the image yet, or cannot pull it.
    Without {
        sighting: Option<Sighting>,
        awaited: Option<Awaited>,
    },
    /// The pod terminated before its image was pulled, for this reason.
    Over(String),
}

/// A pod that tests an image pull. It is deleted with this value: immediately by [`Probe::remove`], in the background
/// if the value is dropped. Must be dropped in a tokio runtime.
#[derive(Debug)]
pub struct Probe {
    cluster: Cluster,
    pod: Object,
    /// The count of this probe among the held leases, so that a program that exits waits for its deletion.
    counted: Option<Counted>,
}

impl Cluster {
    /// Creates a probe pod. Fails with [`Error::Pull`] if quotas or admission rules reject it, and with
    /// [`Error::Changed`] if a pod of the same name exists.
    pub async fn probe(
        &self,
        pod: &Object,
        manager: &FieldManager,
        leases: &Leases,
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
                let stuck = diagnose::refusal(&message);
                Err(failure(pod, None, stuck, &message))
            }
            Err(error) => Err(error),
        }
    }

    async fn look_at_pull(&self, pod: &Object) -> Result<PodLook, Error> {
        let value = pod.as_value();
        if has_image(value) {
            return Ok(PodLook::Pulled);
        }
        if let Some(why) = over(value) {
            return Ok(PodLook::Over(why));
        }
        let namespace = pod.namespace().unwrap_or_default();
        // Only events tell whether a scheduled pod pulls its image.
        let events = if value["spec"]["nodeName"].is_string() {
            self.events_of(namespace, &value["metadata"]["uid"]).await?
        } else {
            Vec::new()
        };
        if has_pulled(value, &events) {
            return Ok(PodLook::Pulled);
        }
        let sighting = diagnose::of_pod(value, &events);
        let awaited = match &sighting {
            Some(sighting) => Some(Awaited::Cause {
                stuck: sighting.stuck.clone(),
                pod: sighting.pod.clone(),
                detail: sighting.detail.clone(),
            }),
            None => awaited::of_pod(value, &events),
        };
        Ok(PodLook::Without { sighting, awaited })
    }
}

impl Probe {
    /// Waits until the node has the image, whether or not its program can be started. Fails early with [`Error::Pull`]
    /// if the state of the pod shows that the pull will not succeed. `deadline` is the time without observable
    /// progress: while a node pulls, the wait continues up to [`limits::PULLING`]. Reports each change of the awaited
    /// condition. Reads the pod, and its events if the user may read them.
    pub async fn pulled(&self, deadline: Duration, tell: Tell<'_, Awaited>) -> Result<(), Error> {
        let (cluster, pod) = (&self.cluster, &self.pod);
        let begun = Instant::now();
        let last = begun + limits::PULLING.max(deadline);
        let (mut end, mut pause) = (begun + deadline, limits::FIRST_LOOK);
        let (mut shown, mut suspicion) = (None, Suspicion::default());
        loop {
            let live = endure(cluster.get(pod.reference()).await, end)?;
            if let Some(live) = live {
                let live = live.filter(|live| live.uid() == pod.uid());
                let live =
                    live.ok_or_else(|| failure(pod, None, Stuck::NoCause, "the pod was deleted"))?;
                let (sighting, awaited) = match cluster.look_at_pull(&live).await? {
                    PodLook::Pulled => return Ok(()),
                    PodLook::Over(why) => {
                        return Err(failure(pod, Some(&live), Stuck::PodRefused, &why));
                    }
                    PodLook::Without { sighting, awaited } => (sighting, awaited),
                };
                if let Some(Awaited::Image { .. }) = &awaited {
                    end = last.min(Instant::now() + deadline);
                }
                let certain = suspicion.is_certain(sighting.as_ref());
                if certain || Instant::now() >= end {
                    let sighting = sighting.unwrap_or_else(|| Sighting::nothing(awaited.as_ref()));
                    return Err(failure(pod, Some(&live), sighting.stuck, &sighting.detail));
                }
                if let Some(awaited) = awaited.filter(|awaited| shown.as_ref() != Some(awaited)) {
                    tell(awaited.clone());
                    shown = Some(awaited);
                }
            }
            tokio::time::sleep(pause).await;
            pause = limits::POLL.min(pause * 2);
        }
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

fn failure(pod: &Object, live: Option<&Object>, stuck: Stuck, detail: &str) -> Error {
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
    let mut containers = diagnose::containers(pod).peekable();
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
fn over(pod: &Value) -> Option<String> {
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
