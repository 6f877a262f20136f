//! `solution fleet check`: what a fleet's file says, and what is wrong with it.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use fleet::{FleetChecked, FleetFile};
use schemars::JsonSchema;
use schemas::ClusterName;
use serde::Serialize;

use super::order::{OrderedWave, ordered};
use super::pin::{self, PinnedCluster};
use super::repin::{self, RepinnedCluster};
use crate::args::{Output, ReadArguments};
use crate::commands::refusal::{found, refuse};
use crate::failure::{Failure, Outcome};
use crate::{disk, render};

/// Validate a fleet file and show when clusters change
#[derive(Args, Debug)]
#[command(
    group(ArgGroup::new("asks").args(["pin", "repin"]).multiple(true)),
    mut_arg("kubeconfig", |argument| argument.requires("asks")),
    mut_arg("context", |argument| argument.requires("asks")),
    after_help = "\
The command reports all problems at once. Only --pin and --repin contact clusters.

--pin writes the UID of each cluster into the file: the UID of its namespace kube-system, or of its Cluster API \
object. If a context later refers to a cluster with another UID, that cluster is never changed.

Without UIDs in the file, the first `solution fleet apply` stores them in the journal next to the fleet file. A \
cluster that contradicts the journal is refused until you confirm it with --repin.

Examples:
  solution fleet check fleet.yaml --pin
  solution fleet check fleet.yaml --repin paris
  solution fleet check fleet.yaml --output json"
)]
pub(crate) struct Arguments {
    /// The fleet file (`fleet.yaml`)
    file: PathBuf,

    /// Write the UIDs of the clusters into the file, and verify the UIDs that it has
    #[arg(long)]
    pin: bool,

    /// Replace the UID of this cluster in the journal with its present UID; may be repeated
    #[arg(long, value_name = "CLUSTER")]
    repin: Vec<ClusterName>,

    /// Skip the confirmation; required without a terminal
    #[arg(long, requires = "repin")]
    yes: bool,

    #[command(flatten)]
    cluster: ReadArguments,
}

/// The content of a fleet's file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReadFleet<'a> {
    /// The path that was checked.
    file: &'a Path,
    /// The fleet's name.
    fleet: &'a str,
    /// Whether no further cluster is begun.
    paused: bool,
    /// The waves in their order.
    waves: Vec<OrderedWave>,
    /// Notes on content that may be intended.
    notes: Vec<String>,
    /// With `--pin`: the result for each cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pinned: Vec<PinnedCluster>,
    /// With `--repin`: the clusters that are known by another UID than before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repinned: Vec<RepinnedCluster>,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let (path, file) = (&arguments.file, read(&arguments.file)?);
    let FleetChecked { problems, notes } = fleet::check(&file);
    let mut read = of(&file, path, notes);
    if !problems.is_empty() {
        if output == Output::Human {
            show(&read);
        }
        return Ok(found(output, read, &problems));
    }
    let mut outcome = Outcome::Yes;
    let (names, confirmed) = (&arguments.repin, arguments.yes);
    let repinned = repin::repin(&file, path, &arguments.cluster, names, confirmed, output)?;
    let Some(repinned) = repinned else {
        return Ok(refuse(output, read, [repin::unconfirmed()]));
    };
    read.repinned = repinned;
    if arguments.pin {
        (read.pinned, outcome) = pin::pin(&file, path, &arguments.cluster)?;
    }
    render::result(output, &read, |read| {
        show(read);
        repin::show(&read.repinned);
        pin::show(&read.pinned);
        if outcome == Outcome::Yes {
            render::line!("`{}` is a valid fleet file", path.display());
        }
    });
    Ok(outcome)
}

fn of<'a>(file: &'a FleetFile, path: &'a Path, notes: Vec<String>) -> ReadFleet<'a> {
    ReadFleet {
        file: path,
        fleet: file.document().metadata.name.as_str(),
        paused: file.spec().paused,
        waves: ordered(file.spec()),
        notes,
        pinned: Vec::new(),
        repinned: Vec::new(),
    }
}

/// Says what is wrong with a fleet's file; nothing if all is well.
pub(super) fn refused(file: &FleetFile, path: &Path, output: Output) -> Option<Outcome> {
    let FleetChecked { problems, notes } = fleet::check(file);
    (!problems.is_empty()).then(|| found(output, of(file, path, notes), &problems))
}

/// Reads a fleet's file.
pub(super) fn read(path: &Path) -> Result<FleetFile, Failure> {
    let bytes = disk::read(path)?;
    let name = path.display().to_string();
    FleetFile::read(name, &bytes).map_err(|error| {
        Failure::no(error)
            .context(format!("`{}` is not a valid fleet file", path.display()))
            .hint("create one with comments on every field with `solution fleet init`")
    })
}

fn show(read: &ReadFleet<'_>) {
    if read.paused {
        render::line("paused: no further cluster is changed");
    }
    for wave in &read.waves {
        render::line!("{wave}");
        wave.clusters.iter().for_each(|it| render::line!("  {it}"));
    }
    render::notes("note: ", &read.notes);
}
