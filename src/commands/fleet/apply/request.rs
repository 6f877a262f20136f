//! A request to change the clusters of a fleet, and the planned work in a cluster: a version that is deployed, or a
//! deployment that is removed. `fleet apply`, `fleet rollback` and `fleet delete` create requests in different ways and
//! run them in the same way. The engine in `crates/fleet` treats the work as opaque, and asks it only for its state and
//! its texts for ids.

use std::path::Path;
use std::sync::Arc;

use fleet::rollout::{self, RequiredConsent, RolloutWork};
use fleet::{FleetChange, FleetFile, FleetJournal, FleetRevision, Members};
use importer::{CheckedArchive, Event, Goal, PlanFile, PlanSummary, RemovalReport, Request};
use kubernetes::Cluster;
use registry::Client;
use schemars::JsonSchema;
use schemas::{Namespace, PlacedVersion};
use serde::Serialize;
use serde_json::json;

use crate::args::Output;
use crate::commands::blocked::ShownBlocker;
use crate::commands::fleet::arguments::{PlanFileMode, RolloutArguments};
use crate::commands::fleet::journal::{GoneCluster, JournalFile, gone};
use crate::commands::fleet::removal::{RemovalOptions, RemovalPolicy};
use crate::commands::import::PlanDetail;
use crate::failure::{self, Failure};
use crate::terminal::agreed;

/// A request to change the clusters of a fleet.
pub(in crate::commands::fleet) struct RolloutRequest<'a> {
    pub(in crate::commands::fleet) file: &'a FleetFile,
    pub(in crate::commands::fleet) path: &'a Path,
    pub(in crate::commands::fleet) members: &'a Members<'a>,
    pub(in crate::commands::fleet) choices: &'a RolloutArguments,
    pub(in crate::commands::fleet) shown: PlanDetail,
    pub(in crate::commands::fleet) filing: PlanFileMode<'a>,
    pub(in crate::commands::fleet) change: FleetChange,
    pub(in crate::commands::fleet) removals: RemovalPolicy,
    /// The revision of deployed versions, if the clusters change to the state in the file.
    pub(in crate::commands::fleet) revision: Option<FleetRevision>,
    pub(in crate::commands::fleet) output: Output,
}

impl RolloutRequest<'_> {
    /// Returns whether the user confirms the removals in the plan.
    pub(super) async fn is_confirmed(&self) -> Result<bool, Failure> {
        let question = match self.change {
            FleetChange::Delete => "undeploy these Solutions?",
            FleetChange::Apply | FleetChange::Rollback => {
                "undeploy Solutions that the file no longer lists?"
            }
        };
        Ok(self.removals == RemovalPolicy::Confirmed || agreed(question, self.output).await?)
    }

    /// Returns the clusters that are no longer in the file, if clusters change to its state.
    pub(super) fn gone(&self) -> Result<Vec<GoneCluster>, Failure> {
        if self.change != FleetChange::Apply {
            return Ok(Vec::new());
        }
        let journal = JournalFile::of(self.file, self.path)?.read()?;
        Ok(gone(self.file, &journal))
    }

    /// Records the identity of each cluster under its name in the file, and removes the names that the user prunes.
    pub(super) fn record_members(&self, planned: &[PlannedMember]) -> Result<(), Failure> {
        if self.change != FleetChange::Apply {
            return Ok(());
        }
        let journal = JournalFile::of(self.file, self.path)?;
        let spec = self.file.spec();
        if self.removals != RemovalPolicy::None {
            journal.change(|journal: &mut FleetJournal| journal.forget_gone(spec))?;
        }
        let mut recorded = Ok(());
        journal.change(|journal| {
            recorded = rollout::record_members(journal, spec, planned);
        })?;
        recorded.map_err(failure::identity)
    }
}

/// The plan of a cluster.
pub(super) type MemberPlan = rollout::MemberPlan<PlannedWork>;

/// A selected cluster, planned or not.
pub(super) type PlannedMember = rollout::PlannedMember<PlannedWork>;

/// The plan of a Solution in an environment of a cluster.
pub(super) type DeploymentPlan = rollout::DeploymentPlan<PlannedWork>;

/// The planned work of a deployment.
#[derive(Debug)]
pub(super) enum PlannedWork {
    /// A version is deployed.
    Deploy(Box<DeploymentWork>),
    /// A deployment is removed.
    Remove(RemovalWork),
}

impl PlannedWork {
    /// Returns the work of a plan that deploys a version.
    pub(super) fn deployment(plan: &DeploymentPlan) -> Option<&DeploymentWork> {
        match &plan.work {
            Some(Self::Deploy(work)) => Some(work),
            _ => None,
        }
    }

