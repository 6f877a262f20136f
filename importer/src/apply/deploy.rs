//! Brings an operator to an environment: its objects, the wait until it is ready, and the way back when it does not
//! become so.

use deployer::{Object, ObjectRef};
use schemas::KubernetesName;

use crate::apply::rollback::Before;
use crate::apply::session::Session;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::model::owner::check_owner;
use crate::plan::Ready;
use crate::plan::default_account::DefaultAccount;
use crate::plan::deployment::{Deployment, is_default_account};

impl Ready<'_> {
    pub(crate) async fn deploy(
        &self,
        deployment: &Deployment,
        session: &mut Session<'_>,
    ) -> Result<(), Error> {
        let namespace = &deployment.namespace;
        let solution = self.asked.id.name();
        let mut place = deployment.place.clone();
        place.write_space(session).await?;
        if deployment.standing.is_none() {
            // Noted before the first object, so that there is an undo whatever happens.
            place
                .solutions
                .insert(solution.clone(), deployment.deployed.clone());
        }
        place.write(session).await?;
        let before = Before::read(session.cluster, solution, namespace).await?;
        if let Err(error) = self.roll_out(deployment, session).await {
            return Err(self.take_back(error, before, deployment, session).await);
        }
        session
            .prune(solution, namespace, &deployment.objects)
            .await?;
        // A login that was made for the version before, where another one took its place.
        let former = deployment.standing.as_ref();
        let former = former.and_then(|standing| standing.pull_secret.as_ref());
        if let Some(secret) = former
            && deployment.deployed.pull_secret.as_ref() != former
        {
            session.remove_login(solution, namespace, secret).await?;
        }
        place
            .solutions
            .insert(solution.clone(), deployment.deployed.clone());
        place.write(session).await
    }

    /// Puts back what ran before an upgrade that does not come, and says what happened. Another failure may be gone at
    /// the next try, and the same version again has nothing before it.
    async fn take_back(
        &self,
        error: Error,
        before: Before,
        deployment: &Deployment,
        session: &mut Session<'_>,
    ) -> Error {
        let version = self.asked.id.version().clone();
        let previous = match &deployment.standing {
            Some(standing) if standing.version != version => standing.version.clone(),
            _ => return error,
        };
        let source = match error {
            Error::Cluster(
                source @ (deployer::Error::Rollout(_) | deployer::Error::Timeout { .. }),
            ) => Box::new(source),
            other => return other,
        };
        (session.tell)(Event::RollingBack(previous.clone()));
        let restored = async {
            let solution = self.asked.id.name();
            let namespace = &deployment.namespace;
            before.restore(session, solution, namespace).await?;
            self.come_up(deployment, session).await
        };
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

    async fn roll_out(
        &self,
        deployment: &Deployment,
        session: &mut Session<'_>,
    ) -> Result<(), Error> {
        for object in &deployment.objects {
            self.put(deployment, object, session).await?;
        }
        self.come_up(deployment, session).await
    }

    /// Waits for the operator. Its pods that wait for an image are started anew before: what was applied may be what
    /// they lack.
    async fn come_up(
        &self,
        deployment: &Deployment,
        session: &mut Session<'_>,
    ) -> Result<(), Error> {
        let namespace = deployment.namespace.as_str();
        let operator = &deployment.operator;
        session.lock.check()?;
        for (pod, restart) in session
            .cluster
            .restart_unpulled(namespace, operator)
            .await?
        {
            (session.tell)(Event::Restart { pod, restart });
        }
        let reference = ObjectRef::namespaced("apps/v1", "Deployment", namespace, operator);
        let tell = |state| {
            let deployment = reference.clone();
            (session.tell)(Event::Rollout { deployment, state });
        };
        let wait = self.asked.request.wait;
        Ok(session
            .cluster
            .wait_rollout(namespace, operator, wait, &tell)
            .await?)
    }

    /// Writes one of the objects, if what is there by then may be written.
    async fn put(
        &self,
        deployment: &Deployment,
        object: &Object,
        session: &mut Session<'_>,
    ) -> Result<(), Error> {
        let solution = self.asked.id.name();
        let decide = |live: Option<&Object>| {
            if is_default_account(object.reference()) {
                let secret = deployment.deployed.pull_secret.as_ref();
                let account = live.map(DefaultAccount::of).unwrap_or_default().deployed(
                    solution,
                    secret.map(KubernetesName::as_str),
                    &deployment.place,
                );
                return Ok(Some(Object::new(account.object(&deployment.namespace))?));
            }
            check_owner(object, live, solution)?;
            Ok(Some(object.clone()))
        };
        session.put(object.reference(), decide).await?;
        Ok(())
    }
}
