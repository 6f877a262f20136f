//! `solution apply -f`: imports, activates and removes versions until the cluster has those of a
//! `SolutionsConfiguration`. It checks every listed archive first. If a step fails, the steps that need it fail too,
//! and all other steps are still executed.

mod plan;
pub(in crate::commands) mod show;

use std::path::Path;
use std::sync::Arc;

use importer::configuration::{ListedArchive, RemovalOutcome, SolutionRemoval, State};
use importer::{Change, CheckedArchive, PlanSummary, Receipt, ShownImport};
use schemas::{SolutionsConfiguration, limits};
use validator::Report;

use self::plan::{Plan, PlannedImport, StepWork};
use self::show::{ConfigurationResult, Step};
use super::Arguments;
use crate::args::Output;
use crate::commands::blocked::{ShownBlocker, refuse_plan};
use crate::commands::change::change;
use crate::commands::import::{self};
use crate::failure::{Failure, Outcome};
use crate::render;
use crate::terminal::agreed;

pub(super) fn run(arguments: &Arguments, path: &Path, output: Output) -> Result<Outcome, Failure> {
    let configuration = read(path)?;
    let archives = open(arguments, path, &configuration, output)?;
    change(
        &arguments.cluster,
        &arguments.turn,
        arguments.dry_run,
        output,
        async |change| {
            let plan = Plan::make(arguments, &configuration, &archives, change, output);
            let plan = Box::pin(plan).await?;
            apply(arguments, plan, change, output).await
        },
    )
}

fn read(path: &Path) -> Result<SolutionsConfiguration, Failure> {
    let bytes = files::read(path, limits::CONFIGURATION_SIZE).map_err(Failure::unknown)?;
    let read = SolutionsConfiguration::from_slice(&bytes);
    read.map_err(|error| {
        let context = format!("cannot use `{}`", path.display());
        Failure::no(error)
            .context(context)
            .hint("correct the file: `solution schema solutions-configuration` prints its schema")
    })
}

/// Shows the plan, asks for confirmation if it removes anything, and executes it.
async fn apply(
    arguments: &Arguments,
    plan: Plan,
    change: &Change<'_>,
    output: Output,
) -> Result<Outcome, Failure> {
    if output == Output::Human {
        show::plan(&plan.shown);
    }
    if change.dry_run {
        render::result(output, &plan.shown, |_| render::dry_run());
        return Ok(plan.shown.outcome());
    }
    let question = "unimport and deactivate Solutions that the file does not list?";
    if plan.removes() && !arguments.pruning.yes && !agreed(question, output).await? {
        let message = "the removal of Solutions that the file does not list was not confirmed";
        let why = ShownBlocker::new(message, "review the plan, then confirm it with `--yes`");
        return Ok(refuse_plan(output, &plan.shown, [why]));
    }
    let done = plan.carry_out(change, output).await;
    render::result(output, &done, show::done);
    Ok(done.outcome())
}

/// An accepted archive, with its remaining findings.
type Archive = Arc<CheckedArchive>;

/// A listed archive.
struct ConfiguredArchive {
    /// The path from the configuration.
    path: String,
    found: Result<Archive, RefusedArchive>,
}

/// The reasons why a step is not done, and the resulting outcome.
#[derive(Clone)]
struct RefusedArchive {
    why: Vec<ShownBlocker>,
    outcome: Outcome,
}

/// Opens and checks every archive. Fails only if no archive at all can be checked, for example without keys.
fn open(
    arguments: &Arguments,
    file: &Path,
    configuration: &SolutionsConfiguration,
    output: Output,
) -> Result<Vec<ConfiguredArchive>, Failure> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut listed = Vec::new();
    for path in &configuration.archives {
        let found = match import::check_archive(&folder.join(path), &arguments.signers, output) {
            Ok(judged) => judged
                .map(Archive::new)
                .map_err(|error| RefusedArchive::from(&*error)),
            // The keys and policies are the same for all archives, so one usage error ends the command.
            Err(failure) if failure.outcome() == Outcome::Usage => return Err(failure),
            Err(failure) => Err(RefusedArchive::from(&failure)),
        };
        listed.push(ConfiguredArchive {
            path: path.clone(),
            found,
        });
    }
    Ok(listed)
}

impl ConfiguredArchive {
    /// Returns the archive with the version that it contains.
    fn identified(&self) -> ListedArchive {
        let accepted = self.found.as_ref().ok();
        let id = accepted.map(|accepted| accepted.accepted.statement().predicate.id.clone());
        ListedArchive {
            path: self.path.clone(),
            id,
        }
    }
}

impl From<&Report> for RefusedArchive {
    fn from(report: &Report) -> Self {
        Self {
            why: ShownBlocker::of_report(report),
            outcome: Outcome::No,
        }
    }
}

impl From<&Failure> for RefusedArchive {
    fn from(failure: &Failure) -> Self {
        Self {
            why: vec![failure.into()],
            outcome: failure.outcome(),
        }
    }
}

impl Plan {
    /// Executes the steps that were shown.
    async fn carry_out(self, change: &Change<'_>, output: Output) -> ConfigurationResult {
        let mut done = ConfigurationResult {
            steps: Vec::new(),
            ..self.shown
        };
        let mut earlier = Vec::new();
        for (step, work) in self.shown.steps.into_iter().zip(self.work) {
            done.steps.push(match work {
                Some(StepWork::Import(import)) => {
                    let done = import_version(step, &import, &earlier, change, output).await;
                    earlier.push(import.planned);
                    done
                }
                Some(StepWork::Remove(removal)) => remove(step, &removal, change).await,
                None => step,
            });
        }
        done
    }
}

async fn import_version(
    step: Step,
    import: &PlannedImport,
    earlier: &[PlanSummary],
    change: &Change<'_>,
    output: Output,
) -> Step {
    let shown = ShownImport {
        accepted: &import.archive.accepted,
        findings: &import.archive.findings,
        client: &import.client,
        request: &import.request,
        plan: &import.planned,
    };
    let earlier: Vec<&PlanSummary> = earlier.iter().collect();
    let done = import::with_progress(output, async |tell| {
        shown.apply(&earlier, change.cluster, tell).await
    });
    match Box::pin(done).await {
        Ok(receipt) => step.applied(receipt),
        Err(error) => step.because(&error.into()),
    }
}

async fn remove(step: Step, removal: &SolutionRemoval, change: &Change<'_>) -> Step {
    match removal.carry_out(change).await {
        Ok(RemovalOutcome::Gone(undone)) => Step {
            state: State::Done,
            objects: undone.removed,
            notes: undone.notes,
            ..step
        },
        Ok(RemovalOutcome::Left(blockers)) => step.left(&blockers),
        Err(error) => step.because(&error.into()),
    }
}

impl Step {
    fn applied(self, receipt: Receipt) -> Self {
        Self {
            state: State::after(&receipt),
            bytes: Some(receipt.pushed.uploaded.bytes),
            objects: receipt.objects,
            ..self
        }
    }
}
