//! The plan of an import: everything that can be determined before the first byte is written. [`Plan::make`] reads the
//! cluster and the registry, and decides; [`Plan::ready`] returns a plan that `apply` can apply. Nothing here writes,
//! except for opening uploads at the registry. docs/development/architecture.md shows the stages.

pub(crate) mod compare;
pub(crate) mod file;
pub(crate) mod fleet_file;
pub(crate) mod handover;
pub(crate) mod imported;
mod notes;
pub(crate) mod offline;
pub(crate) mod outline;
pub(crate) mod render;
pub(crate) mod summary;
pub(crate) mod versions;

use std::borrow::Cow;
use std::mem;
use std::sync::OnceLock;
use std::time::SystemTime;

use kubernetes::{Cluster, ObjectRef};
use registry::{Client, RegistryAddress};
use schemas::SolutionId;
use store::{Placement, Record, Survey, TargetState};
use validator::{AcceptedArchive, Finding};

use self::notes::{
    asked_about_everything, later_pods, missing_logins, notes, of_changes, of_choices, of_network,
    uncollected, unreachable, untried,
};
use self::summary::{
    PlanSummary, PlannedDefault, newer, planned_effects, planned_target, replaced, summary,
};
use crate::choices::{parameters, redact};
use crate::decide::decision::Decision;
use crate::decide::deployment::Deployment;
use crate::decide::prerequisites::not_looked_for;
use crate::decide::proof::Proof;
use crate::decide::rights;
use crate::decide::trial::{self, DryRun, Unchanged};
use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::model::renderings::Renderings;
use crate::model::request::{Deadline, Goal, LeftOpen, PlanRequest, PullLogin, Request};
use crate::model::writer::Authority;
use crate::objects::changes::{PlannedObject, kept};
use crate::objects::crd::CrdChange;
use crate::objects::releases::program;
use crate::objects::{migration, pull_secret};
use crate::records::state::ClusterState;
use crate::records::visibility::UnreadableParts;

/// The oldest supported minor version of Kubernetes 1, in which server-side apply is stable.
const OLDEST_MINOR: u32 = 22;

/// A plan, and everything that applying it needs.
#[derive(Debug)]
pub struct Plan<'a> {
    asked: PlanRequest<'a>,
    images: Survey,
    /// The decision for the cluster's state; none if the cluster is too old or the user may not read it.
    decision: Option<Box<Decision>>,
    /// The image that pods must pull before the operator is changed.
    proof: Option<Proof>,
    /// The blockers in addition to those of the decision.
    blockers: Vec<Blocker>,
    /// The objects that need no write.
    unchanged: Unchanged,
    summary: PlanSummary,
}

/// A plan without blockers. Only such a plan can be applied.
#[derive(Debug)]
pub struct Ready<'a> {
    pub(crate) asked: PlanRequest<'a>,
    pub(crate) images: Survey,
    pub(crate) decision: Box<Decision>,
    pub(crate) proof: Option<Proof>,
    pub(crate) unchanged: Unchanged,
    pub(crate) summary: PlanSummary,
    pub(crate) deadline: Deadline,
}

/// Checks whether everything in a plan is in place already.
fn is_in_place(asked: &PlanRequest<'_>, decision: &Decision, summary: &PlanSummary) -> bool {
    let record = &asked.record;
    let earlier = decision.state.record(&record.name, &record.version);
    let mut objects = summary.objects();
    let mut deployments = decision.deployment.iter();
    summary.bytes_to_push == 0
        && earlier.is_some_and(|earlier| earlier.is_same_import(record))
        && !objects.any(PlannedObject::differs)
        && deployments.all(Deployment::is_recorded)
}

