//! `solution fleet diff`: what `fleet apply` would change in each cluster, object by object.

mod show;
pub(in crate::commands) mod shown;

use clap::Args;
use importer::{Comparison, Since};

use self::show::show;
use super::reading::ReadingArguments;
use crate::args::Output;
use crate::failure::{Failure, Outcome};

/// Show what `fleet apply` would change in each cluster
#[derive(Args, Debug)]
#[command(after_help = "\
The command shows each object that `solution fleet apply` would create, change or delete. Clusters with equal \
differences are shown together, without values of Secrets. It writes nothing.

--kubeconfig and --context select the cluster with the Cluster API objects in the file.

Exit codes: 0 no difference, 1 differences, 3 unknown for a cluster.

Examples:
  solution fleet diff fleet.yaml --key publisher.pub
  solution fleet diff fleet.yaml --key publisher.pub --cluster 'par*' --group prod")]
pub(crate) struct Arguments {
    #[command(flatten)]
    reading: ReadingArguments,

    /// Consent to chart templates that read outside the environment, by the id that the refusal shows; may be
    /// repeated
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
