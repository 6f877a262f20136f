//! Shared functions of the verbs that change the cluster. They connect, take the Lease, ask for consent and show the
//! result. All these verbs therefore behave in the same way: for example, they show a plan before they remove anything.

use std::collections::BTreeSet;

use clap::Args;
use importer::{Change, EvenIfUsed, RemovalBlocked, RemovalReport, RemoveSets};

use super::blocked::{ShownBlocker, refuse_plan, refuse_removal};
use super::cluster_events::event_sink;
use super::give;
use super::import::plan::{self, INDENT, Mark, Totals};
use super::import::show::show_revision;
use crate::args::{ChangeArguments, ClusterArguments, Output, RemovalArguments, choose};
use crate::failure::{Failure, Outcome};
use crate::terminal::agreed;
use crate::{cluster, events, helm, render};

/// The end of a removal that needed a confirmation.
pub(super) enum ConfirmedRemoval<T> {
    /// The removal was done, or only planned with `--dry-run`.
    Done(T),
    /// Something blocks it.
    Blocked(Box<RemovalBlocked>),
    /// The confirmation is missing, or the plan changed while it was asked for. Nothing was changed.
    Unconfirmed(T, ShownBlocker),
}

/// Plans a removal, shows the plan, asks for confirmation, and removes the resources. With `--yes` it does not ask.
pub(super) fn remove_confirmed<T, E>(
    removal: &RemovalArguments,
    output: Output,
    question: &str,
    show: impl Fn(&T),
    is_same: impl Fn(&T, &T) -> bool,
    act: &impl AsyncFn(&Change<'_>) -> Result<Result<T, Box<RemovalBlocked>>, E>,
) -> Result<ConfirmedRemoval<T>, Failure>
where
    Failure: From<E>,
{
    let confirm = async |change: &Change<'_>| -> Result<ConfirmedRemoval<T>, Failure> {
        if !removal.yes && !change.dry_run {
            let dry = change.dry();
            let plan = match act(&dry).await? {
                Ok(plan) => plan,
                Err(blocked) => return Ok(ConfirmedRemoval::Blocked(blocked)),
            };
            if output == Output::Human {
                show(&plan);
            }
            if !agreed(question, output).await? {
                return Ok(ConfirmedRemoval::Unconfirmed(plan, unconfirmed()));
            }
            // The cluster may have changed while the user answered, and only the removal that was shown is confirmed.
            if !matches!(act(&dry).await?, Ok(now) if is_same(&plan, &now)) {
                let message = "the cluster has changed since the plan was shown";
                let moved =
                    ShownBlocker::new(message, "run the command again and review the new plan");
                return Ok(ConfirmedRemoval::Unconfirmed(plan, moved));
            }
        }
        Ok(match act(change).await? {
            Ok(done) => ConfirmedRemoval::Done(done),
            Err(blocked) => ConfirmedRemoval::Blocked(blocked),
        })
    };
    remove::<_, Failure>(removal, output, confirm)
}

/// Returns the blocker of a removal that was not confirmed.
pub(super) fn unconfirmed() -> ShownBlocker {
    let message = "the removal was not confirmed";
    ShownBlocker::new(message, "review the plan, then confirm it with `--yes`")
}

/// Runs a change that removes something.
pub(super) fn remove<T, E>(
    removal: &RemovalArguments,
    output: Output,
    act: impl AsyncFnOnce(&Change<'_>) -> Result<T, E>,
) -> Result<T, Failure>
where
    Failure: From<E>,
{
    events::begin(&removal.progress)?;
    let dry_run = removal.dry_run;
    change(&removal.cluster, &removal.wait, dry_run, output, act)
}

/// Changes the cluster, and shows the progress.
pub(super) fn change<T, E>(
    arguments: &ClusterArguments,
    wait: &ChangeArguments,
    dry_run: bool,
    output: Output,
    act: impl AsyncFnOnce(&Change<'_>) -> Result<T, E>,
) -> Result<T, Failure>
where
    Failure: From<E>,
{
    // A passphrase is requested first, so that a wrong one is reported before any work.
    let writer = cluster::writer(wait)?;
    cluster::block_on(async {
        let change = Change {
            cluster: &cluster::connect(arguments).await?,
            writer: &writer,
            tell: &event_sink(output),
            deadline: wait.timeout(),
            dry_run,
            helm: &helm::installer(wait.helm.as_deref()),
            accepted: BTreeSet::new(),
        };
        Ok(act(&change).await?)
    })
}

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

    /// Returns the change with the accepted effects.
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
    /// Returns whether the Solution or version may be removed while objects in the cluster use it. The flag must name
    /// it, so that a copied command line never removes another one.
    pub(super) fn choice(&self, name: &str) -> Result<EvenIfUsed, Failure> {
        match &self.even_if_used {
            None => Ok(EvenIfUsed::Refuse),
            Some(given) if given == name => Ok(EvenIfUsed::Allow),
            Some(other) => Err(Failure::usage(format!(
                "`--even-if-used {other}` does not name the Solution to remove: {name}"
            ))),
        }
    }
}

/// Asks for confirmation, removes the resources that a step of an import created, and shows the removed and the kept
/// ones.
pub(super) fn undo<E>(
    arguments: &RemovalArguments,
    output: Output,
    done: &str,
    forced: &str,
    undo: &impl AsyncFn(&Change<'_>) -> Result<Result<RemovalReport, Box<RemovalBlocked>>, E>,
) -> Result<Outcome, Failure>
where
    Failure: From<E>,
{
    let question = "remove these objects?";
    let is_same = |shown: &RemovalReport, now: &RemovalReport| shown.differs(now).is_none();
    let removal = remove_confirmed(arguments, output, question, show_plan, is_same, undo)?;
    Ok(match removal {
        ConfirmedRemoval::Done(undone) => give(output, &undone, |undone| {
            if arguments.dry_run {
                show_plan(undone);
                return render::dry_run();
            }
            show(undone, done);
        }),
        ConfirmedRemoval::Blocked(blocked) => refuse_removal(output, &blocked, forced),
        ConfirmedRemoval::Unconfirmed(plan, why) => refuse_plan(output, &plan, [why]),
    })
}

/// Shows the removed and the kept resources.
pub(super) fn show(undone: &RemovalReport, done: &str) {
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
fn show_plan(undone: &RemovalReport) {
    for object in &undone.applied {
        render::line!("{INDENT}first applies {object}");
    }
    let removed = undone
        .removed
        .iter()
        .map(|object| Mark::Remove.line(object));
    let freed = undone.freed.iter();
    let freed = freed.map(|manifest| Mark::Remove.line(format_args!("manifest {manifest}")));
    plan::show_lines(removed.chain(freed));
    show_kept(undone);
    render::line(Totals::removing(undone.removed.len()).to_string());
}

fn show_kept(undone: &RemovalReport) {
    for used in &undone.uses {
        render::line!("note: used by {used}");
    }
    render::lines("note: ", &undone.notes);
}
