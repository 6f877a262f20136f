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

/// Show what was changed in the clusters of a fleet, by whom, and what became of it
#[derive(Args, Debug)]
#[command(after_help = "\
The newest change of all clusters comes first. Changes of the file's Solutions in its environments are
shown, and those of such a Solution or such an environment as a whole; who made them, with the file or
without it, plays no part. Times are those of the machines that made the changes. REVISION counts in
each cluster by itself: `solution history --context NAME` says more of one. FLEET REVISION is what
`solution fleet rollback --revision` takes.

Each cluster is asked for no longer than --timeout; one that cannot be reached hides no other.

Exits with 1 if a cluster is another one than the file pins, else with 3 if one cannot be reached.

Examples:
  solution fleet history fleet.yaml
  solution fleet history fleet.yaml --group prod --limit 20
  solution fleet history fleet.yaml --cluster paris --output json")]
pub(crate) struct Arguments {
    /// The file
    file: PathBuf,

    #[command(flatten)]
    selection: SelectionArguments,

    /// Only so many changes of all clusters, the newest [default: all that are kept]
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
    render::result(output, &history, people);
    Ok(history.outcome())
}
