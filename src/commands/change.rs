//! What the verbs share that change the cluster.

use std::collections::BTreeSet;

use importer::{Change, Hindered, Revision, Run};

use super::question::agreed;
use super::refusal::InTheWay;
use super::watch::watch;
use crate::args::{ChangeArguments, ClusterArguments, Output, RemovalArguments};
use crate::failure::Failure;
use crate::{cluster, events, helm, render};

/// Where the receipt of a change is found.
pub(super) fn show_revision(revision: Option<Revision>) {
    if let Some(revision) = revision {
        render::line!("recorded as revision {revision} of the cluster's history");
    }
}

/// How a removal ended that had to be confirmed.
pub(super) enum ConfirmedRemoval<T> {
    /// It was carried out, or only planned with `--dry-run`.
    Done(T),
    /// Something blocks it.
    Blocked(Box<Hindered>),
    /// The confirmation is missing, or the plan changed while it was asked for. Nothing was changed.
    Unconfirmed(T, InTheWay),
}

/// Plans a removal, shows the plan and asks for confirmation, then carries it out. With `--yes` it is carried out at once.
pub(super) fn remove_confirmed<T, E>(
    removal: &RemovalArguments,
    output: Output,
    question: &str,
    show: impl Fn(&T),
    is_same: impl Fn(&T, &T) -> bool,
    act: &impl AsyncFn(&Change<'_>) -> Result<Result<T, Box<Hindered>>, E>,
) -> Result<ConfirmedRemoval<T>, Failure>
where
    Failure: From<E>,
{
    let confirm = async |change: &Change<'_>| -> Result<ConfirmedRemoval<T>, Failure> {
        if !removal.yes && change.run != Run::Dry {
            let dry = Change {
                run: Run::Dry,
                ..change.clone()
            };
            let plan = match act(&dry).await? {
                Ok(plan) => plan,
                Err(hindered) => return Ok(ConfirmedRemoval::Blocked(hindered)),
            };
            if output == Output::Human {
                show(&plan);
            }
            if !agreed(question, output).await? {
                return Ok(ConfirmedRemoval::Unconfirmed(plan, unconfirmed()));
            }
            // The cluster may have changed before the answer came: only what was shown is removed.
            if !matches!(act(&dry).await?, Ok(now) if is_same(&plan, &now)) {
                let message = "the cluster has changed since the plan was shown";
                let moved = InTheWay::new(message, "run the command again and review the new plan");
                return Ok(ConfirmedRemoval::Unconfirmed(plan, moved));
            }
        }
        Ok(match act(change).await? {
            Ok(done) => ConfirmedRemoval::Done(done),
            Err(hindered) => ConfirmedRemoval::Blocked(hindered),
        })
    };
    remove::<_, Failure>(removal, output, confirm)
}

/// The obstacle that a removal was not confirmed.
pub(super) fn unconfirmed() -> InTheWay {
    let message = "the removal was not confirmed";
    InTheWay::new(message, "review the plan, then confirm it with `--yes`")
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
    let run = removal.dry_run.run();
    change(&removal.cluster, &removal.wait, run, output, act)
}

/// Runs a change of the cluster, and shows what happens.
pub(super) fn change<T, E>(
    arguments: &ClusterArguments,
    wait: &ChangeArguments,
    run: Run,
    output: Output,
    act: impl AsyncFnOnce(&Change<'_>) -> Result<T, E>,
) -> Result<T, Failure>
where
    Failure: From<E>,
{
    // A passphrase is asked for before anything else is.
    let writer = cluster::writer(wait)?;
    cluster::block_on(async {
        let change = Change {
            cluster: &cluster::connect(arguments).await?,
            writer: &writer,
            tell: &watch(output),
            deadline: wait.timeout(),
            run,
            helm: &helm::installer(wait.helm.as_deref()),
            accepted: BTreeSet::new(),
        };
        Ok(act(&change).await?)
    })
}
