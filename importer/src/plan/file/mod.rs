//! The file of a plan: what was planned, by whom and for which cluster, for somebody else to read, to sign and to have
//! carried out. It is no order: whoever applies it plans anew, and what comes out must be what the file shows.
//!
//! What could be done to such a file, and where it stops: it is applied to another cluster, or with another archive
//! (both are named in it); what it shows was changed to look harmless, or what would be written was, before it was
//! signed (both are compared with the new plan, down to the live state of each object; but the differences of what a
//! chart makes by chance cannot be); the cluster moved in between
//! (likewise); it is edited after it was signed (the signature, which is not this crate's business). There is no
//! password in it: a plan that holds one has no file.

mod asked;
mod decided;
mod shown;

use std::collections::BTreeMap;
use std::path::PathBuf;

use deployer::{Cluster, ObjectRef};
use schemas::named;
use schemas::{Digest, ParameterName, SolutionId, StatementTime, json};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use self::asked::FiledRequest;
use self::decided::DecisionDigests;
use self::shown::{as_shown, parts_that_differ};
use crate::model::error::Error;
use crate::model::parameters::ValueSource;
use crate::model::request::{Allowed, HelmProgram, Request};
use crate::model::writer::Writer;
use crate::plan::Ready;
use crate::plan::notes::of_network;
use crate::plan::parameters::{ChosenValue, looks_secret};
use crate::plan::summary::{AppliedObject, PlanSummary, PlannedDefault, PlannedObject};

/// The form of these files.
const VERSION: u64 = 1;

/// A plan as it lies in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Filed", into = "Filed")]
pub struct PlanFile {
    /// The user and host that planned, as that machine says.
    pub by: String,
    /// The user that planned, as the API server authenticated it; none if it did not say.
    pub user: Option<String>,
    /// The time of planning.
    pub at: StatementTime,
    /// The uid of the cluster's namespace `kube-system`, which no two clusters share.
    pub cluster: String,
    /// The Solution and its version.
    pub solution: SolutionId,
    /// SHA-256 of the archive's signed statement.
    pub archive_id: Digest,
    /// The plan in words, as it was shown.
    pub summary: PlanSummary,
    request: FiledRequest,
    decided: DecisionDigests,
}

/// The same plan as JSON: the summary as programs get it, and beside it the parts that they get in another form.
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
    /// The objects, in the order of the summary's.
    objects: Vec<FiledObject>,
    decided: DecisionDigests,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FiledObject {
    diff: String,
    live: Option<Digest>,
    /// How it is sent to the API server; none in a file of an earlier version of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    applied: Option<AppliedObject>,
}

/// The reason why bytes are not a plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanFileError {
    /// The bytes are not strict JSON of this shape.
    #[error("cannot read the plan")]
    Json(#[from] json::JsonError),
    /// The same plan could be spelled otherwise.
    #[error("the plan is not in canonical form")]
    Spelling,
    /// The plan has a form that came later.
    #[error("the plan has version {0}, but only version {VERSION} is supported")]
    Version(u64),
}

/// A part that is no longer as it was when a plan was made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Moved {
    /// It was made for the cluster at this address, and this is another one.
    #[error("the plan was created for another cluster, at {0}")]
    Cluster(String),
    /// It was made for the first archive, and this is the second.
    #[error("the plan is for archive {0}, but this archive is {1}")]
    Archive(Digest, Digest),
    /// These objects would be written or removed, and were not then; or others changed them.
    #[error("since the plan was created, these objects have changed: {0}")]
    Objects(String),
    /// The cluster's records of a Solution, or the signers that count.
    #[error("since the plan was created, the records of {0} in the cluster have changed")]
    Records(SolutionId),
    /// These other parts of the plan are told otherwise.
    #[error("the plan has changed since the file was written: {0}")]
    Told(String),
    /// Something else that the file shows.
    #[error("the plan has changed since the file was written")]
    Otherwise,
}