    /// Returns the work of a plan that removes a deployment.
    pub(super) fn removal(plan: &DeploymentPlan) -> Option<&RemovalWork> {
        match &plan.work {
            Some(Self::Remove(work)) => Some(work),
            _ => None,
        }
    }
}

impl RolloutWork for PlannedWork {
    type Connection = Cluster;
    type Blocker = ShownBlocker;
    type Error = Failure;

    fn is_done(&self) -> bool {
        match self {
            Self::Deploy(work) => work.is_done,
            Self::Remove(_) => false,
        }
    }

    fn is_deployment(&self) -> bool {
        matches!(self, Self::Deploy(_))
    }

    fn essence(&self) -> String {
        match self {
            Self::Deploy(work) => work.planned.essence(),
            Self::Remove(work) => work.essence(),
        }
    }

    /// Returns the values without those of sensitive parameters, because other users can read the id. A removal has no
    /// values, and the next run does not find it.
    fn goal(&self) -> Option<String> {
        let Self::Deploy(work) = self else {
            return None;
        };
        match &work.request.goal {
            Goal::Deployed(target) => Some(json!(target.fleet).to_string()),
            Goal::Available | Goal::Activated => None,
        }
    }

    fn required_consent(&self) -> Option<&RequiredConsent> {
        match self {
            Self::Deploy(work) => work.consent.as_ref(),
            Self::Remove(_) => None,
        }
    }

    fn grant_consent(&mut self) {
        let Self::Deploy(work) = self else {
            return;
        };
        let Some(required) = work.consent.take() else {
            return;
        };
        let target = work.planned.target.as_mut();
        if let Some(external_effects) = target.and_then(|target| target.external_effects.as_mut()) {
            external_effects.accepted = true;
            external_effects.again = false;
        }
        work.request.accepted.insert(required.id);
    }
}

/// The plan of a version, with everything that is needed to deploy it.
#[derive(Debug)]
pub(super) struct DeploymentWork {
    pub(super) archive: Arc<CheckedArchive>,
    pub(super) client: Client,
    pub(super) request: Request,
    pub(super) planned: PlanSummary,
    /// The consent that is still required.
    pub(super) consent: Option<RequiredConsent>,
    /// True if the cluster already is as planned.
    pub(super) is_done: bool,
    /// The plan in the form of a plan file, if one is used and the plan has no blockers.
    pub(super) filed: Option<Box<PlanFile>>,
}

/// A removal, with the data that it needs.
#[derive(Debug)]
pub(super) struct RemovalWork {
    pub(super) planned: PlannedRemoval,
    pub(super) removing: Arc<RemovalOptions>,
}

/// A removal, planned or done.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct PlannedRemoval {
    /// The namespace that it leaves.
    pub(super) namespace: Namespace,
    #[serde(flatten)]
    pub(super) undone: RemovalReport,
}

impl RemovalWork {
    /// Removes the deployment, if the removal still has the effect that was shown.
    pub(super) async fn carry_out(
        &self,
        placed: &PlacedVersion,
        cluster: &Cluster,
        tell: &(dyn Fn(Event) + Send + Sync),
    ) -> Result<PlannedRemoval, Failure> {
        let PlannedRemoval { namespace, undone } = &self.planned;
        let change = self.removing.change(cluster, tell);
        let undeployment = self.removing.undeployment(placed, namespace);
        let undone = undeployment.carry_out_as_shown(&change, undone).await?;
        Ok(PlannedRemoval {
            namespace: namespace.clone(),
            undone,
        })
    }

    /// Returns the content that an approval covers.
    pub(super) fn essence(&self) -> String {
        let PlannedRemoval { namespace, undone } = &self.planned;
        let RemovalReport {
            applied, removed, ..
        } = undone;
        json!({ "namespace": namespace, "applied": applied, "removed": removed }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::fleet::removal::tests::removing;

    #[test]
    fn who_agrees_to_a_removal_agrees_to_its_objects_alone() {
        let essence = |namespace: &str, removed: &[&str], notes: &[&str]| {
            let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
            let undone = RemovalReport {
                removed: texts(removed),
                notes: texts(notes),
                ..RemovalReport::default()
            };
            let planned = PlannedRemoval {
                namespace: namespace.parse().unwrap(),
                undone,
            };
            let removing = removing();
            RemovalWork { planned, removing }.essence()
        };
        let one = essence("prod", &["a"], &[]);
        assert_eq!(essence("prod", &["a"], &["b stays"]), one);
        assert_ne!(essence("prod", &["a", "b"], &[]), one);
        assert_ne!(essence("test", &["a"], &[]), one);
    }
}
