//! `solution fleet history`: the changes in the clusters of a fleet, merged by time. The changes come from the receipts
//! in each cluster, so they include changes that were not made by the fleet.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::{array, iter};

use clap::Args;
use fleet::FleetFile;
use importer::{ChangeFilter, History, KnownChange, Revision, RevisionGap};
use schemars::JsonSchema;
use schemas::PlacedVersion;
use serde::Serialize;

use super::arguments::SelectionArguments;
use super::check::{read, refused};
use super::connection::Connections;
use super::status::deployment::concerns;
use super::{note_problem, worst};
use crate::args::{Output, ReadArguments};
use crate::cluster;
use crate::commands::blocked::ShownBlocker;
use crate::commands::history::table::{COLUMNS, TITLES, rows};
use crate::failure::{Failure, Outcome};
use crate::render::{self, Row};

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
    let places = arguments.selection.resolve(&file)?;
    let reaching = Connections::to_read(&file, &arguments.file, &arguments.cluster)?;
    let found = cluster::block_on(async {
        let found = reaching.each(&places, async |_, member| {
            Ok(importer::history(&member.cluster, &ChangeFilter::default()).await?)
        });
        Ok(found.await)
    })?;
    let history = FleetHistory::of(&file, &places, &found, arguments.limit);
    render::result(output, &history, |history| people(history, &arguments.file));
    Ok(history.outcome())
}

/// The changes in the clusters of a fleet.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetHistory<'a> {
    /// The fleet's name.
    fleet: &'a str,
    /// The changes of all clusters, the newest first.
    pub(super) changes: Vec<MemberChange<'a>>,
    /// The clusters that were asked, in the order of the file.
    pub(super) clusters: Vec<MemberHistory<'a>>,
    #[serde(skip)]
    outcome: Outcome,
}

/// A change of a cluster.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MemberChange<'a> {
    /// The cluster's name.
    pub(super) cluster: &'a str,
    #[serde(flatten)]
    pub(super) change: &'a KnownChange,
}

/// The history of a cluster, without its changes.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MemberHistory<'a> {
    /// The cluster's name.
    pub(super) name: &'a str,
    /// The reason why it could not be queried; null if it was.
    pub(super) problem: Option<ShownBlocker>,
    /// Receipts that cannot be read: of a later program, or damaged.
    pub(super) unreadable: &'a [String],
    /// Of all receipts those that are not any more as the next one names them.
    #[schemars(inner(range(min = 1)))]
    pub(super) changed: &'a [Revision],
    /// Receipts that were removed, as far as the remaining ones show.
    pub(super) missing: &'a [RevisionGap],
    /// Receipts that name another cluster and were copied here.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(inner(range(min = 1)))]
    pub(super) foreign: &'a [Revision],
}

impl<'a> FleetHistory<'a> {
    pub(super) fn of(
        file: &'a FleetFile,
        places: &[usize],
        found: &'a [Result<History, Failure>],
        limit: Option<usize>,
    ) -> Self {
        let (mut changes, mut clusters) = (Vec::new(), Vec::new());
        for (at, found) in places.iter().zip(found) {
            let name = file.spec().clusters[*at].name.as_str();
            let mut member = MemberHistory {
                name,
                problem: found.as_ref().err().map(ShownBlocker::from),
                unreadable: &[],
                changed: &[],
                missing: &[],
                foreign: &[],
            };
            if let Ok(history) = found {
                let entries = file.spec().solutions.iter().map(PlacedVersion::from);
                let entries: Vec<PlacedVersion> = entries.collect();
                let is_of_file = |change: &&KnownChange| {
                    entries.iter().any(|entry| concerns(&change.receipt, entry))
                };
                let of_file = history.revisions.iter().filter(is_of_file);
                changes.extend(of_file.map(|change| MemberChange {
                    cluster: name,
                    change,
                }));
                (member.unreadable, member.changed) = (&history.unreadable, &history.changed);
                (member.missing, member.foreign) = (&history.missing, &history.foreign);
            }
            clusters.push(member);
        }
        merge(&mut changes, limit);
        let failures = found.iter().filter_map(|history| history.as_ref().err());
        Self {
            fleet: file.document().metadata.name.as_str(),
            changes,
            clusters,
            outcome: worst(failures.map(Failure::outcome)),
        }
    }

