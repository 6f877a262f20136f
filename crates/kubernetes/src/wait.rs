//! Waits for the desired state of objects ([`Cluster::wait`]), many at a time. The error explains which objects have
//! not reached it and why.

mod observation;

use std::time::Duration;
use std::{fmt, mem};

use observation::PolledObject;
use progress::ProgressSink;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::error::Error;
use crate::failure::{Cause, Readiness, UnreadyObject, UnreadyObjects};
use crate::limits;
use crate::object::{Object, ObjectRef};
use crate::poll::{Poll, Schedule, poll};
use crate::readiness::{MissedDeadline, deletion_blocker};
use crate::rollout::diagnosis::diagnose_at_the_end;
use crate::rollout::pods::Workload;
use crate::rollout::state::AwaitedCondition;
use crate::rollout::{self, Suspicion, settling};

/// The goal of a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Goal {
    /// The object is [ready](crate::readiness()), and stays so for [`limits::SETTLED`] if it has no readiness probe.
    /// If it is a definition, clients can use all its versions; the kinds of a definition or an aggregated API are
    /// looked up again. A Job that no longer exists has completed and was cleaned up, unless events report a failure.
    ///
    /// Problems that another object of the same release may solve (a crash without a database, a Secret that a Job
    /// creates, a missing node) are waited for until the deadline.
    Ready(ObjectRef),
    /// All pods of this Deployment are of its current version and available. Without a readiness probe, they must stay
    /// so for [`limits::SETTLED`], unless they have been ready for that long already. No other object is expected to
    /// solve problems of its pods, or to create the Deployment.
    Rollout(ObjectRef),
    /// The object no longer exists.
    Deleted(DeletionTarget),
    /// The Deployment, `ReplicaSet` or `StatefulSet`, which was scaled to zero, has no pods, including terminating
    /// ones. A deleted object has none.
    Stopped(ObjectRef),
}

impl Goal {
    fn object(&self) -> &ObjectRef {
        match self {
            Self::Ready(object) | Self::Rollout(object) | Self::Stopped(object) => object,
            Self::Deleted(target) => &target.object,
        }
    }

    /// Checks whether the object or its pods are to be removed.
    fn is_to_end(&self) -> bool {
        matches!(self, Self::Deleted(_) | Self::Stopped(_))
    }
}

/// An object to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletionTarget {
    /// The object.
    pub object: ObjectRef,
    /// The unique id. An object that was recreated under the same name is not waited for. Without the id, any object
    /// is.
    pub uid: Option<String>,
}

impl From<ObjectRef> for DeletionTarget {
    fn from(object: ObjectRef) -> Self {
        Self { object, uid: None }
    }
}

/// The state of an awaited object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ObjectStatus {
    /// The object.
    pub object: ObjectRef,
    /// Its readiness.
    #[serde(flatten)]
    pub state: Readiness,
    /// The condition that its pods wait for, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaited: Option<AwaitedCondition>,
}

impl fmt::Display for ObjectStatus {
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
struct AwaitedObject {
    goal: Goal,
    /// The object at the last poll.
    live: Option<Object>,
    /// The state of the rollout at the last poll.
    rollout: Option<rollout::RolloutView>,
    /// The state that was reported last.
    reported: Option<ObjectStatus>,
    suspicion: Suspicion,
    first: Option<InitialState>,
    failed_since: Option<Instant>,
    ready_since: Option<Instant>,
}

/// The state of an awaited object at the first poll.
#[derive(Debug)]
struct InitialState {
    /// The progress deadline that was already missed, possibly by an earlier version: after a rollback to existing
    /// pods, the controller reports the old miss for a while.
    missed: Option<MissedDeadline>,
}

/// The decision about one object after a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Met,
    /// The object is ready, but not long enough.
    Settling,
    Pending,
    Failed,
}

impl Cluster {
    /// Waits until all goals are reached. Reports each change of an object's state.
    ///
    /// Ends early if an object has failed or its pods cannot become ready: with [`Error::Rollout`] for a
    /// [`Goal::Rollout`], else with [`Error::UnreadyObjects`], which lists all objects that are not ready. Objects that
    /// were not deleted in time result in [`Error::StillThere`]. Reads the objects, and also `ReplicaSet`s, Pods, their
    /// logs and Events if the user may read them.
    pub async fn wait(
        &self,
        goals: &[Goal],
        deadline: Duration,
        tell: ProgressSink<'_, ObjectStatus>,
    ) -> Result<(), Error> {
        let mut waiting: Vec<AwaitedObject> =
            goals.iter().cloned().map(AwaitedObject::new).collect();
        let mut has_polled = false;
        let reached = async |schedule: &mut Schedule| {
            schedule.pause = limits::POLL.min(deadline);
            let mut polled = match self.poll_all(&waiting).await {
                // A permission that the user had at the start of the wait is granted again.
                Err(error) if has_polled && error.may_be_of_a_start() && !schedule.is_over() => {
                    return Ok(Poll::Pending);
                }
                polled => polled?,
            };
            has_polled = true;
            let workloads = polled
                .iter()
                .filter(|polled| polled.awaited.is_some())
                .count();
            let pause = limits::PER_WORKLOAD * u32::try_from(workloads).unwrap_or(u32::MAX);
            schedule.pause = limits::POLL.max(pause).min(deadline);
            let further: Vec<AwaitedObject> = polled
                .iter_mut()
                .flat_map(|polled| polled.further.drain(..))
                .map(AwaitedObject::new)
                .collect();
            let mut left = Vec::new();
            for (mut object, polled) in mem::take(&mut waiting).into_iter().zip(polled) {
                match object.update(polled, tell) {
                    Verdict::Met => {}
                    verdict => left.push((verdict, object)),
                }
            }
            let any = |wanted| left.iter().any(|(verdict, _)| *verdict == wanted);
            // Objects that are only observed became ready in time; their observation may exceed the deadline.
            if any(Verdict::Failed) || (any(Verdict::Pending) && schedule.is_over()) {
                let missed = self.missed(left, deadline, schedule.begun.elapsed()).await;
                return Ok(Poll::Failed(missed));
            }
            waiting = left
                .into_iter()
                .map(|(_, object)| object)
                .chain(further)
                .collect();
            Ok(if waiting.is_empty() {
                Poll::Met(())
            } else {
                Poll::Pending
            })
        };
        poll(Schedule::new(deadline), reached)
            .await
            .map(|((), _)| ())
    }

