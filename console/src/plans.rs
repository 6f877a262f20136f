//! The plans that users have seen ([`StoredPlan`]). A plan is stored until it is applied or too old, and its id cannot
//! be guessed.
//!
//! A stored plan is never applied as it is. A run plans again, and applies the new plan only if its effects are those
//! that were shown.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use importer::{
    Blocker, Change, DeletedEnvironment, ImportedVersion, Plan, PlanSummary, RemovalReport,
    RemoveSets, Request, Undeployment,
};
use kubernetes::Cluster;
use schemas::{EnvironmentName, Namespace, SolutionName};

use crate::problem::Problem;
use crate::secret;
use crate::site::Site;

/// The time for which a plan is stored.
const LIFETIME: Duration = Duration::from_hours(1);
/// The largest number of stored plans. A further one replaces the oldest.
const MOST: usize = 50;

/// A plan that a user has seen.
#[derive(Debug)]
pub(crate) struct StoredPlan {
    pub(crate) id: String,
    pub(crate) kind: PlanKind,
    /// The origin of the plan, if another user has proposed it.
    pub(crate) origin: Option<PlanOrigin>,
    made: Instant,
}

/// The user who has proposed a plan.
#[derive(Debug)]
pub(crate) struct PlanOrigin {
    pub(crate) by: String,
    /// Whether this plan has the effects that the other user saw; unknown if the plan of that user was blocked, because
    /// such a plan is not complete.
    pub(crate) is_same: Option<bool>,
}

/// The change that is planned.
#[derive(Debug)]
pub(crate) enum PlanKind {
    Deployment(Box<DeploymentPlan>),
    Undeployment(UndeploymentPlan),
    EnvironmentDeletion(DeletionPlan),
}

/// The plan to deploy an imported version.
#[derive(Debug)]
pub(crate) struct DeploymentPlan {
    pub(crate) version: ImportedVersion,
    pub(crate) request: Request,
    /// The plan as it was shown.
    pub(crate) shown: PlanSummary,
    /// The same plan after the user has given consent, if that is all that it needs.
    pub(crate) agreed: PlanSummary,
    /// The blockers, without the missing consent.
    pub(crate) blockers: Vec<Blocker>,
    /// The id of the effects that need consent, if nothing else blocks the plan.
    pub(crate) consent: Option<String>,
    /// Whether everything is in place already.
    pub(crate) is_done: bool,
}

/// The plan to undeploy a Solution.
#[derive(Debug)]
pub(crate) struct UndeploymentPlan {
    pub(crate) deployed: DeployedPlace,
    pub(crate) shown: Removal<RemovalReport>,
}

/// A Solution in an environment.
#[derive(Clone, Debug)]
pub(crate) struct DeployedPlace {
    pub(crate) solution: SolutionName,
    pub(crate) environment: EnvironmentName,
    /// The only namespace, or all namespaces of the environment.
    pub(crate) namespace: Option<Namespace>,
}

/// The plan to delete an environment.
#[derive(Debug)]
pub(crate) struct DeletionPlan {
    pub(crate) environment: EnvironmentName,
    /// Whether workloads and volumes are deleted with the environment.
    pub(crate) delete_resources: bool,
    pub(crate) shown: Removal<DeletedEnvironment>,
}

/// The effects of a removal, or the reasons why it is refused.
pub(crate) type Removal<T> = Result<T, Vec<Blocker>>;

/// The plans that users have seen.
#[derive(Debug, Default)]
pub(crate) struct Plans(Mutex<VecDeque<Arc<StoredPlan>>>);

impl Plans {
    /// Stores a plan, and returns its id.
    pub(crate) fn add(
        &self,
        kind: PlanKind,
        origin: Option<PlanOrigin>,
    ) -> Result<String, Problem> {
        let id = secret::random().map_err(Problem::internal)?;
        let plan = StoredPlan {
            id: id.clone(),
            kind,
            origin,
            made: Instant::now(),
        };
        let mut plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        plans.retain(|plan| plan.made.elapsed() < LIFETIME);
        if plans.len() >= MOST {
            plans.pop_front();
        }
        plans.push_back(Arc::new(plan));
        Ok(id)
    }

    /// Returns a stored plan.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<StoredPlan>> {
        let plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = plans.iter().find(|plan| plan.id == id)?;
        (plan.made.elapsed() < LIFETIME).then(|| Arc::clone(plan))
    }

    /// Stores a plan again that was taken and could not be applied.
    pub(crate) fn put_back(&self, plan: Arc<StoredPlan>) {
        let mut plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        plans.push_back(plan);
    }

    /// Removes a plan that is being applied, and returns it. Only the first of two requests gets it.
    pub(crate) fn take(&self, id: &str) -> Option<Arc<StoredPlan>> {
        let mut plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = plans.iter().position(|plan| plan.id == id)?;
        plans
            .remove(at)
            .filter(|plan| plan.made.elapsed() < LIFETIME)
    }
}

