//! Every step that a configuration comes to, with all that is in the way. Nothing is written.

use importer::configuration::{
    AskedStep, ListedArchive, Outline, PlannedRemoval, Prune, Question, SolutionRemoval, State,
    StepAction, Why,
};
use importer::{Change, Goal, PlanSummary, PushDestination, Request};
use registry::Client;
use schemas::{SolutionName, SolutionsConfiguration, Version};

use super::Arguments;
use super::archives::{Archive, Listed, Refusal};
use super::show::{Overview, Step};
use crate::args::{Output, choose};
use crate::commands::import::Reached;
use crate::commands::refusal::InTheWay;
use crate::commands::validate::words;
use crate::commands::{import, kept};
use crate::failure::{Failure, Outcome};

/// All steps, and what those need that are planned.
pub(super) struct Plan {
    pub(super) shown: Overview,
    /// For each step.
    pub(super) work: Vec<Option<StepWork>>,
}

/// What a step needs that is planned.
pub(super) enum StepWork {
    Import(Box<Import>),
    Remove(SolutionRemoval),
}

/// What importing or activating a version needs.
pub(super) struct Import {
    pub(super) archive: Archive,
    pub(super) request: Request,
    pub(super) client: Client,
    /// The plan of it, as it was shown.
    pub(super) planned: PlanSummary,
}

/// A step, with what it needs if it is planned.
type PlannedStep = (Step, Option<StepWork>);

/// Where plans are made.
struct Planner<'a> {
    arguments: &'a Arguments,
    change: &'a Change<'a>,
    listed: &'a [Listed],
    /// Where the images of listed archives go.
    destination: PushDestination,
    output: Output,
    /// The registry that listed archives are pushed to.
    client: Client,
}

impl Plan {
    /// Finds out what is to be done.
    pub(super) async fn make(
        arguments: &Arguments,
        configuration: &SolutionsConfiguration,
        listed: &[Listed],
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
        let archives: Vec<ListedArchive> = listed.iter().map(Listed::identified).collect();
        let prune = choose(arguments.pruning.prune, Prune::Allow, Prune::Refuse);
        let outline = Outline::of(configuration, &archives, &status, prune);
        let mut plan = Self {
            shown: Overview {
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

    /// Whether anything goes.
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

    /// The step with the plan of a listed archive.
    async fn listed(&self, step: Step, archive: usize, goal: Goal) -> Result<PlannedStep, Failure> {
        match &self.listed[archive].found {
            Ok(archive) => {
                let request = self.request(goal)?;
                Ok(self.plan(step, archive, request, &self.client).await)
            }
            Err(refusal) => Ok((step.refused(refusal.clone()), None)),
        }
    }

    /// What is asked of an archive that is listed.
    fn request(&self, goal: Goal) -> Result<Request, Failure> {
        let Arguments {
            registries,
            signers,
            turn,
            ..
        } = self.arguments;
        let to = self.destination.clone();
        let mut request = import::of_goal(goal, &to.registry, to.pull_registry, turn)?;
        request.missing = to.missing;
        request.from_site = to.from_site;
        Ok(import::allow(request, registries, signers))
    }

    async fn kept(&self, step: Step, solution: &SolutionName, version: &Version) -> PlannedStep {
        let Arguments {
            registries, turn, ..
        } = self.arguments;
        let client = |registry: &_, site: &_| import::client(registry, &registries.reach, site);
        let kept = kept::judge(self.change.cluster, solution, Some(version), client).await;
        let kept = match kept {
            Ok(Ok(kept)) => {
                words::talk(&kept.archive.findings, self.output);
                kept
            }
            Ok(Err(report)) => return (step.refused(Refusal::from(&*report)), None),
            Err(failure) => return (step.because(&failure), None),
        };
        let pull_registry = Some(kept.pull_registry);
        match import::of_goal(Goal::Activated, &kept.registry, pull_registry, turn) {
            Ok(request) => {
                let archive = Archive::new(kept.archive);
                self.plan(step, &archive, request, &kept.client).await
            }
            Err(failure) => (step.because(&failure), None),
        }
    }

    /// A step with its plan, or why it is refused.
    async fn plan(
        &self,
        step: Step,
        archive: &Archive,
        mut request: Request,
        client: &Client,
    ) -> PlannedStep {
        request.allowed.adopt.crds = self.arguments.adopt();
        let reached = Reached {
            client,
            cluster: self.change.cluster,
        };
        let looked = import::look(archive, request.clone(), reached);
        let planned = match Box::pin(looked).await {
            Ok((planned, obstacles)) if obstacles.is_empty() => planned,
            Ok((_, why)) => {
                let outcome = Outcome::No;
                return (step.refused(Refusal { why, outcome }), None);
            }
            Err(failure) => return (step.because(&failure), None),
        };
        let step = Step {
            bytes: Some(planned.bytes_to_push),
            crds: planned.crds.clone(),
            ..step
        };
        let import = Import {
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
            PlannedRemoval::Left(obstacles) => (step.left(&obstacles), None),
        })
    }
}

/// The step, which is not taken.
fn untaken(step: Step, why: &Why) -> Step {
    let state = why.state();
    let outcome = choose(state == State::Failed, Outcome::No, Outcome::Yes);
    Step {
        state,
        why: vec![in_the_way(why, step.action)],
        outcome,
        ..step
    }
}

fn in_the_way(why: &Why, action: StepAction) -> InTheWay {
    match (why, action) {
        (Why::SameVersion(path), _) => {
            let message = format!("`{path}` contains the same version");
            InTheWay::new(message, "list one of the two")
        }
        (Why::Absent(obstacle), _) => InTheWay::from(obstacle),
        (Why::NotImported, _) => InTheWay::new(
            "its archive is rejected",
            "fix the cause, then run the same command again",
        ),
        (Why::NotAskedFor, StepAction::Deactivate) => InTheWay::new(
            "the file does not list it as active",
            "deactivate it with `--prune`",
        ),
        (Why::NotAskedFor, _) => {
            InTheWay::new("the file does not list it", "unimport it with `--prune`")
        }
        (Why::MayBeListed, _) => InTheWay::new(
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

    fn overview(steps: Vec<Step>) -> Overview {
        Overview {
            context: None,
            server: String::new(),
            steps,
        }
    }

    #[test]
    fn what_is_refused_makes_the_answer_a_no_and_what_is_left_does_not() {
        for (why, action, outcome, fix) in [
            (
                Why::SameVersion("a.iso".to_owned()),
                StepAction::Import,
                Outcome::No,
                "list one",
            ),
            (
                Why::NotImported,
                StepAction::Activate,
                Outcome::No,
                "run the same",
            ),
            (
                Why::NotAskedFor,
                StepAction::Deactivate,
                Outcome::Yes,
                "deactivate it with `--prune`",
            ),
            (
                Why::NotAskedFor,
                StepAction::Unimport,
                Outcome::Yes,
                "unimport it with `--prune`",
            ),
            (
                Why::MayBeListed,
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
