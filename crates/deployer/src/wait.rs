//! Waits for the desired state of objects ([`Cluster::wait`]), many at a time. The error explains which objects have
//! not reached it and why.

mod look;

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::Instant;
use watch::Tell;

use crate::cluster::Cluster;
use crate::cluster::wire::endure;
use crate::error::Error;
use crate::limits;
use crate::object::{Object, ObjectRef};
use crate::rollout::awaited::Awaited;
use crate::rollout::diagnose::diagnose_at_the_end;
use crate::rollout::scene::Workload;
use crate::rollout::{self, Suspicion, settling};
use crate::settle::{MissedDeadline, held};
use crate::stuck::unsettled::{Cause, Settled, Unready, Unsettled};
use look::ObjectLook;

/// The goal of a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Goal {
    /// The object is [`settled`](crate::settled), and stays so for [`limits::SETTLED`] if it has no readiness probe. If
    /// it is a definition, clients can use all its versions; the kinds of a definition or an aggregated API are looked
    /// up again. A Job that no longer exists has completed and was cleaned up, unless events report a failure.
    ///
    /// Problems that another object of the same release may solve (a crash without a database, a Secret that a Job
    /// creates, a missing node) are waited for until the deadline.
    Settled(ObjectRef),
    /// All pods of this Deployment are of its current version and available. Without a readiness probe, they must stay
    /// so for [`limits::SETTLED`], unless they have been ready for that long already. No other object is expected to
    /// solve problems of its pods, or to create the Deployment.
    Rollout(ObjectRef),
    /// The object no longer exists.
    Gone(Leaving),
    /// The Deployment, `ReplicaSet` or `StatefulSet`, which was scaled to zero, has no pods, including terminating
    /// ones. A deleted object has none.
    Empty(ObjectRef),
}

impl Goal {
    fn object(&self) -> &ObjectRef {
        match self {
            Self::Settled(object) | Self::Rollout(object) | Self::Empty(object) => object,
            Self::Gone(leaving) => &leaving.object,
        }
    }

    /// Checks whether the object or its pods are to be removed.
    fn is_to_end(&self) -> bool {
        matches!(self, Self::Gone(_) | Self::Empty(_))
    }
}

/// An object to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    /// The object.
    pub object: ObjectRef,
    /// The unique id. An object that was recreated under the same name is not waited for. Without the id, any object
    /// is.
    pub uid: Option<String>,
}

impl From<ObjectRef> for Leaving {
    fn from(object: ObjectRef) -> Self {
        Self { object, uid: None }
    }
}

/// The state of an awaited object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Standing {
    /// The object.
    pub object: ObjectRef,
    /// Whether it is ready.
    #[serde(flatten)]
    pub state: Settled,
    /// The condition that its pods wait for, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
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

/// An awaited object, and the results of the polls so far.
#[derive(Debug)]
struct Waiting {
    goal: Goal,
    /// The object at the last poll.
    live: Option<Object>,
    /// The state of the rollout at the last poll.
    rollout: Option<rollout::Look>,
    /// The state that was reported last.
    told: Option<Standing>,
    suspicion: Suspicion,
    first: Option<FirstLook>,
    failed_since: Option<Instant>,
    ready_since: Option<Instant>,
}

/// The state of an awaited object at the first poll.
#[derive(Debug)]
struct FirstLook {
    /// The progress deadline that was already missed, possibly by an earlier version: after a rollback to existing
    /// pods, the controller reports the old miss for a while.
    missed: Option<MissedDeadline>,
}

/// The result of a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Done,
    /// The object is ready, but not long enough.
    Watch,
    Wait,
    GiveUp,
}

impl Cluster {
    /// Waits until all goals are reached. Reports each change of an object's state.
    ///
    /// Ends early if an object has failed or its pods cannot become ready: with [`Error::Rollout`] for a
    /// [`Goal::Rollout`], else with [`Error::Unsettled`], which lists all objects that are not ready. Objects that were
    /// not deleted in time result in [`Error::StillThere`]. Reads the objects, and also `ReplicaSet`s, Pods, their logs
    /// and Events if the user may read them.
    pub async fn wait(
        &self,
        goals: &[Goal],
        deadline: Duration,
        tell: Tell<'_, Standing>,
    ) -> Result<(), Error> {
        let begun = Instant::now();
        let end = begun + deadline;
        let mut waiting: Vec<Waiting> = goals.iter().cloned().map(Waiting::new).collect();
        let mut has_looked = false;
        while !waiting.is_empty() {
            let mut pause = limits::POLL;
            let looks = match self.look_at_all(&waiting).await {
                Err(error) if has_looked && error.may_be_of_a_start() && Instant::now() < end => {
                    None
                }
                looks => endure(looks, end)?,
            };
            if let Some(mut looks) = looks {
                has_looked = true;
                let workloads = looks.iter().filter(|look| look.awaited.is_some()).count();
                pause =
                    pause.max(limits::PER_WORKLOAD * u32::try_from(workloads).unwrap_or(u32::MAX));
                let further = looks.iter_mut().flat_map(|look| look.further.drain(..));
                let further: Vec<Waiting> = further.map(Waiting::new).collect();
                let mut left = Vec::new();
                for (mut one, look) in waiting.into_iter().zip(looks) {
                    match one.judge(look, tell) {
                        Verdict::Done => {}
                        verdict => left.push((verdict, one)),
                    }
                }
                let any = |wanted| left.iter().any(|(verdict, _)| *verdict == wanted);
                // Objects that are only observed became ready in time; their observation may exceed the deadline.
                if any(Verdict::GiveUp) || (any(Verdict::Wait) && Instant::now() >= end) {
                    return Err(self.missed(left, deadline, begun.elapsed()).await);
                }
                waiting = left
                    .into_iter()
                    .map(|(_, one)| one)
                    .chain(further)
                    .collect();
            }
            if !waiting.is_empty() {
                tokio::time::sleep(pause.min(deadline)).await;
            }
        }
        Ok(())
    }

