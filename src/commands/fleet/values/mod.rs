//! `solution fleet values`: what each cluster chooses, computed from what is known of it.

pub(in crate::commands) mod computed;
mod show;

use std::path::PathBuf;

use clap::Args;
use fleet::{ComputeError, ComputedSite, Deployed, FleetFile, Members};
use importer::FoundFacts;

use self::computed::ComputedCluster;
use self::show::show;
use super::check::{read, refused};
use super::reach::Reaching;
use super::selection::SelectionArguments;
use crate::args::{Output, ReadArguments};
use crate::cluster;
use crate::failure::{Failure, Outcome};

/// Show the values that each cluster of a fleet gets, and where each comes from
#[derive(Args, Debug)]
#[command(after_help = "\
Each cluster is asked for what expressions may need, sixteen at a time, each for no longer than
--timeout; one that cannot be reached hides no other. Nothing is written. Equal values of several
clusters are shown once.

--kubeconfig and --context are those of the cluster with the objects of Cluster API, where the file
names any.

Exits with 1 if a value cannot be computed or a cluster is another one than the file pins, else with
3 if a cluster cannot be reached.

Examples:
  solution fleet values fleet.yaml
  solution fleet values fleet.yaml --cluster 'par*' --group prod")]
pub(crate) struct Arguments {
    /// The file
    file: PathBuf,

    #[command(flatten)]
    selection: SelectionArguments,

    #[command(flatten)]
    cluster: ReadArguments,
}

/// What came of a deployment in a cluster.
pub(super) struct ComputedDeployment {
    /// Its place among `solutions`.
    pub(super) solution: usize,
    pub(super) values: Result<ComputedSite, Vec<ComputeError>>,
}

/// What came of a cluster that was reached.
pub(super) struct ComputedMember {
    pub(super) found: FoundFacts,
    pub(super) deployments: Vec<ComputedDeployment>,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let file = read(&arguments.file)?;
    if let Some(outcome) = refused(&file, &arguments.file, output) {
        return Ok(outcome);
    }
    let places = arguments.selection.of(&file)?;
    let reaching = Reaching::new(&file, &arguments.file, &arguments.cluster);
    let found = cluster::block_on(async {
        let found = reaching.each(&places, async |at, member| {
            let (members, queries) = (&file.spec().clusters, &file.spec().facts);
            let found = importer::find_facts(&member.cluster, &members[at], at, queries).await;
            Ok(found.map_err(importer::Error::from)?)
        });
        Ok(found.await)
    })?;
    let members = Members::of(file.spec());
    let all = places.iter().zip(found).map(|(at, found)| {
        let computed = found.map(|found| computed(&file, &members, *at, found));
        ComputedCluster::of(&file, *at, computed)
    });
    let all: Vec<ComputedCluster> = all.collect();
    Ok(show(&file, &all, output))
}

/// Computes all that a cluster chooses.
fn computed(
    file: &FleetFile,
    members: &Members<'_>,
    cluster: usize,
    found: FoundFacts,
) -> ComputedMember {
    let solutions = file.spec().solutions.iter().enumerate();
    let runs = solutions.filter(|(_, it)| members.of_solution(it).contains(&cluster));
    let deployments = runs.map(|(solution, _)| {
        let deployed = Deployed { cluster, solution };
        let values = fleet::compute(file, members, deployed, &found.facts);
        ComputedDeployment { solution, values }
    });
    ComputedMember {
        deployments: deployments.collect(),
        found,
    }
}
