//! The rollback of a failed upgrade to the former version. [`Ready::restore`] writes the changed objects in their
//! former state and removes new ones, with all webhooks disarmed. [`Ready::arm_former`] restores the webhooks at the
//! end.
//!
//! A failed version can leave pods behind that never become ready, and their `StatefulSet`s wait for these pods.
//! [`StatefulSetSelection`] deletes them while the sets are awaited; `Cluster::restart_stranded` decides which pods
//! these are.
//!
//! The same file replaces an operator by packaged workloads, and the reverse. The former workloads are stopped before
//! their successors start, and started again if the successors do not become ready.

use std::time::Duration;

use kubernetes::{
    Cluster, ConflictPolicy, DeletionTarget, Goal, Object, ObjectRef, RestartOutcome, StrandedPods,
};
use manifests::is_definition;
use planner::{
    Entry, OwnershipConflict, RollbackPlan, asks_nobody, disarmed, is_that, owner_of,
    scale_to_zero, vocabulary as v,
};
use schemas::{SolutionName, Version};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::apply::leased::Leased;
use crate::decide::deployment::Deployment;
use crate::decide::trial::Unchanged;
use crate::limits;
use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::objects::crd::{self, Judged, Users};
use crate::objects::losses;
use crate::objects::withdrawal::Withdrawal;
use crate::plan::Ready;

impl Ready<'_> {
    /// Restores all former objects and removes those that only the new version had. Webhooks refuse nothing until
    /// [`Self::arm_former`].
    pub(crate) async fn restore(
        &self,
        inverse: &RollbackPlan,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let (solution, wait) = (&deployment.solution, self.deadline.wait());
        let others = coming_back(inverse, deployment, leased.cluster).await?;
        // A Job of the same name may still be the one of the previous version.
        let is_new = |recorded: &Entry, live: &Object| {
            let made = live.annotations().get(v::INPUTS).copied();
            recorded.inputs.is_none() || recorded.inputs.as_deref() == made
        };
        let brought = inverse.brought.clone();
        let mut brought =
            Withdrawal::from_inventory(leased.cluster, solution, brought, is_new).await?;
        // Webhooks of the new version must not refuse the following writes.
        brought.disarm(leased, solution).await?;
        let webhooks = inverse
            .objects
            .iter()
            .filter(|object| !asks_nobody(object))
            .map(|webhooks| disarmed(webhooks, None))
            .collect::<Result<Vec<_>, _>>()?;
        for former in deployment.change.replaced() {
            remove_successor(leased, former, solution, wait).await?;
        }
        put_back(leased, solution, &webhooks).await?;
        put_back(leased, solution, &others).await?;
        brought.take(leased, solution, wait).await
    }

    /// Restores the former failure policies and rules of the webhooks.
    pub(crate) async fn arm_former(
        &self,
        inverse: &RollbackPlan,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let webhooks: Vec<Object> = inverse
            .objects
            .iter()
            .filter(|object| !asks_nobody(object))
            .cloned()
            .collect();
        put_back(leased, self.asked.id.name(), &webhooks).await
    }
}

/// Returns the packaged objects to restore, except webhooks. A CRD that a newer version wrote is kept if it serves
/// everything that the former one does, as in a deployment of an older version. If it cannot be kept, no custom
/// resource may lose data.
async fn coming_back(
    inverse: &RollbackPlan,
    deployment: &Deployment,
    cluster: &Cluster,
) -> Result<Vec<Object>, Error> {
    let mut coming = Vec::new();
    for object in inverse.objects.iter().filter(|object| asks_nobody(object)) {
        if let Some(current) = &deployment.current
            && is_definition(object.as_value())
            && let Some(live) = cluster.get(object.reference()).await?
            && stays(object, &live, &current.version, cluster).await?
        {
            continue;
        }
        coming.push(object.clone());
    }
    Ok(coming)
}

/// Checks whether the live CRD is kept and this one of an older version is not restored.
async fn stays(
    definition: &Object,
    live: &Object,
    version: &Version,
    cluster: &Cluster,
) -> Result<bool, Error> {
    let (wanted, written) = (definition.as_value(), crd::defined_by(live));
    if let Ok(Judged::Kept(_)) = crd::judge(version, wanted, live, written, Users::Here) {
        return Ok(true);
    }
    crd::judge(version, wanted, live, None, Users::Here)?;
    losses::check_replaced(cluster, live, wanted, version).await?;
    Ok(false)
}