impl Ready<'_> {
    /// Returns the description of the plan.
    #[must_use]
    pub fn summary(&self) -> &PlanSummary {
        &self.summary
    }

    /// Checks whether everything is in place already, so that there is nothing to apply.
    #[must_use]
    pub fn is_done(&self) -> bool {
        is_in_place(&self.asked, &self.decision, &self.summary)
    }

    /// Cancels the uploads that a plan opened at the registry, if the plan is not applied after all.
    pub async fn give_up(&self, client: &Client) {
        client.cancel_uploads(&self.images.job.known).await;
    }

    /// Decides again from the current state of the cluster. Fails if the decision differs from the one in the plan.
    pub(crate) async fn decide_again(&self, cluster: &Cluster) -> Result<Decision, Error> {
        let state = self
            .asked
            .request
            .state(cluster, &self.asked.id, &mut UnreadableParts::default())
            .await?;
        let decision = Decision::make(&self.asked, state, cluster).await?;
        let differences = self.decision.differences(&decision, &self.asked);
        match differences.names() {
            None => Ok(decision),
            Some(names) => Err(Blocker::changed(names).into()),
        }
    }
}

/// Returns the blockers of a request that need no plan and no registry: the version of the cluster, missing rights, and
/// a missing Helm. It writes nothing.
pub async fn blocked_besides_registry(
    accepted: &AcceptedArchive,
    cluster: &Cluster,
    request: &Request,
) -> Result<Vec<Blocker>, Error> {
    let mut blockers = Vec::new();
    check_version(cluster, &mut blockers);
    if let Authority::Cluster = request.authority {
        rights::check_all(cluster, accepted, request, &mut blockers).await?;
    }
    program::check(accepted, request, &mut blockers).await?;
    Ok(blockers)
}

impl<'a> Plan<'a> {
    /// Determines the changes of an import and its blockers. `findings` are the remaining findings for the accepted
    /// archive, which the plan shows to its readers. A plan that is not applied must be given up with
    /// [`Plan::give_up`], since it opens uploads at the registry. Blockers are part of the plan, not errors.
    pub async fn make(
        accepted: &'a AcceptedArchive,
        findings: Vec<Finding>,
        client: &Client,
        cluster: &Cluster,
        request: Request,
    ) -> Result<Self, Error> {
        // The cached cluster reads each object once, so that all decisions use the same state.
        let cluster = &cluster.once();
        // The time is taken before the first read: every later change is newer than the plan.
        let planned = (request.context.writer.clock)();
        let id = accepted.statement().predicate.id.clone();
        let mut unreadable = Vec::new();
        check_version(cluster, &mut unreadable);
        rights::check_reading(cluster, accepted, &request, &mut unreadable).await?;
        if !unreadable.is_empty() {
            program::check(accepted, &request, &mut unreadable).await?;
        }
        let mut sight = UnreadableParts::default();
        let state = if unreadable.is_empty() {
            Some(request.state(cluster, &id, &mut sight).await?)
        } else {
            None
        };
        let wanted = TargetState {
            placement: placement(state.as_ref(), &request, &id),
            replace: request.allowed.replace,
            missing: request.missing,
        };
        let mut images = store::survey(accepted, client, wanted).await?;
        let in_the_way = mem::take(&mut images.blockers).into_iter();
        let mut blockers: Vec<Blocker> = in_the_way.map(Blocker::from).collect();
        blockers.extend(unreadable);
        let registry = Some(client.clone());
        let mut asked = PlanRequest::new(accepted, registry, request, state.as_ref(), planned)?;
        asked.record.placement = images.placement;
        let summary = PlanSummary {
            pull_registry: asked.record.pull_registry()?.to_string(),
            findings,
            ..summary(cluster, &asked.request, &asked.record, &images)
        };
        let mut plan = Self {
            asked,
            images,
            decision: None,
            proof: None,
            blockers,
            unchanged: Unchanged::default(),
            summary,
        };
        if let Some(state) = state {
            // Boxed, because the future holds everything that is decided during the dry run.
            Box::pin(plan.decide(state, client, cluster, &mut sight)).await?;
        }
        plan.summary.unseen = sight.unseen();
        // Opening uploads is the last step that can fail. No later error can thus leave uploads open without a plan
        // that gives them up.
        let denied = plan.images.open_uploads(client).await?;
        plan.summary.creates = plan.images.creates();
        let denied = denied.into_iter().map(Blocker::from);
        plan.blockers.extend(denied);
        Ok(plan)
    }

