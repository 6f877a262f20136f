//! Waiting until objects are settled, many at a time, and saying in words what keeps those that are not.

use std::fmt;
use std::time::Duration;

use futures::stream::{self, StreamExt, TryStreamExt};
use tokio::time::Instant;
use watch::Tell;

use super::settled;
use crate::cluster::Cluster;
use crate::cluster::wire::endure;
use crate::error::Error;
use crate::limits;
use crate::object::{Object, ObjectRef};
use crate::rollout::awaited::{Awaited, RolloutProgress, awaited};
use crate::rollout::diagnose::{Scene, Sighting, diagnose, diagnose_at_the_end};
use crate::rollout::scene::Workload;
use crate::rollout::{Suspicion, settling};
use crate::stuck::unsettled::{Cause, Settled, Unready, Unsettled};
use crate::stuck::{Passing, Stuck};

/// How an object stands that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The object.
    pub object: ObjectRef,
    /// Whether it is settled.
    pub state: Settled,
    /// What its pods wait for, where it has some and it can be seen.
    pub awaited: Option<Awaited>,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object, self.state)?;
        match &self.awaited {
            Some(awaited) => write!(f, ", {awaited}"),
            None => Ok(()),
        }
    }
}

/// One object that is waited for, and what is known of it from the looks before.
#[derive(Debug)]
struct Waiting {
    object: ObjectRef,
    /// As it was last seen.
    live: Option<Object>,
    /// As it was last told.
    told: Option<Standing>,
    suspicion: Suspicion,
    failed_since: Option<Instant>,
    ready_since: Option<Instant>,
}

/// One look at an object.
#[derive(Debug)]
struct Look {
    live: Option<Object>,
    state: Settled,
    awaited: Option<Awaited>,
    /// What is seen to keep its pods, and whether it goes away by itself.
    seen: Option<(Stuck, Passing)>,
    /// Whether it is ready for so long already that it need not be watched.
    is_old: bool,
}

/// What a look comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Done,
    /// Ready, and not for long enough to be believed.
    Watch,
    Wait,
    GiveUp,
}

impl Cluster {
    /// Waits until all of these objects are [`settled`], those without a readiness probe for [`limits::SETTLED`] as in
    /// [`Cluster::wait_rollout`]. Definitions are waited for until clients find every version they serve; of these, and of
    /// an aggregated API, kinds are looked up anew. A Job that is not there any more has been cleaned up after its end,
    /// as far as events do not say otherwise.
    ///
    /// Ends early with [`Error::Unsettled`] when one has failed or its pods cannot get their images; what another
    /// object of the same release may still bring (a crash for want of a database, a Secret that a Job makes, a node) is
    /// waited for to the end. Tells how an object stands whenever that changes. Reads the objects; and `ReplicaSet`s,
    /// Pods, their log and Events as far as we may.
    pub async fn wait_settled(
        &self,
        objects: &[ObjectRef],
        deadline: Duration,
        tell: Tell<'_, Standing>,
    ) -> Result<(), Error> {
        let begun = Instant::now();
        let end = begun + deadline;
        let mut waiting: Vec<Waiting> = objects.iter().map(Waiting::new).collect();
        while !waiting.is_empty() {
            let mut pause = limits::POLL;
            if let Some(looks) = endure(self.look_at_all(&waiting).await, end)? {
                let workloads = looks.iter().filter(|look| look.awaited.is_some()).count();
                pause =
                    pause.max(limits::PER_WORKLOAD * u32::try_from(workloads).unwrap_or(u32::MAX));
                let mut left = Vec::new();
                for (mut one, look) in waiting.into_iter().zip(looks) {
                    match one.judge(look, tell) {
                        Verdict::Done => {}
                        verdict => left.push((verdict, one)),
                    }
                }
                let any = |wanted| left.iter().any(|(verdict, _)| *verdict == wanted);
                if any(Verdict::GiveUp) || (any(Verdict::Wait) && Instant::now() >= end) {
                    return Err(self.unsettled(left, begun.elapsed()).await);
                }
                waiting = left.into_iter().map(|(_, one)| one).collect();
            }
            if !waiting.is_empty() {
                tokio::time::sleep(pause.min(deadline)).await;
            }
        }
        Ok(())
    }

