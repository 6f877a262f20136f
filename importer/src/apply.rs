//! Does what a plan says: push, record, activate, deploy, wait. The cluster is touched only when every image is in
//! place; running it again completes whatever an interruption left.

use std::sync::Arc;
use std::time::Duration;

use deployer::{
    Applied, Cluster, Conflicts, Deleted, Object, ObjectRef, Propagation, RolloutProgress,
};
use registry::{Client, ManifestOutcome, ManifestPush, PushReport, Tally};
use schemas::{SolutionName, Version};
use serde::Serialize;

use crate::crd::Change;
use crate::environment;
use crate::error::{Error, PushFailure};
use crate::lock::Lock;
use crate::obstacle::Obstacle;
use crate::plan::{Deployment, Ready, manager};
use crate::record;
use crate::request::ForgetSigners;
use crate::rollback::Before;
use crate::state::State;

/// How long a CRD may take until it is served.
const ESTABLISHED: Duration = Duration::from_mins(1);

/// One step of an import.
#[derive(Clone, Debug)]
pub enum Event {
    /// Something about a blob or manifest.
    Push(registry::Event),
    /// All images are in place.
    Pushed,
    /// An object of the cluster.
    Object {
        /// Which.
        object: ObjectRef,
        /// What became of it.
        applied: Applied,
    },
    /// An object that the new version no longer has.
    Removed(ObjectRef),
    /// The operator is on its way.
    Rollout(RolloutProgress),
    /// The operator did not become ready; what ran before is put back.
    RollingBack(Version),
}

/// Takes the events of an import.
pub type Watch = Arc<dyn Fn(Event) + Send + Sync>;

/// What an import did, for the administrator's files.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// The Solution id.
    pub solution: String,
    /// SHA-256 of the signed statement.
    pub archive_id: String,
    /// Blobs that were sent, and their bytes.
    pub uploaded: Count,
    /// Blobs that the registry took from another repository.
    pub mounted: Count,
    /// Blobs that were there.
    pub present: Count,
    /// Every object that was created or changed.
    pub objects: Vec<String>,
    /// Every object that was removed.
    pub removed: Vec<String>,
    /// The environment and namespace in which the operator runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployed: Option<[String; 2]>,
}

/// A number of blobs, and their bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Count {
    /// Blobs.
    pub blobs: u64,
    /// Bytes.
    pub bytes: u64,
}

impl From<Tally> for Count {
    fn from(tally: Tally) -> Self {
        Self {
            blobs: tally.count,
            bytes: tally.bytes,
        }
    }
}

impl Ready {
    /// Pushes, records, and deploys where the plan has a target.
    pub async fn apply(
        self,
        client: &Client,
        cluster: &Cluster,
        watch: &Watch,
    ) -> Result<Receipt, Error> {
        let report = self.push(client, watch).await?;
        watch(Event::Pushed);
        let lock = Lock::acquire(cluster, &self.0.request.writer).await?;
        let mut session = Session::new(cluster, &lock, watch);
        let done = self.write(&mut session).await;
        let Session {
            objects, removed, ..
        } = session;
        // What went wrong first is what the administrator must know.
        let released = lock.release().await;
        done?;
        released?;
        Ok(self.receipt(&report, objects, removed))
    }

    async fn push(&self, client: &Client, watch: &Watch) -> Result<PushReport, Error> {
        let job = self.0.images.job.clone();
        let manifests = job.manifests.clone();
        let watch = Arc::clone(watch);
        let report = registry::push(
            client,
            job,
            Arc::new(move |event| watch(Event::Push(event))),
        )
        .await;
        if report.is_complete() {
            return Ok(report);
        }
        Err(Error::Push(Box::new(PushFailure {
            images: failed_images(&manifests, &report.manifests),
            errors: report.errors(),
            uploaded: report.uploaded,
        })))
    }

