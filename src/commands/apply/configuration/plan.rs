//! The plan of a configuration: every step, with all blockers. Planning writes nothing.

use importer::configuration::{
    AskedStep, ListedArchive, Outline, PlannedRemoval, Prune, Question, SolutionRemoval, State,
    StepAction, StepSkipReason,
};
use importer::{Change, Goal, PlanSummary, PushDestination, Request};
use registry::Client;
use schemas::{SolutionName, SolutionsConfiguration, Version};

use super::show::{ConfigurationResult, Step};
use super::{Archive, Arguments, ConfiguredArchive, RefusedArchive};
use crate::args::{Output, choose};
use crate::commands::blocked::ShownBlocker;
use crate::commands::import::{self, Connections};
use crate::commands::{imported_version, validate};
use crate::failure::{Failure, Outcome};

/// All steps, with the data that planned steps need.
pub(super) struct Plan {
    pub(super) shown: ConfigurationResult,
    /// The data of each step, in the order of the steps.
    pub(super) work: Vec<Option<StepWork>>,
}

/// The data that a planned step needs.
pub(super) enum StepWork {
    Import(Box<PlannedImport>),
    Remove(SolutionRemoval),
}

/// The data that the import or activation of a version needs.
pub(super) struct PlannedImport {
    pub(super) archive: Archive,
    pub(super) request: Request,
    pub(super) client: Client,
    /// The plan that was shown.
    pub(super) planned: PlanSummary,
}

/// A step, with the data that it needs if it is planned.
type PlannedStep = (Step, Option<StepWork>);

/// The planner of a configuration, with its cluster and registry.
struct Planner<'a> {
    arguments: &'a Arguments,
    change: &'a Change<'a>,
    listed: &'a [ConfiguredArchive],
    /// The registry for the images of listed archives.
    destination: PushDestination,
    output: Output,
    /// The registry that listed archives are pushed to.
    client: Client,
}

impl Plan {
    /// Plans all steps, and writes nothing.
    pub(super) async fn make(
        arguments: &Arguments,
        configuration: &SolutionsConfiguration,
        listed: &[ConfiguredArchive],
        change: &Change<'_>,
        output: Output,
    ) -> Result<Self, Failure> {
        let cluster = change.cluster;
        let registries = &arguments.registries;
        let site = importer::site(cluster).await?;
        let destination = import::destination(registries, &site)?;
        let planner = Planner {
            arguments,
            change,
            listed,
            output,
            client: import::client(&destination.registry, &registries.reach, &site)?,
            destination,
        };
        let status = importer::status(cluster, None).await?;
        let archives: Vec<ListedArchive> =
            listed.iter().map(ConfiguredArchive::identified).collect();
        let prune = choose(arguments.pruning.prune, Prune::Allow, Prune::Refuse);
        let outline = Outline::of(configuration, &archives, &status, prune);
        let mut plan = Self {
            shown: ConfigurationResult {
                context: cluster.context().map(str::to_owned),
                server: cluster.server().to_owned(),
                steps: Vec::new(),
            },
            work: Vec::new(),
        };
        while let Some(asked) = outline.next(&plan.states()) {
            let (step, work) = Box::pin(planner.find_out(asked)).await?;
            plan.shown.steps.push(step);
            plan.work.push(work);
        }
        Ok(plan)
    }

    /// Returns true if any step removes something.
    pub(super) fn removes(&self) -> bool {
        let mut work = self.work.iter().flatten();
        work.any(|work| matches!(work, StepWork::Remove(_)))
    }

    fn states(&self) -> Vec<State> {
        self.shown.steps.iter().map(|step| step.state).collect()
    }
}

impl Planner<'_> {
    async fn find_out(&self, asked: AskedStep) -> Result<PlannedStep, Failure> {
        let step = Step::from(asked.step);
        match asked.question {
            Question::Nothing(why) => Ok((untaken(step, &why), None)),
            Question::Import { archive } => {
                Box::pin(self.listed(step, archive, Goal::Available)).await
            }
            Question::Activate { archive } => {
                Box::pin(self.listed(step, archive, Goal::Activated)).await
            }
            Question::ActivateKept { solution, version } => {
                Ok(Box::pin(self.kept(step, &solution, &version)).await)
            }
            Question::Remove(removal) => self.remove(step, removal).await,
        }
    }

    /// Returns the step with the plan of a listed archive.
    async fn listed(&self, step: Step, archive: usize, goal: Goal) -> Result<PlannedStep, Failure> {
        match &self.listed[archive].found {
            Ok(archive) => {
                let request = self.request(goal)?;
                Ok(self.plan(step, archive, request, &self.client).await)
            }
            Err(refusal) => Ok((step.refused(refusal.clone()), None)),
        }
    }

    /// Returns the request for a listed archive.
    fn request(&self, goal: Goal) -> Result<Request, Failure> {
        let Arguments {
            registries,
            signers,
            turn,
            ..
        } = self.arguments;
        let to = self.destination.clone();
        let mut request = import::goal_request(goal, &to.registry, to.pull_registry, turn)?;
        request.missing = to.missing;
        request.from_site = to.from_site;
        Ok(import::allow(request, registries, signers))
    }

    async fn kept(&self, step: Step, solution: &SolutionName, version: &Version) -> PlannedStep {
        let Arguments {
            registries, turn, ..
        } = self.arguments;
        let client = |registry: &_, site: &_| import::client(registry, &registries.reach, site);
        let kept = imported_version::check_imported_version(
            self.change.cluster,
            solution,
            Some(version),
            client,
        )
        .await;
        let kept = match kept {
            Ok(Ok(kept)) => {
                validate::print_findings(&kept.archive.findings, self.output);
                kept
            }
            Ok(Err(report)) => return (step.refused(RefusedArchive::from(&*report)), None),
            Err(failure) => return (step.because(&failure), None),
        };
        let pull_registry = Some(kept.pull_registry);
        match import::goal_request(Goal::Activated, &kept.registry, pull_registry, turn) {
            Ok(request) => {
                let archive = Archive::new(kept.archive);
                self.plan(step, &archive, request, &kept.client).await
            }
            Err(failure) => (step.because(&failure), None),
        }
    }

    /// Returns a step with its plan, or the reason why it is refused.
    async fn plan(
        &self,
        step: Step,
        archive: &Archive,
        mut request: Request,
        client: &Client,
    ) -> PlannedStep {
        request.allowed.adopt.crds = self.arguments.adopt();
        let reached = Connections {
            client,
            cluster: self.change.cluster,
        };
        let looked = import::preview(archive, request.clone(), reached);
        let planned = match Box::pin(looked).await {
            Ok((planned, blockers)) if blockers.is_empty() => planned,
            Ok((_, why)) => {
                let outcome = Outcome::No;
                return (step.refused(RefusedArchive { why, outcome }), None);
            }
            Err(failure) => return (step.because(&failure), None),
        };
        let step = Step {
            bytes: Some(planned.bytes_to_push),
            crds: planned.crds.clone(),
            ..step
        };
        let import = PlannedImport {
            archive: archive.clone(),
            request,
            client: client.clone(),
            planned,
        };
        (step, Some(StepWork::Import(Box::new(import))))
    }

    async fn remove(&self, step: Step, removal: SolutionRemoval) -> Result<PlannedStep, Failure> {
        Ok(match removal.plan(self.change).await? {
            PlannedRemoval::Goes(objects) => {
                (Step { objects, ..step }, Some(StepWork::Remove(removal)))
            }
            PlannedRemoval::Left(blockers) => (step.left(&blockers), None),
        })
    }
}

