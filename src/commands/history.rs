//! `solution history`: what was changed in the cluster, by whom, and what became of it.

use clap::Args;
use importer::{ChangeReceipt, History, Outcome as Ended, Passage, Wanted};
use schemas::{EnvironmentName, Namespace, SolutionName};

use super::give;
use crate::args::{ClusterArguments, Output};
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
    cluster: ClusterArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let wanted = Wanted {
        solution: arguments.solution.clone(),
        environment: arguments.environment.clone(),
        namespace: arguments.namespace.clone(),
        limit: arguments.limit,
    };
    let history = cluster::block_on(async {
        let cluster = cluster::connect(&arguments.cluster).await?;
        Ok(importer::history(&cluster, &wanted).await?)
    })?;
    Ok(give(output, &history, show))
}

fn show(history: &History) {
    if history.revisions.is_empty() {
        render::line("no change is known");
    } else {
        table(&history.revisions);
    }
    for unreadable in &history.unreadable {
        render::line!("note: {unreadable} cannot be read as a receipt");
    }
}

/// The titles of the table.
const TITLES: [&str; 8] = [
    "REVISION",
    "AT",
    "VERB",
    "SOLUTION",
    "NAMESPACE",
    "BEFORE",
    "OUTCOME",
    "BY",
];

/// One row for each namespace of a change, and what went wrong below.
fn table(receipts: &[ChangeReceipt]) {
    let mut widths = TITLES.map(str::len);
    let rows: Vec<Vec<[String; 8]>> = receipts.iter().map(rows).collect();
    for row in rows.iter().flatten() {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    line(&TITLES.map(str::to_owned), widths);
    for (receipt, rows) in receipts.iter().zip(&rows) {
        rows.iter().for_each(|row| line(row, widths));
        if let Ended::Failed(why) | Ended::RolledBack(why) = &receipt.outcome {
            render::line!("  why: {why}");
        }
    }
}

fn line(row: &[String; 8], widths: [usize; 8]) {
    let cells = row.iter().zip(widths);
    let cells: Vec<String> = cells
        .map(|(cell, width)| format!("{cell:width$}"))
        .collect();
    render::line(cells.join("  ").trim_end());
}

fn rows(receipt: &ChangeReceipt) -> Vec<[String; 8]> {
    let subject = &receipt.subject;
    let version = subject.version.as_ref();
    let version = version.map_or(String::new(), |version| format!(" {version}"));
    let solution = subject.solution.as_ref();
    let solution = solution.map_or(String::new(), |solution| format!("{solution}{version}"));
    let first = [
        receipt.revision.to_string(),
        receipt.at.to_string(),
        subject.verb.to_string(),
        solution,
        String::new(),
        String::new(),
        outcome(&receipt.outcome).to_owned(),
        receipt.by.clone(),
    ];
    let mut rows = vec![first];
    for (at, place) in subject.places.iter().enumerate() {
        if at > 0 {
            rows.push(Default::default());
        }
        [rows[at][4], rows[at][5]] = whereabouts(place);
    }
    rows
}

/// A namespace, and what ran there.
fn whereabouts(place: &Passage) -> [String; 2] {
    let Passage {
        environment,
        namespace,
        from,
        ..
    } = place;
    let namespace = if namespace.as_str() == environment.as_str() {
        namespace.to_string()
    } else {
        format!("{namespace} ({environment})")
    };
    let before = from.as_ref().map(|from| from.version.to_string());
    [namespace, before.unwrap_or_default()]
}

fn outcome(outcome: &Ended) -> &'static str {
    match outcome {
        Ended::Begun => "not ended",
        Ended::Interrupted => "interrupted",
        Ended::Done => "done",
        Ended::Failed(_) => "failed",
        Ended::RolledBack(_) => "rolled back",
    }
}
