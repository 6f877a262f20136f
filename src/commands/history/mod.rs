//! `solution history`: what was changed in the cluster, by whom, and what became of it.

mod table;

use clap::Args;
use importer::{History, Wanted};
use schemas::{EnvironmentName, Namespace, SolutionName};

use super::give;
use crate::args::{Output, ReadArguments};
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// Show what was changed in the cluster, by whom, and what became of it
#[derive(Args, Debug)]
#[command(after_help = "\
The newest change comes first. Every change of the cluster by this program has a revision, unless
nothing had to be changed. BEFORE is what ran in the namespace until then; `solution rollback --to
REVISION` goes back to what a revision deployed. With --output json, each revision also has its
archive, its choices, and the objects that were written and removed.

Examples:
  solution history
  solution history example -e prod --limit 5
  solution history example --output json")]
pub(crate) struct Arguments {
    /// Only changes of this Solution
    solution: Option<SolutionName>,

    /// Only changes in this environment
    #[arg(short, long, value_name = "NAME")]
    environment: Option<EnvironmentName>,

    /// Only changes in this namespace
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    /// Only so many, the newest [default: all that are kept]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    #[command(flatten)]
    cluster: ReadArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let wanted = Wanted {
        solution: arguments.solution.clone(),
        environment: arguments.environment.clone(),
        namespace: arguments.namespace.clone(),
        limit: arguments.limit,
    };
    let history = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::history(cluster, &wanted).await?)
    })?;
    Ok(give(output, &history, show))
}

fn show(history: &History) {
    if history.revisions.is_empty() {
        render::line("no change is known");
    } else {
        table::show(&history.revisions);
    }
    for unreadable in &history.unreadable {
        render::line!("note: {unreadable} cannot be read as a receipt");
    }
}
