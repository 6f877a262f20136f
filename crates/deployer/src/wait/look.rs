//! One poll of an awaited object.

use futures::stream::{self, StreamExt, TryStreamExt};

use super::{Goal, Leaving, Waiting};
use crate::cluster::Cluster;
use crate::error::Error;
use crate::limits;
use crate::object::{Object, ObjectRef};
use crate::rollout;
use crate::rollout::awaited::{Awaited, RolloutProgress, awaited};
use crate::rollout::diagnose::{Scene, Sighting, diagnose};
use crate::rollout::scene::Workload;
use crate::rollout::stop::is_stopped;
use crate::settle::{leaving, pending, settled};
use crate::stuck::unsettled::Settled;
use crate::stuck::{Passing, Stuck};

/// The result of one poll of an object.
#[derive(Debug)]
pub(super) struct ObjectLook {
    pub(super) live: Option<Object>,
    pub(super) state: Settled,
    pub(super) awaited: Option<Awaited>,
    /// The cause that affects its pods, and the likelihood that it is temporary.
    pub(super) seen: Option<(Stuck, Passing)>,
    /// The state of a rollout.
    pub(super) rollout: Option<rollout::Look>,
    /// Indicates whether it has been ready long enough and does not need to be observed.
    pub(super) is_old: bool,
    /// Additional goals to wait for.
    pub(super) further: Vec<Goal>,
}

impl Cluster {
    pub(super) async fn look_at_all(&self, waiting: &[Waiting]) -> Result<Vec<ObjectLook>, Error> {
        let mut served = Vec::new();
        for one in waiting {
            // A kind is removed with its definition, and so are its objects.
            let may_go = matches!(one.goal, Goal::Gone(_));
            served.push(!may_go || self.serves(&one.goal.object().gvk).await?);
        }
        let asked = waiting.iter().zip(&served).filter(|(_, served)| **served);
        let asked: Vec<&ObjectRef> = asked.map(|(one, _)| one.goal.object()).collect();
        let mut live = self.get_all(&asked).await?.into_iter();
        let looks = waiting.iter().zip(served).map(|(one, served)| {
            let live = served.then(|| live.next().flatten()).flatten();
            self.look_at(one, live)
        });
        stream::iter(looks)
            .buffered(limits::PARALLEL)
            .try_collect()
            .await
    }

    async fn look_at(&self, one: &Waiting, live: Option<Object>) -> Result<ObjectLook, Error> {
        match (&one.goal, live) {
            (Goal::Settled(object), None) => {
                let state = self.absent(object, one.live.as_ref()).await?;
                Ok(ObjectLook::at_end(state))
            }
            (Goal::Settled(_), Some(live)) => self.look_at_settling(one, live).await,
            (Goal::Rollout(object), None) => Err(Error::NotFound {
                doing: format!("wait for {object}"),
                message: "it does not exist".to_owned(),
            }),
            (Goal::Rollout(_), Some(live)) => self.look_at_rollout(one, live).await,
            (Goal::Gone(leaving), live) => Ok(ObjectLook::at_leaving(leaving, live)),
            (Goal::Empty(_), None) => Ok(ObjectLook::at_end(Settled::Ready)),
            (Goal::Empty(_), Some(live)) => self.look_at_stopping(live).await,
        }
    }

    async fn look_at_settling(&self, one: &Waiting, live: Object) -> Result<ObjectLook, Error> {
        let state = match settled(&live) {
            Settled::Ready if !self.is_found(&live).await? => {
                pending("the API server does not serve its kinds yet")
            }
            state => state,
        };
        let mut look = ObjectLook::at(state);
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

    async fn look_at_rollout(&self, one: &Waiting, live: Object) -> Result<ObjectLook, Error> {
        let seen = self.judge(live).await?;
        let mut look = ObjectLook::at(seen.settled());
        if look.state == Settled::Ready {
            look.is_old = one.ready_since.is_none() && self.is_settled(&seen.deployment).await?;
        }
        look.live = Some(seen.deployment.clone());
        let stuck = seen.sighting.as_ref().map(|sighting| &sighting.stuck);
        look.seen = stuck.map(|stuck| (stuck.clone(), stuck.passing()));
        look.rollout = Some(seen);
        Ok(look)
    }

    async fn look_at_stopping(&self, live: Object) -> Result<ObjectLook, Error> {
        if !is_stopped(live.as_value()) {
            let mut look = ObjectLook::at(pending("some of its pods are still running"));
            look.live = Some(live);
            return Ok(look);
        }
        let pods = self.all_pods_of(&live).await?;
        let mut look = ObjectLook::at_end(Settled::Ready);
        let uid = |pod: &Object| pod.uid().map(str::to_owned);
        let leaving = pods.iter().map(|pod| Leaving {
            object: pod.reference().clone(),
            uid: uid(pod),
        });
        look.further = leaving.map(Goal::Gone).collect();
        Ok(look)
    }

    /// Checks whether clients can use the kinds that an object adds to the server. They are looked up again.
    async fn is_found(&self, live: &Object) -> Result<bool, Error> {
        if live.gvk().kind == "APIService" {
            let spec = &live.as_value()["spec"];
            let text = |field: &str| spec[field].as_str().unwrap_or_default();
            let api_version = format!("{}/{}", text("group"), text("version"));
            self.kinds.forget(&api_version);
        }
        self.is_served(live).await
    }

    /// Returns the state of an object that does not exist. `before` is its last known state.
    async fn absent(&self, object: &ObjectRef, before: Option<&Object>) -> Result<Settled, Error> {
        if !is_job(object) {
            return Ok(pending("it does not exist"));
        }
        let uid = before.and_then(Object::uid);
        let ended = self.end_of_job(object, uid).await?;
        Ok(ended.unwrap_or_else(|| match uid {
            Some(_) => Settled::Ready,
            None => pending("it does not exist"),
        }))
    }
}

impl ObjectLook {
    fn at(state: Settled) -> Self {
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
    fn at_end(state: Settled) -> Self {
        Self {
            is_old: true,
            ..Self::at(state)
        }
    }

    fn at_leaving(wanted: &Leaving, live: Option<Object>) -> Self {
        let is_it = |live: &Object| wanted.uid.is_none() || wanted.uid.as_deref() == live.uid();
        let Some(live) = live.filter(is_it) else {
            return Self::at_end(Settled::Ready);
        };
        let state = if live.is_being_deleted() {
            leaving(&live)
        } else {
            pending("its deletion was not requested")
        };
        let live = Some(live);
        Self {
            live,
            ..Self::at(state)
        }
    }

    /// Adds the state of the pods.
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

/// Returns the likelihood that a cause is temporary while the rest of a release is applied. Only problems with an image
/// and rejections by the namespace cannot be solved by other objects.
fn passing(live: &Object, sighting: &Sighting) -> Passing {
    match &sighting.stuck {
        Stuck::Pull(_) | Stuck::WrongMachine | Stuck::NoProgram => sighting.stuck.passing(),
        // Other kinds report it in events, which remain after the cause is solved.
        Stuck::PodSecurity if live.gvk().kind != "Deployment" => Passing::Likely,
        Stuck::PodSecurity => Passing::Perhaps,
        _ => Passing::Likely,
    }
}

/// Checks whether an object that is ready now may stop in its first seconds.
fn may_stop(live: &Object) -> bool {
    let ended = live.as_value()["status"]["phase"] == "Succeeded";
    Workload::of(live).is_some() && !is_job(live.reference()) && !ended
}

fn is_job(object: &ObjectRef) -> bool {
    object.gvk.group == "batch" && object.gvk.kind == "Job"
}