    /// Decides the changes, and fills the summary with them. The dry run comes last, and only if there are no blockers
    /// by then.
    async fn decide(
        &mut self,
        state: ClusterState,
        client: &Client,
        cluster: &Cluster,
        sight: &mut UnreadableParts,
    ) -> Result<(), Error> {
        let decision = Decision::make(&self.asked, state, cluster).await?;
        let PlanRequest {
            accepted,
            request,
            id,
            record,
            ..
        } = &self.asked;
        let state = &decision.state;
        let neighbours = store::neighbours(client.address(), &state.records, record)?;
        client
            .find_in_images(&mut self.images.job, &neighbours)
            .await?;
        let (crds, deployment) = (&decision.crds, decision.deployment.as_ref());
        let blockers = &mut self.blockers;
        let proof = match deployment {
            Some(deployment) => Proof::wanted(&self.asked, deployment, client, cluster).await?,
            None => None,
        };
        match (&request.authority, deployment) {
            (Authority::Cluster, deployment) => {
                rights::check_writing(cluster, crds, deployment, blockers).await?;
            }
            (Authority::Namespace(_), Some(deployment)) => {
                rights::check_alone(cluster, deployment, blockers).await?;
            }
            (Authority::Namespace(_), None) => {}
        }
        if let Some(proof) = &proof {
            rights::check_proving(cluster, proof.namespace.as_str(), blockers).await?;
        }
        self.summary.recorded = state.record(id.name(), id.version()).is_some();
        self.summary.notes = notes(accepted, client, cluster, sight, state, id).await?;
        let spec = &accepted.manifest().spec;
        let about = deployment.and_then(|_| not_looked_for(spec, &request.authority));
        self.summary.notes.extend(about);
        let about = deployment.into_iter().flat_map(asked_about_everything);
        let about = about.chain(deployment.and_then(uncollected));
        self.summary.notes.extend(about);
        let about = deployment.and_then(|deployment| of_network(deployment, request.nodes));
        self.summary.notes.extend(about);
        let objects = deployment.iter().flat_map(|deployment| {
            let releases = deployment.releases.objects();
            deployment.change.objects().chain(releases)
        });
        let objects = objects.chain(crds.iter().map(|crd| &crd.object));
        self.summary.notes.extend(unreachable(objects, record));
        let changes = deployment.into_iter().flat_map(of_changes);
        let logins = deployment.into_iter().flat_map(missing_logins);
        self.summary.notes.extend(changes.chain(logins));
        let about = deployment.map(|deployment| of_choices(deployment, accepted));
        self.summary.notes.extend(about.into_iter().flatten());
        let scratch = request.context.scratch.as_path();
        self.summary.migrations =
            migration::planned(crds, id, client, cluster, scratch, state).await?;
        self.summary.defaults = defaults(&self.asked, &decision, &self.summary.pull_registry);
        self.summary.target = deployment.map(|planned| planned_target(planned, proof.as_ref()));
        if let (Some(target), Some(deployment)) = (&mut self.summary.target, deployment) {
            target.later_pods = later_pods(deployment, accepted, record.pull_host())?;
        }
        self.proof = proof;
        if self.blockers.is_empty() && decision.blockers.is_empty() {
            let tried = self.try_objects(&decision, cluster).await;
            tried.map_err(|error| redact::error(error, &decision.hidden()))?;
        }
        self.decision = Some(Box::new(decision));
        Ok(())
    }

    /// Cancels the uploads that the plan opened at the registry to check that images can be pushed. An applied plan
    /// uses them.
    pub async fn give_up(&self, client: &Client) {
        client.cancel_uploads(&self.images.job.known).await;
    }

    /// Returns the description of the plan.
    #[must_use]
    pub fn summary(&self) -> &PlanSummary {
        &self.summary
    }