    async fn look_at_all(&self, waiting: &[Waiting]) -> Result<Vec<Look>, Error> {
        let references: Vec<&ObjectRef> = waiting.iter().map(|one| &one.object).collect();
        let live = self.get_all(&references).await?;
        let looks = waiting
            .iter()
            .zip(live)
            .map(|(one, live)| self.look_at(one, live));
        stream::iter(looks)
            .buffered(limits::PARALLEL)
            .try_collect()
            .await
    }

    async fn look_at(&self, one: &Waiting, live: Option<Object>) -> Result<Look, Error> {
        let Some(live) = live else {
            let mut look = Look::at(self.absent(one).await?);
            look.is_old = true;
            return Ok(look);
        };
        let state = match settled(&live) {
            Settled::Ready if !self.is_found(&live).await? => {
                super::pending("clients do not find it yet")
            }
            state => state,
        };
        let mut look = Look::at(state);
        match look.state {
            Settled::Ready => {
                look.is_old = one.ready_since.is_none()
                    && (!may_stop(&live) || self.is_settled(&live).await?);
            }
            Settled::Pending(_) => {
                if let Some(scene) = self.scene_of(&live).await? {
                    look.at_pods(&live, &scene);
                }
            }
            Settled::Failed(_) => {}
        }
        look.live = Some(live);
        Ok(look)
    }

