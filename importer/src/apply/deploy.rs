//! Deploys an operator: writes its objects, waits until it is ready, and rolls back to the former version if it does
//! not become ready. [`Ready::deploy`] is the entry point.

use std::collections::BTreeSet;

use kubernetes::{Goal, ObjectRef};
use planner::{DeletionOrder, Inventory, RollbackPlan};
use schemas::Version;

use crate::apply::leased::Leased;
use crate::apply::rollback::StatefulSetSelection;
use crate::decide::deployment::Deployment;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::objects::withdrawal::Withdrawal;
use crate::plan::Ready;
use crate::records::namespace_record::NamespaceRecord;

impl Ready<'_> {
    /// Deploys the operator, the sets and the charts of a version in its namespace. The records are written before the
    /// objects that they name, so an interruption at any point leaves no unrecorded object. After a failure, the
    /// records are updated to list the remaining objects, and the failure is returned.
    pub(crate) async fn deploy(
        &self,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let solution = self.asked.id.name();
        let note = |place: &mut NamespaceRecord| {
            let deployed = deployment.deployed.clone();
            place.solutions.insert(solution.clone(), deployed);
            place.coming.remove(solution);
        };
        let mut place = deployment.place.clone();
        let labels = deployment.labels();
        if let Some(current) = place.solutions.get_mut(solution)
            && current.labels != labels
        {
            // The labels are recorded before they are written, so that they can be removed after an interruption.
            current.labels = labels;
            place.write(leased).await?;
        }
        place.write_space_as(deployment.space(), leased).await?;
        let begun = match &deployment.current {
            None => {
                // The deployment is recorded before its first object, so that it can be undeployed after an
                // interruption.
                self.progress(deployment, leased).write(leased).await?;
                None
            }
            Some(current)
                if *current == *deployment.deployed && !deployment.change.changes_releases() =>
            {
                None
            }
            Some(_) => Some(self.progress(deployment, leased)),
        };
        let (new, before) = (&deployment.change.inventory, &deployment.change.before);
        self.record_progress(deployment, leased).await?;
        // From here on, other writers see the coming version of this environment in the records.
        leased.leave_cluster(&place).await?;
        if let Err(error) = self.replace(deployment, begun.as_ref(), leased).await {
            let place = &mut deployment.place.clone().seen(leased.uids());
            match &error {
                Error::Unpulled(_) => {
                    // Nothing was deployed that would have to be undone.
                    self.record_inventory(deployment, before, leased).await?;
                    place.write_space(leased).await?;
                    place.write(leased).await?;
                }
                Error::RolledBack { .. } => {
                    place.write_space(leased).await?;
                    let restored = leased.as_written(&before.after(new));
                    self.record_inventory(deployment, &restored, leased).await?;
                    place.write(leased).await?;
                }
                _ => {
                    // The inventory records the UIDs of the objects that exist already. The original failure is
                    // returned, not one of these writes.
                    let mut so_far = self.so_far(deployment, leased);
                    if self.former(deployment).is_none() {
                        self.silence_unfinished(deployment, &mut so_far, leased)
                            .await
                            .ok();
                    }
                    self.record_inventory(deployment, &so_far, leased)
                        .await
                        .ok();
                }
            }
            return Err(error);
        }
        self.record_applied(deployment, leased).await?;
        note(&mut place);
        if place.space() != deployment.space() {
            // Labels that only the previous version needed are removed.
            place.write_space(leased).await?;
        }
        place.write(leased).await
    }

    /// Removes webhooks that call the Services of a deployment that was never complete, and drops them from the
    /// inventory `so_far`. As long as such a Service has no pods, other writers could not write objects that the
    /// webhook covers, nor delete a namespace.
    async fn silence_unfinished(
        &self,
        deployment: &Deployment,
        so_far: &mut Inventory,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let was_there = |object: &ObjectRef| deployment.change.was_there(object);
        let unfinished = so_far.calls_unfinished(&deployment.change.before, was_there);
        if unfinished.is_empty() {
            return Ok(());
        }
        let solution = self.asked.id.name();
        let withdrawal =
            Withdrawal::from_inventory(leased.cluster, solution, unfinished, |_, _| true).await?;
        withdrawal.disarm(leased, solution).await?;
        let gone = withdrawal.at(DeletionOrder::Interceptor);
        so_far
            .entries
            .retain(|entry| !gone.contains_key(&entry.reference()));
        Ok(())
    }

    /// Replaces the existing objects with those of the deployment. The record `begun` is written only after an image
    /// was pulled, since nothing has changed before.
    pub(crate) async fn replace(
        &self,
        deployment: &Deployment,
        begun: Option<&NamespaceRecord>,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let (solution, namespace) = (self.asked.id.name(), deployment.namespace());
        let way_back = self.way_back(deployment)?;
        self.prove(deployment, leased).await?;
        if let Some(place) = begun {
            place.write(leased).await?;
        }
        if let Err(error) = self.roll_out(deployment, leased).await {
            return Err(self.take_back(error, way_back, deployment, leased).await);
        }
        self.remove_stale(leased).await?;
        self.remove_releases(deployment, leased).await?;
        // A generated pull secret of the previous version, which the new version no longer uses.
        let former = deployment
            .current
            .as_ref()
            .and_then(|current| current.pull_secret.as_ref());
        if let Some(secret) = former
            && deployment.deployed.pull_secret.as_ref() != former
        {
            leased.remove_login(solution, namespace, secret).await?;
        }
        Ok(())
    }

    /// Returns the former version and the rollback of this change, for an upgrade that fails. Returns `None` if an
    /// earlier change left the former version incomplete.
    fn way_back(&self, deployment: &Deployment) -> Result<Option<(Version, RollbackPlan)>, Error> {
        let former = self.former(deployment);
        let Some(version) = former.filter(|_| deployment.coming().is_none()) else {
            return Ok(None);
        };
        let inverse = deployment.change.inverse(self.asked.id.name())?;
        Ok(Some((version.clone(), inverse)))
    }

    /// Returns the version that ran before according to the record, if it is another one.
    fn former<'d>(&self, deployment: &'d Deployment) -> Option<&'d Version> {
        let current = deployment
            .current
            .as_ref()
            .map(|deployed| &deployed.version);
        current.filter(|version| *version != self.asked.id.version())
    }

    /// Removes the objects that the plan showed, as far as they still belong to the Solution. Packaged objects are
    /// removed first, in the order of an undeployment.
    async fn remove_stale(&self, leased: &mut Leased<'_>) -> Result<(), Error> {
        let Some(shown) = &self.decision.deployment else {
            return Ok(());
        };
        let (solution, wait) = (self.asked.id.name(), self.deadline.wait());
        let mut going = shown.going.clone();
        going.take(leased, solution, wait).await?;
        let taken: BTreeSet<ObjectRef> = going.references().collect();
        let others = shown.stale();
        for object in others.filter(|object| !taken.contains(object.reference())) {
            self.remove_former(object.reference(), object.uid(), leased)
                .await?;
        }
        Ok(())
    }

    /// Restores the former version after an upgrade that did not become ready, and returns the error that describes the
    /// outcome. After any other failure it restores nothing, since the next attempt may succeed.
    async fn take_back(
        &self,
        error: Error,
        way_back: Option<(Version, RollbackPlan)>,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Error {
        if !is_for_good(&error) {
            return error;
        }
        let (version, source) = (self.asked.id.version().clone(), Box::new(error));
        let Some((previous, inverse)) = way_back else {
            let unfinished = self.former(deployment).zip(deployment.coming());
            return match unfinished {
                Some((previous, coming)) => Error::Mixed {
                    version,
                    previous: previous.clone(),
                    coming: Box::new(coming.clone()),
                    source,
                },
                None => *source,
            };
        };
        (leased.tell)(Event::RollingBack {
            version: previous.clone(),
        });
        // The failed version may have used up the time limit, so the rollback gets its own.
        self.deadline.begin();
        let restored = self.return_to(&inverse, deployment, leased);
        match restored.await {
            Ok(()) => Error::RolledBack {
                version,
                previous,
                source,
            },
            Err(error) => Error::NotRolledBack {
                version,
                previous,
                restoring: Box::new(error),
                source,
            },
        }
    }

    /// Restores the former version and waits for it.
    async fn return_to(
        &self,
        inverse: &RollbackPlan,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let changes_form = !deployment.change.stopped().is_empty();
        // Operators and packaged workloads of the two versions must not run at the same time.
        if changes_form {
            self.stop_successor(deployment, leased).await?;
        }
        self.take_back_releases(inverse, deployment, leased).await?;
        self.restore(inverse, deployment, leased).await?;
        if changes_form {
            self.start_former(deployment, leased).await?;
        } else if deployment.change.had_operator() {
            self.come_up(deployment, leased).await?;
        }
        let wait = self.deadline.wait();
        let settled = leased.wait_settled(&inverse.awaited, wait);
        let mut behind = StatefulSetSelection::new(&inverse.awaited);
        behind.during(leased, settled).await??;
        self.arm_former(inverse, leased).await
    }

    async fn roll_out(
        &self,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        if let Some(shown) = &self.decision.deployment {
            // Webhooks are removed first: the following steps may replace the pods that serve them, and must not be
            // refused meanwhile.
            let solution = self.asked.id.name();
            shown.going.remove_interceptors(leased, solution).await?;
        }
        self.bring(deployment, leased).await
    }

    /// Waits for the operator. Pods that wait for their image are restarted first, since this change may have written
    /// the pull secret that they need.
    pub(crate) async fn come_up(
        &self,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let Some(operator) = deployment.operator() else {
            return Ok(());
        };
        leased.lock.check()?;
        leased.restart_unpulled(&[operator]).await?;
        let tell = |status| (leased.tell)(Event::Rollout(status));
        let goal = [Goal::Rollout(operator.clone())];
        let wait = self.deadline.wait();
        Ok(leased.cluster.wait(&goal, wait, &tell).await?)
    }
}

/// Checks whether a version failed for a reason that another attempt would not change.
fn is_for_good(error: &Error) -> bool {
    use kubernetes::Error as E;
    match error {
        Error::Unserved { .. }
        | Error::Unready { .. }
        | Error::Helm(_, helm::HelmError::Failed { .. } | helm::HelmError::TooLong { .. }) => true,
        Error::Cluster(error) => {
            matches!(
                error,
                E::Rollout(_) | E::UnreadyObjects(_) | E::Timeout { .. }
            )
        }
        _ => false,
    }
}
