//! What is planned for a cluster of a fleet, and what it is planned from.

use std::sync::Arc;

use deployer::Cluster;
use importer::{PlanFile, PlanSummary, Request};
use registry::Client;
use schemas::{ClusterName, ClusterUid, PlacedVersion};

use super::removal::RemovalWork;
use crate::commands::import::Acceptance;
use crate::commands::refusal::InTheWay;
use crate::failure::{Failure, Outcome};

/// What is planned for a cluster.
pub(super) struct MemberPlan {
    /// Its place in the file.
    pub(super) at: usize,
    pub(super) name: ClusterName,
    pub(super) cluster: Cluster,
    /// The UID by which the file pins it.
    pub(super) uid: ClusterUid,
    /// The UID of its namespace kube-system.
    pub(super) system: ClusterUid,
    /// Its deployments, in the order in which they are changed.
    pub(super) deployments: Vec<DeploymentPlan>,
}

/// What is planned for a Solution in an environment of a cluster.
pub(super) struct DeploymentPlan {
    /// Which one it is, as the file has it, or as it stands where the file does not have it.
    pub(super) placed: PlacedVersion,
    /// What is planned for it in a word, where its entry does not say so.
    pub(super) note: Option<String>,
    /// What is planned; none where it could not be, or nothing is to be.
    pub(super) work: Option<PlannedWork>,
    /// What is in the way, but for what has to be accepted.
    pub(super) why: Vec<InTheWay>,
}

impl DeploymentPlan {
    /// Whether anything is to be done.
    pub(super) fn changes(&self) -> bool {
        match &self.work {
            None => false,
            Some(PlannedWork::Deploy(work)) => !work.is_done,
            Some(PlannedWork::Remove(_)) => true,
        }
    }

    /// Whether nothing is to be done, and there is nothing to say about that.
    pub(super) fn is_idle(&self) -> bool {
        !self.changes() && self.note.is_none() && self.why.is_empty()
    }

    /// The plan of a version that is deployed, if one is.
    pub(super) fn deploys(&self) -> Option<&DeploymentWork> {
        match &self.work {
            Some(PlannedWork::Deploy(work)) => Some(work),
            _ => None,
        }
    }

    /// The plan of a removal, if it is one.
    pub(super) fn removes(&self) -> Option<&RemovalWork> {
        match &self.work {
            Some(PlannedWork::Remove(work)) => Some(work),
            _ => None,
        }
    }
}

/// What is planned for a deployment.
pub(super) enum PlannedWork {
    /// A version is deployed.
    Deploy(Box<DeploymentWork>),
    /// What stands there is removed.
    Remove(RemovalWork),
}

impl PlannedWork {
    /// What somebody agrees to who agrees to it.
    pub(super) fn essence(&self) -> String {
        match self {
            Self::Deploy(work) => work.planned.essence(),
            Self::Remove(work) => work.essence(),
        }
    }
}

/// What is deployed, and all that doing it needs.
pub(super) struct DeploymentWork {
    pub(super) archive: Arc<Acceptance>,
    pub(super) client: Client,
    pub(super) request: Request,
    pub(super) planned: PlanSummary,
    /// What has to be accepted, if anything has.
    pub(super) consent: Option<WantedConsent>,
    /// Whether all of it is in place already.
    pub(super) is_done: bool,
    /// The same for the file of a plan, if there is one and nothing is in the way.
    pub(super) filed: Option<Box<PlanFile>>,
}

/// What has to be accepted of a deployment.
pub(super) struct WantedConsent {
    /// The id under which the plan shows it.
    pub(super) id: String,
    /// The number of things that were not accepted before.
    pub(super) things: usize,
}

/// What a deployment is planned from.
pub(in crate::commands::fleet) struct Deployable {
    /// Which one it is, as the file has it.
    pub(in crate::commands::fleet) placed: PlacedVersion,
    /// What is planned for it in a word, where its entry does not say so.
    pub(in crate::commands::fleet) note: Option<String>,
    pub(in crate::commands::fleet) archive: Arc<Acceptance>,
    pub(in crate::commands::fleet) client: Client,
    pub(in crate::commands::fleet) request: Request,
}

impl Deployable {
    /// Returns what is deployed, which is not the version of the file where it goes back.
    pub(in crate::commands::fleet) fn deployed(&self) -> PlacedVersion {
        let id = &self.archive.accepted.statement().predicate.id;
        PlacedVersion {
            solution: id.name().clone(),
            version: id.version().clone(),
            environment: self.placed.environment.clone(),
        }
    }
}

/// Why a deployment is not planned.
pub(in crate::commands::fleet) enum Unplannable {
    /// Nothing is to be done, for this reason.
    Left(String),
    /// These are in the way, and of others it can be found out what they would do.
    Refused(Vec<InTheWay>),
    /// The cluster or its registry could not be asked.
    Failed(Failure),
}

impl From<Failure> for Unplannable {
    fn from(failure: Failure) -> Self {
        match failure.outcome() {
            Outcome::No | Outcome::Usage => Self::Refused(vec![InTheWay::from(&failure)]),
            Outcome::Yes | Outcome::Unknown | Outcome::Ended(_) => Self::Failed(failure),
        }
    }
}
