//! The steps of applying a configuration, as people and programs see them. A step that fails or is skipped keeps its
//! reasons, so that the result explains every archive.

use importer::configuration::{ConfigurationStep, State, StepAction};
use importer::{Blocker, PlannedObject};
use schemars::JsonSchema;
use serde::Serialize;

use super::RefusedArchive;
use crate::commands::blocked::ShownBlocker;
use crate::commands::import::plan::{self, INDENT, Mark, Totals};
use crate::failure::{Failure, Outcome};
use crate::render;

/// With `--file`: all steps, planned or as they have ended.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Overview")]
pub(crate) struct ConfigurationResult {
    /// The context of the kubeconfig.
    pub(super) context: Option<String>,
    /// The API server.
    pub(super) server: String,
    /// The steps, in their order.
    pub(super) steps: Vec<Step>,
}

/// Something that is done, or left.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ApplyStep")]
pub(crate) struct Step {
    #[serde(flatten)]
    pub(super) planned: ConfigurationStep,
    /// How far it has come.
    pub(super) state: State,
    /// Bytes that the registry lacks, or that were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<u64>,
    /// The change to each CRD.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) crds: Vec<PlannedObject>,
    /// Every object that was created, changed or removed; of a plan, what would be removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) objects: Vec<String>,
    /// Why it is refused, has failed or is left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) why: Vec<ShownBlocker>,
    /// Notes on content that is kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
    /// How the command ends because of it.
    #[serde(skip)]
    pub(super) outcome: Outcome,
}

impl ConfigurationResult {
    /// Returns the outcome of the command. If one step is refused, the command is.
    pub(super) fn outcome(&self) -> Outcome {
        let ended = |outcome| self.steps.iter().any(|step| step.outcome == outcome);
        let worst = [Outcome::No, Outcome::Unknown].into_iter();
        worst
            .into_iter()
            .find(|state| ended(*state))
            .unwrap_or(Outcome::Yes)
    }
}

impl From<ConfigurationStep> for Step {
    fn from(planned: ConfigurationStep) -> Self {
        Self {
            planned,
            state: State::Planned,
            bytes: None,
            crds: Vec::new(),
            objects: Vec::new(),
            why: Vec::new(),
            notes: Vec::new(),
            outcome: Outcome::Yes,
        }
    }
}

impl Step {
    /// Returns the step as not done for these reasons.
    pub(super) fn refused(self, refusal: RefusedArchive) -> Self {
        let RefusedArchive { why, outcome } = refusal;
        Self {
            state: State::Failed,
            why,
            outcome,
            ..self
        }
    }

    /// Returns the step as not done because of this failure.
    pub(super) fn because(self, failure: &Failure) -> Self {
        self.refused(failure.into())
    }

    /// Returns the removal as skipped, because these blockers show that the resources are still in use.
    pub(super) fn left(self, blockers: &[Blocker]) -> Self {
        Self {
            state: State::Left,
            why: blockers.iter().map(ShownBlocker::from).collect(),
            ..self
        }
    }

    /// `example 1.0.0 (archives/example.iso)`
    fn about(&self) -> String {
        let planned = &self.planned;
        let words = [
            planned.solution.as_ref().map(ToString::to_string),
            planned.version.as_ref().map(ToString::to_string),
            planned.archive.as_ref().map(|path| format!("({path})")),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// Shows a plan to people.
pub(super) fn plan(steps: &ConfigurationResult) {
    let context = steps.context.as_deref().unwrap_or("in-cluster");
    render::line!("cluster     {context} at {}", steps.server);
    for step in &steps.steps {
        let (action, about) = (word(step), step.about());
        let size = step
            .bytes
            .map(|bytes| format!(": {} to push", render::bytes(bytes)));
        render::line!("{action:<11} {about}{}", size.unwrap_or_default());
        let crds = step.crds.iter().filter(|crd| !crd.is_kept());
        plan::show_lines(crds.map(|crd| match Mark::of(&crd.action) {
            Some(mark) => mark.line(&crd.object),
            None => format!("{INDENT}{} {}", crd.action, crd.object),
        }));
        plan::show_lines(step.objects.iter().map(|object| Mark::Remove.line(object)));
        why(step);
    }
    render::line(totals(steps).to_string());
}

fn totals(steps: &ConfigurationResult) -> Totals {
    let steps = steps.steps.iter();
    let marks = steps.flat_map(|step| {
        let crds = step.crds.iter().filter_map(|crd| Mark::of(&crd.action));
        crds.chain(step.objects.iter().map(|_| Mark::Remove))
    });
    marks.collect()
}

/// Shows the result to people.
pub(super) fn done(steps: &ConfigurationResult) {
    for step in &steps.steps {
        let about = step.about();
        match (step.planned.action, step.state) {
            (_, State::Left | State::Planned) => {}
            (_, State::Failed) => {
                render::line!("not {}: {about}", past(step.planned.action));
                why(step);
            }
            (action, State::Unchanged) => render::line!("already {}: {about}", past(action)),
            (action, State::Done) => render::line!("{}: {about}", past(action)),
        }
        for note in &step.notes {
            render::line!("note: {note}");
        }
    }
}

/// Shows why a step is not taken. Refusals are errors; skipped steps are only notes.
fn why(step: &Step) {
    for ShownBlocker { message, fix, .. } in &step.why {
        if step.state == State::Failed {
            render::note!("error: {message}");
            render::note!("hint: {fix}");
        } else {
            render::line!("            {message}: {fix}");
        }
    }
}

fn word(step: &Step) -> &'static str {
    match (step.state, step.planned.action) {
        (State::Left, _) => "leave",
        (State::Failed, _) => "refused",
        (_, StepAction::Import) => "import",
        (_, StepAction::Activate) => "activate",
        (_, StepAction::Deactivate) => "deactivate",
        (_, StepAction::Unimport) => "unimport",
    }
}

fn past(action: StepAction) -> &'static str {
    match action {
        StepAction::Import => "imported",
        StepAction::Activate => "activated",
        StepAction::Deactivate => "deactivated",
        StepAction::Unimport => "unimported",
    }
}
