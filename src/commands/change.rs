//! What the verbs share that change the cluster.

use importer::{Change, Run};

use super::watch::watch;
use crate::args::{ClusterArguments, Output, WaitArguments};
use crate::cluster;
use crate::failure::Failure;

/// Runs a change of the cluster, and shows what happens.
pub(super) fn change<T, E>(
    (arguments, wait): (&ClusterArguments, &WaitArguments),
    run: Run,
    output: Output,
    act: impl AsyncFnOnce(&Change<'_>) -> Result<T, E>,
) -> Result<T, Failure>
where
    Failure: From<E>,
{
    cluster::block_on(async {
        let change = Change {
            cluster: &cluster::connect(arguments).await?,
            writer: &cluster::writer(wait),
            tell: &watch(output),
            deadline: wait.timeout(),
            run,
        };
        Ok(act(&change).await?)
    })
}
