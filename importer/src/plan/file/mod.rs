//! The plan file ([`PlanFile`]): a plan with its author and cluster, which other users can review, sign and apply.
//! Applying a file does not execute its content. The plan is created again and compared with the file; any difference
//! is an error.
//!
//! Known attacks and their defences:
//! - The file is applied to another cluster or with another archive. Both are named in it ([`PlanFile::elsewhere`]).
//! - The shown changes, or the objects to write, were edited before the file was signed. Both are compared with the new
//!   plan, including the live state of each object ([`PlanFile::moved`]). Random differences of charts cannot be
//!   compared.
//! - The cluster changed after the file was written. The same comparison finds this.
//! - The file was edited after it was signed. The caller verifies the signature.
//!
//! A file contains no password: a plan with a password cannot be written to a file.

mod comparison;
mod digests;
mod request;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;

use kubernetes::{Cluster, ObjectRef};
use schemas::{Digest, ParameterName, SolutionId, StatementTime, json, list_names};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use self::digests::DecisionDigests;
use self::request::FiledRequest;
use crate::choices::parameters::{ChosenValue, looks_secret};
use crate::model::differences::PlanDifferences;
use crate::model::error::Error;
use crate::model::parameters::ValueSource;
use crate::model::request::{Exceptions, Request, RequestContext};
use crate::objects::changes::{AppliedObject, PlannedObject};
use crate::plan::Ready;
use crate::plan::notes::of_network;
use crate::plan::summary::{PlanSummary, PlannedDefault};

/// The version of the file format.
const VERSION: u64 = 1;

/// A plan in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Filed", into = "Filed")]
pub struct PlanFile {
    /// The user and host that planned, as reported by that machine.
    pub by: String,
    /// The user that planned, as authenticated by the API server; `None` if unknown.
    pub user: Option<String>,
    /// The time of planning.
    pub at: StatementTime,
    /// The uid of the cluster's namespace `kube-system`, which identifies the cluster.
    pub cluster: String,
    /// The Solution and its version.
    pub solution: SolutionId,
    /// SHA-256 of the archive's signed statement.
    pub archive_id: Digest,
    /// The plan that was shown.
    pub summary: PlanSummary,
    request: FiledRequest,
    decided: DecisionDigests,
}

/// The JSON form of a plan file: the summary in its form for programs, and the parts that this form lacks.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Filed {
    plan_version: u64,
    planned_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    planned_user: Option<String>,
    planned_at: StatementTime,
    cluster: String,
    solution: SolutionId,
    archive_id: Digest,
    request: FiledRequest,
    plan: PlanSummary,
    defaults: Vec<PlannedDefault>,
    /// The objects, in the order of those in the summary.
    objects: Vec<FiledObject>,
    decided: DecisionDigests,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FiledObject {
    diff: String,
    live: Option<Digest>,
    /// The applied form of the object; `None` in files of earlier program versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    applied: Option<AppliedObject>,
}

/// The reason why bytes are not a plan file.
#[derive(Debug, thiserror::Error)]
pub enum PlanFileError {
    /// The bytes are not strict JSON of this structure.
    #[error("cannot read the plan")]
    Json(#[from] json::JsonError),
    /// The JSON is not in its canonical form.
    #[error("the plan is not in canonical form")]
    Spelling,
    /// The file has a newer format version.
    #[error("the plan has version {0}, but only version {VERSION} is supported")]
    Version(u64),
}

/// A part that has changed since a plan was created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanChange {
    /// The plan was created for the cluster at this address, which is another one.
    #[error("the plan was created for another cluster, at {0}")]
    Cluster(String),
    /// The plan was created for the first archive, but the second one is given.
    #[error("the plan is for archive {0}, but this archive is {1}")]
    Archive(Digest, Digest),
    /// The objects that the plan would change differently, or that another field manager has changed.
    #[error("since the plan was created, these objects have changed: {0}")]
    Objects(String),
    /// The cluster's records of a Solution, or the trusted signers.
    #[error("since the plan was created, the records of {0} in the cluster have changed")]
    Records(SolutionId),
    /// The parts of the plan besides objects that have changed.
    #[error("the plan has changed since the file was written: {0}")]
    Told(String),
    /// Other content of the file.
    #[error("the plan has changed since the file was written")]
    Otherwise,
}

