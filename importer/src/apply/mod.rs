//! The application of a plan: push, record, activate, deploy, wait. The cluster is written only after every image is in
//! the registry, and repeating an import completes an interrupted one. [`Ready::apply`] is the entry point. The other
//! changes of a cluster (such as undeploying) have their own modules and share [`change::Change`]. Everything that an
//! import reports goes through [`veil`], which redacts sensitive values.

mod announce;
mod behind;

pub(crate) mod change;
mod cleanup;
mod definitions;
pub(crate) mod delete;
mod deploy;
mod done;
pub(crate) mod environment;
mod handover;
mod idle;
mod journal;
mod leased;
pub(crate) mod lifecycle;
mod lock;
mod migrate;
mod proof;
pub(crate) mod releases;
mod rollback;
mod several;
pub(crate) mod site;
mod steps;
mod through;
pub(crate) mod undeploy;
pub(crate) mod unimport;
pub(crate) mod uninstall;
mod withdraw;

pub use lock::leased_environment;

use std::collections::BTreeSet;

use deployer::{Cluster, Object, ObjectRef};
use registry::{Client, PushReport};
use schemars::JsonSchema;
use schemas::EnvironmentName;
use serde::Serialize;
use shelf::Pushed;
use validator::Finding;
use watch::Tell;

use crate::apply::done::Done;
use crate::apply::leased::{Leased, LeasedDecision};
use crate::apply::lock::LeaseCandidate;
use crate::apply::migrate::migrate;
use crate::model::authority::Authority;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::model::obstacle::Obstacle;
use crate::model::receipt::{ChangeSubject, Passage, Ran, Revision};
use crate::model::record;
use crate::model::request::{Asked, ForgetSigners, Goal};
use crate::model::signers::Memory;
use crate::model::state::ClusterState;
use crate::plan::Ready;
use crate::plan::crd::PlannedCrd;
use crate::plan::decision::Decision;
use crate::plan::deployment::Deployment;
use crate::plan::hidden::HiddenTexts;
use crate::plan::veil;

/// The outcome of an import.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// The id of the Solution, `<name>-<version>`.
    pub solution: String,
    /// SHA-256 of the signed statement.
    #[schemars(with = "schemas::Digest")]
    pub archive_id: String,
    /// The outcome of pushing its blobs.
    #[serde(flatten)]
    pub pushed: Pushed,
    /// Every object that was created or changed.
    pub objects: Vec<String>,
    /// Every object that was removed.
    pub removed: Vec<String>,
    /// The CRDs of this version that are active in the cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub activated: Vec<String>,
    /// The environment and namespace in which the operator runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployed: Option<[String; 2]>,
    /// The consent id of the effects outside the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
    /// The revision of the change in the cluster's history. It is missing if nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub revision: Option<Revision>,
    /// The findings about the accepted archive.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