    /// Returns the error for the goals that were not reached. Its kind is that of the first such goal.
    async fn missed(
        &self,
        mut left: Vec<(Verdict, AwaitedObject)>,
        deadline: Duration,
        after: Duration,
    ) -> Error {
        left.retain(|(verdict, _)| *verdict != Verdict::Settling);
        // Goals that ended the wait come first. The sort is stable.
        left.sort_by_key(|(verdict, _)| *verdict != Verdict::Failed);
        let mut left: Vec<AwaitedObject> = left.into_iter().map(|(_, object)| object).collect();
        let first = left
            .first_mut()
            .map(|object| (&object.goal, object.rollout.take()));
        match first {
            Some((Goal::Rollout(_), Some(view))) => {
                Error::Rollout(Box::new(self.failure(view).await))
            }
            Some((Goal::Stopped(workload), _)) => Error::Timeout {
                doing: format!("stop {workload}"),
                after: deadline,
            },
            Some((Goal::Deleted(_), _)) => Error::StillThere {
                objects: left
                    .iter()
                    .filter_map(AwaitedObject::describe_remaining)
                    .collect(),
                after: deadline,
            },
            _ => self.unready_objects(left, after).await,
        }
    }

    /// Returns the error that lists all objects, with a diagnosis of the first ones.
    async fn unready_objects(&self, left: Vec<AwaitedObject>, after: Duration) -> Error {
        let mut objects = Vec::new();
        let mut explained = 0;
        for object in left {
            // Each object was reported when it was evaluated.
            let Some(status) = object.reported else {
                continue;
            };
            let mut cause = None;
            if let Some(live) = &object.live
                && Workload::from_object(live).is_some()
                && explained < limits::MAX_EXPLAINED
            {
                explained += 1;
                cause = self.cause(live).await;
            }
            objects.push(UnreadyObject {
                object: status.object,
                state: status.state,
                awaited: status.awaited.map(|awaited| awaited.to_string()),
                cause,
            });
        }
        Error::UnreadyObjects(Box::new(UnreadyObjects { objects, after }))
    }

    /// Returns the cause for a workload's pods. It is optional: the object is reported even if the cause cannot be
    /// determined.
    async fn cause(&self, live: &Object) -> Option<Cause> {
        let input = self.diagnosis_input(live).await.ok()??;
        let observation = diagnose_at_the_end(&input)?;
        let namespace = live.namespace().unwrap_or_default();
        Some(Cause {
            log: self.log_of(namespace, &observation).await,
            stuck: observation.stuck,
            pod: observation.pod,
            detail: observation.detail,
        })
    }
}

impl AwaitedObject {
    fn new(goal: Goal) -> Self {
        Self {
            goal,
            live: None,
            rollout: None,
            reported: None,
            suspicion: Suspicion::default(),
            first: None,
            failed_since: None,
            ready_since: None,
        }
    }

    fn update(&mut self, polled: PolledObject, tell: ProgressSink<'_, ObjectStatus>) -> Verdict {
        let seen = polled
            .seen
            .as_ref()
            .map(|(stuck, transience)| (stuck, *transience));
        let suspected = self.suspicion.is_permanent(seen);
        let missed = polled.live.as_ref().and_then(MissedDeadline::find);
        let first = self.first.get_or_insert_with(|| InitialState {
            missed: missed.clone(),
        });
        let is_late = missed.is_some() && missed != first.missed;
        self.live = polled.live.or(self.live.take());
        self.rollout = polled.rollout;
        let verdict = match &polled.state {
            Readiness::Ready => self.ready(polled.is_old),
            Readiness::Pending(_) | Readiness::Failed(_) if suspected || is_late => Verdict::Failed,
            Readiness::Pending(_) => Verdict::Pending,
            Readiness::Failed(_) => self.failed(),
        };
        if polled.state != Readiness::Ready {
            self.ready_since = None;
        }
        if !matches!(polled.state, Readiness::Failed(_)) {
            self.failed_since = None;
        }
        // Nothing is reported for an object that was deleted as intended.
        let has_gone = polled.state == Readiness::Ready && self.goal.is_to_end();
        let status = ObjectStatus {
            object: self.goal.object().clone(),
            state: polled.state,
            awaited: polled.awaited,
        };
        if !has_gone && self.reported.as_ref() != Some(&status) {
            self.reported = Some(status.clone());
            tell(status);
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
            Verdict::Met
        } else {
            Verdict::Settling
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
            Verdict::Failed
        } else {
            Verdict::Pending
        }
    }

    /// Returns the object that is not deleted, with the reason.
    fn describe_remaining(&self) -> Option<String> {
        let (Goal::Deleted(leaving), Some(live)) = (&self.goal, &self.live) else {
            return None;
        };
        Some(match deletion_blocker(live) {
            Some(hold) => format!("{} ({hold})", leaving.object),
            None if live.is_being_deleted() => leaving.object.to_string(),
            None => format!("{} (not being deleted)", leaving.object),
        })
    }
}

#[cfg(test)]
mod tests;
