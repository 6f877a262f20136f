//! Every step that a configuration comes to, with all that is in the way. Nothing is written.

use importer::{
    Change, Difference, EvenIfUsed, Goal, Images, Obstacle, PlanSummary, Request, Run, Unlisted,
};
use registry::Client;
use schemas::{SolutionId, SolutionName, SolutionsConfiguration, Version};

use super::Arguments;
use super::archives::{Archive, Listed, found, id};
use super::show::{Action, Overview, State, Step};
use crate::args::Output;
use crate::commands::import::{Chosen, Reached};
use crate::commands::refusal::InTheWay;
use crate::commands::{import, kept};
use crate::failure::{Failure, Outcome};

/// All steps, and what those need that import or activate.
pub(super) struct Plan {
    pub(super) shown: Overview,
    /// For each step.
    pub(super) work: Vec<Option<Work>>,
}

/// What importing or activating a version needs.
pub(super) struct Work {
    pub(super) archive: Archive,
    pub(super) request: Request,
    pub(super) client: Client,
    /// The plan of it, as it was shown.
    pub(super) planned: PlanSummary,
}

/// A step, with what it needs if it is one that imports or activates.
type Planned = (Step, Option<Work>);

/// Where plans are made.
struct Planner<'a> {
    arguments: &'a Arguments,
    change: &'a Change<'a>,
    /// Where the images of listed archives go.
    chosen: Chosen,
    output: Output,
    /// The registry that listed archives are pushed to.
    client: Client,
}

impl Plan {
    /// Finds out what is to be done.
    pub(super) async fn make(
        arguments: &Arguments,
        configuration: &SolutionsConfiguration,
        listed: Listed,
        change: &Change<'_>,
        output: Output,
    ) -> Result<Self, Failure> {
        let cluster = change.cluster;
        let registries = &arguments.registries;
        let site = importer::site(cluster).await?;
        let chosen = Chosen::of(registries, &site)?;
        let planner = Planner {
            arguments,
            change,
            output,
            client: import::client(&chosen.registry, &registries.reach, &site)?,
            chosen,
        };
        let status = importer::status(cluster, None).await?;
        let accepted = listed.iter().filter_map(|(_, archive)| archive.as_ref());
        let ids: Vec<SolutionId> = accepted.map(|archive| id(archive).clone()).collect();
        let difference = Difference::of(configuration, &ids, &status);
        let mut plan = Self {
            shown: Overview {
                context: cluster.context().map(str::to_owned),
                server: cluster.server().to_owned(),
                steps: Vec::new(),
            },
            work: Vec::new(),
        };
        for (step, archive) in &listed {
            plan.add(planner.import(step, archive.as_ref()).await?);
        }
        for (solution, version) in &difference.active {
            let step = Step::of(Action::Activate, solution, version.as_ref().ok());
            plan.add(match version {
                Ok(version) => {
                    Box::pin(planner.activate(step, solution, version, &listed, &plan)).await?
                }
                Err(obstacle) => (step.failed(vec![obstacle.into()], Outcome::No), None),
            });
        }
        for solution in &difference.deactivate {
            plan.add((planner.deactivate(solution).await?, None));
        }
        for version in &difference.unlisted {
            plan.add((planner.unimport(version, &plan.shown).await?, None));
        }
        Ok(plan)
    }

    fn add(&mut self, planned: Planned) {
        let (step, work) = planned;
        self.shown.steps.push(step);
        self.work.push(work);
    }
}

