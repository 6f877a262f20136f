//! The replacement of an operator by packaged workloads, and the reverse. The former workloads are stopped before their
//! successors start, and started again if the successors do not become ready.

use change::{NotOurs, is_that, stopped};
use deployer::{Conflicts, Goal, Leaving, Object, ObjectRef};

use crate::apply::leased::Leased;
use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::plan::Ready;
use crate::plan::deployment::Deployment;

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
            Some(Leaving { object, uid })
        };
        let new: Vec<Leaving> = new.filter_map(written).collect();
        for Leaving { object, uid } in &new {
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

    async fn stop(&self, workloads: &[Object], leased: &mut Leased<'_>) -> Result<(), Error> {
        let solution = self.asked.id.name();
        let mut stopping = Vec::new();
        for workload in workloads {
            let reference = workload.reference();
            // This change may have recreated it.
            let written = leased.uids().get(reference).map(String::as_str);
            let uid = written.or(workload.uid()).map(str::to_owned);
            let leaving = Leaving {
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
                Ok(ours.map(stopped).transpose()?)
            };
            leased.put_with(Conflicts::Force, reference, decide).await?;
        }
        let wait = self.deadline.wait();
        leased.lock.check()?;
        let goals = stopping.into_iter().map(|leaving| {
            if leaving.object.gvk.kind == "DaemonSet" {
                Goal::Gone(leaving)
            } else {
                Goal::Empty(leaving.object)
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
            Err(Error::Refused(Obstacle::NotOurs(
                NotOurs::Owned { .. } | NotOurs::MadeAnew { .. },
            ))) => Ok(()),
            other => other,
        }
    }
}