    /// Returns the outcome of the command, which depends on whether all clusters could be queried.
    pub(super) fn outcome(&self) -> Outcome {
        self.outcome
    }
}

/// Sorts the newest changes first, and applies the limit.
fn merge(changes: &mut Vec<MemberChange<'_>>, limit: Option<usize>) {
    // The sort is stable: changes in one cluster within one second keep their order.
    changes.sort_by_key(|change| Reverse(change.change.receipt.at));
    changes.truncate(limit.unwrap_or(usize::MAX));
}

/// Prints one table whose first column is the cluster, and the problems of clusters below it.
pub(super) fn people(history: &FleetHistory<'_>, file: &Path) {
    if history.changes.is_empty() {
        render::line("no changes");
    } else {
        let titles = around("CLUSTER", TITLES, "FLEET REVISION");
        let all = history.changes.iter();
        let all = all.flat_map(|change| in_cluster(change, file));
        render::table(titles, &all.collect::<Vec<_>>());
    }
    for member in &history.clusters {
        notes(member);
    }
}

/// Returns the rows of a change, each with its cluster and its revision of the fleet.
fn in_cluster(member: &MemberChange<'_>, file: &Path) -> Vec<Row<{ COLUMNS + 2 }>> {
    let cluster = member.cluster;
    let revision = member.change.receipt.subject.fleet_revision;
    let revision = render::cell(revision.as_ref());
    let command = || {
        let file = file.display();
        format!("solution fleet history {file} --cluster {cluster} -o yaml")
    };
    let rows = rows(member.change, false, command).into_iter();
    let rows = rows.map(|Row { cells, below }| Row {
        cells: around(cluster.to_owned(), cells, revision.clone()),
        below,
    });
    rows.collect()
}

/// Inserts the cells of a change between its cluster and its revision of the fleet.
fn around<T: Default>(cluster: T, cells: [T; COLUMNS], revision: T) -> [T; COLUMNS + 2] {
    let mut all = iter::once(cluster).chain(cells).chain(iter::once(revision));
    array::from_fn(|_| all.next().unwrap_or_default())
}

fn notes(member: &MemberHistory<'_>) {
    let name = member.name;
    note_problem(name, member.problem.as_ref());
    for unreadable in member.unreadable {
        render::line!("note: {name}: {unreadable} is not a readable receipt");
    }
    for changed in member.changed {
        render::line!(
            "note: {name}: the receipt of revision {changed} was changed after the next revision recorded it"
        );
    }
    for RevisionGap { first, last } in member.missing {
        render::line!("note: {name}: the receipts of revisions {first} to {last} were removed");
    }
    for foreign in member.foreign {
        render::line!("note: {name}: revision {foreign} was created in another cluster");
    }
}

#[cfg(test)]
mod tests {
    use importer::{ChangeReceipt, ReceiptEnvelope};
    use serde_json::json;

    use super::*;

    fn history(cluster: u32, times: &[&str]) -> History {
        let receipt = |at: &&str| -> ChangeReceipt {
            let receipt = json!({
                "schemaVersion": 1, "revision": cluster, "at": at, "by": "me@here", "verb": "import",
                "solution": "shop", "places": [], "outcome": "done", "written": [], "removed": [],
            });
            serde_json::from_value(receipt).unwrap()
        };
        let known = |at| KnownChange::unverified(receipt(at), ReceiptEnvelope::No);
        History {
            revisions: times.iter().map(known).collect(),
            unreadable: Vec::new(),
            changed: Vec::new(),
            missing: Vec::new(),
            foreign: Vec::new(),
        }
    }

    #[test]
    fn the_newest_change_of_all_clusters_comes_first() {
        let lab = history(1, &["2026-01-02T03:04:05Z", "2026-01-01T00:00:00Z"]);
        let rome = history(2, &["2026-01-03T00:00:00Z", "2026-01-01T12:00:00Z"]);
        let merged = |limit| {
            let mut all = Vec::new();
            for (cluster, history) in [("lab", &lab), ("rome", &rome)] {
                let changes = history.revisions.iter();
                all.extend(changes.map(|change| MemberChange { cluster, change }));
            }
            merge(&mut all, limit);
            all.iter().map(|change| change.cluster).collect::<Vec<_>>()
        };
        assert_eq!(merged(None), ["rome", "lab", "rome", "lab"]);
        assert_eq!(merged(Some(2)), ["rome", "lab"]);
    }
}