impl Planner<'_> {
    async fn import(&self, step: &Step, archive: Option<&Archive>) -> Result<Planned, Failure> {
        let step = step.clone();
        let Some(archive) = archive else {
            return Ok((step, None));
        };
        let request = self.listed(Goal::Available)?;
        Ok(self.plan(step, archive, request, &self.client).await)
    }

    /// The version comes from its archive if that is listed, else from the registry that it was pushed to.
    async fn activate(
        &self,
        step: Step,
        solution: &SolutionName,
        version: &Version,
        listed: &Listed,
        so_far: &Plan,
    ) -> Result<Planned, Failure> {
        let mut imports = so_far.shown.steps.iter().zip(listed);
        match imports.find(|(import, _)| import.is_about(solution, version)) {
            Some((import, (_, Some(archive)))) if import.state != State::Failed => {
                let request = self.listed(Goal::Activated)?;
                Ok(self.plan(step, archive, request, &self.client).await)
            }
            Some(_) => {
                let fix = "see why, and run the same command again";
                let why = InTheWay::new("its archive is refused", fix);
                Ok((step.failed(vec![why], Outcome::No), None))
            }
            None => Ok(Box::pin(self.kept(step, solution, version)).await),
        }
    }

    /// What is asked of an archive that is listed.
    fn listed(&self, goal: Goal) -> Result<Request, Failure> {
        let Arguments {
            registries,
            signers,
            turn,
            ..
        } = self.arguments;
        let chosen = self.chosen.clone();
        let mut request = import::of_goal(goal, &chosen.registry, chosen.pull_registry, turn)?;
        request.missing = chosen.missing;
        request.from_site = chosen.from_site;
        Ok(import::allow(request, registries, signers))
    }

    async fn kept(&self, step: Step, solution: &SolutionName, version: &Version) -> Planned {
        let Arguments {
            registries, turn, ..
        } = self.arguments;
        let (cluster, reach) = (self.change.cluster, &registries.reach);
        let kept = kept::judge(cluster, solution, Some(version), reach, self.output).await;
        let kept = match kept {
            Ok(Ok(kept)) => kept,
            Ok(Err(report)) => return (step.failed(found(&report), Outcome::No), None),
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
    ) -> Planned {
        request.allowed.adopt.crds = self.arguments.adopt();
        let reached = Reached {
            client,
            cluster: self.change.cluster,
        };
        let planned = match import::look(archive, request.clone(), reached).await {
            Ok((planned, obstacles)) if obstacles.is_empty() => planned,
            Ok((_, obstacles)) => return (step.failed(obstacles, Outcome::No), None),
            Err(failure) => return (step.because(&failure), None),
        };
        let step = Step {
            bytes: Some(planned.bytes_to_push),
            crds: planned.crds.clone(),
            ..step
        };
        let work = Work {
            archive: archive.clone(),
            request,
            client: client.clone(),
            planned,
        };
        (step, Some(work))
    }

    async fn deactivate(&self, solution: &SolutionName) -> Result<Step, Failure> {
        let step = Step::of(Action::Deactivate, solution, None);
        if !self.arguments.pruning.prune {
            return Ok(step.unlisted());
        }
        match importer::deactivate(&self.dry(), solution, EvenIfUsed::Refuse).await {
            Ok(undone) => Ok(Step {
                objects: undone.removed,
                ..step
            }),
            Err(importer::Error::Refused(obstacle)) => Ok(step.left([obstacle])),
            Err(importer::Error::Hindered(by)) => Ok(step.left(by.obstacles)),
            Err(error) => Err(error.into()),
        }
    }

    async fn unimport(&self, found: &Unlisted, so_far: &Overview) -> Result<Step, Failure> {
        let (solution, version) = (&found.solution, &found.version);
        let step = Step::of(Action::Unimport, solution, Some(version));
        if !self.arguments.pruning.prune {
            return Ok(step.unlisted());
        }
        let mut steps = so_far.steps.iter();
        if steps.any(|step| step.action == Action::Import && step.solution.is_none()) {
            return Ok(step.left_since(
                "a listed archive that could not be read may be of this version",
                "see why it could not be read, and run the same command again",
            ));
        }
        let (change, used) = (self.dry(), EvenIfUsed::Refuse);
        let undone = importer::unimport(&change, solution, version, used, Images::Keep);
        let mut obstacles = match undone.await {
            Ok(_) => Vec::new(),
            Err(importer::Error::Refused(obstacle)) => vec![obstacle],
            Err(importer::Error::Hindered(by)) => by.obstacles,
            Err(error) => return Err(error.into()),
        };
        // It is no longer active when its turn comes.
        if so_far.replaces(solution) {
            obstacles.retain(|it| !it.is_active());
        }
        if !obstacles.is_empty() {
            return Ok(step.left(obstacles));
        }
        Ok(Step {
            objects: vec![found.recorded_in.clone()],
            ..step
        })
    }

    fn dry(&self) -> Change<'_> {
        Change {
            run: Run::Dry,
            ..self.change.clone()
        }
    }
}

impl Overview {
    /// Whether the CRDs of a Solution become those of another version, or go.
    fn replaces(&self, solution: &SolutionName) -> bool {
        self.steps.iter().any(|step| {
            step.solution.as_ref() == Some(solution)
                && step.state == State::Planned
                && matches!(step.action, Action::Activate | Action::Deactivate)
        })
    }
}

impl Step {
    /// The step, not taken because something is in its way: what is used stays.
    pub(super) fn left(self, obstacles: impl IntoIterator<Item = Obstacle>) -> Self {
        Self {
            state: State::Left,
            why: obstacles
                .into_iter()
                .map(|it| InTheWay::from(&it))
                .collect(),
            ..self
        }
    }

    /// The step, not taken because nobody asked for it.
    fn unlisted(self) -> Self {
        match self.action {
            Action::Deactivate => self.left_since(
                "it is not among those that are to be active",
                "`--prune` deactivates it",
            ),
            _ => self.left_since("it is not listed", "`--prune` unimports it"),
        }
    }
}
