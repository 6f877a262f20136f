//! `solution undeploy` and `deactivate`, and what all verbs share that take a step of an import back.

use clap::{ArgGroup, Args};
use importer::{Change, EvenIfUsed, Hindered, RemoveSets, Run, Undone};
use schemas::{EnvironmentName, Namespace, SolutionName};

use super::change::{change, show_revision};
use super::give;
use super::refusal::{free, hindered};
use crate::args::{Output, RemovalArguments, choose};
use crate::failure::{Failure, Outcome};
use crate::render;

/// Stop a Solution's operator in an environment and remove its objects
#[derive(Args, Debug)]
#[command(
    group(ArgGroup::new("place").args(["environment", "namespace"]).multiple(true).required(true)),
    after_help = "\
Custom resources that users created, and whatever the operator made for them, stay: delete them
first, or delete the environment. What the Solution has for its own removal (sets with
`phase: remove`) is applied first and awaited; nothing is removed if it fails.

With --namespace alone, who administers only this namespace removes what they have deployed there.

Examples:
  solution undeploy example --environment test
  solution undeploy example --namespace shop"
)]
pub(crate) struct Undeploy {
    /// The Solution's name
    solution: SolutionName,

    /// The environment
    #[arg(short, long, value_name = "NAME")]
    environment: Option<EnvironmentName>,

    /// Only this namespace of the environment
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    #[command(flatten)]
    sets: RemoveSetsArguments,

    #[command(flatten)]
    removal: RemovalArguments,
}

/// Remove a Solution's CRDs, once it is deployed nowhere and no custom resource is left
#[derive(Args, Debug)]
#[command(after_help = "\
Refused while custom resources exist, and while anything in any namespace runs with images of the
Solution: all of it is listed. With --even-if-used, custom resources are deleted with their CRDs.

Examples:
  solution deactivate example --dry-run
  solution deactivate example
  solution deactivate example --even-if-used example")]
pub(crate) struct Deactivate {
    /// The Solution's name
    solution: SolutionName,

    #[command(flatten)]
    uses: UseArguments,

    #[command(flatten)]
    removal: RemovalArguments,
}

/// What a Solution has applied before it is removed.
#[derive(Args, Debug)]
pub(super) struct RemoveSetsArguments {
    /// Skip the sets with `phase: remove`: what they would clean up stays
    #[arg(long)]
    skip_remove_sets: bool,

    /// Uninstall a chart's release as it stands though it is not as it was stored from here, by the id shown
    #[arg(long, value_name = "ID")]
    accept: Vec<String>,
}

impl RemoveSetsArguments {
    pub(super) fn choice(&self) -> RemoveSets {
        choose(self.skip_remove_sets, RemoveSets::Skip, RemoveSets::Apply)
    }

    /// The same change, with what is accepted.
    pub(super) fn accepting<'a>(&self, change: &Change<'a>) -> Change<'a> {
        Change {
            accepted: self.accept.iter().cloned().collect(),
            ..change.clone()
        }
    }
}

/// What may still use what goes.
#[derive(Args, Debug)]
pub(super) struct UseArguments {
    /// Remove it although objects in the cluster use it; NAME is that of what goes, as the refusal shows it
    #[arg(long, value_name = "NAME")]
    even_if_used: Option<String>,
}

impl UseArguments {
    /// Whether what uses this keeps it.
    pub(super) fn choice(&self, name: &str) -> Result<EvenIfUsed, Failure> {
        match &self.even_if_used {
            Some(other) if other != name => Err(Failure::usage(format!(
                "`--even-if-used {other}` does not name what goes: {name}"
            ))),
            given => {
                let (allow, refuse) = (EvenIfUsed::Allow, EvenIfUsed::Refuse);
                Ok(choose(given.is_some(), allow, refuse))
            }
        }
    }
}

impl Undeploy {
    pub(crate) fn run(&self, output: Output) -> Result<Outcome, Failure> {
        let done = format!("{} is undeployed", self.solution);
        let place = (&self.environment, &self.namespace);
        undo(&self.removal, output, &done, "", async |change| {
            free(match place {
                (Some(environment), namespace) => {
                    let (solution, namespace) = (&self.solution, namespace.as_ref());
                    let (change, sets) = (self.sets.accepting(change), self.sets.choice());
                    importer::undeploy(&change, solution, environment, namespace, sets).await
                }
                (None, Some(namespace)) => {
                    importer::undeploy_alone(change, &self.solution, namespace).await
                }
                (None, None) => unreachable!("clap asks for one of both"),
            })
        })
    }
}

impl Deactivate {
    pub(crate) fn run(&self, output: Output) -> Result<Outcome, Failure> {
        let done = format!("{} is deactivated", self.solution);
        let name = self.solution.as_str();
        let even_if_used = self.uses.choice(name)?;
        let forced = format!("`--even-if-used {name}` deletes custom resources with their CRDs");
        undo(&self.removal, output, &done, &forced, async |change| {
            free(importer::deactivate(change, &self.solution, even_if_used).await)
        })
    }
}

/// Takes a step back, and shows what it removed and what stays.
pub(super) fn undo<E>(
    arguments: &RemovalArguments,
    output: Output,
    done: &str,
    forced: &str,
    undo: impl AsyncFnOnce(&Change<'_>) -> Result<Result<Undone, Box<Hindered>>, E>,
) -> Result<Outcome, Failure>
where
    Failure: From<E>,
{
    let run = arguments.dry_run.run();
    let undone = change(&arguments.cluster, &arguments.wait, run, output, undo)?;
    Ok(match undone {
        Ok(undone) => give(output, &undone, |undone| show(undone, done, run)),
        Err(it) => hindered(output, &it, forced),
    })
}

/// What was removed and what stays, for people.
pub(super) fn show(undone: &Undone, done: &str, run: Run) {
    if run == Run::Dry {
        for object in &undone.applied {
            render::line!("{object} would be applied first, and awaited");
        }
        for object in &undone.removed {
            render::line!("{object} would be removed");
        }
        for manifest in &undone.freed {
            render::line!("manifest {manifest} would be deleted");
        }
    } else {
        for object in &undone.applied {
            render::line!("{object} was applied first");
        }
        let removed = render::count(undone.removed.len(), "object");
        render::line!("{done}: {removed} removed");
        if !undone.freed.is_empty() {
            let freed = render::count(undone.freed.len(), "manifest");
            render::line!("{freed} deleted from the registry");
        }
    }
    for used in &undone.uses {
        render::line!("note: {used} used it");
    }
    for note in &undone.notes {
        render::line!("note: {note}");
    }
    show_revision(undone.revision);
    render::dry(run);
}
