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

/// Show the values that each cluster of a fleet gets
#[derive(Args, Debug)]
#[command(after_help = "\
Prints a site's file (YAML) for each Solution in an environment; clusters with equal values share
one. Reads from each cluster what expressions may need, sixteen clusters at a time, each for no
longer than --timeout. A cluster that cannot be reached does not hide the others. Nothing is
written.

--kubeconfig and --context are those of the cluster with the objects of Cluster API, where the file
names any.

Exits with 1 if a value cannot be computed or a cluster is another one than the file pins, else with
3 if a cluster cannot be reached.

Examples:
  solution fleet values fleet.yaml
  solution fleet values fleet.yaml --explain
  solution fleet values fleet.yaml --cluster 'par*' --group prod")]
pub(crate) struct Arguments {
    /// The file
    file: PathBuf,

    /// Show where each value comes from, and the expression that it was computed from
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
