//! `solution fleet status`: how far each cluster is as the file says.

mod deployment;
mod found;
mod judge;
mod objects;
mod show;
pub(in crate::commands) mod shown;
mod values;

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use fleet::{FleetFile, Members};
use schemas::WaveName;

use self::found::FoundMember;
pub(super) use self::judge::{concerns, judge};
use self::show::show;
use self::shown::MemberStatus;
use super::check::{read, refused};
use super::gone::{GoneCluster, gone};
use super::journal::JournalFile;
use super::reach::Reaching;
use super::selection::SelectionArguments;
use crate::args::{Output, ReadArguments, RegistryArguments};
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// Compare the clusters of a fleet with the fleet file
#[derive(Args, Debug)]
#[command(after_help = "\
A deployment is ready, not ready, behind or ahead of the file, absent, incomplete (a change runs, was \
interrupted or failed) or drifted (others changed or deleted its objects), or it has other values. Other \
deployments in the environments are only listed. A cluster that does not answer within --timeout does not hide \
the others. The command writes nothing.

To compare objects, the command reads archives from the registry, and the API server dry-runs each object. This \
needs the permissions of `solution site rbac --verb deploy`. --live=false compares versions and values, and \
--quick only versions.

--kubeconfig and --context select the cluster with the Cluster API objects in the file.

Exit codes: 1 a deployment differs from the file or a cluster has another UID than in the file, else 3 a cluster \
cannot be reached or does not show enough.

Examples:
  solution fleet status fleet.yaml
  solution fleet status fleet.yaml --cluster 'par*' --group prod
  solution fleet status fleet.yaml --live=false
  solution fleet status fleet.yaml --quick
  solution fleet status fleet.yaml --output json")]
pub(crate) struct Arguments {
    /// The fleet file (`fleet.yaml`)
    file: PathBuf,

    #[command(flatten)]
    selection: SelectionArguments,

    /// Compare only versions
    #[arg(long)]
    quick: bool,

    /// Compare objects with their deployment; `--live=false` skips this
    #[arg(
        long,
        value_name = "true|false",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    live: bool,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    cluster: ReadArguments,
}

impl Arguments {
    /// Whether objects are compared with what was deployed.
    fn compares_objects(&self) -> bool {
        self.live && !self.quick
    }
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let file = read(&arguments.file)?;
    if let Some(outcome) = refused(&file, &arguments.file, output) {
        return Ok(outcome);
    }
    let meant = arguments.selection.of(&file)?;
    let members = Members::of(file.spec());
    let turns = turns(&file, &members, &meant);
    let places: Vec<usize> = turns.iter().map(|it| it.cluster).collect();
    let reaching = Reaching::to_read(&file, &arguments.file, &arguments.cluster)?;
    let found = cluster::block_on(async {
        let found = reaching.each(&places, async |at, member| {
            Box::pin(FoundMember::find(&file, &members, at, member, arguments)).await
        });
        Ok(found.await)
    })?;
    let all = turns.iter().zip(found);
    let all = all.map(|(turn, found)| MemberStatus::of(&file, &members, turn, found));
    let all: Vec<MemberStatus> = all.collect();
    let gone = known_gone(&file, &arguments.file, output);
    Ok(show(&file, &arguments.file, &all, &gone, output))
}

/// The clusters that are no more in the file, as far as this user may read what is remembered of it.
fn known_gone(file: &FleetFile, path: &Path, output: Output) -> Vec<GoneCluster> {
    match JournalFile::of(file, path).and_then(|it| it.read()) {
        Ok(journal) => gone(file, &journal),
        Err(failure) => {
            if output == Output::Human {
                render::note!("warning: {}", failure.in_one_line());
            }
            Vec::new()
        }
    }
}

/// A cluster by its place in the file, and the wave in which it changes.
struct ClusterTurn<'a> {
    cluster: usize,
    wave: &'a WaveName,
}

/// The clusters that are meant, in the order of the waves.
fn turns<'a>(file: &'a FleetFile, members: &Members<'_>, meant: &[usize]) -> Vec<ClusterTurn<'a>> {
    let waves = fleet::waves(file.spec(), members).into_iter();
    let all = waves.flat_map(|it| {
        let wave = &it.wave.name;
        let clusters = it.clusters.into_iter();
        clusters.map(move |cluster| ClusterTurn { cluster, wave })
    });
    all.filter(|it| meant.contains(&it.cluster)).collect()
}
