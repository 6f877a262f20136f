//! `solution fleet rollback`: lets what a fleet's file brought to clusters be as it was before.

mod way_back;

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use fleet::Members;
use schemas::WaveName;

use self::way_back::WaysBack;
use super::apply::{Asking, DeployingArguments, Removals, Rollout, Towards};
use super::check::{read, refused};
use super::selection::SelectionArguments;
use crate::args::Output;
use crate::commands::import;
use crate::failure::{Failure, Outcome};
use crate::{cluster, events};

/// Let clusters of a fleet run again what ran there before its file was applied
#[derive(Args, Debug)]
#[command(
    group(ArgGroup::new("which").args(["wave", "cluster", "group"]).multiple(true).required(true)),
    mut_arg("wave", |argument| argument.conflicts_with_all(["cluster", "group"])),
    after_help = "\
Each deployment of the file that runs in the version of the file goes back to the version before,
as `solution rollback` does it: with its pull secret and what was chosen there for its parameters.
What the fleet chooses stays. Where another version runs, or none, nothing is done: so running the
same command again completes what is missing, and never takes it back. Where nothing is known from
before, that is in the way.

As with `apply`, all clusters are planned and shown before anything is written, one consent covers
them, and waves are changed in their order with their `parallel` and `maxFailures`. Neither a pause,
nor a soak time, nor a missing approval holds it back. CRDs stay as they are.

The next `apply` brings the version of the file again: change it there, or `solution fleet pause`.

Exits with 1 if a cluster is refused or fails, else with 3 if one was left out.

Examples:
  solution fleet rollback fleet.yaml --wave prod --dry-run --diff
  solution fleet rollback fleet.yaml --wave prod --accept 5c1f2ab94be2c1d8b8f2e3aa
  solution fleet rollback fleet.yaml --cluster paris --skip-unreachable"
)]
pub(crate) struct Arguments {
    /// The file
    file: PathBuf,

    /// Only the clusters of these waves
    #[arg(long, value_name = "NAME")]
    wave: Vec<WaveName>,

    #[command(flatten)]
    selection: SelectionArguments,

    #[command(flatten)]
    deploying: DeployingArguments,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    events::begin(&arguments.deploying.rollout.progress)?;
    let file = read(&arguments.file)?;
    if let Some(outcome) = refused(&file, &arguments.file, output) {
        return Ok(outcome);
    }
    let places = arguments.selection.or_waves(&arguments.wave, &file)?;
    let members = Members::of(file.spec());
    let choices = &arguments.deploying;
    let rollout = Rollout {
        file: &file,
        path: &arguments.file,
        members: &members,
        choices: &choices.rollout,
        shown: choices.shown(),
        filing: choices.files.filing(output)?,
        towards: Towards::Before,
        removals: Removals::None,
        output,
    };
    let asking = Asking {
        file: &file,
        reach: choices.reach(),
        turn: &choices.rollout.turn,
        nodes: import::nodes(&choices.rollout.arrival),
        allowed: choices.allowed(),
        accept: &choices.rollout.accept,
        writer: cluster::fleet_writer(&choices.rollout.turn, &file)?,
        output,
    };
    let source = WaysBack {
        members: &members,
        asking,
    };
    rollout.run(&places, &source)
}
