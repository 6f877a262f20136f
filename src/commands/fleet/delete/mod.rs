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

/// Undeploy the Solutions of a fleet
#[derive(Args, Debug)]
#[command(
    group(ArgGroup::new("which").args(["all", "wave", "cluster", "group"]).multiple(true).required(true)),
    mut_arg("all", |argument| argument.conflicts_with_all(["wave", "cluster", "group"])),
    mut_arg("wave", |argument| argument.conflicts_with_all(["cluster", "group"])),
    mut_arg("dry_run", |argument| argument.help("Show what would change, and change nothing")),
    mut_arg("accept", |argument| {
        argument.help("Consent to uninstalling a chart release that others have changed, by the id in the refusal; may be repeated")
    }),
    after_help = "\
The command undeploys each deployment that this fleet made, in any version, even if the file no longer lists it. \
Deployments by others, custom resources, imported versions and CRDs are kept. `solution delete` removes a \
Solution from one cluster.

The command plans all clusters and shows the plan first. If one cluster is refused, no cluster changes. The last \
wave changes first, and Solutions are undeployed before those that they need. Each removal is planned again and \
must match the plan. `parallel`, `maxFailures` and `solution fleet pause` apply; soak times and approvals do \
not. Run the command again to complete the rest.

The next `apply` deploys everything in the file again: remove clusters or Solutions from the file.

Exit codes: 1 a cluster was refused or failed, else 3 a cluster was skipped or not started.

Examples:
  solution fleet delete fleet.yaml --all --dry-run
  solution fleet delete fleet.yaml --wave canary
  solution fleet delete fleet.yaml --cluster paris --yes --output json"
)]
pub(crate) struct Arguments {
    /// The fleet file (`fleet.yaml`)
    file: PathBuf,

    /// Select all clusters of the fleet
    #[arg(long)]
    all: bool,

    /// Select clusters by wave; may be repeated
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