impl PlanKind {
    /// Plans the same change with the permissions of another user. Nothing is written.
    pub(crate) async fn plan_again(&self, site: &Site) -> Result<Self, Problem> {
        let cluster = site.cluster().await?;
        match self {
            Self::Deployment(plan) => {
                let id = &plan.version.archive.accepted.statement().predicate.id;
                let (solution, version) = (id.name(), Some(id.version()));
                let imported = site.imported(&cluster, solution, version).await?;
                let mut request = site.request(&imported, plan.request.goal.clone())?;
                (request.verb, request.allowed) = (plan.request.verb, plan.request.allowed);
                Box::pin(DeploymentPlan::make(site, &cluster, imported, request)).await
            }
            Self::Undeployment(plan) => {
                UndeploymentPlan::make(site, &cluster, plan.deployed.clone()).await
            }
            Self::EnvironmentDeletion(plan) => {
                let (environment, resources) = (plan.environment.clone(), plan.delete_resources);
                DeletionPlan::make(site, &cluster, environment, resources).await
            }
        }
    }

    /// Returns true if another plan of the same change has the same effects.
    pub(crate) fn has_effects_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Deployment(one), Self::Deployment(other)) => one.agreed == other.agreed,
            (Self::Undeployment(one), Self::Undeployment(other)) => {
                matches!((&one.shown, &other.shown), (Ok(one), Ok(other)) if one.differs(other).is_none())
            }
            (Self::EnvironmentDeletion(one), Self::EnvironmentDeletion(other)) => {
                one.shown.as_ref().ok() == other.shown.as_ref().ok()
            }
            _ => false,
        }
    }
}

impl UndeploymentPlan {
    /// Plans to undeploy a Solution. Nothing is written.
    pub(crate) async fn make(
        site: &Site,
        cluster: &Cluster,
        deployed: DeployedPlace,
    ) -> Result<PlanKind, Problem> {
        let planned = site.change(cluster, true, &|_| (), async |change| {
            deployed.undeployment().carry_out(change).await
        });
        let shown = separate_blocked(planned.await?, site)?;
        Ok(PlanKind::Undeployment(Self { deployed, shown }))
    }
}

impl DeletionPlan {
    /// Plans to delete an environment. Nothing is written.
    pub(crate) async fn make(
        site: &Site,
        cluster: &Cluster,
        environment: EnvironmentName,
        delete_resources: bool,
    ) -> Result<PlanKind, Problem> {
        let planned = site.change(cluster, true, &|_| (), async |change| {
            importer::delete_environment(change, &environment, delete_resources).await
        });
        let shown = separate_blocked(planned.await?, site)?;
        Ok(PlanKind::EnvironmentDeletion(Self {
            environment,
            delete_resources,
            shown,
        }))
    }
}

impl DeploymentPlan {
    /// Plans a deployment. Nothing is written.
    pub(crate) async fn make(
        site: &Site,
        cluster: &Cluster,
        version: ImportedVersion,
        request: Request,
    ) -> Result<PlanKind, Problem> {
        let (archive, client) = (&version.archive, &version.client);
        let (accepted, findings) = (&archive.accepted, archive.findings.clone());
        let plan = Plan::make(accepted, findings, client, cluster, request.clone()).await;
        let mut plan = plan.map_err(|error| site.problem(error))?;
        let shown = plan.summary().clone();
        let consent = plan.consent_wanted().map(str::to_owned);
        if let Some(id) = &consent {
            plan.accept(id.clone());
        }
        let blockers = plan.blockers().into_iter().cloned().collect();
        let (agreed, is_done) = (plan.summary().clone(), plan.is_done());
        // Uploads that the plan opened to check the registry are not needed: the run opens its own.
        plan.give_up(client).await;
        Ok(PlanKind::Deployment(Box::new(Self {
            version,
            request,
            shown,
            agreed,
            blockers,
            consent,
            is_done,
        })))
    }
}

impl DeployedPlace {
    /// Returns the request to undeploy the Solution.
    pub(crate) fn undeployment(&self) -> Undeployment<'_> {
        Undeployment {
            solution: &self.solution,
            environment: &self.environment,
            namespace: self.namespace.as_ref(),
            sets: RemoveSets::Apply,
            brought: None,
        }
    }
}

/// Separates the reasons why a removal is refused from other errors.
fn separate_blocked<T>(
    removed: Result<T, importer::Error>,
    site: &Site,
) -> Result<Removal<T>, Problem> {
    match removed {
        Err(importer::Error::Blocked(blocked)) => Ok(Err(blocked.blockers)),
        Err(importer::Error::Refused(blocker)) => Ok(Err(vec![blocker])),
        removed => removed.map(Ok).map_err(|error| site.problem(error)),
    }
}

impl Site {
    /// Runs a change, or only plans it.
    pub(crate) async fn change<T>(
        &self,
        cluster: &Cluster,
        dry_run: bool,
        tell: progress::ProgressSink<'_, importer::Event>,
        act: impl AsyncFnOnce(&Change<'_>) -> T,
    ) -> Result<T, Problem> {
        let context = (self.program.context)()?;
        let change = Change {
            cluster,
            writer: &context.writer,
            tell,
            deadline: self.program.limits.wait,
            dry_run,
            helm: &context.helm,
            accepted: std::collections::BTreeSet::new(),
        };
        Ok(act(&change).await)
    }
}
