//! One round of a wait for an object: the object is read, and also its pods if it is a workload that is not ready. The
//! result ([`PolledObject`]) is the state from which the wait decides.

use futures::stream::{self, StreamExt, TryStreamExt};

use super::{AwaitedObject, DeletionTarget, Goal};
use crate::cluster::Cluster;
use crate::error::Error;
use crate::failure::{PodProblem, Readiness, Transience};
use crate::object::{Object, ObjectRef};
use crate::readiness::{leaving, pending, readiness};
use crate::rollout::diagnosis::{DiagnosisInput, Observation, diagnose};
use crate::rollout::pods::{Workload, is_stopped};
use crate::rollout::state::{AwaitedCondition, RolloutProgress, awaited_condition};
use crate::{limits, rollout};

/// The result of one poll of an object.
#[derive(Debug)]
pub(super) struct PolledObject {
    pub(super) live: Option<Object>,
    pub(super) state: Readiness,
    pub(super) awaited: Option<AwaitedCondition>,
    /// The cause that affects its pods, and the likelihood that it is temporary.
    pub(super) seen: Option<(PodProblem, Transience)>,
    /// The state of a rollout.
    pub(super) rollout: Option<rollout::RolloutView>,
    /// Indicates whether it has been ready long enough and does not need to be observed.
    pub(super) is_old: bool,
    /// Additional goals to wait for.
    pub(super) further: Vec<Goal>,
}

impl Cluster {
    pub(super) async fn poll_all(
        &self,
        waiting: &[AwaitedObject],
    ) -> Result<Vec<PolledObject>, Error> {
        let mut served = Vec::new();
        for object in waiting {
            // A kind is removed with its definition, and so are its objects.
            let may_disappear = matches!(object.goal, Goal::Deleted(_));
            served.push(!may_disappear || self.serves(&object.goal.object().gvk).await?);
        }
        let requested = waiting.iter().zip(&served).filter(|(_, served)| **served);
        let requested: Vec<&ObjectRef> =
            requested.map(|(object, _)| object.goal.object()).collect();
        let mut live = self.get_all(&requested).await?.into_iter();
        let polled = waiting.iter().zip(served).map(|(object, served)| {
            let live = served.then(|| live.next().flatten()).flatten();
            self.poll_object(object, live)
        });
        stream::iter(polled)
            .buffered(limits::PARALLEL)
            .try_collect()
            .await
    }

    async fn poll_object(
        &self,
        object: &AwaitedObject,
        live: Option<Object>,
    ) -> Result<PolledObject, Error> {
        match (&object.goal, live) {
            (Goal::Ready(reference), None) => {
                let state = self
                    .state_of_absent(reference, object.live.as_ref())
                    .await?;
                Ok(PolledObject::finished(state))
            }
            (Goal::Ready(_), Some(live)) => self.poll_readiness(object, live).await,
            (Goal::Rollout(reference), None) => Err(Error::NotFound {
                doing: format!("wait for {reference}"),
                message: "it does not exist".to_owned(),
            }),
            (Goal::Rollout(_), Some(live)) => self.poll_rollout(object, live).await,
            (Goal::Deleted(leaving), live) => Ok(PolledObject::from_deletion(leaving, live)),
            (Goal::Stopped(_), None) => Ok(PolledObject::finished(Readiness::Ready)),
            (Goal::Stopped(_), Some(live)) => self.poll_stopping(live).await,
        }
    }

    async fn poll_readiness(
        &self,
        object: &AwaitedObject,
        live: Object,
    ) -> Result<PolledObject, Error> {
        let state = match readiness(&live) {
            Readiness::Ready if !self.serves_added_kinds(&live).await? => {
                pending("the API server does not serve its kinds yet")
            }
            state => state,
        };
        let mut polled = PolledObject::new(state);
        match polled.state {
            Readiness::Ready => {
                polled.is_old = object.ready_since.is_none()
                    && (!may_stop(&live) || self.is_settled(&live).await?);
            }
            Readiness::Pending(_) => {
                if let Some(input) = self.diagnosis_input(&live).await? {
                    polled.add_pods(&live, &input);
                }
            }
            Readiness::Failed(_) => {}
        }
        polled.live = Some(live);
        Ok(polled)
    }

    async fn poll_rollout(
        &self,
        object: &AwaitedObject,
        live: Object,
    ) -> Result<PolledObject, Error> {
        let view = self.rollout_view(live).await?;
        let mut polled = PolledObject::new(view.readiness());
        if polled.state == Readiness::Ready {
            polled.is_old =
                object.ready_since.is_none() && self.is_settled(&view.deployment).await?;
        }
        polled.live = Some(view.deployment.clone());
        let stuck = view
            .observation
            .as_ref()
            .map(|observation| &observation.stuck);
        polled.seen = stuck.map(|stuck| (stuck.clone(), stuck.transience()));
        polled.rollout = Some(view);
        Ok(polled)
    }