    /// Returns the blockers.
    #[must_use]
    pub fn blockers(&self) -> Vec<&Blocker> {
        let decided = self.decision.iter();
        let decided = decided.flat_map(|decision| &decision.blockers);
        let refused = self
            .deployment()
            .and_then(|deployment| deployment.refused.as_ref());
        let all = self.blockers.iter().chain(decided);
        all.chain(refused).collect()
    }

    fn deployment(&self) -> Option<&Deployment> {
        self.decision.as_ref()?.deployment.as_ref()
    }

    /// Returns the id of the effects to accept, if the missing consent is the only blocker.
    #[must_use]
    pub fn consent_wanted(&self) -> Option<&str> {
        let deployment = self.deployment()?;
        let only = deployment.refused.is_some() && self.blockers().len() == 1;
        only.then_some(deployment.external_effects.id.as_str())
    }

    /// Accepts the effects with this id.
    pub fn accept(&mut self, id: String) {
        self.asked.request.accepted.insert(id);
        let decision = self.decision.as_mut();
        let deployment = decision.and_then(|decision| decision.deployment.as_mut());
        if let (Some(deployment), Some(target)) = (deployment, &mut self.summary.target) {
            deployment.judge(&self.asked.request);
            target.external_effects = planned_effects(deployment);
        }
    }

    /// Checks whether the plan has no blockers and everything is in place.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let mut decisions = self.decision.iter();
        self.blockers().is_empty()
            && self.summary.migrations.is_empty()
            && decisions.any(|decision| is_in_place(&self.asked, decision, &self.summary))
    }

    /// Returns the plan to apply. If it has blockers, the plan itself is returned.
    pub fn ready(self) -> Result<Ready<'a>, Box<Self>> {
        let free = self.blockers().is_empty();
        match self {
            Self {
                asked,
                images,
                decision: Some(decision),
                proof,
                unchanged,
                summary,
                ..
            } if free => Ok(Ready {
                deadline: Deadline::new(asked.request.limits),
                asked,
                images,
                decision,
                proof,
                unchanged,
                summary,
            }),
            plan => Err(Box::new(plan)),
        }
    }

    /// Dry-runs every object at the API server, including admission, and keeps the results.
    async fn try_objects(&mut self, decision: &Decision, cluster: &Cluster) -> Result<(), Error> {
        let Decision {
            crds, deployment, ..
        } = decision;
        let tried = DryRun::make(&self.asked, decision, cluster).await?;
        let blockers = &mut self.blockers;
        blockers.extend(tried.blockers);
        self.unchanged = tried.unchanged;
        let releases = deployment
            .iter()
            .flat_map(|deployment| &deployment.releases.all);
        let of_releases = releases.flat_map(|release| &release.redefined);
        let redefined: Vec<&ObjectRef> = tried.redefined.iter().chain(of_releases).collect();
        self.summary.notes.extend(untried(&redefined));
        if let Some(deployment) = deployment {
            blockers.extend(trial::pod(cluster, deployment).await?);
            blockers.extend(trial::pods(cluster, deployment).await?);
            if deployment.place.uid.is_none() {
                self.summary.notes.push(format!(
                    "namespace {} does not exist yet, so the dry-run did not cover its PodSecurity level, quotas and admission rules",
                    deployment.namespace()
                ));
            }
        }
        let kept = crds.iter().filter_map(|crd| match &crd.change {
            CrdChange::KeepNewer(newer) => Some(kept(crd.object.reference(), newer)),
            CrdChange::Create | CrdChange::Update | CrdChange::Adopt | CrdChange::Migrate(_) => {
                None
            }
        });
        self.summary.crds.extend(kept);
        if blockers.is_empty() {
            self.summary.crds.extend(tried.crds);
            self.summary.applied = tried.applied;
            if let Some(target) = &mut self.summary.target {
                target.objects = tried.objects;
                let deployment = deployment.iter();
                let newer = deployment.clone().flat_map(newer);
                target.objects.extend(newer);
                target.objects.extend(deployment.flat_map(replaced));
            }
        }
        Ok(())
    }
}

