//! `solution fleet history`: what was changed in the clusters of a fleet, merged by time.

mod show;
pub(in crate::commands) mod shown;

use std::path::PathBuf;

use clap::Args;
use importer::Wanted;

use self::show::people;
use self::shown::FleetHistory;
use super::check::{read, refused};
use super::reach::Reaching;
use super::selection::SelectionArguments;
use crate::args::{Output, ReadArguments};
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// Show the changes made to the clusters of a fleet
#[derive(Args, Debug)]
#[command(after_help = "\
The command lists the changes to the Solutions and environments in the file, with or without the fleet, newest \
first. REVISION counts in each cluster; `solution history --context NAME` shows the details. FLEET REVISION is \
for `solution fleet rollback --revision`. Times are from the machines that made the changes. A cluster that does \
not answer within --timeout does not hide the others.

Exit codes: 1 a cluster has another UID than in the file, else 3 a cluster cannot be reached.

Examples:
  solution fleet history fleet.yaml
  solution fleet history fleet.yaml --group prod --limit 20
  solution fleet history fleet.yaml --cluster paris --output json")]
pub(crate) struct Arguments {
    /// The fleet file (`fleet.yaml`)
    file: PathBuf,

    #[command(flatten)]
    selection: SelectionArguments,

    /// Show only the newest N changes of all clusters [default: all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

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
    let found = cluster::block_on(async {
        let found = reaching.each(&places, async |_, member| {
            Ok(importer::history(&member.cluster, &Wanted::default()).await?)
        });
        Ok(found.await)
    })?;
    let history = FleetHistory::of(&file, &places, &found, arguments.limit);
    render::result(output, &history, |history| people(history, &arguments.file));
    Ok(history.outcome())
}