    async fn poll_stopping(&self, live: Object) -> Result<PolledObject, Error> {
        if !is_stopped(live.as_value()) {
            let mut polled = PolledObject::new(pending("some of its pods are still running"));
            polled.live = Some(live);
            return Ok(polled);
        }
        let pods = self.all_pods_of(&live).await?;
        let mut polled = PolledObject::finished(Readiness::Ready);
        let uid = |pod: &Object| pod.uid().map(str::to_owned);
        let leaving = pods.iter().map(|pod| DeletionTarget {
            object: pod.reference().clone(),
            uid: uid(pod),
        });
        polled.further = leaving.map(Goal::Deleted).collect();
        Ok(polled)
    }

    /// Checks whether clients can use the kinds that an object adds to the server. They are looked up again.
    async fn serves_added_kinds(&self, live: &Object) -> Result<bool, Error> {
        if live.gvk().kind == "APIService" {
            let spec = &live.as_value()["spec"];
            let text = |field: &str| spec[field].as_str().unwrap_or_default();
            let api_version = format!("{}/{}", text("group"), text("version"));
            self.kinds.forget(&api_version);
        }
        self.is_served(live).await
    }

    /// Returns the state of an object that does not exist. `before` is its last known state.
    async fn state_of_absent(
        &self,
        object: &ObjectRef,
        before: Option<&Object>,
    ) -> Result<Readiness, Error> {
        if !is_job(object) {
            return Ok(pending("it does not exist"));
        }
        let uid = before.and_then(Object::uid);
        let ended = self.end_of_job(object, uid).await?;
        Ok(ended.unwrap_or_else(|| match uid {
            Some(_) => Readiness::Ready,
            None => pending("it does not exist"),
        }))
    }
}

impl PolledObject {
    fn new(state: Readiness) -> Self {
        Self {
            live: None,
            state,
            awaited: None,
            seen: None,
            rollout: None,
            is_old: false,
            further: Vec::new(),
        }
    }

    /// Returns the result for an object that does not need to be observed.
    fn finished(state: Readiness) -> Self {
        Self {
            is_old: true,
            ..Self::new(state)
        }
    }

    fn from_deletion(wanted: &DeletionTarget, live: Option<Object>) -> Self {
        let is_it = |live: &Object| wanted.uid.is_none() || wanted.uid.as_deref() == live.uid();
        let Some(live) = live.filter(is_it) else {
            return Self::finished(Readiness::Ready);
        };
        let state = if live.is_being_deleted() {
            leaving(&live)
        } else {
            pending("its deletion was not requested")
        };
        let live = Some(live);
        Self {
            live,
            ..Self::new(state)
        }
    }

    /// Adds the state of the pods.
    fn add_pods(&mut self, live: &Object, input: &DiagnosisInput) {
        let observation = diagnose(input);
        let progress = RolloutProgress {
            existing: input.former.len() as u64,
            ..RolloutProgress::default()
        };
        self.awaited = match awaited_condition(input, &progress, observation.as_ref()) {
            AwaitedCondition::Unseen => None,
            seen => Some(seen),
        };
        self.seen = observation.map(|observation| {
            let transience = transience(live, &observation);
            (observation.stuck, transience)
        });
    }
}

/// Returns the likelihood that a cause is temporary while the rest of a release is applied. Only problems with an image
/// and rejections by the namespace cannot be solved by other objects.
fn transience(live: &Object, observation: &Observation) -> Transience {
    match &observation.stuck {
        PodProblem::Pull(_) | PodProblem::WrongMachine | PodProblem::NoProgram => {
            observation.stuck.transience()
        }
        // Other kinds report it in events, which remain after the cause is solved.
        PodProblem::PodSecurity if live.gvk().kind != "Deployment" => Transience::Likely,
        PodProblem::PodSecurity => Transience::Perhaps,
        _ => Transience::Likely,
    }
}

/// Checks whether an object that is ready now may stop in its first seconds.
fn may_stop(live: &Object) -> bool {
    let ended = live.as_value()["status"]["phase"] == "Succeeded";
    Workload::from_object(live).is_some() && !is_job(live.reference()) && !ended
}

fn is_job(object: &ObjectRef) -> bool {
    object.gvk.group == "batch" && object.gvk.kind == "Job"
}