impl Ready<'_> {
    /// Returns the file of the plan for this cluster. A plan with a password or another secret value has none.
    pub async fn file(&self, cluster: &Cluster) -> Result<PlanFile, Error> {
        let request = &self.asked.request;
        if let Some(name) = self.sensitive() {
            return Err(Error::Sensitive(name));
        }
        if let Some(value) = self.secret_value() {
            return Err(Error::SecretValue(value));
        }
        Ok(PlanFile {
            by: request.context.writer.by.clone(),
            user: cluster.username().await,
            at: request.context.now,
            cluster: identity(cluster).await?,
            solution: self.asked.id.clone(),
            archive_id: self.asked.record.archive_id,
            summary: self.filed_summary(),
            request: FiledRequest::new(request)?.accepting(shown(&self.summary)),
            decided: DecisionDigests::new(&self.asked, &self.decision)?,
        })
    }

    /// Returns the summary for the file. It leaves out the choices of the user who applies it: the context of the
    /// cluster, the Helm program, and whether to wait for nodes.
    fn filed_summary(&self) -> PlanSummary {
        let mut summary = self.summary.clone();
        summary.context = None;
        if let Some(target) = &mut summary.target {
            target.helm = None;
        }
        let deployment = self.decision.deployment.as_ref();
        let awaited =
            deployment.and_then(|deployment| of_network(deployment, self.asked.request.nodes));
        summary.notes.retain(|note| Some(note) != awaited.as_ref());
        summary
    }

    /// Returns a sensitive parameter whose value is given.
    fn sensitive(&self) -> Option<ParameterName> {
        let deployment = self.decision.deployment.as_ref()?;
        let mut all = deployment.parameters.all.iter();
        let given = all
            .find(|(_, parameter)| parameter.sensitive && parameter.source == ValueSource::Filed)?;
        Some(given.0.clone())
    }

    /// Returns a secret value of a chart that is given.
    fn secret_value(&self) -> Option<String> {
        let charts = &self.decision.deployment.as_ref()?.parameters.charts;
        let all = charts.iter();
        let mut all =
            all.flat_map(|(release, values)| values.iter().map(move |chosen| (release, chosen)));
        let is_given = |chosen: &ChosenValue| {
            chosen.source == ValueSource::Given && looks_secret(&chosen.path)
        };
        let (release, given) = all.find(|(_, chosen)| is_given(chosen))?;
        Some(format!("{release}:{}", given.path))
    }
}

/// Returns the id of the effects outside of the environment, as a plan shows it.
fn shown(summary: &PlanSummary) -> Option<&str> {
    let external_effects = summary.target.as_ref()?.external_effects.as_ref()?;
    Some(external_effects.id.as_str())
}

/// Returns the uid that identifies a cluster.
async fn identity(cluster: &Cluster) -> Result<String, Error> {
    let system = ObjectRef::cluster_scoped("v1", "Namespace", "kube-system");
    let system = cluster.get(&system).await?;
    let uid = system.and_then(|system| system.uid().map(str::to_owned));
    uid.ok_or(Error::NoIdentity)
}