impl Ready<'_> {
    /// The plan as it lies in a file, for this cluster. A plan with a password has none.
    pub async fn file(&self, cluster: &Cluster) -> Result<PlanFile, Error> {
        let request = &self.asked.request;
        if let Some(name) = self.sensitive() {
            return Err(Error::Sensitive(name));
        }
        if let Some(value) = self.secret_value() {
            return Err(Error::SecretValue(value));
        }
        Ok(PlanFile {
            by: request.by.clone(),
            user: cluster.username().await,
            at: request.now,
            cluster: identity(cluster).await?,
            solution: self.asked.id.clone(),
            archive_id: self.asked.record.archive_id,
            summary: self.filed_summary(),
            request: FiledRequest::of(request)?.accepting(shown(&self.summary)),
            decided: DecisionDigests::of(&self.asked, &self.decision)?,
        })
    }

    /// Returns the summary that the file shows: without the choices of whoever applies it, namely the context by which
    /// he reaches the cluster, the Helm that charts are installed by, and whether he waits for nodes.
    fn filed_summary(&self) -> PlanSummary {
        let mut summary = self.summary.clone();
        summary.context = None;
        if let Some(target) = &mut summary.target {
            target.helm = None;
        }
        let deployment = self.decision.deployment.as_ref();
        let awaited = deployment.and_then(|it| of_network(it, self.asked.request.nodes));
        summary.notes.retain(|note| Some(note) != awaited.as_ref());
        summary
    }

    /// A sensitive parameter whose value is given.
    fn sensitive(&self) -> Option<ParameterName> {
        let deployment = self.decision.deployment.as_ref()?;
        let mut all = deployment.parameters.all.iter();
        let given = all.find(|(_, it)| it.sensitive && it.source == ValueSource::Filed)?;
        Some(given.0.clone())
    }

    /// A value of a chart that is given, and that nobody is to see.
    fn secret_value(&self) -> Option<String> {
        let charts = &self.decision.deployment.as_ref()?.parameters.charts;
        let all = charts.iter();
        let mut all = all.flat_map(|(release, values)| values.iter().map(move |it| (release, it)));
        let is_given = |it: &ChosenValue| it.source == ValueSource::Given && looks_secret(&it.path);
        let (release, given) = all.find(|(_, it)| is_given(it))?;
        Some(format!("{release}:{}", given.path))
    }
}

/// The id of what reaches beyond the environment, as a plan shows it.
fn shown(summary: &PlanSummary) -> Option<&str> {
    let beyond = summary.target.as_ref()?.beyond.as_ref()?;
    Some(beyond.id.as_str())
}

/// Returns the uid that tells a cluster from all others.
async fn identity(cluster: &Cluster) -> Result<String, Error> {
    let system = ObjectRef::cluster_scoped("v1", "Namespace", "kube-system");
    let system = cluster.get(&system).await?;
    let uid = system.and_then(|system| system.uid().map(str::to_owned));
    uid.ok_or(Error::NoIdentity)
}

impl PlanFile {
    /// Reads a plan. What this program does not know, it could not show, and refuses.
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