impl Request {
    /// Reads the cluster's state for the plan, within the rights of the request's authority.
    async fn state(
        &self,
        cluster: &Cluster,
        id: &SolutionId,
        sight: &mut UnreadableParts,
    ) -> Result<ClusterState, Error> {
        match &self.authority {
            Authority::Cluster => ClusterState::read(cluster).await,
            Authority::Namespace(namespace) => {
                let (solution, version) = (id.name(), id.version());
                sight
                    .of_administrator(cluster, namespace, solution, version)
                    .await
            }
        }
    }
}

impl<'a> PlanRequest<'a> {
    /// Returns the request with its generated values and the resulting record. Without a state, the registry of earlier
    /// pulls is not known. `planned` is a time before the state was read.
    pub(crate) fn new(
        accepted: &'a AcceptedArchive,
        client: Option<Client>,
        request: Request,
        state: Option<&ClusterState>,
        planned: SystemTime,
    ) -> Result<Self, Error> {
        let id = accepted.statement().predicate.id.clone();
        let placement = placement(state, &request, &id);
        let pull_registry = pull_registry(state, &request, &id);
        Ok(Self {
            accepted,
            client,
            planned,
            record: record_of(accepted, &request, placement, &pull_registry, &id),
            request,
            id,
            generated: parameters::generate(&accepted.manifest().spec.parameters)?,
            digest_key: parameters::generate_key()?,
            renderings: Renderings::default(),
            helm: OnceLock::new(),
            is_imagined: false,
        })
    }
}

fn check_version(cluster: &Cluster, blockers: &mut Vec<Blocker>) {
    let version = cluster.version();
    if (version.major, version.minor) < (1, OLDEST_MINOR) {
        blockers.push(Blocker::KubernetesTooOld {
            version: version.text.clone(),
            oldest_minor: OLDEST_MINOR,
        });
    }
}

fn record_of(
    accepted: &AcceptedArchive,
    request: &Request,
    placement: Placement,
    pull_registry: &RegistryAddress,
    id: &SolutionId,
) -> Record {
    let signers = accepted.signers().map(|signers| signers.trusted.clone());
    Record {
        name: id.name().clone(),
        version: id.version().clone(),
        archive_id: accepted.archive_id(),
        signers: signers.unwrap_or_default(),
        pushed_to: store::endpoint(&request.registry, id),
        endpoint: store::endpoint(pull_registry, id),
        images: store::recorded(accepted),
        placement,
        imported: request.context.now,
        expires: accepted.statement().predicate.expires,
        manifest: accepted.manifest().clone(),
    }
}

/// Returns the placement of the images: the choices of the request, else those of the same version in the registry,
/// else those of the newest version of the Solution there.
fn placement(state: Option<&ClusterState>, request: &Request, id: &SolutionId) -> Placement {
    let registry = &request.registry;
    let is_there = |record: &&Record| {
        record.name == *id.name() && record.registry().is_ok_and(|address| address == *registry)
    };
    let records = state.map(|state| state.records.as_slice());
    // Records are sorted by version, so the newest one comes first in this order.
    let known = || records.unwrap_or_default().iter().rev().filter(is_there);
    let same = known().find(|record| record.version == *id.version());
    let before = same.or_else(|| known().next());
    let before = before.map(|record| record.placement);
    request.placement.over(before.unwrap_or_default())
}

/// Returns the registry that nodes pull from: that of the request, else that of an earlier import, else the registry
/// that images are pushed to.
fn pull_registry(
    state: Option<&ClusterState>,
    request: &Request,
    id: &SolutionId,
) -> RegistryAddress {
    let before = || pulled_before(state?, request, id);
    let asked = request.pull_registry.clone().or_else(before);
    asked.unwrap_or_else(|| request.registry.clone())
}