    async fn write(&self, session: &mut Session<'_>) -> Result<(), Error> {
        let plan = &self.0;
        self.check_still_true(session.cluster).await?;
        self.remember(session).await?;
        // A record that is the same stays as it is, with the time of the first import.
        let earlier = plan.state.record(&plan.record.name, &plan.record.version);
        if earlier.is_none_or(|earlier| !earlier.is_same_import(&plan.record)) {
            session.apply(Object::new(plan.record.to_object())?).await?;
            project(session).await?;
        }
        if let Some(deployment) = &plan.deployment {
            self.activate(session).await?;
            self.deploy(deployment, session).await?;
        }
        project(session).await
    }

    /// Remembers who signed, before there is a version that they signed.
    async fn remember(&self, session: &mut Session<'_>) -> Result<(), Error> {
        let plan = &self.0;
        if plan.state.has_archive(&plan.record)
            && plan.request.allowed.forget == ForgetSigners::Refuse
        {
            return Ok(());
        }
        let memory = plan.state.signers.after(&plan.record, plan.request.allowed);
        if memory == plan.state.signers {
            return Ok(());
        }
        session.apply(Object::new(memory.to_object())?).await
    }

    /// Pushing takes time, and the plan was made before it. Under the Lease nobody else writes, so what is still true
    /// now stays true.
    async fn check_still_true(&self, cluster: &Cluster) -> Result<(), Error> {
        let plan = &self.0;
        let mut changed = State::read(cluster).await? != plan.state;
        if let Some(deployment) = &plan.deployment {
            let live = cluster.get(deployment.namespace.reference()).await?;
            changed |= live.is_some() != deployment.namespace_was_there;
        }
        if changed {
            return Err(Error::Refused(Obstacle::no(
                "the cluster was changed by others while images were pushed, so the plan no longer holds",
                "run the same command again: it makes a new plan, and nothing has to be pushed twice",
            )));
        }
        Ok(())
    }

    async fn activate(&self, session: &mut Session<'_>) -> Result<(), Error> {
        for (crd, change) in &self.0.crds {
            if !matches!(change, Change::KeepNewer(_)) {
                session.apply(crd.clone()).await?;
            }
        }
        for (crd, _) in &self.0.crds {
            session
                .cluster
                .wait_crd_established(crd.name(), ESTABLISHED)
                .await?;
        }
        Ok(())
    }

    async fn deploy(
        &self,
        deployment: &Deployment,
        session: &mut Session<'_>,
    ) -> Result<(), Error> {
        let namespace = &deployment.target.namespace;
        let solution = self.0.id.name();
        session.apply(deployment.namespace.clone()).await?;
        if deployment.previous.is_none() {
            // Noted before the first object, so that there is an undo whatever happens.
            self.note(deployment, session).await?;
        }
        let before = Before::read(session.cluster, solution, namespace).await?;
        if let Err(error) = self.roll_out(deployment, session).await {
            return Err(self.take_back(error, before, deployment, session).await);
        }
        session
            .prune(solution, namespace, &deployment.objects)
            .await?;
        self.note(deployment, session).await
    }