/// Returns the step as a skipped one.
fn untaken(step: Step, why: &StepSkipReason) -> Step {
    let state = why.state();
    let outcome = Outcome::from(state != State::Failed);
    Step {
        state,
        why: vec![in_the_way(why, step.planned.action)],
        outcome,
        ..step
    }
}

fn in_the_way(why: &StepSkipReason, action: StepAction) -> ShownBlocker {
    match (why, action) {
        (StepSkipReason::SameVersion(path), _) => {
            let message = format!("`{path}` contains the same version");
            ShownBlocker::new(message, "list one of the two")
        }
        (StepSkipReason::Absent(blocker), _) => ShownBlocker::from(blocker),
        (StepSkipReason::NotImported, _) => ShownBlocker::new(
            "its archive is rejected",
            "fix the cause, then run the same command again",
        ),
        (StepSkipReason::NotAskedFor, StepAction::Deactivate) => ShownBlocker::new(
            "the file does not list it as active",
            "deactivate it with `--prune`",
        ),
        (StepSkipReason::NotAskedFor, _) => {
            ShownBlocker::new("the file does not list it", "unimport it with `--prune`")
        }
        (StepSkipReason::MayBeListed, _) => ShownBlocker::new(
            "a listed archive that could not be read may contain this version",
            "fix the archive, then run the same command again",
        ),
    }
}

#[cfg(test)]
mod tests {
    use importer::configuration;

    use super::*;

    fn step(action: StepAction) -> Step {
        Step::from(configuration::ConfigurationStep {
            action,
            archive: None,
            solution: None,
            version: None,
        })
    }

    fn overview(steps: Vec<Step>) -> ConfigurationResult {
        ConfigurationResult {
            context: None,
            server: String::new(),
            steps,
        }
    }

    #[test]
    fn what_is_refused_makes_the_answer_a_no_and_what_is_left_does_not() {
        for (why, action, outcome, fix) in [
            (
                StepSkipReason::SameVersion("a.iso".to_owned()),
                StepAction::Import,
                Outcome::No,
                "list one",
            ),
            (
                StepSkipReason::NotImported,
                StepAction::Activate,
                Outcome::No,
                "run the same",
            ),
            (
                StepSkipReason::NotAskedFor,
                StepAction::Deactivate,
                Outcome::Yes,
                "deactivate it with `--prune`",
            ),
            (
                StepSkipReason::NotAskedFor,
                StepAction::Unimport,
                Outcome::Yes,
                "unimport it with `--prune`",
            ),
            (
                StepSkipReason::MayBeListed,
                StepAction::Unimport,
                Outcome::Yes,
                "run the same",
            ),
        ] {
            let untaken = untaken(step(action), &why);
            assert_eq!(untaken.state, why.state(), "{why:?}");
            assert!(
                untaken.why[0].fix.contains(fix),
                "{why:?}: {:?}",
                untaken.why
            );
            let steps = overview(vec![step(StepAction::Import), untaken]);
            assert_eq!(steps.outcome(), outcome, "{why:?}");
        }
    }

    #[test]
    fn a_no_of_one_step_counts_more_than_what_another_could_not_find_out() {
        use Outcome::{No, Unknown, Yes};
        for (outcomes, expected) in [
            (&[][..], Yes),
            (&[Yes, Yes], Yes),
            (&[Yes, Unknown], Unknown),
            (&[Unknown, No, Yes], No),
        ] {
            let refused = |outcome: &Outcome| Step {
                outcome: *outcome,
                ..step(StepAction::Import)
            };
            let steps = overview(outcomes.iter().map(refused).collect());
            assert_eq!(steps.outcome(), expected, "{outcomes:?}");
        }
    }
}
