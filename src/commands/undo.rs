//! What the verbs share that take a step of an import back.

use clap::Args;
use importer::{Change, EvenIfUsed, Hindered, RemoveSets, Run, Undone};

use super::change::{ConfirmedRemoval, remove_confirmed, show_revision};
use super::give;
use super::hindered::hindered;
use super::marks::{self, INDENT, Mark, Totals};
use super::refusal::refuse;
use crate::args::{Output, RemovalArguments, choose};
use crate::failure::{Failure, Outcome};
use crate::render;

/// What a Solution has applied before it is removed.
#[derive(Args, Debug)]
pub(super) struct RemoveSetsArguments {
    /// Skip sets of manifests with `phase: remove`; what they would clean up is kept
    #[arg(long)]
    skip_remove_sets: bool,

    /// Consent to uninstalling a chart release that others have changed, by the id in the refusal; may be repeated
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
    /// Remove the Solution or version NAME although objects in the cluster use it; the refusal shows NAME
    #[arg(long, value_name = "NAME")]
    even_if_used: Option<String>,
}

impl UseArguments {
    /// Whether what uses this keeps it.
    pub(super) fn choice(&self, name: &str) -> Result<EvenIfUsed, Failure> {
        match &self.even_if_used {
            Some(other) if other != name => Err(Failure::usage(format!(
                "`--even-if-used {other}` does not name the Solution to remove: {name}"
            ))),
            given => {
                let (allow, refuse) = (EvenIfUsed::Allow, EvenIfUsed::Refuse);
                Ok(choose(given.is_some(), allow, refuse))
            }
        }
    }
}

/// Removes what a step of an import created, once that is confirmed, and shows what was removed and what is kept.
pub(super) fn undo<E>(
    arguments: &RemovalArguments,
    output: Output,
    done: &str,
    forced: &str,
    undo: &impl AsyncFn(&Change<'_>) -> Result<Result<Undone, Box<Hindered>>, E>,
) -> Result<Outcome, Failure>
where
    Failure: From<E>,
{
    let question = "remove these objects?";
    let is_same = |shown: &Undone, now: &Undone| shown.differs(now).is_none();
    let removal = remove_confirmed(arguments, output, question, show_plan, is_same, undo)?;
    Ok(match removal {
        ConfirmedRemoval::Done(undone) => {
            let run = arguments.dry_run.run();
            give(output, &undone, |undone| show(undone, done, run))
        }
        ConfirmedRemoval::Blocked(blocked) => hindered(output, &blocked, forced),
        ConfirmedRemoval::Unconfirmed(plan, why) => refuse(output, &plan, [why]),
    })
}

/// Shows what was removed and what is kept.
pub(super) fn show(undone: &Undone, done: &str, run: Run) {
    if run == Run::Dry {
        show_plan(undone);
        return render::dry(run);
    }
    for object in &undone.applied {
        render::line!("{object} was applied first");
    }
    let removed = render::count(undone.removed.len(), "object");
    render::line!("{done}: {removed} removed");
    if !undone.freed.is_empty() {
        let freed = render::count(undone.freed.len(), "manifest");
        render::line!("{freed} deleted from the registry");
    }
    show_kept(undone);
    show_revision(undone.revision);
}

/// Shows what would be removed and what would be kept.
fn show_plan(undone: &Undone) {
    for object in &undone.applied {
        render::line!("{INDENT}first applies {object}");
    }
    let removed = undone
        .removed
        .iter()
        .map(|object| Mark::Remove.line(object));
    let freed = undone.freed.iter();
    let freed = freed.map(|manifest| Mark::Remove.line(format_args!("manifest {manifest}")));
    marks::show(removed.chain(freed));
    show_kept(undone);
    render::line(Totals::removing(undone.removed.len()).to_string());
}

fn show_kept(undone: &Undone) {
    for used in &undone.uses {
        render::line!("note: used by {used}");
    }
    render::lines("note: ", &undone.notes);
}
