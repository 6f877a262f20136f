//! The application of a plan: push, record, activate, deploy, wait. [`Ready::apply`] is the entry point. The cluster is
//! written only after every image is in the registry, and repeating an import completes an interrupted one. Everything
//! that an import reports goes through [`redact`], which removes sensitive values. The other changes of a cluster, such
//! as undeploying, have their own modules and share [`change::Change`].
//!
//! An import that finds everything as desired takes a fast path. It writes nothing, so it takes no Lease and does not
//! decide a second time. [`Ready::stands`] checks for this case, and [`Ready::outlast`] waits until the operator has
//! proven stable.

pub(crate) mod change;
mod definitions;
mod deploy;
pub(crate) mod environment;
mod helm_run;
mod journal;
mod leased;
pub(crate) mod lifecycle;
mod lock;
mod object_removal;
mod proof;
mod releases;
mod rollback;
pub(crate) mod shown;
mod steps;
pub(crate) mod undeploy;
pub(crate) mod unimport;
pub(crate) mod uninstall;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use kubernetes::{
    Cluster, Goal as ClusterGoal, Object, ObjectRef, Readiness, WaitOutcome, readiness,
};
use planner::{Entry, intercepts, vocabulary as v};
use progress::ProgressSink;
use registry::{Client, PushReport};
use schemars::JsonSchema;
use schemas::EnvironmentName;
use serde::Serialize;
use serde_json::Value;
use store::PushedBlobs;
use validator::Finding;