/// Deletes the object that was recreated in place of this one, since the former object could not be changed into it.
async fn remove_successor(
    leased: &mut Leased<'_>,
    former: &Object,
    solution: &SolutionName,
    wait: Duration,
) -> Result<(), Error> {
    let live = leased.cluster.get(former.reference()).await?;
    if live.is_some_and(|live| live.uid() != former.uid()) {
        let ours = |live: &Object| owner_of(live, solution);
        leased.make_room(former.reference(), wait, ours).await?;
    }
    Ok(())
}

/// Writes these objects. Consecutive objects of one kind are written together.
async fn put_back(
    leased: &mut Leased<'_>,
    solution: &SolutionName,
    objects: &[Object],
) -> Result<(), Error> {
    let decide = |object: &Object, live: Option<&Object>| match live {
        Some(live) => match owner_of(live, solution) {
            Ok(()) => Ok(Some(object.clone())),
            Err(not_ours) => Err(Error::Refused(not_ours.into())),
        },
        None => Ok(Some(object.clone())),
    };
    for batch in objects.chunk_by(|a, b| a.gvk() == b.gvk()) {
        let batch: Vec<&Object> = batch.iter().collect();
        leased
            .put_all(
                &batch,
                &Unchanged::default(),
                |_| ConflictPolicy::Force,
                decide,
            )
            .await?;
    }
    Ok(())
}

/// The `StatefulSet`s to inspect.
#[derive(Debug)]
pub(crate) struct StatefulSetSelection {
    sets: Vec<ObjectRef>,
    found: bool,
    looking: UnderWay<Result<StrandedPods, kubernetes::Error>>,
}

/// Work that continues if its caller is cancelled. The next caller that waits receives the outcome.
#[derive(Debug)]
struct UnderWay<T>(Option<JoinHandle<T>>);

impl<T: Send + 'static> UnderWay<T> {
    /// Waits for the work under way, or starts this work. Returns `None` if the work panicked.
    async fn or<F: Future<Output = T> + Send + 'static>(
        &mut self,
        begin: impl FnOnce() -> F,
    ) -> Option<T> {
        let Self(work) = self;
        let done = work.get_or_insert_with(|| tokio::spawn(begin())).await;
        *work = None;
        done.ok()
    }

    fn is_there(&self) -> bool {
        self.0.is_some()
    }
}

impl StatefulSetSelection {
    /// Returns the `StatefulSet`s among these objects.
    pub(crate) fn new<'a>(objects: impl IntoIterator<Item = &'a ObjectRef>) -> Self {
        let objects = objects.into_iter();
        let is_set =
            |object: &&ObjectRef| object.gvk.group == "apps" && object.gvk.kind == "StatefulSet";
        Self {
            sets: objects.filter(is_set).cloned().collect(),
            found: false,
            looking: UnderWay(None),
        }
    }

    /// Checks whether any pod was left behind and deleted, after the controllers of all sets have observed their
    /// objects.
    pub(crate) async fn has_found(&mut self, leased: &Leased<'_>) -> Result<bool, Error> {
        let end = Instant::now() + limits::OBSERVED;
        while !self.found && self.look(leased).await && Instant::now() < end {
            leased.lock.check()?;
            sleep(limits::SERVED_POLL).await;
        }
        Ok(self.found)
    }

    /// Inspects the sets once and deletes pods that are left behind. Returns whether another inspection could find
    /// more.
    pub(crate) async fn look(&mut self, leased: &Leased<'_>) -> bool {
        if self.sets.is_empty() {
            return false;
        }
        let looked = self.looking.or(|| {
            let (cluster, sets) = (leased.cluster.clone(), self.sets.clone());
            async move { cluster.restart_stranded(&sets).await }
        });
        // The cleanup is an aid only: the wait for the rollback itself reports errors.
        let Some(Ok(cleared)) = looked.await else {
            return false;
        };
        for (pod, restart) in cleared.pods {
            self.found |= restart == RestartOutcome::Done;
            (leased.tell)(Event::Behind { pod, restart });
        }
        cleared.is_early
    }

    /// Waits for an inspection under way, if there is one, and reports its result.
    pub(crate) async fn end(&mut self, leased: &Leased<'_>) {
        if self.looking.is_there() {
            self.look(leased).await;
        }
    }

    /// Inspects the sets until the work is done. Losing the Lease ends it early.
    pub(crate) async fn during<T>(
        &mut self,
        leased: &Leased<'_>,
        work: impl Future<Output = T>,
    ) -> Result<T, Error> {
        let looks = async {
            loop {
                leased.lock.check()?;
                self.look(leased).await;
                sleep(limits::RELEASE_LOOK).await;
            }
        };
        let done = tokio::select! {
            done = work => Ok(done),
            lost = looks => lost,
        };
        self.end(leased).await;
        done
    }
}