impl PlanFile {
    /// Reads a plan file. Unknown fields are an error, since this program could not show them.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, PlanFileError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Versioned {
            plan_version: u64,
        }
        match json::from_slice(bytes)? {
            Versioned {
                plan_version: VERSION,
            } => canonical(bytes),
            Versioned { plan_version } => Err(PlanFileError::Version(plan_version)),
        }
    }

    /// Returns the bytes to be signed.
    ///
    /// # Panics
    ///
    /// Never: a plan has a JSON form.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a plan has a JSON form")
    }

    /// Returns the SHA-256 of the bytes to be signed.
    #[must_use]
    pub fn id(&self) -> Digest {
        Digest::new(Sha256::digest(self.to_bytes()).into())
    }

    /// Returns the exceptions that were allowed.
    #[must_use]
    pub fn allowed(&self) -> Exceptions {
        self.request.allowed
    }

    /// Returns the request of the file on behalf of the user who applies it.
    #[must_use]
    pub fn request(&self, context: RequestContext) -> Request {
        self.request.clone().into_request(context)
    }

    /// Returns the reasons why the file is not for this archive and this cluster.
    pub async fn elsewhere(
        &self,
        archive_id: Digest,
        cluster: &Cluster,
    ) -> Result<Vec<PlanChange>, Error> {
        let mut moved = Vec::new();
        if identity(cluster).await? != self.cluster {
            moved.push(PlanChange::Cluster(self.summary.server.clone()));
        }
        if archive_id != self.archive_id {
            moved.push(PlanChange::Archive(self.archive_id, archive_id));
        }
        Ok(moved)
    }

    /// Returns the parts in which a newly created plan differs from the file. Every difference counts unless it is
    /// known to be irrelevant, so a field that is not listed here cannot hide one.
    #[must_use]
    pub fn moved(&self, anew: &Self) -> Vec<PlanChange> {
        self.moved_after(anew, &[])
    }

    /// Returns the differing parts as [`Self::moved`] does, after these `earlier` plans of the same run were applied.
    /// Changes that those plans show are not differences.
    pub(crate) fn moved_after(&self, anew: &Self, earlier: &[&Self]) -> Vec<PlanChange> {
        let shown = Self {
            summary: self.summary.without_random(),
            ..self.clone()
        };
        let anew = shown.as_shown_by(anew, earlier);
        if shown == anew {
            return Vec::new();
        }
        let mut moved = Vec::new();
        let PlanDifferences { objects, parts, .. } = shown.summary.compare(&anew.summary);
        if !objects.is_empty() {
            moved.push(PlanChange::Objects(list_names(objects)));
        }
        if self.decided.records != anew.decided.records {
            moved.push(PlanChange::Records(self.solution.clone()));
        }
        if !parts.is_empty() {
            moved.push(PlanChange::Told(parts.join(", ")));
        }
        if moved.is_empty() {
            moved.push(PlanChange::Otherwise);
        }
        moved
    }

    /// Returns a newly created plan with its author and time replaced by those of the file, and without random values.
    fn as_shown_by(&self, anew: &Self, earlier: &[&Self]) -> Self {
        let mut decided = anew.decided.clone();
        // A file of an earlier program version does not have these digests.
        if self.decided.apart.is_none() {
            decided.apart = None;
        }
        let target = self.summary.target.as_ref();
        let namespace = target.map(|target| target.namespace.as_str());
        let holds = || self.decided.holds_after(&decided, namespace, earlier);
        if !earlier.is_empty() && holds() {
            decided = self.decided.clone();
        }
        let summaries: Vec<&PlanSummary> = earlier.iter().map(|plan| &plan.summary).collect();
        Self {
            by: self.by.clone(),
            user: self.user.clone(),
            at: self.at,
            summary: if earlier.is_empty() {
                self.summary.as_shown(&anew.summary)
            } else {
                self.summary.explained(&anew.summary, &summaries)
            },
            decided,
            ..anew.clone()
        }
    }
}

/// Reads JSON in its canonical form, and refuses any other form.
pub(crate) fn canonical<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T, PlanFileError> {
    let file: T = json::from_slice(bytes)?;
    let is_canonical = serde_json::to_vec(&file).is_ok_and(|canonical| canonical == bytes);
    is_canonical.then_some(file).ok_or(PlanFileError::Spelling)
}

impl From<PlanFile> for Filed {
    fn from(file: PlanFile) -> Self {
        let object = |planned: &PlannedObject| FiledObject {
            diff: planned.diff.clone(),
            live: planned.live,
            applied: file.summary.applied.get(&planned.object).cloned(),
        };
        Self {
            plan_version: VERSION,
            planned_by: file.by,
            planned_user: file.user,
            planned_at: file.at,
            cluster: file.cluster,
            solution: file.solution,
            archive_id: file.archive_id,
            request: file.request,
            defaults: file.summary.defaults.clone(),
            objects: file.summary.objects().map(object).collect(),
            plan: file.summary,
            decided: file.decided,
        }
    }
}

impl TryFrom<Filed> for PlanFile {
    type Error = &'static str;

    fn try_from(filed: Filed) -> Result<Self, Self::Error> {
        let mut summary = filed.plan;
        if summary.objects().count() != filed.objects.len() {
            return Err("not every object is described");
        }
        let mut applied = BTreeMap::new();
        for (object, filed) in summary.objects_mut().zip(filed.objects) {
            object.diff = filed.diff;
            object.live = filed.live;
            applied.extend(
                filed
                    .applied
                    .map(|applied| (object.object.clone(), applied)),
            );
        }
        summary.applied = applied;
        summary.defaults = filed.defaults;
        if !filed.request.accepts_only(shown(&summary)) {
            return Err("an id is accepted that the plan does not show");
        }
        Ok(Self {
            by: filed.planned_by,
            user: filed.planned_user,
            at: filed.planned_at,
            cluster: filed.cluster,
            solution: filed.solution,
            archive_id: filed.archive_id,
            summary,
            request: filed.request,
            decided: filed.decided,
        })
    }
}
