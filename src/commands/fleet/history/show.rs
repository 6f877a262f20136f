//! What was changed in the clusters of a fleet, for people.

use std::path::Path;
use std::{array, iter};

use importer::Gap;

use super::shown::{FleetHistory, MemberChange, MemberHistory};
use crate::commands::history::table::{COLUMNS, TITLES, rows};
use crate::render::{self, Row};

/// One table with the cluster in front, and what is wrong with any cluster below.
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

/// The rows of a change, each with its cluster and its revision of the fleet.
fn in_cluster(member: &MemberChange<'_>, file: &Path) -> Vec<Row<{ COLUMNS + 2 }>> {
    let cluster = member.cluster;
    let revision = member.change.receipt.subject.fleet_revision;
    let revision = render::cell(revision.as_ref());
    let command = || {
        let file = file.display();
        format!("solution fleet history {file} --cluster {cluster} -o yaml")
    };
    let rows = rows(&member.change, command).into_iter();
    let rows = rows.map(|Row { cells, below }| Row {
        cells: around(cluster.to_owned(), cells, revision.clone()),
        below,
    });
    rows.collect()
}

/// The cells of a change between its cluster and its revision of the fleet.
fn around<T: Default>(cluster: T, cells: [T; COLUMNS], revision: T) -> [T; COLUMNS + 2] {
    let mut all = iter::once(cluster).chain(cells).chain(iter::once(revision));
    array::from_fn(|_| all.next().unwrap_or_default())
}

fn notes(member: &MemberHistory<'_>) {
    let name = member.name;
    if let Some(problem) = &member.problem {
        render::note!("error: {name}: {}", problem.message);
        render::note!("hint: {}", problem.fix);
    }
    for unreadable in member.unreadable {
        render::line!("note: {name}: {unreadable} is not a readable receipt");
    }
    for changed in member.changed {
        render::line!(
            "note: {name}: the receipt of revision {changed} was changed after the next revision recorded it"
        );
    }
    for Gap { first, last } in member.missing {
        render::line!("note: {name}: the receipts of revisions {first} to {last} were removed");
    }
    for foreign in member.foreign {
        render::line!("note: {name}: revision {foreign} was created in another cluster");
    }
}
