//! `solution fleet rollback`: rolls back what a revision of a fleet changed in its clusters.

mod way_back;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{ArgGroup, Args};
use fleet::{FleetFile, Members};
use schemas::{SolutionName, StatementTime, WaveName};

use self::way_back::WaysBack;
use super::apply::{Asking, DeployingArguments, Removals, Rollout, Towards};
use super::check::{read, refused};
use super::journal::JournalFile;
use super::selection::{SelectionArguments, check_solutions};
use crate::args::Output;
use crate::commands::import;
use crate::failure::{Failure, Outcome};
use crate::{cluster, events, render};

/// Roll back a revision of a fleet
#[derive(Args, Debug)]
#[command(
    group(ArgGroup::new("which").args(["wave", "cluster", "group"]).multiple(true).required(true)),
    mut_arg("wave", |argument| argument.conflicts_with_all(["cluster", "group"])),
    after_help = "\
Consecutive runs of `apply` with the same file are one revision. Each deployment returns to its version before \
the revision, with its pull secret and its parameter values, as with `solution rollback`. Values from the fleet \
file and CRDs are not changed.

A deployment is skipped, and the plan says why, if the revision did not change its version, if it had no version \
before, or if another version runs now. You can therefore run the command again to complete the rest.

The command plans all clusters first, one consent covers them, and waves keep their order, `parallel` and \
`maxFailures`. Pauses, soak times and approvals do not apply.

The next `apply` deploys the version in the file again: change the file, or run `solution fleet pause`.

Exit codes: 1 a cluster was refused or failed, else 3 a cluster was skipped.

Examples:
  solution fleet rollback fleet.yaml --wave prod --dry-run --diff
  solution fleet rollback fleet.yaml --wave prod --accept 5c1f2ab94be2c1d8b8f2e3aa
  solution fleet rollback fleet.yaml --cluster '*' --solution shop
  solution fleet rollback fleet.yaml --cluster paris --revision 2026-11-28T09:30:00Z"
)]
pub(crate) struct Arguments {
    /// The fleet file (`fleet.yaml`)
    file: PathBuf,

    /// Select clusters by wave; may be repeated
    #[arg(long, value_name = "NAME")]
    wave: Vec<WaveName>,

    #[command(flatten)]
    selection: SelectionArguments,

    /// Roll back only this Solution; may be repeated [default: all Solutions]
    #[arg(long, value_name = "NAME")]
    solution: Vec<SolutionName>,

    /// The revision to roll back, from `solution fleet history` [default: the last one]
    #[arg(long, value_name = "TIME")]
    revision: Option<StatementTime>,

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
    check_solutions(&arguments.solution, &file)?;
    let revision = match arguments.revision {
        Some(revision) => revision,
        None => last_revision(&file, &arguments.file)?,
    };
    if output == Output::Human {
        render::line!("revision  {revision}");
    }
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
        revision: None,
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
        solutions: &arguments.solution,
        revision,
        asking,
    };
    rollout.run(&places, &source)
}

/// The last revision that changed clusters, by the journal.
fn last_revision(file: &FleetFile, path: &Path) -> Result<StatementTime, Failure> {
    let last = JournalFile::of(file, path)?.read()?.last_revision();
    last.ok_or_else(|| {
        let unknown = anyhow!("cannot roll back: the journal next to the fleet's file has no revision");
        Failure::no(unknown).hint("list revisions with `solution fleet history` and choose one with `--revision`, or use `solution rollback` in each cluster")
    })
}
