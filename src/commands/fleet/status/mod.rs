//! `solution fleet status`: compares each cluster with the fleet's file: versions, values and objects. Clusters that
//! cannot be queried are reported as unknown, and do not hide the state of all further clusters.

mod compare;
pub(super) mod deployment;
pub(in crate::commands) mod print;

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use fleet::{FleetFile, Members};
use importer::Status;
use schemas::{PlacedVersion, WaveName};

use self::compare::{FileValues, compare_objects};
use self::deployment::{DeploymentStatus, judge};
use self::print::{MemberStatus, show};
use super::arguments::SelectionArguments;
use super::check::{read, refused};
use super::connection::{Connections, Member};
use super::journal::{GoneCluster, JournalFile, gone};
use super::removal::entries;
use super::source::client;
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
    /// Returns whether objects are compared with the deployed version.
    fn compares_objects(&self) -> bool {
        self.live && !self.quick
    }
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let file = read(&arguments.file)?;
    if let Some(outcome) = refused(&file, &arguments.file, output) {
        return Ok(outcome);
    }
    let meant = arguments.selection.resolve(&file)?;
    let members = Members::of(file.spec());
    let turns = turns(&file, &members, &meant);
    let places: Vec<usize> = turns.iter().map(|turn| turn.cluster).collect();
    let reaching = Connections::to_read(&file, &arguments.file, &arguments.cluster)?;
    let found = cluster::block_on(async {
        let found = reaching.each(&places, async |at, member| {
            Box::pin(MemberObservation::find(
                &file, &members, at, member, arguments,
            ))
            .await
        });
        Ok(found.await)
    })?;
    let all = turns.iter().zip(found);
    let all = all.map(|(turn, found)| MemberStatus::of(&file, &members, turn, found));
    let all: Vec<MemberStatus> = all.collect();
    let gone = known_gone(&file, &arguments.file, output);
    Ok(show(&file, &arguments.file, &all, &gone, output))
}

/// Returns the clusters that are no longer in the file. If this user may not read the journal, there are none.
fn known_gone(file: &FleetFile, path: &Path, output: Output) -> Vec<GoneCluster> {
    match JournalFile::of(file, path).and_then(|journal| journal.read()) {
        Ok(journal) => gone(file, &journal),
        Err(failure) => {
            if output == Output::Human {
                render::note!("warning: {}", failure.in_one_line());
            }
            Vec::new()
        }
    }
}

/// A cluster, by its index in the file, and its wave.
struct ClusterTurn<'a> {
    cluster: usize,
    wave: &'a WaveName,
}

/// Returns the selected clusters in the order of the waves.
fn turns<'a>(file: &'a FleetFile, members: &Members<'_>, meant: &[usize]) -> Vec<ClusterTurn<'a>> {
    let waves = fleet::waves(file.spec(), members).into_iter();
    let all = waves.flat_map(|entry| {
        let wave = &entry.wave.name;
        let clusters = entry.clusters.into_iter();
        clusters.map(move |cluster| ClusterTurn { cluster, wave })
    });
    all.filter(|turn| meant.contains(&turn.cluster)).collect()
}

/// The observed state of a cluster.
pub(super) struct MemberObservation {
    pub(super) status: Status,
    /// The deployments of the file.
    pub(super) deployments: Vec<DeploymentStatus>,
}

impl MemberObservation {
    /// Queries the deployments of a cluster, and compares their versions, values and objects with the file.
    pub(super) async fn find(
        file: &FleetFile,
        members: &Members<'_>,
        at: usize,
        member: &Member,
        arguments: &Arguments,
    ) -> Result<Self, Failure> {
        let cluster = &member.cluster;
        let status = importer::status(cluster, None).await?;
        let spaces = &status.environments;
        let values = if arguments.quick {
            None
        } else {
            Some(FileValues::compute(file, members, at, member).await?)
        };
        let known = &file.spec().clusters[at];
        let client = |registry: &_, site: &_| client(known, site, registry, &arguments.reach);
        let mut deployments = Vec::new();
        for entry in entries(file, members, at) {
            let mut found = judge(&PlacedVersion::from(entry), &status);
            if let Some(values) = &values {
                found = values.judge(found, spaces);
            }
            if arguments.compares_objects() {
                found = compare_objects(found, spaces, cluster, &client).await;
            }
            deployments.push(found);
        }
        Ok(Self {
            status,
            deployments,
        })
    }
}
