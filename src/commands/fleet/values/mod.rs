//! `solution fleet values`: what each cluster chooses, computed from what is known of it.

pub(in crate::commands) mod computed;
mod show;

use std::path::PathBuf;

use clap::Args;
use fleet::Members;

use self::computed::ComputedCluster;
use self::show::show;
use super::check::{read, refused};
use super::compute::compute;
use super::reach::Reaching;
use super::selection::SelectionArguments;
use crate::args::{Output, ReadArguments};
use crate::cluster;
use crate::failure::{Failure, Outcome};

/// Show the values of each cluster of a fleet
#[derive(Args, Debug)]
#[command(after_help = "\
The command prints a site configuration (YAML) for each Solution in an environment. Clusters with equal values \
share one. It reads what expressions need from the clusters; a cluster that does not answer within --timeout \
does not hide the others. It writes nothing.

--kubeconfig and --context select the cluster with the Cluster API objects in the file.

Exit codes: 1 a value cannot be computed or a cluster has another UID than in the file, else 3 a cluster cannot \
be reached.

Examples:
  solution fleet values fleet.yaml
  solution fleet values fleet.yaml --explain
  solution fleet values fleet.yaml --cluster 'par*' --group prod")]
pub(crate) struct Arguments {
    /// The fleet file (`fleet.yaml`)
    file: PathBuf,

    /// Show the source and the expression of each value
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    selection: SelectionArguments,

    #[command(flatten)]
    cluster: ReadArguments,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let file = read(&arguments.file)?;
    if let Some(outcome) = refused(&file, &arguments.file, output) {
        return Ok(outcome);
    }
    let places = arguments.selection.of(&file)?;
    let reaching = Reaching::to_read(&file, &arguments.file, &arguments.cluster)?;
    let members = Members::of(file.spec());
    let found = cluster::block_on(async {
        let found = reaching.each(&places, async |at, member| {
            compute(&file, &members, at, member).await
        });
        Ok(found.await)
    })?;
    let all = places.iter().zip(found);
    let all = all.map(|(at, computed)| ComputedCluster::of(&file, *at, computed));
    let all: Vec<ComputedCluster> = all.collect();
    Ok(show(&file, &all, arguments.explain, output))
}