    /// The bytes to be signed.
    ///
    /// # Panics
    ///
    /// Never: a plan has a JSON form.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a plan has a JSON form")
    }

    /// SHA-256 of the bytes to be signed.
    #[must_use]
    pub fn id(&self) -> Digest {
        Digest::new(Sha256::digest(self.to_bytes()).into())
    }

    /// Returns the exceptions that were allowed.
    #[must_use]
    pub fn allowed(&self) -> Allowed {
        self.request.allowed
    }

    /// Returns the request of then, as asked by somebody else now, with their directory for files without a name and
    /// their Helm.
    #[must_use]
    pub fn request(
        &self,
        by: String,
        now: StatementTime,
        writer: Writer,
        scratch: PathBuf,
        helm: HelmProgram,
    ) -> Request {
        self.request.clone().by(by, now, writer, scratch, helm)
    }

    /// Returns the reasons why it is a plan for something else than this archive in this cluster.
    pub async fn elsewhere(
        &self,
        archive_id: Digest,
        cluster: &Cluster,
    ) -> Result<Vec<Moved>, Error> {
        let mut moved = Vec::new();
        if identity(cluster).await? != self.cluster {
            moved.push(Moved::Cluster(self.summary.server.clone()));
        }
        if archive_id != self.archive_id {
            moved.push(Moved::Archive(self.archive_id, archive_id));
        }
        Ok(moved)
    }

    /// Returns the parts that are no longer as the file shows them, in a plan that was made anew. Nothing of it can
    /// hide in a field that is named nowhere here: a difference that is not known to be of no account has moved.
    #[must_use]
    pub fn moved(&self, anew: &Self) -> Vec<Moved> {
        self.moved_after(anew, &[])
    }

    /// The same, after these `earlier` plans of the same run were carried out: what they changed, as they show it, has not
    /// moved.
    pub(crate) fn moved_after(&self, anew: &Self, earlier: &[&Self]) -> Vec<Moved> {
        let anew = self.as_shown_by(anew.clone(), earlier);
        if *self == anew {
            return Vec::new();
        }
        let mut moved = Vec::new();
        let objects = differing(&self.summary, &anew.summary);
        if !objects.is_empty() {
            moved.push(Moved::Objects(named(objects)));
        }
        if self.decided.records != anew.decided.records {
            moved.push(Moved::Records(self.solution.clone()));
        }
        let told = parts_that_differ(&self.summary, &anew.summary);
        if !told.is_empty() {
            moved.push(Moved::Told(told.join(", ")));
        }
        if moved.is_empty() {
            moved.push(Moved::Otherwise);
        }
        moved
    }

    /// A plan that was made anew, but for who plans when, and what no two plans show alike.
    fn as_shown_by(&self, mut anew: Self, earlier: &[&Self]) -> Self {
        if self.decided.apart.is_none() {
            anew.decided.apart = None;
        }
        let target = self.summary.target.as_ref();
        let namespace = target.map(|target| target.namespace.as_str());
        let holds = || self.decided.holds_after(&anew.decided, namespace, earlier);
        if !earlier.is_empty() && holds() {
            anew.decided = self.decided.clone();
        }
        let summaries: Vec<&PlanSummary> = earlier.iter().map(|plan| &plan.summary).collect();
        Self {
            by: self.by.clone(),
            user: self.user.clone(),
            at: self.at,
            summary: if earlier.is_empty() {
                as_shown(&self.summary, anew.summary)
            } else {
                self.summary.explained(anew.summary, &summaries)
            },
            ..anew
        }
    }
}

/// Reads what has only one spelling as JSON.
pub(crate) fn canonical<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T, PlanFileError> {
    let file: T = json::from_slice(bytes)?;
    let is_canonical = serde_json::to_vec(&file).is_ok_and(|it| it == bytes);
    is_canonical.then_some(file).ok_or(PlanFileError::Spelling)
}

/// The objects that only one of two plans has, or that they have otherwise.
fn differing(before: &PlanSummary, now: &PlanSummary) -> Vec<String> {
    let by_name = |summary: &PlanSummary| -> BTreeMap<String, PlannedObject> {
        let objects = summary.objects();
        objects.map(|it| (it.object.clone(), it.clone())).collect()
    };
    let (before, now) = (by_name(before), by_name(now));
    let mut names: Vec<String> = before.keys().chain(now.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names.retain(|name| before.get(name) != now.get(name));
    names
}

impl From<PlanFile> for Filed {
    fn from(file: PlanFile) -> Self {
        let object = |it: &PlannedObject| FiledObject {
            diff: it.diff.clone(),
            live: it.live,
            applied: file.summary.applied.get(&it.object).cloned(),
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

#[cfg(test)]
pub(crate) mod tests;