    /// Returns the error for the goals that were not reached. Its kind is that of the first such goal.
    async fn missed(
        &self,
        mut left: Vec<(Verdict, Waiting)>,
        deadline: Duration,
        after: Duration,
    ) -> Error {
        left.retain(|(verdict, _)| *verdict != Verdict::Watch);
        // Goals that ended the wait come first. The sort is stable.
        left.sort_by_key(|(verdict, _)| *verdict != Verdict::GiveUp);
        let mut left: Vec<Waiting> = left.into_iter().map(|(_, one)| one).collect();
        let first = left.first_mut().map(|one| (&one.goal, one.rollout.take()));
        match first {
            Some((Goal::Rollout(_), Some(look))) => {
                Error::Rollout(Box::new(self.failure(look).await))
            }
            Some((Goal::Empty(workload), _)) => Error::Timeout {
                doing: format!("stop {workload}"),
                after: deadline,
            },
            Some((Goal::Gone(_), _)) => Error::StillThere {
                objects: left.iter().filter_map(Waiting::still_there).collect(),
                after: deadline,
            },
            _ => self.unsettled(left, after).await,
        }
    }

    /// Returns the error that lists all objects, with a diagnosis of the first ones.
    async fn unsettled(&self, left: Vec<Waiting>, after: Duration) -> Error {
        let mut objects = Vec::new();
        let mut explained = 0;
        for one in left {
            // Each object was reported when it was evaluated.
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

    /// Returns the cause for a workload's pods. It is optional: the object is reported even if the cause cannot be
    /// determined.
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
    fn new(goal: Goal) -> Self {
        Self {
            goal,
            live: None,
            rollout: None,
            told: None,
            suspicion: Suspicion::default(),
            first: None,
            failed_since: None,
            ready_since: None,
        }
    }

    fn judge(&mut self, look: ObjectLook, tell: Tell<'_, Standing>) -> Verdict {
        let seen = look.seen.as_ref().map(|(stuck, passing)| (stuck, *passing));
        let suspected = self.suspicion.grows(seen);
        let missed = look.live.as_ref().and_then(MissedDeadline::of);
        let first = self.first.get_or_insert_with(|| FirstLook {
            missed: missed.clone(),
        });
        let is_late = missed.is_some() && missed != first.missed;
        self.live = look.live.or(self.live.take());
        self.rollout = look.rollout;
        let verdict = match &look.state {
            Settled::Ready => self.ready(look.is_old),
            Settled::Pending(_) | Settled::Failed(_) if suspected || is_late => Verdict::GiveUp,
            Settled::Pending(_) => Verdict::Wait,
            Settled::Failed(_) => self.failed(),
        };
        if look.state != Settled::Ready {
            self.ready_since = None;
        }
        if !matches!(look.state, Settled::Failed(_)) {
            self.failed_since = None;
        }
        // Nothing is reported for an object that was deleted as intended.
        let has_gone = look.state == Settled::Ready && self.goal.is_to_end();
        let standing = Standing {
            object: self.goal.object().clone(),
            state: look.state,
            awaited: look.awaited,
        };
        if !has_gone && self.told.as_ref() != Some(&standing) {
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

    /// Evaluates a failed object. Terminated Jobs and pods and rejected definitions are final. Other objects may still
    /// report the failure of an earlier version.
    fn failed(&mut self) -> Verdict {
        let since = *self.failed_since.get_or_insert_with(Instant::now);
        let gvk = &self.goal.object().gvk;
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

    /// Returns the object that is not deleted, with the reason.
    fn still_there(&self) -> Option<String> {
        let (Goal::Gone(leaving), Some(live)) = (&self.goal, &self.live) else {
            return None;
        };
        Some(match held(live) {
            Some(hold) => format!("{} ({hold})", leaving.object),
            None if live.is_being_deleted() => leaving.object.to_string(),
            None => format!("{} (not being deleted)", leaving.object),
        })
    }
}

#[cfg(test)]
mod tests;
