//! `solution undeploy`, `deactivate` and `unimport`: each takes one step of an import back.

use clap::Args;
use importer::{Change, Run, Undone};
use schemas::{EnvironmentName, Namespace, SolutionName, Version};

use super::change::change;
use super::give;
use crate::args::{Output, RemovalArguments};
use crate::failure::{Failure, Outcome};
use crate::render;

/// Stop a Solution's operator in an environment and remove its objects
#[derive(Args, Debug)]
#[command(after_help = "\
Custom resources that users created, and whatever the operator made for them, stay: delete them
first, or delete the environment.

Examples:
  solution undeploy example --environment test")]
pub(crate) struct Undeploy {
    /// The Solution's name
    solution: SolutionName,

    /// The environment
    #[arg(short, long, value_name = "NAME")]
    environment: EnvironmentName,

    /// Only this namespace of the environment
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    #[command(flatten)]
    removal: RemovalArguments,
}

/// Remove a Solution's CRDs, once it is deployed nowhere and no custom resource is left
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution deactivate example")]
pub(crate) struct Deactivate {
    /// The Solution's name
    solution: SolutionName,

    #[command(flatten)]
    removal: RemovalArguments,
}

/// Forget an imported version that is deployed nowhere
#[derive(Args, Debug)]
#[command(after_help = "\
The images stay in the registry; the command says where.

Examples:
  solution unimport example 1.0.0")]
pub(crate) struct Unimport {
    /// The Solution's name
    solution: SolutionName,

    /// The version
    version: Version,

    #[command(flatten)]
    removal: RemovalArguments,
}

impl Undeploy {
    pub(crate) fn run(&self, output: Output) -> Result<Outcome, Failure> {
        let done = format!("{} is undeployed", self.solution);
        let namespace = self.namespace.as_ref();
        undo(&self.removal, output, &done, async |change| {
            importer::undeploy(change, &self.solution, &self.environment, namespace).await
        })
    }
}

impl Deactivate {
    pub(crate) fn run(&self, output: Output) -> Result<Outcome, Failure> {
        let done = format!("{} is deactivated", self.solution);
        undo(&self.removal, output, &done, async |change| {
            importer::deactivate(change, &self.solution).await
        })
    }
}

impl Unimport {
    pub(crate) fn run(&self, output: Output) -> Result<Outcome, Failure> {
        let done = format!("{} {} is forgotten", self.solution, self.version);
        undo(&self.removal, output, &done, async |change| {
            importer::unimport(change, &self.solution, &self.version).await
        })
    }
}

/// Takes a step back, and shows what it removed and what stays.
fn undo(
    arguments: &RemovalArguments,
    output: Output,
    done: &str,
    undo: impl AsyncFnOnce(&Change<'_>) -> Result<Undone, importer::Error>,
) -> Result<Outcome, Failure> {
    let run = arguments.dry_run.run();
    let undone = change((&arguments.cluster, &arguments.wait), run, output, undo)?;
    Ok(give(output, &undone, |undone| show(undone, done, run)))
}

/// What was removed and what stays, for people.
pub(super) fn show(undone: &Undone, done: &str, run: Run) {
    if run == Run::Dry {
        for object in &undone.removed {
            render::line!("{object} would be removed");
        }
    } else {
        let removed = render::count(undone.removed.len(), "object");
        render::line!("{done}: {removed} removed");
    }
    for note in &undone.notes {
        render::line!("note: {note}");
    }
    render::dry(run);
}