use self::definitions::migrate;
use self::journal::WriteLog;
use self::leased::{Leased, LeasedDecision};
use self::lock::LeaseCandidate;
pub use self::lock::leased_environment;
use crate::choices::redact::{self, HiddenTexts};
use crate::decide::decision::Decision;
use crate::decide::deployment::Deployment;
use crate::decide::proof::{Network, of_deployment};
use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::model::request::{ForgetSigners, Goal, Nodes, PlanRequest};
use crate::model::writer::Authority;
use crate::objects::crd::PlannedCrd;
use crate::plan::Ready;
use crate::records::receipt::{ChangeSubject, Revision, Transition, VersionRun};
use crate::records::receipts::Receipts;
use crate::records::record::{self, RememberedSigners};
use crate::records::state::ClusterState;
use crate::records::storage;

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
    pub pushed: PushedBlobs,
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
    /// Pushes and records the version, and activates and deploys it as far as the plan says. Returns `None` if a new plan
    /// is needed, because nodes became ready or another writer has changed the cluster.
    pub async fn apply(
        self,
        client: &Client,
        cluster: &Cluster,
        tell: ProgressSink<'_, Event>,
    ) -> Result<Option<Receipt>, Error> {
        if self.wait_nodes(cluster, tell).await? == WaitOutcome::Delayed {
            // Only now is it known which nodes can test the pull of an image.
            self.give_up(client).await;
            return Ok(None);
        }
        let hidden = &self.decision.hidden();
        let overtaken = AtomicBool::new(false);
        let tell: ProgressSink<'_, Event> = &|event| {
            if let Event::Waiting(_) | Event::Overtaken = event {
                overtaken.store(true, Ordering::Relaxed);
            }
            tell(redact::event(event, hidden));
        };
        // The future is on the heap because it is large and becomes part of the callers' futures.
        match Box::pin(self.carry_out(client, cluster, hidden, tell)).await {
            Err(Error::Refused(_)) if overtaken.into_inner() => Ok(None),
            Ok(receipt) => Ok(Some(receipt)),
            Err(error) => Err(redact::error(error, hidden)),
        }
    }

    /// Waits until the nodes are Ready, if the request waits for them and a pod needs the pod network. It does not wait
    /// if the deployment may itself set up the network that the nodes wait for.
    async fn wait_nodes(
        &self,
        cluster: &Cluster,
        tell: ProgressSink<'_, Event>,
    ) -> Result<WaitOutcome, Error> {
        let network = self.decision.deployment.as_ref().map(of_deployment);
        match (self.asked.request.nodes, network) {
            (Nodes::Awaited(longest), Some(Network::Needed)) => {
                let tell = |nodes| tell(Event::Nodes(nodes));
                Ok(cluster.wait_nodes(longest, &tell).await?)
            }
            _ => Ok(WaitOutcome::Immediate),
        }
    }

    /// Pushes the images, and writes to the cluster under the Leases unless everything is in place already.
    async fn carry_out(
        self,
        client: &Client,
        cluster: &Cluster,
        hidden: &HiddenTexts,
        tell: ProgressSink<'_, Event>,
    ) -> Result<Receipt, Error> {
        let report = self.push(client, tell).await?;
        self.deadline.begin();
        if self.stands(cluster).await? {
            self.outlast(cluster).await?;
            return Ok(self.receipt(&report, WriteLog::default()));
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
            written.map_err(|error| redact::error(error, hidden))
        };
        let request = &self.asked.request;
        let candidate = LeaseCandidate {
            cluster,
            authority: &request.authority,
            environments: &self.concerned(&self.decision),
            writer: &request.context.writer,
            tell,
            planned: Some(self.asked.planned),
        };
        let nothing = async || Ok(Vec::new());
        let (_, done) = Leased::run(candidate, nothing, decide, write).await?;
        Ok(self.receipt(&report, done))
    }

    async fn push(
        &self,
        client: &Client,
        tell: ProgressSink<'_, Event>,
    ) -> Result<PushReport, Error> {
        tell(Event::Pushing {
            solution: self.summary.solution.clone(),
            registry: self.summary.registry.clone(),
            bytes: self.summary.bytes_to_push,
        });
        let of_push: ProgressSink<'_, registry::Event> = &|event| tell(Event::Push(event));
        let report = self.images.push(client, of_push).await?;
        tell(Event::Pushed);
        Ok(report)
    }

    /// Returns the environments whose Leases the change needs.
    fn concerned(&self, decided: &Decision) -> BTreeSet<EnvironmentName> {
        let PlanRequest { id, request, .. } = &self.asked;
        match (&request.authority, &request.goal) {
            (Authority::Namespace(_), _) => BTreeSet::new(),
            (Authority::Cluster, Goal::Activated) => decided.state.environments_with(id.name()),
            (Authority::Cluster, _) => self.subject(decided).environments(),
        }
    }

    /// Returns the subject that the receipt names.
    fn subject(&self, decided: &Decision) -> ChangeSubject {
        let PlanRequest {
            id,
            record,
            request,
            ..
        } = &self.asked;
        let of_version =
            ChangeSubject::of_solution(request.verb, id.name(), Some(id.version()), &decided.state);
        let passage = |deployment: &Deployment| Transition {
            environment: deployment.place.environment.clone(),
            namespace: deployment.namespace().clone(),
            from: deployment
                .current
                .as_ref()
                .map(|current| VersionRun::from_deployed(&decided.state, id.name(), current)),
            to: Some(VersionRun::from_archive(
                &deployment.deployed,
                Some(record.archive_id),
            )),
        };
        ChangeSubject {
            archive_id: Some(record.archive_id),
            wave: request.fleet.wave.clone(),
            fleet_revision: request.fleet.revision,
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
        if decided.state.signers == RememberedSigners::default() {
            leased.suppose_absent(memory.reference().clone());
        }
        leased.keep(memory.into_value()).await
    }

    /// Returns the new record of signers if it differs from the current one.
    fn memory(&self, state: &ClusterState) -> Option<RememberedSigners> {
        let PlanRequest {
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
                    return Err(Blocker::changed([reference]).into());
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

    fn receipt(&self, report: &PushReport, done: WriteLog) -> Receipt {
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

impl Ready<'_> {
    /// Checks whether everything is as desired and ready. If something is not ready, the import may have more to do
    /// than wait.
    pub(crate) async fn stands(&self, cluster: &Cluster) -> Result<bool, Error> {
        if !self.changes_nothing()? || !self.is_told(cluster).await? {
            return Ok(false);
        }
        // This change may complete an earlier incomplete one.
        if !Receipts::read_incomplete(cluster).await?.all.is_empty() {
            return Ok(false);
        }
        match &self.decision.deployment {
            Some(deployment) => works(deployment, cluster).await,
            None => Ok(true),
        }
    }

    /// Checks whether every record, object and release would stay the same.
    fn changes_nothing(&self) -> Result<bool, Error> {
        let decision = &self.decision;
        let state = &decision.state;
        let is_same = self.is_done()
            && self.asked.request.authority == Authority::Cluster
            && self.memory(state).is_none()
            && self.summary.migrations.is_empty()
            && decision.deployment.as_ref().is_none_or(|deployment| {
                let place = state.namespace(deployment.namespace());
                place == Some(&deployment.place) && deployment.changes_nothing()
            });
        Ok(is_same && self.unchanged.is_all_of(decision.tried(&self.asked)?.len()))
    }

    /// Checks whether the ConfigMaps for upstream's controllers match the records.
    async fn is_told(&self, cluster: &Cluster) -> Result<bool, Error> {
        let state = &self.decision.state;
        let projection = record::projection(&state.records, &state.active);
        let available = storage::reference(v::AVAILABLE);
        let mut told = vec![(available, projection)];
        if let Some(Deployment { place, .. }) = &self.decision.deployment {
            let namespace = place.namespace.as_str();
            let name = v::ENVIRONMENT_CONFIG;
            let reference = ObjectRef::namespaced("v1", "ConfigMap", namespace, name);
            let config = environment::config(&place.namespace, &place.versions());
            told.push((reference, config));
        }
        let references: Vec<&ObjectRef> = told.iter().map(|(reference, _)| reference).collect();
        let live = cluster.get_all(&references).await?.into_iter();
        let data = |object: &Value| object["data"].as_object().cloned().unwrap_or_default();
        let mut both = told.iter().zip(live);
        Ok(both.all(|((_, wanted), live)| {
            live.is_some_and(|live| data(live.as_value()) == data(wanted))
        }))
    }

    /// Waits until the operator has been ready for long enough to count as stable.
    pub(crate) async fn outlast(&self, cluster: &Cluster) -> Result<(), Error> {
        let deployment = self.decision.deployment.as_ref();
        let Some(operator) = deployment.and_then(Deployment::operator) else {
            return Ok(());
        };
        let goal = [ClusterGoal::Rollout(operator.clone())];
        Ok(cluster.wait(&goal, self.deadline.wait(), &|_| ()).await?)
    }
}

/// Checks whether the workloads of a deployment are ready.
async fn works(deployment: &Deployment, cluster: &Cluster) -> Result<bool, Error> {
    if let Some(operator) = deployment.operator() {
        let namespace = deployment.namespace().as_str();
        let state = cluster.rollout_state(namespace, &operator.name).await?;
        if state.is_none_or(|(_, state)| state.awaited.is_some()) {
            return Ok(false);
        }
    }
    let entries = deployment.change.inventory.entries.iter();
    // Jobs may have been deleted after they ran, and webhooks and API services depend only on the Services that they
    // call.
    let stays =
        |entry: &&Entry| entry.part.is_some() && entry.is_awaited() && entry.inputs.is_none();
    let awaited: Vec<ObjectRef> = entries
        .filter(stays)
        .map(Entry::reference)
        .filter(|object| !intercepts(object))
        .collect();
    let awaited: Vec<&ObjectRef> = awaited.iter().collect();
    let live = cluster.get_all(&awaited).await?;
    let is_ready = |live| readiness(live) == Readiness::Ready;
    Ok(live.iter().all(|live| live.as_ref().is_some_and(is_ready)))
}
