//! What the verbs share that change the cluster.

use std::collections::BTreeSet;

use importer::{Change, Revision, Run};

use super::watch::watch;
use crate::args::{ChangeArguments, ClusterArguments, Output, RemovalArguments};
use crate::failure::Failure;
use crate::{cluster, events, helm, render};

/// Where the receipt of a change is found.
pub(super) fn show_revision(revision: Option<Revision>) {
    if let Some(revision) = revision {
        render::line!("this is revision {revision} of the cluster's history");
    }
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