impl Ready<'_> {
    /// Pushes and records the version, and activates and deploys it as far as the plan says.
    pub async fn apply(
        self,
        client: &Client,
        cluster: &Cluster,
        tell: Tell<'_, Event>,
    ) -> Result<Receipt, Error> {
        let deployment = self.decision.deployment.as_ref();
        let hidden = deployment.map(|deployment| deployment.parameters.hidden.clone());
        let hidden = &hidden.unwrap_or_default();
        let tell: Tell<'_, Event> = &|event| tell(veil::event(event, hidden));
        // The future is on the heap because it is large and becomes part of the callers' futures.
        let applied = Box::pin(self.carry_out(client, cluster, hidden, tell)).await;
        applied.map_err(|error| veil::error(error, hidden))
    }

    async fn carry_out(
        self,
        client: &Client,
        cluster: &Cluster,
        hidden: &HiddenTexts,
        tell: Tell<'_, Event>,
    ) -> Result<Receipt, Error> {
        let report = self.push(client, tell).await?;
        tell(Event::Pushed);
        self.deadline.begin();
        if self.stands(cluster).await? {
            self.outlast(cluster).await?;
            return Ok(self.receipt(&report, Done::default()));
        }
        let decide = async |cluster: &Cluster| {
            let what = self.decide_again(cluster).await?;
            let subject = self.subject(&what);
            let environments = self.concerned(&what);
            Ok(LeasedDecision {
                what,
                subject,
                environments,
            })
        };
        let write = async |leased: &mut Leased<'_>, decided: &mut Decision| {
            let written = match (leased.authority, &decided.deployment) {
                (Authority::Cluster, _) => self.write(decided, leased).await,
                (Authority::Namespace(_), Some(deployment)) => {
                    self.replace(deployment, None, leased).await
                }
                (Authority::Namespace(_), None) => Ok(()),
            };
            // Redacted already here, since the receipt records the error.
            written.map_err(|error| veil::error(error, hidden))
        };
        let request = &self.asked.request;
        let candidate = LeaseCandidate {
            cluster,
            authority: &request.authority,
            environments: &self.concerned(&self.decision),
            writer: &request.writer,
            tell,
            planned: Some(self.asked.planned),
        };
        let nothing = async || Ok(Vec::new());
        let (_, done) = Leased::run(candidate, nothing, decide, write).await?;
        Ok(self.receipt(&report, done))
    }

    async fn push(&self, client: &Client, tell: Tell<'_, Event>) -> Result<PushReport, Error> {
        let tell: Tell<'_, registry::Event> = &|event| tell(Event::Push(event));
        Ok(self.images.push(client, tell).await?)
    }

    /// Returns the environments whose Leases the change needs.
    fn concerned(&self, decided: &Decision) -> BTreeSet<EnvironmentName> {
        let Asked { id, request, .. } = &self.asked;
        match (&request.authority, &request.goal) {
            (Authority::Namespace(_), _) => BTreeSet::new(),
            (Authority::Cluster, Goal::Activated) => decided.state.environments_with(id.name()),
            (Authority::Cluster, _) => self.subject(decided).environments(),
        }
    }

    /// Returns the subject that the receipt names.
    fn subject(&self, decided: &Decision) -> ChangeSubject {
        let Asked {
            id,
            record,
            request,
            ..
        } = &self.asked;
        let of_version =
            ChangeSubject::of_solution(request.verb, id.name(), Some(id.version()), &decided.state);
        let passage = |deployment: &Deployment| Passage {
            environment: deployment.place.environment.clone(),
            namespace: deployment.namespace().clone(),
            from: deployment
                .standing
                .as_ref()
                .map(|standing| Ran::of(&decided.state, id.name(), standing)),
            to: Some(Ran::from_archive(
                &deployment.deployed,
                Some(record.archive_id),
            )),
        };
        ChangeSubject {
            archive_id: Some(record.archive_id),
            wave: request.wave.clone(),
            fleet_revision: request.fleet_revision,
            places: decided.deployment.iter().map(passage).collect(),
            ..of_version
        }
    }

    async fn write(&self, decided: &Decision, leased: &mut Leased<'_>) -> Result<(), Error> {
        self.remember(decided, leased).await?;
        let record = &self.asked.record;
        // An identical record is not rewritten, so it keeps the time of the first import.
        let earlier = decided.state.record(&record.name, &record.version);
        if earlier.is_none() {
            leased.suppose_absent(record::place(record));
        }
        if earlier.is_none_or(|earlier| !earlier.is_same_import(record)) {
            leased.keep(record::object(record)).await?;
        }
        self.activate(decided, leased).await?;
        if decided.state.records.is_empty() {
            leased.suppose_absent(record::projection_reference());
        }
        // Deploying does not change the listed versions.
        leased.project(&decided.state.records_with(record)).await?;
        match &decided.deployment {
            Some(deployment) => self.deploy(deployment, leased).await,
            None => Ok(()),
        }
    }

    /// Records the signers before there is a record of a version that they signed.
    async fn remember(&self, decided: &Decision, leased: &mut Leased<'_>) -> Result<(), Error> {
        let Some(memory) = self.memory(&decided.state) else {
            return Ok(());
        };
        let memory = Object::new(memory.to_object())?;
        if decided.state.signers == Memory::default() {
            leased.suppose_absent(memory.reference().clone());
        }
        leased.keep(memory.into_value()).await
    }

    /// Returns the new record of signers if it differs from the current one.
    fn memory(&self, state: &ClusterState) -> Option<Memory> {
        let Asked {
            record, request, ..
        } = &self.asked;
        if state.has_archive(record) && request.allowed.forget == ForgetSigners::Refuse {
            return None;
        }
        let memory = state.signers.after(record, request.allowed);
        (memory != state.signers).then_some(memory)
    }

    async fn activate(&self, decided: &Decision, leased: &mut Leased<'_>) -> Result<(), Error> {
        for planned in &decided.crds {
            let plan = |live: Option<&Object>| self.asked.crd(&planned.definition, live);
            let conflicts = planned.conflicts(&self.asked);
            let wait = self.deadline.wait();
            migrate(leased, planned, conflicts, wait, plan).await?;
            let reference = planned.object.reference();
            let decide = |live: Option<&Object>| {
                let crd = plan(live)?;
                if !planned.is_followed_by(&crd) {
                    return Err(Obstacle::changed([reference]).into());
                }
                Ok(crd.written().cloned())
            };
            leased.put_with(conflicts, reference, decide).await?;
        }
        let crds = decided.crds.iter();
        let crds: Vec<ObjectRef> = crds
            .map(|planned| planned.object.reference().clone())
            .collect();
        leased.wait_settled(&crds, self.deadline.wait()).await
    }

    fn receipt(&self, report: &PushReport, done: Done) -> Receipt {
        let deployment = self.decision.deployment.as_ref();
        let target = |deployment: &Deployment| {
            let environment = deployment.place.environment.to_string();
            [environment, deployment.namespace().to_string()]
        };
        let activated = self.decision.crds.iter().filter_map(PlannedCrd::written);
        let accepted = deployment.and_then(|deployment| deployment.deployed.accepted.as_ref());
        Receipt {
            solution: self.asked.id.to_string(),
            archive_id: self.asked.record.archive_id.to_string(),
            pushed: report.into(),
            revision: done.revision,
            objects: done.objects,
            removed: done.removed,
            activated: activated.map(|crd| crd.name().to_owned()).collect(),
            deployed: deployment.map(target),
            accepted: accepted.map(|accepted| accepted.id.clone()),
            findings: self.summary.findings.clone(),
        }
    }
}
