//! A pod of which nothing is wanted but its image on its node: made, watched, and told apart from one that cannot have it.

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

/// The reasons for which a container that has its image waits, since it cannot be made or started all the same.
const PULLED: [&str; 4] = [
    "CreateContainerConfigError",
    "CreateContainerError",
    "PreStartHookError",
    "RunContainerError",
];

/// One look at a pod.
#[derive(Debug)]
enum PodLook {
    /// The node of the pod has the image.
    Pulled,
    /// The node has no image yet, or will not have it.
    Without {
        sighting: Option<Sighting>,
        awaited: Option<Awaited>,
    },
    /// The pod ended before its image came, for this reason.
    Over(String),
}

/// A pod that is there to have its image pulled. It goes with this value: at once where it is removed, in the background
/// where it is dropped. Must be dropped in a tokio runtime.
#[derive(Debug)]
pub struct Probe {
    cluster: Cluster,
    pod: Object,
    /// The count of the probe, as of a lease while it is held, so that whoever ends waits for both to be given back.
    counted: Option<Counted>,
}

impl Cluster {
    /// Creates a pod to have its image pulled. One that quotas or admission rules refuse is an [`Error::Pull`] that names
    /// them; one of the same name that is there already an [`Error::Changed`].
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
        // Of a pod that has a node, only events say whether it pulls.
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
    /// Waits until the node of the pod has its image, whether or not the program in it can be started. Ends early with
    /// [`Error::Pull`] when the pod's state shows that the image will not come. `deadline` is how long nothing may be
    /// seen to happen: a node that pulls is waited for, up to [`limits::PULLING`]. Tells what is waited for whenever it
    /// changes. Reads the pod, and its Events as far as we may.
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

    /// Deletes the pod, as long as it is this one.
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
            // Nobody is left to be told. Whoever makes the next one finds it.
            let _ = removed(&cluster, &pod).await;
        });
    }
}

/// Deletes this very pod, whatever its state is by now.
async fn removed(cluster: &Cluster, pod: &Object) -> Result<(), Error> {
    // Nothing runs in it that would need time to end.
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
        // One that somebody has deleted and made anew is not ours.
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

/// Whether every container has its image: it was made of it, or could not be for another reason.
fn has_image(pod: &Value) -> bool {
    let has = |status: &Value| {
        let reason = status["state"]["waiting"]["reason"].as_str();
        let made = status["imageID"].as_str().is_some_and(|id| !id.is_empty());
        made || reason.is_some_and(|reason| PULLED.contains(&reason))
    };
    let mut containers = diagnose::containers(pod).peekable();
    containers.peek().is_some() && containers.all(has)
}

/// Whether the node says so before it has made the container, which takes it longer than pulling a small image. Whoever
/// may write Events could say it too: then the pods of the Deployment tell what is wrong.
fn has_pulled(pod: &Value, events: &[Value]) -> bool {
    let uid = &pod["metadata"]["uid"];
    let mut of_pod = events
        .iter()
        .filter(|event| event["involvedObject"]["uid"] == *uid);
    of_pod.any(|event| event["reason"] == "Pulled")
}

/// Returns why a pod has ended, if it has.
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
