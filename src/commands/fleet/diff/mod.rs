//! `solution fleet diff`: what `fleet apply` would change in each cluster, object by object.

mod show;
pub(in crate::commands) mod shown;

use clap::Args;
use importer::{Comparison, Since};

use self::show::show;
use super::reading::ReadingArguments;
use crate::args::Output;
use crate::failure::{Failure, Outcome};

/// Show what applying a fleet's file would change in each cluster
#[derive(Args, Debug)]
#[command(after_help = "\
For each cluster, each object that `solution fleet apply` would create, change or remove is shown as
a diff, as `solution import --dry-run --diff` shows it. Clusters with equal differences share one.
Values of Secrets are left out. Nothing is written.

--kubeconfig and --context are those of the cluster with the objects of Cluster API, where the file
names any.

Exits with 0 if nothing differs, with 1 if something does, and with 3 if that cannot be told of a
cluster.

Examples:
  solution fleet diff fleet.yaml --key publisher.pub
  solution fleet diff fleet.yaml --key publisher.pub --cluster 'par*' --group prod")]
pub(crate) struct Arguments {
    #[command(flatten)]
    reading: ReadingArguments,

    /// Let the templates of charts read what they ask for outside of the environment, by the id shown when it is refused
    #[arg(long, value_name = "ID")]
    accept: Vec<String>,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let found = arguments.reading.run(
        &arguments.accept,
        output,
        &async |deployable, cluster| {
            let accepted = &deployable.archive.accepted;
            let request = deployable.request;
            let compared = Comparison::make(accepted, cluster, request, &Since::Now).await?;
            Ok(Ok(compared))
        },
        async |file, clusters| Ok(show(file, &clusters, output)),
    );
    // A no would say that something differs.
    let outcome = found.map_err(Failure::untold)?;
    Ok(outcome.unwrap_or(Outcome::Unknown))
}
