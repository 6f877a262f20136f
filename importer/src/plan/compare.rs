//! The comparison of a request with a namespace: every object that an import would change, or that other writers have
//! changed since the deployment. The API server dry-runs the objects, so that the comparison contains its defaults. It
//! only reads, and needs no registry. The entry points are [`running`] and [`Comparison::make`].

use kubernetes::{Cluster, ObjectRef};
use schemas::{EnvironmentName, Namespace, SolutionId, SolutionName, Version, yaml};
use serde_json::Value;
use validator::AcceptedArchive;

use crate::decide::decision::Decision;
use crate::decide::deployment::Deployment;
use crate::decide::rights;
use crate::decide::trial::DryRun;
use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::model::request::{PlanRequest, Request};
use crate::objects::changes::{PlannedObject, removed};
use crate::objects::operator::{CONFIG, config_name, operator_name};
use crate::plan::check_version;
use crate::records::namespace_record::NamespaceRecord;
use crate::records::state::ClusterState;
use crate::records::storage::read_if_allowed;

/// A Solution that runs in a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// The namespace.
    pub namespace: Namespace,
    /// The Solution.
    pub solution: SolutionName,
    /// The version.
    pub version: Version,
}

/// Returns the Solutions that run in the namespaces of an environment, or in one of them. Fails if the cluster has no
/// such environment, or if the namespace belongs to another one.
pub async fn running(
    cluster: &Cluster,
    environment: &EnvironmentName,
    namespace: Option<&Namespace>,
) -> Result<Vec<Running>, Error> {
    let state = ClusterState::read(cluster).await?;
    let spaces: Vec<&NamespaceRecord> = state.environment(environment).collect();
    if spaces.is_empty() {
        return Err(Blocker::NoEnvironment {
            environment: environment.clone(),
        }
        .into());
    }
    if let Some(namespace) = namespace
        && spaces.iter().all(|space| space.namespace != *namespace)
    {
        return Err(Blocker::OtherNamespace {
            namespace: namespace.clone(),
            environment: environment.clone(),
        }
        .into());
    }
    let meant =
        |space: &&NamespaceRecord| namespace.is_none_or(|namespace| *namespace == space.namespace);
    let deployed = spaces.into_iter().filter(meant).flat_map(|space| {
        let solutions = space.solutions.iter();
        solutions.map(|(solution, deployed)| Running {
            namespace: space.namespace.clone(),
            solution: solution.clone(),
            version: deployed.version.clone(),
        })
    });
    Ok(deployed.collect())
}

/// The state that a request is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComparisonBase {
    /// The live cluster: the comparison shows the changes of the request.
    Now,
    /// The deployment in this namespace: the comparison shows later changes by other writers.
    Deployed(Namespace),
}

/// The differences that a comparison found.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The Solution id.
    pub solution: String,
    /// The namespace; none if the request does not determine it.
    pub namespace: Option<Namespace>,
    /// The version that runs there.
    pub running: Option<Version>,
    /// Every object that would be created, changed or removed, in order.
    pub objects: Vec<PlannedObject>,
    /// The blockers that prevent a complete comparison.
    pub blockers: Vec<Blocker>,
}

impl Comparison {
    /// Compares a request with a cluster. Blockers of the request are part of the comparison, not errors.
    pub async fn make(
        accepted: &AcceptedArchive,
        cluster: &Cluster,
        request: Request,
        since: &ComparisonBase,
    ) -> Result<Self, Error> {
        let cluster = &cluster.once();
        let id = accepted.statement().predicate.id.clone();
        let mut comparison = Self {
            solution: id.to_string(),
            namespace: None,
            running: None,
            objects: Vec::new(),
            blockers: Vec::new(),
        };
        check_version(cluster, &mut comparison.blockers);
        let blockers = &mut comparison.blockers;
        rights::check_reading(cluster, accepted, &request, blockers).await?;
        if !comparison.blockers.is_empty() {
            return Ok(comparison);
        }
        let planned = (request.context.writer.clock)();
        let mut state = ClusterState::read(cluster).await?;
        if let ComparisonBase::Deployed(namespace) = since {
            as_told(&mut state, cluster, &id, namespace).await?;
        }
        let asked = PlanRequest::new(accepted, None, request, Some(&state), planned)?;
        let decision = Decision::make(&asked, state, cluster).await?;
        comparison.take(&asked, decision, cluster).await?;
        Ok(comparison)
    }

    /// Fills the comparison from a decision. If the decision has blockers, its objects are not compared.
    async fn take(
        &mut self,
        asked: &PlanRequest<'_>,
        decision: Decision,
        cluster: &Cluster,
    ) -> Result<(), Error> {
        let deployment = decision.deployment.as_ref();
        self.namespace = deployment.map(|deployment| deployment.namespace().clone());
        let current = deployment.and_then(|deployment| deployment.current.as_ref());
        self.running = current.map(|current| current.version.clone());
        self.blockers.clone_from(&decision.blockers);
        if !self.blockers.is_empty() {
            return Ok(());
        }
        let tried = DryRun::make(asked, &decision, cluster).await?;
        self.blockers = tried.blockers;
        let hidden = decision.hidden();
        let stale = deployment.into_iter().flat_map(Deployment::stale);
        let written = tried.crds.into_iter().chain(tried.objects);
        let all = written.chain(stale.map(|object| removed(object, &hidden)));
        let releases = deployment
            .into_iter()
            .flat_map(|deployment| &deployment.releases.all);
        let releases = releases.filter(|release| release.changes());
        let all = all.chain(releases.flat_map(|release| release.changed(&hidden)));
        self.objects = all.filter(PlannedObject::differs).collect();
        Ok(())
    }
}

/// Removes the versions that the operator's configuration in a namespace does not list. They were imported after the
/// deployment, so no other writer has removed them from the configuration.
async fn as_told(
    state: &mut ClusterState,
    cluster: &Cluster,
    id: &SolutionId,
    namespace: &Namespace,
) -> Result<(), Error> {
    let name = config_name(&operator_name(id.name().as_str()));
    let reference = ObjectRef::namespaced("v1", "ConfigMap", namespace.as_str(), &name);
    let live = read_if_allowed(cluster, &reference).await?;
    let text = live
        .as_ref()
        .and_then(|live| live.as_value()["data"][CONFIG].as_str());
    // An unreadable configuration differs in any case.
    let Some(Ok(told)) = text.map(|text| yaml::from_slice::<Value>(text.as_bytes())) else {
        return Ok(());
    };
    state.records.retain(|record| {
        let was_told = || !told["repositories"][record.version.to_string()].is_null();
        record.name != *id.name() || record.version == *id.version() || was_told()
    });
    Ok(())
}
