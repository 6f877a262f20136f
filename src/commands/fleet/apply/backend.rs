//! The backend of a rollout: it changes clusters with the importer, reads their status, and keeps the journal in a file
//! next to the fleet's file. It implements the interface of `crates/fleet`, which decides when each cluster changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as Cell, PoisonError};
use std::time::Duration;

use fleet::rollout::{Backend, Health, MemberFailure, MemberResult};
use fleet::{DecisionAuthor, FleetEvent, FleetJournal};
use importer::{Event, PlanSummary, Receipt, ShownImport};
use kubernetes::{Cluster, WaitOutcome};
use schemas::{PlacedVersion, WaveName};
use tokio::sync::Mutex;

use super::display::{MemberLine, RolloutDisplay};
use super::request::{DeploymentWork, MemberPlan, PlannedWork, RemovalWork};
use super::result::{ChangeReport, RemovedDeployment};
use crate::args::Output;
use crate::commands::fleet::journal::{JournalFile, decided};
use crate::commands::fleet::status::deployment::judge;
use crate::failure::{self, Failure};
use crate::interrupt;
use crate::terminal::agreed;

/// The backend of a rollout.
pub(super) struct ClusterBackend<'a> {
    pub(super) journal: JournalFile<'a>,
    /// The time limit for a cluster that is away; `None` to not wait.
    pub(super) longest: Option<Duration>,
    pub(super) display: RolloutDisplay,
    pub(super) pushes: RegistryLocks,
    pub(super) output: Output,
}

/// One lock for each registry. Clusters push to a registry in turn, so that later ones find shared content there.
#[derive(Default)]
pub(super) struct RegistryLocks(Cell<BTreeMap<String, Arc<Mutex<()>>>>);

impl RegistryLocks {
    fn lock_of(&self, registry: &str) -> Arc<Mutex<()>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(registry.to_owned()).or_default())
    }
}

impl Backend for ClusterBackend<'_> {
    type Work = PlannedWork;
    type Report = ChangeReport;

    async fn change(&self, plan: &MemberPlan) -> MemberResult<ChangeReport, Failure> {
        let line = self.display.line(&plan.name);
        let mut report = ChangeReport::default();
        let (at_deployment, changed) = match self.wait_until_up(plan, &line).await {
            Ok(()) => (true, self.apply(plan, &line, &mut report).await),
            Err(error) => (false, Err(error)),
        };
        let failure = changed.err().map(|error| MemberFailure {
            at_deployment,
            error,
        });
        MemberResult {
            objects: report.objects(),
            has_changed: failure.is_some() || report.has_changes(),
            failure,
            report,
        }
    }

    async fn observe(&self, plan: &MemberPlan) -> Health {
        let status = match importer::status(&plan.connection, None).await {
            Ok(status) => status,
            Err(error) => {
                let context = format!("cannot read the status of cluster {}", plan.name);
                return Health::Unknown(Failure::from(error).context(context).in_one_line());
            }
        };
        let deployed = plan.deployments.iter().filter(|plan| plan.deploys());
        let mut found = deployed.map(|plan| judge(&plan.placed, &status));
        match found.find(|deployment| !deployment.is_ready()) {
            Some(deployment) => Health::NotReady(deployment.to_string()),
            None => Health::Ready,
        }
    }

    async fn ask_approval(&self, wave: &WaveName, plan: &str) -> Result<bool, Failure> {
        let question = format!("approve wave {wave} (plan {plan})?");
        agreed(&question, self.output).await
    }

    fn journal(&self) -> Result<FleetJournal, Failure> {
        self.journal.read()
    }

    fn change_journal(&self, change: impl FnOnce(&mut FleetJournal)) -> Result<(), Failure> {
        self.journal.change(change).map(drop)
    }

    fn decided(&self) -> Result<DecisionAuthor, Failure> {
        decided()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn is_interrupted(&self) -> bool {
        interrupt::cancel().is_asked()
    }

    fn tell(&self, event: FleetEvent) {
        self.display.tell(&event);
    }
}

impl ClusterBackend<'_> {
    /// Waits for a cluster that is away, and verifies that it is still the planned one.
    async fn wait_until_up(&self, plan: &MemberPlan, line: &MemberLine) -> Result<(), Failure> {
        let Some(longest) = self.longest else {
            return Ok(());
        };
        let waited = line.arrival(longest).wait(&plan.connection).await;
        if waited.map_err(Failure::unknown)? == WaitOutcome::Immediate {
            return Ok(());
        }
        let uid = importer::cluster_uid(&plan.connection).await;
        let same = uid.and_then(|uid| importer::check_uid(&uid, Some(&plan.system)));
        same.map_err(failure::member)
    }

    /// Applies the planned work of a cluster. A change fails if its effect no longer matches the plan.
    async fn apply(
        &self,
        plan: &MemberPlan,
        line: &MemberLine,
        report: &mut ChangeReport,
    ) -> Result<(), Failure> {
        let cluster = &plan.connection;
        let mut earlier = Vec::new();
        for deployment in &plan.deployments {
            let placed = &deployment.placed;
            match &deployment.work {
                None => {}
                Some(PlannedWork::Deploy(work)) => {
                    let deployed = Box::pin(self.deploy(work, &earlier, cluster, line)).await;
                    earlier.push(&work.planned);
                    let solution = &work.planned.solution;
                    let receipt = deployed.map_err(|error| error.context(solution.clone()))?;
                    report.receipts.push(receipt);
                }
                Some(PlannedWork::Remove(work)) => {
                    let removed = Box::pin(remove(work, placed, cluster, line)).await;
                    let removed = removed.map_err(|error| error.context(placed.to_string()))?;
                    report.removed.push(removed);
                }
            }
        }
        Ok(())
    }

    async fn deploy(
        &self,
        work: &DeploymentWork,
        earlier: &[&PlanSummary],
        cluster: &Cluster,
        line: &MemberLine,
    ) -> Result<Receipt, Failure> {
        let DeploymentWork {
            archive,
            client,
            request,
            planned,
            ..
        } = work;
        let lock = self.pushes.lock_of(&planned.registry);
        let guard = if planned.bytes_to_push == 0 {
            None
        } else {
            Some(lock.lock().await)
        };
        let guard = Cell::new(guard);
        let tell = |event: Event| {
            if let Event::Pushed = event {
                guard.lock().unwrap_or_else(PoisonError::into_inner).take();
            }
            line.take(&event);
        };
        let shown = ShownImport {
            accepted: &archive.accepted,
            findings: &archive.findings,
            client,
            request,
            plan: planned,
        };
        let receipt = Box::pin(shown.apply(earlier, cluster, &tell)).await;
        line.end_push(receipt.is_ok());
        Ok(receipt?)
    }
}

async fn remove(
    work: &RemovalWork,
    placed: &PlacedVersion,
    cluster: &Cluster,
    line: &MemberLine,
) -> Result<RemovedDeployment, Failure> {
    let tell = |event: Event| line.take(&event);
    Ok(RemovedDeployment {
        deployment: placed.to_string(),
        removal: work.carry_out(placed, cluster, &tell).await?,
    })
}
