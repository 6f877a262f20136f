//! `solution fleet delete`: undeploys what a fleet brought to clusters, in the reverse of the order in which it came.

mod departures;

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use fleet::Members;
use schemas::WaveName;

use self::departures::Departures;
use super::apply::{Filing, RemovingArguments, Rollout, RolloutArguments, Towards};
use super::check::{read, refused};
use super::selection::SelectionArguments;
use crate::args::Output;
use crate::commands::import::Shown;
use crate::failure::{Failure, Outcome};
use crate::{cluster, events};

/// Undeploy what a fleet brought to clusters
#[derive(Args, Debug)]
#[command(
    group(ArgGroup::new("which").args(["all", "wave", "cluster", "group"]).multiple(true).required(true)),
    mut_arg("all", |argument| argument.conflicts_with_all(["wave", "cluster", "group"])),
    mut_arg("wave", |argument| argument.conflicts_with_all(["cluster", "group"])),
    mut_arg("dry_run", |argument| argument.help("Show what would be removed, and remove nothing")),
    mut_arg("accept", |argument| {
        argument.help("Uninstall a chart's release as it stands though it is not as it was stored from here, by the id shown")
    }),
    after_help = "\
Each deployment whose record in the cluster names this fleet is undeployed, as `solution undeploy`
does it: in whatever version it runs, and also where the file no longer has it. What somebody else
deployed stays, and so do custom resources that users created, imported versions and CRDs
(`solution delete` removes a Solution from one cluster).

The last wave goes first, and in it the last cluster of the file; in a cluster whatever needs others
goes before them. As with `apply`, all clusters are planned and shown before anything is removed,
and one refused cluster keeps all. Each removal is planned again before it is made; it has to come
out as it was shown. Waves keep their `parallel` and `maxFailures`. Neither a soak time nor a missing
approval holds it back, but `solution fleet pause` does. Running the same command again completes it.

The next `apply` brings everything that the file has again: take clusters or Solutions out of it.

Exits with 1 if a cluster is refused or fails, else with 3 if one was left out or not begun.

Examples:
  solution fleet delete fleet.yaml --all --dry-run
  solution fleet delete fleet.yaml --wave canary
  solution fleet delete fleet.yaml --cluster paris --yes --output json"
)]
pub(crate) struct Arguments {
    /// The file
    file: PathBuf,

    /// All clusters of the fleet
    #[arg(long)]
    all: bool,

    /// Only the clusters of these waves
    #[arg(long, value_name = "NAME")]
    wave: Vec<WaveName>,

    #[command(flatten)]
    selection: SelectionArguments,

    #[command(flatten)]
    leaving: RemovingArguments,

    #[command(flatten)]
    rollout: RolloutArguments,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    events::begin(&arguments.rollout.progress)?;
    let file = read(&arguments.file)?;
    if let Some(outcome) = refused(&file, &arguments.file, output) {
        return Ok(outcome);
    }
    let places = arguments.selection.or_waves(&arguments.wave, &file)?;
    let members = Members::of(file.spec());
    let choices = &arguments.rollout;
    let rollout = Rollout {
        file: &file,
        path: &arguments.file,
        members: &members,
        choices,
        shown: Shown::Plain,
        filing: Filing::None,
        towards: Towards::Gone,
        removals: arguments.leaving.removals(),
        revision: None,
        output,
    };
    let source = Departures {
        file: &file,
        members: &members,
        removing: arguments.leaving.removing(
            choices,
            &file,
            cluster::fleet_writer(&choices.turn, &file)?,
        ),
    };
    rollout.run(&places, &source)
}