    /// Notes in the namespace that this version is deployed, beside what else is.
    async fn note(&self, deployment: &Deployment, session: &mut Session<'_>) -> Result<(), Error> {
        let namespace = &deployment.target.namespace;
        let known = self
            .0
            .state
            .namespaces
            .iter()
            .find(|space| space.namespace == *namespace);
        let mut solutions = known
            .map(|space| space.solutions.clone())
            .unwrap_or_default();
        solutions.insert(self.0.id.name().clone(), self.0.id.version().clone());
        session
            .apply(Object::new(environment::config(namespace, &solutions))?)
            .await
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
        let version = self.0.id.version().clone();
        let previous = match &deployment.previous {
            Some(previous) if *previous != version => previous.clone(),
            _ => return error,
        };
        let source = match error {
            Error::Cluster(
                source @ (deployer::Error::Rollout(_) | deployer::Error::Timeout { .. }),
            ) => Box::new(source),
            other => return other,
        };
        (session.watch)(Event::RollingBack(previous.clone()));
        match self.restore(before, deployment, session).await {
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

    async fn restore(
        &self,
        before: Before,
        deployment: &Deployment,
        session: &mut Session<'_>,
    ) -> Result<(), Error> {
        let namespace = &deployment.target.namespace;
        before.restore(session, self.0.id.name(), namespace).await?;
        let wait = self.0.request.wait;
        let operator = &deployment.operator;
        Ok(session
            .cluster
            .wait_rollout(namespace.as_str(), operator, wait, |_| ())
            .await?)
    }

    async fn roll_out(
        &self,
        deployment: &Deployment,
        session: &mut Session<'_>,
    ) -> Result<(), Error> {
        for object in &deployment.objects {
            session.apply(object.clone()).await?;
        }
        let namespace = deployment.target.namespace.as_str();
        let watch = Arc::clone(session.watch);
        let progress = move |progress: &RolloutProgress| watch(Event::Rollout(*progress));
        let wait = self.0.request.wait;
        Ok(session
            .cluster
            .wait_rollout(namespace, &deployment.operator, wait, progress)
            .await?)
    }

    fn receipt(&self, report: &PushReport, objects: Vec<String>, removed: Vec<String>) -> Receipt {
        let plan = &self.0;
        let target = |deployment: &Deployment| {
            [
                deployment.target.environment.to_string(),
                deployment.target.namespace.to_string(),
            ]
        };
        Receipt {
            solution: plan.id.to_string(),
            archive_id: plan.record.archive_id.to_string(),
            uploaded: report.uploaded.into(),
            mounted: report.mounted.into(),
            present: report.present.into(),
            objects,
            removed,
            deployed: plan.deployment.as_ref().map(target),
        }
    }
}

fn failed_images(manifests: &[ManifestPush], outcomes: &[ManifestOutcome]) -> Vec<String> {
    manifests
        .iter()
        .zip(outcomes)
        .filter(|(manifest, outcome)| {
            matches!(manifest.reference, registry::Reference::Tag(_))
                && !matches!(outcome, ManifestOutcome::Pushed | ManifestOutcome::Present)
        })
        .map(|(manifest, _)| format!("{}:{}", manifest.repository, manifest.reference))
        .collect()
}

/// Rewrites upstream's ConfigMap from what the cluster says now.
pub(crate) async fn project(session: &mut Session<'_>) -> Result<(), Error> {
    let state = State::read(session.cluster).await?;
    session
        .apply(Object::new(record::projection(
            &state.records,
            &state.active,
        ))?)
        .await
}

/// Writing under the lock, and what was written.
pub(crate) struct Session<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) lock: &'a Lock,
    pub(crate) watch: &'a Watch,
    pub(crate) objects: Vec<String>,
    pub(crate) removed: Vec<String>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(cluster: &'a Cluster, lock: &'a Lock, watch: &'a Watch) -> Self {
        Self {
            cluster,
            lock,
            watch,
            objects: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// Deletes one object, if the lock is still ours.
    pub(crate) async fn remove(&mut self, object: &ObjectRef) -> Result<(), Error> {
        self.lock.check()?;
        if self
            .cluster
            .delete(object, Propagation::Foreground, None)
            .await?
            == Deleted::Requested
        {
            self.removed.push(object.to_string());
            (self.watch)(Event::Removed(object.clone()));
        }
        Ok(())
    }

    /// Applies one object, if the lock is still ours.
    pub(crate) async fn apply(&mut self, object: Object) -> Result<(), Error> {
        self.lock.check()?;
        let applied = self
            .cluster
            .apply(&object, &manager(), Conflicts::Force)
            .await?;
        if applied != Applied::Unchanged {
            self.objects.push(object.reference().to_string());
        }
        (self.watch)(Event::Object {
            object: object.reference().clone(),
            applied,
        });
        Ok(())
    }

    /// Removes what an operator no longer has.
    pub(crate) async fn prune(
        &mut self,
        solution: &SolutionName,
        namespace: &schemas::Namespace,
        keep: &[Object],
    ) -> Result<(), Error> {
        let keep: Vec<ObjectRef> = keep
            .iter()
            .map(|object| object.reference().clone())
            .collect();
        for scope in environment::inventory(solution, namespace) {
            self.lock.check()?;
            for removed in self
                .cluster
                .prune(&scope, &keep, Propagation::Foreground)
                .await?
            {
                self.removed.push(removed.to_string());
                (self.watch)(Event::Removed(removed));
            }
        }
        Ok(())
    }
}