impl Ready<'_> {
    /// Stops the workloads of the former version, which has another form, and waits until their last pod is deleted.
    pub(crate) async fn stop_former(
        &self,
        former: &[Object],
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        // Webhooks of the stopped operator no longer answer, so they must not block the following writes.
        if let Some(shown) = &self.decision.deployment {
            shown.going.disarm(leased, self.asked.id.name()).await?;
        }
        self.stop(former, leased).await
    }

    /// Stops the successors, so that the former workloads can be restored. Objects of only the new form are removed.
    pub(crate) async fn stop_successor(
        &self,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let is_new = |object: &&Object| {
            object.gvk().group == "apps" && !deployment.change.was_there(object.reference())
        };
        let new = deployment.change.objects().filter(is_new);
        // An object that this change did not write may belong to another owner.
        let written = |object: &Object| {
            let (object, uid) = leased.uids().get_key_value(object.reference())?;
            let (object, uid) = (object.clone(), Some(uid.clone()));
            Some(DeletionTarget { object, uid })
        };
        let new: Vec<DeletionTarget> = new.filter_map(written).collect();
        for DeletionTarget { object, uid } in &new {
            self.remove_former(object, uid.as_deref(), leased).await?;
        }
        let wait = self.deadline.wait();
        leased.wait_gone(new, wait).await?;
        self.stop(deployment.change.stopped(), leased).await
    }

    /// Waits until the stopped workloads are ready again.
    pub(crate) async fn start_former(
        &self,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let stopped = deployment.change.stopped().iter();
        let stopped: Vec<ObjectRef> = stopped
            .map(|workload| workload.reference().clone())
            .collect();
        let wait = self.deadline.wait();
        leased.wait_settled(&stopped, wait).await
    }

    /// Scales these workloads to zero, or deletes them, and waits until their pods are deleted.
    async fn stop(&self, workloads: &[Object], leased: &mut Leased<'_>) -> Result<(), Error> {
        let solution = self.asked.id.name();
        let mut stopping = Vec::new();
        for workload in workloads {
            let reference = workload.reference();
            // This change may have recreated it.
            let written = leased.uids().get(reference).map(String::as_str);
            let uid = written.or(workload.uid()).map(str::to_owned);
            let leaving = DeletionTarget {
                object: reference.clone(),
                uid: uid.clone(),
            };
            stopping.push(leaving);
            // A DaemonSet has no number of replicas that could be set to zero, so it is deleted.
            if reference.gvk.kind == "DaemonSet" {
                self.remove_former(reference, uid.as_deref(), leased)
                    .await?;
                continue;
            }
            let decide = |live: Option<&Object>| {
                let ours = live.filter(|live| is_that(live, uid.as_deref(), solution).is_ok());
                Ok(ours.map(scale_to_zero).transpose()?)
            };
            leased
                .put_with(ConflictPolicy::Force, reference, decide)
                .await?;
        }
        let wait = self.deadline.wait();
        leased.lock.check()?;
        let goals = stopping.into_iter().map(|leaving| {
            if leaving.object.gvk.kind == "DaemonSet" {
                Goal::Deleted(leaving)
            } else {
                Goal::Stopped(leaving.object)
            }
        });
        let goals: Vec<Goal> = goals.collect();
        Ok(leased.cluster.wait(&goals, wait, &|_| ()).await?)
    }

    /// Removes an object if it still belongs to the Solution and has this uid.
    pub(crate) async fn remove_former(
        &self,
        object: &ObjectRef,
        uid: Option<&str>,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let solution = self.asked.id.name();
        let removed = leased.remove(object, |live| is_that(live, uid, solution));
        match removed.await {
            Err(Error::Refused(Blocker::NotOurs(
                OwnershipConflict::Owned { .. } | OwnershipConflict::MadeAnew { .. },
            ))) => Ok(()),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn what_nobody_waited_for_is_told_to_the_next() {
        let (tell, told) = oneshot::channel();
        let mut work = UnderWay(None);
        {
            let waiting = work.or(|| told);
            tokio::select! {
                biased;
                _ = waiting => panic!("it is not done"),
                () = std::future::ready(()) => {}
            }
        }
        assert!(work.is_there());
        tell.send("first").unwrap();
        let other = || async { Ok("second") };
        assert_eq!(work.or(other).await, Some(Ok("first")));
        assert!(!work.is_there());
        assert_eq!(work.or(other).await, Some(Ok("second")));
    }
}