    /// Whether clients find what an object adds to the server's kinds. What was known about them is asked for anew.
    async fn is_found(&self, live: &Object) -> Result<bool, Error> {
        match live.gvk().kind.as_str() {
            "CustomResourceDefinition" => self.is_served(live).await,
            "APIService" => {
                let spec = &live.as_value()["spec"];
                let text = |field: &str| spec[field].as_str().unwrap_or_default();
                let api_version = format!("{}/{}", text("group"), text("version"));
                self.kinds.forget(&api_version);
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    /// What is to be thought of an object that is not there.
    async fn absent(&self, one: &Waiting) -> Result<Settled, Error> {
        let object = &one.object;
        if !is_job(object) {
            return Ok(super::pending("it is not there"));
        }
        let uid = one.live.as_ref().and_then(Object::uid);
        let ended = self.end_of_job(object, uid).await?;
        Ok(ended.unwrap_or_else(|| match uid {
            Some(_) => Settled::Ready,
            None => super::pending("it is not there"),
        }))
    }

    /// The error that names all of them, with a diagnosis of the first.
    async fn unsettled(&self, mut left: Vec<(Verdict, Waiting)>, after: Duration) -> Error {
        left.retain(|(verdict, _)| *verdict != Verdict::Watch);
        // Those first that ended the wait; the sort keeps the order of others.
        left.sort_by_key(|(verdict, _)| *verdict != Verdict::GiveUp);
        let mut objects = Vec::new();
        let mut explained = 0;
        for (_, one) in left {
            // Each was told when it was judged.
            let Some(standing) = one.told else { continue };
            let mut cause = None;
            if let Some(live) = &one.live
                && Workload::of(live).is_some()
                && explained < limits::MAX_EXPLAINED
            {
                explained += 1;
                cause = self.cause(live).await;
            }
            objects.push(Unready {
                object: standing.object,
                state: standing.state,
                awaited: standing.awaited.map(|awaited| awaited.to_string()),
                cause,
            });
        }
        Error::Unsettled(Box::new(Unsettled { objects, after }))
    }

    /// What keeps a workload's pods. A diagnosis is a help, not a need: whatever keeps it away, what is not settled is to
    /// be reported.
    async fn cause(&self, live: &Object) -> Option<Cause> {
        let scene = self.scene_of(live).await.ok()??;
        let sighting = diagnose_at_the_end(&scene)?;
        let namespace = live.namespace().unwrap_or_default();
        Some(Cause {
            log: self.log_of(namespace, &sighting).await,
            stuck: sighting.stuck,
            pod: sighting.pod,
            detail: sighting.detail,
        })
    }
}

impl Waiting {
    fn new(object: &ObjectRef) -> Self {
        Self {
            object: object.clone(),
            live: None,
            told: None,
            suspicion: Suspicion::default(),
            failed_since: None,
            ready_since: None,
        }
    }

    fn judge(&mut self, look: Look, tell: Tell<'_, Standing>) -> Verdict {
        let seen = look.seen.as_ref().map(|(stuck, passing)| (stuck, *passing));
        let suspected = self.suspicion.grows(seen);
        self.live = look.live.or(self.live.take());
        let verdict = match &look.state {
            Settled::Ready => self.ready(look.is_old),
            Settled::Pending(_) if suspected => Verdict::GiveUp,
            Settled::Pending(_) => Verdict::Wait,
            Settled::Failed(_) => self.failed(),
        };
        if look.state != Settled::Ready {
            self.ready_since = None;
        }
        if !matches!(look.state, Settled::Failed(_)) {
            self.failed_since = None;
        }
        let standing = Standing {
            object: self.object.clone(),
            state: look.state,
            awaited: look.awaited,
        };
        if self.told.as_ref() != Some(&standing) {
            self.told = Some(standing.clone());
            tell(standing);
        }
        verdict
    }

    fn ready(&mut self, is_old: bool) -> Verdict {
        let since = *self.ready_since.get_or_insert_with(Instant::now);
        let enough = self
            .live
            .as_ref()
            .map_or(Duration::ZERO, |live| settling(live.as_value()));
        if is_old || since.elapsed() >= enough {
            Verdict::Done
        } else {
            Verdict::Watch
        }
    }

    /// What has ended stays so. What others say of themselves they may have said of a version before.
    fn failed(&mut self) -> Verdict {
        let since = *self.failed_since.get_or_insert_with(Instant::now);
        let gvk = &self.object.gvk;
        let for_good = matches!(
            (gvk.group.as_str(), gvk.kind.as_str()),
            ("batch", "Job") | ("", "Pod") | ("apiextensions.k8s.io", "CustomResourceDefinition")
        );
        if for_good || since.elapsed() >= limits::PATIENCE {
            Verdict::GiveUp
        } else {
            Verdict::Wait
        }
    }
}

impl Look {
    fn at(state: Settled) -> Self {
        Self {
            live: None,
            state,
            awaited: None,
            seen: None,
            is_old: false,
        }
    }

    /// Adds what the pods show.
    fn at_pods(&mut self, live: &Object, scene: &Scene) {
        let sighting = diagnose(scene);
        let progress = RolloutProgress {
            existing: scene.former.len() as u64,
            ..RolloutProgress::default()
        };
        self.awaited = match awaited(scene, &progress, sighting.as_ref()) {
            Awaited::Unseen => None,
            seen => Some(seen),
        };
        self.seen = sighting.map(|sighting| {
            let passing = passing(live, &sighting);
            (sighting.stuck, passing)
        });
    }
}

/// Whether a cause goes away by itself while the rest of a release comes. Only what a node says about an image, and what
/// the namespace says about the pods, is nothing that another object will change.
fn passing(live: &Object, sighting: &Sighting) -> Passing {
    match &sighting.stuck {
        Stuck::Pull(_) | Stuck::WrongMachine | Stuck::NoProgram => sighting.stuck.passing(),
        // Events, which other kinds tell it in, outlive their cause.
        Stuck::PodSecurity if live.gvk().kind != "Deployment" => Passing::Likely,
        Stuck::PodSecurity => Passing::Perhaps,
        _ => Passing::Likely,
    }
}

/// Whether what is ready now may stop in its first seconds.
fn may_stop(live: &Object) -> bool {
    let ended = live.as_value()["status"]["phase"] == "Succeeded";
    Workload::of(live).is_some() && !is_job(live.reference()) && !ended
}

fn is_job(object: &ObjectRef) -> bool {
    object.gvk.group == "batch" && object.gvk.kind == "Job"
}

#[cfg(test)]
mod tests;