/// Returns the pull registry of the newest imported version whose images were pushed to the same registry.
fn pulled_before(
    state: &ClusterState,
    request: &Request,
    id: &SolutionId,
) -> Option<RegistryAddress> {
    let mut known = state.records.iter().rev();
    known.find_map(|known| {
        let suffix = format!("/{}", known.id());
        let pushed_to = known.pushed_to.strip_suffix(&suffix)?;
        let same = known.name == *id.name() && pushed_to == request.registry.to_string();
        let endpoint = known.endpoint.strip_suffix(&suffix)?;
        same.then(|| endpoint.parse().ok()).flatten()
    })
}

/// The source of a value from the site's file.
const FROM_SITE: &str = "the site's file";

/// Returns the values that the user did not specify, with their sources.
fn defaults(
    asked: &PlanRequest<'_>,
    decision: &Decision,
    pull_registry: &str,
) -> Vec<PlannedDefault> {
    let request = &asked.request;
    let mut choices = Vec::new();
    let mut add = |what, value, why| {
        let why = Cow::Borrowed(why);
        choices.push(PlannedDefault { what, value, why });
    };
    if request.from_site.contains(&LeftOpen::Registry) {
        add(LeftOpen::Registry, request.registry.to_string(), FROM_SITE);
    }
    if request.from_site.contains(&LeftOpen::PullRegistry) {
        add(LeftOpen::PullRegistry, pull_registry.to_owned(), FROM_SITE);
    } else if request.pull_registry.is_none() {
        let why = if pull_registry == request.registry.to_string() {
            "same as the registry"
        } else {
            "used by an earlier import"
        };
        add(LeftOpen::PullRegistry, pull_registry.to_owned(), why);
    }
    if let (Goal::Deployed(target), Some(deployment)) = (&request.goal, &decision.deployment) {
        if target.namespace.is_none() {
            let why = "the namespace of the environment";
            add(LeftOpen::Namespace, deployment.namespace().to_string(), why);
        }
        if let PullLogin::Keep | PullLogin::Offered(_) = &target.pull_login {
            let deployed = &deployment.deployed;
            let made = pull_secret::made(asked, target, deployed.pull_secret.as_ref());
            let (secret, why) = match &deployed.pull_secret {
                Some(secret) if made.is_some() => {
                    (secret.as_str(), "from the configured pull login")
                }
                Some(secret) if deployment.site.pull_secret() == Some(secret) => {
                    (secret.as_str(), FROM_SITE)
                }
                Some(secret) => (secret.as_str(), "unchanged"),
                None => ("none", "not set"),
            };
            add(LeftOpen::PullSecret, secret.to_owned(), why);
        }
    }
    choices
}

#[cfg(test)]
mod tests {
    use store::{MirrorPolicy, PathLayout};

    use super::*;
    use crate::plan::file::tests::request;
    use crate::records::record::tests::record;

    #[test]
    fn a_version_keeps_its_placement_and_a_new_one_gets_that_of_the_newest_at_its_registry() {
        let flat = Placement {
            layout: PathLayout::Flat,
            mirrors: MirrorPolicy::Skip,
        };
        let mut records = ["1.0.0", "1.1.0", "1.2.0"].map(record);
        records[1].placement = flat;
        records[2].pushed_to = "elsewhere.test/shop-1.2.0".to_owned();
        let state = ClusterState {
            records: records.into(),
            ..ClusterState::default()
        };
        let mut request = request(PullLogin::None, 0);
        request.registry = "push.test".parse().unwrap();
        let of =
            |request: &Request, id: &str| placement(Some(&state), request, &id.parse().unwrap());
        assert_eq!(of(&request, "shop-1.0.0"), Placement::default());
        assert_eq!(of(&request, "shop-1.1.0"), flat);
        assert_eq!(of(&request, "shop-1.3.0"), flat);
        assert_eq!(of(&request, "cart-1.3.0"), Placement::default());
        request.placement.mirrors = Some(MirrorPolicy::Push);
        let mirrored = Placement {
            mirrors: MirrorPolicy::Push,
            ..flat
        };
        assert_eq!(of(&request, "shop-1.3.0"), mirrored);
    }
}
