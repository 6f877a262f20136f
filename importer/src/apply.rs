//! Does what a plan says: push, record, activate, deploy, wait. The cluster is touched only when every image is in
//! place; running it again completes whatever an interruption left.

use std::time::Duration;

use deployer::{Cluster, Object, ObjectRef};
use registry::{Client, ManifestOutcome, ManifestPush, PushReport, Tally};
use serde::Serialize;
use validator::Finding;
use watch::Tell;

use crate::crd::Change;
use crate::decision::Decision;
use crate::deployment::Deployment;
use crate::error::{Error, PushFailure};
use crate::event::Event;
use crate::lock::Lock;
use crate::login;
use crate::obstacle::Obstacle;
use crate::plan::Ready;
use crate::request::{Asked, ForgetSigners};
use crate::rollback::Before;
use crate::session::Session;

/// How long a CRD may take until it is served.
const ESTABLISHED: Duration = Duration::from_mins(1);

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
    /// The id of what reaches beyond the environment and was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
    /// What was found of the archive though it was accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
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

impl Ready<'_> {
    /// Pushes, records, and deploys where the plan has a target.
    pub async fn apply(
        self,
        client: &Client,
        cluster: &Cluster,
        tell: Tell<'_, Event>,
    ) -> Result<Receipt, Error> {
        let report = self.push(client, tell).await?;
        tell(Event::Pushed);
        let lock = Lock::acquire(cluster, &self.asked.request.writer, tell).await?;
        let mut session = Session::new(cluster, &lock, tell);
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

    async fn push(&self, client: &Client, tell: Tell<'_, Event>) -> Result<PushReport, Error> {
        let job = self.images.job.clone();
        let manifests = job.manifests.clone();
        let report = registry::push(client, job, &|event| tell(Event::Push(event))).await;
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
        let decided = self.decide_again(session.cluster).await?;
        self.remember(&decided, session).await?;
        let record = &self.asked.record;
        // A record that is the same stays as it is, with the time of the first import.
        let earlier = decided.state.record(&record.name, &record.version);
        if earlier.is_none_or(|earlier| !earlier.is_same_import(record)) {
            session.keep(Object::new(record.to_object())?).await?;
            session.project().await?;
        }
        if let Some(deployment) = &decided.deployment {
            self.activate(&decided, session).await?;
            self.deploy(deployment, &decided, session).await?;
        }
        session.project().await
    }

    /// Remembers who signed, before there is a version that they signed.
    async fn remember(&self, decided: &Decision, session: &mut Session<'_>) -> Result<(), Error> {
        let Asked {
            record, request, ..
        } = &self.asked;
        let state = &decided.state;
        if state.has_archive(record) && request.allowed.forget == ForgetSigners::Refuse {
            return Ok(());
        }
        let memory = state.signers.after(record, request.allowed);
        if memory == state.signers {
            return Ok(());
        }
        session.keep(Object::new(memory.to_object())?).await
    }

    async fn activate(&self, decided: &Decision, session: &mut Session<'_>) -> Result<(), Error> {
        for planned in &decided.crds {
            let decide = |live: Option<&Object>| {
                let (object, change) = self.asked.crd(&planned.definition, live)?;
                if change != planned.change {
                    return Err(Obstacle::Changed.into());
                }
                Ok((!matches!(change, Change::KeepNewer(_))).then_some(object))
            };
            session.put(planned.object.reference(), decide).await?;
        }
        for planned in &decided.crds {
            session
                .cluster
                .wait_crd_established(planned.object.name(), ESTABLISHED)
                .await?;
        }
        Ok(())
    }

    async fn deploy(
        &self,
        deployment: &Deployment,
        decided: &Decision,
        session: &mut Session<'_>,
    ) -> Result<(), Error> {
        let namespace = &deployment.namespace;
        let solution = self.asked.id.name();
        let mut place = deployment.place.clone();
        place.write_space(session).await?;
        if deployment.previous.is_none() {
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
        self.remove_former_login(deployment, decided, session)
            .await?;
        place
            .solutions
            .insert(solution.clone(), deployment.deployed.clone());
        place.write(session).await
    }

    /// A login that was made for the version before, where another one took its place.
    async fn remove_former_login(
        &self,
        deployment: &Deployment,
        decided: &Decision,
        session: &mut Session<'_>,
    ) -> Result<(), Error> {
        let solution = self.asked.id.name();
        let before = decided.state.deployed(&deployment.namespace, solution);
        let before = before.and_then(|deployed| deployed.pull_secret.as_ref());
        match before {
            Some(secret) if deployment.deployed.pull_secret.as_ref() != Some(secret) => {
                login::remove(session, solution, &deployment.namespace, secret).await
            }
            _ => Ok(()),
        }
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
        (session.tell)(Event::RollingBack(previous.clone()));
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
        let solution = self.asked.id.name();
        before
            .restore(session, solution, &deployment.namespace)
            .await?;
        self.come_up(deployment, session).await
    }

    async fn roll_out(
        &self,
        deployment: &Deployment,
        session: &mut Session<'_>,
    ) -> Result<(), Error> {
        let solution = self.asked.id.name();
        for object in &deployment.objects {
            deployment.put(object, solution, session).await?;
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

    fn receipt(&self, report: &PushReport, objects: Vec<String>, removed: Vec<String>) -> Receipt {
        let target = |deployment: &Deployment| {
            [
                deployment.place.environment.to_string(),
                deployment.namespace.to_string(),
            ]
        };
        let deployment = self.decision.deployment.as_ref();
        let accepted = deployment.and_then(|deployment| deployment.deployed.accepted.as_ref());
        Receipt {
            solution: self.asked.id.to_string(),
            archive_id: self.asked.record.archive_id.to_string(),
            uploaded: report.uploaded.into(),
            mounted: report.mounted.into(),
            present: report.present.into(),
            objects,
            removed,
            deployed: deployment.map(target),
            accepted: accepted.map(|accepted| accepted.id.clone()),
            findings: self.summary.findings.clone(),
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
