//! The comparison of a request with a namespace: every object that an import would change, or that other writers have
//! changed since the deployment. The API server dry-runs the objects, so that the comparison contains its defaults. It
//! only reads, and needs no registry. The entry points are [`running`] and [`Comparison::make`].

use deployer::{Cluster, ObjectRef};
use schemas::{EnvironmentName, Namespace, SolutionId, SolutionName, Version, yaml};
use serde_json::Value;
use validator::Accepted;

use crate::model::error::Error;
use crate::model::look::look;
use crate::model::namespace_record::NamespaceRecord;
use crate::model::obstacle::Obstacle;
use crate::model::request::{Asked, Request};
use crate::model::state::ClusterState;
use crate::plan::decision::Decision;
use crate::plan::deployment::Deployment;
use crate::plan::operator::{CONFIG, config_name, operator_name};
use crate::plan::summary::{PlannedObject, removed};
use crate::plan::trial::Tried;
use crate::plan::{check_version, rights};

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
        return Err(Obstacle::NoEnvironment {
            environment: environment.clone(),
        }
        .into());
    }
    if let Some(namespace) = namespace
        && spaces.iter().all(|space| space.namespace != *namespace)
    {
        return Err(Obstacle::OtherNamespace {
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
pub enum Since {
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
    pub obstacles: Vec<Obstacle>,
}

impl Comparison {
    /// Compares a request with a cluster. Blockers of the request are part of the comparison, not errors.
    pub async fn make(
        accepted: &Accepted,
        cluster: &Cluster,
        request: Request,
        since: &Since,
    ) -> Result<Self, Error> {
        let cluster = &cluster.once();
        let id = accepted.statement().predicate.id.clone();
        let mut comparison = Self {
            solution: id.to_string(),
            namespace: None,
            running: None,
            objects: Vec::new(),
            obstacles: Vec::new(),
        };
        check_version(cluster, &mut comparison.obstacles);
        let obstacles = &mut comparison.obstacles;
        rights::check_reading(cluster, accepted, &request, obstacles).await?;
        if !comparison.obstacles.is_empty() {
            return Ok(comparison);
        }
        let planned = (request.writer.clock)();
        let mut state = ClusterState::read(cluster).await?;
        if let Since::Deployed(namespace) = since {
            as_told(&mut state, cluster, &id, namespace).await?;
        }
        let asked = Asked::new(accepted, None, request, Some(&state), planned)?;
        let decision = Decision::make(&asked, state, cluster).await?;
        comparison.take(&asked, decision, cluster).await?;
        Ok(comparison)
    }

    async fn take(
        &mut self,
        asked: &Asked<'_>,
        decision: Decision,
        cluster: &Cluster,
    ) -> Result<(), Error> {
        let deployment = decision.deployment.as_ref();
        self.namespace = deployment.map(|deployment| deployment.namespace().clone());
        let standing = deployment.and_then(|deployment| deployment.standing.as_ref());
        self.running = standing.map(|standing| standing.version.clone());
        self.obstacles.clone_from(&decision.obstacles);
        if !self.obstacles.is_empty() {
            return Ok(());
        }
        let tried = Tried::make(asked, &decision, cluster).await?;
        self.obstacles = tried.obstacles;
        let hidden = deployment.map(|deployment| deployment.parameters.hidden.clone());
        let hidden = hidden.unwrap_or_default();
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
    let live = look(cluster, &reference).await?;
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
