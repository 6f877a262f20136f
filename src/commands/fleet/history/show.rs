//! What was changed in the clusters of a fleet, for people.

use std::{array, iter};

use importer::Gap;

use super::shown::{FleetHistory, MemberHistory};
use crate::commands::history::shown::ShownChange;
use crate::commands::history::table::{TITLES, table};
use crate::render;

/// One table with the cluster in front, and what is wrong with any cluster below.
pub(super) fn people(history: &FleetHistory<'_>) {
    if history.changes.is_empty() {
        render::line("no changes");
    } else {
        let changes: Vec<&ShownChange<'_>> = history.changes.iter().map(|it| &it.change).collect();
        let titles = around("CLUSTER", TITLES, "FLEET REVISION");
        table(titles, &changes, |at, cells| {
            let revision = changes[at].receipt.subject.fleet_revision;
            let revision = revision.map_or(String::new(), |revision| revision.to_string());
            around(history.changes[at].cluster.to_owned(), cells, revision)
        });
    }
    for member in &history.clusters {
        notes(member);
    }
}

/// The cells of a change between its cluster and its revision of the fleet.
fn around<T: Default>(cluster: T, cells: [T; 8], revision: T) -> [T; 10] {
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
