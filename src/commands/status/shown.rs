//! A status for people: a table of what runs, and one of the imported versions.

use importer::{ChangeReceipt, EnvironmentNamespace, Unseen, VersionStatus};

use super::operator::{pods, release, state};
use super::{Hinted, ShownStatus, incomplete};
use crate::args::choose;
use crate::commands::history::table::{full_reason, place};
use crate::render::{self, Row};

const DEPLOYED: [&str; 5] = ["ENVIRONMENT", "SOLUTION", "VERSION", "PODS", "STATUS"];
const IMPORTED: [&str; 6] = [
    "SOLUTION", "VERSION", "IMAGES", "CRDS", "EXPIRES", "REGISTRY",
];

/// Shows a status.
pub(super) fn show(status: &ShownStatus) {
    let rows = status.environments.iter();
    let rows: Vec<_> = rows.flat_map(|space| deployed(space, status)).collect();
    if !rows.is_empty() {
        render::table(DEPLOYED, &rows);
    }
    status.incomplete.iter().for_each(show_incomplete);
    if !status.versions.is_empty() {
        let versions: Vec<_> = status.versions.iter().map(imported).collect();
        if !rows.is_empty() || !status.incomplete.is_empty() {
            render::line("");
        }
        render::table(IMPORTED, &versions);
    } else if status.unseen.is_empty() {
        render::line(match (status.is_selection, rows.is_empty()) {
            (false, _) => "no Solution is imported",
            (true, true) => "no Solution and no environment matches",
            (true, false) => "no imported version matches",
        });
    }
    render::lines("note: ", status.notes);
    show_unseen(status.unseen);
}

/// Returns a row for each Solution in a namespace of an environment, or one that has none.
fn deployed(space: &EnvironmentNamespace, status: &ShownStatus) -> Vec<Row<5>> {
    let place = place(&space.environment, &space.namespace);
    let operators = status.operators.iter();
    let here = operators.filter(|hinted| hinted.operator.namespace == space.namespace);
    let rows: Vec<_> = here
        .map(|hinted| row(&place, hinted, space.going))
        .collect();
    if !rows.is_empty() {
        return rows;
    }
    let none = || render::cell(None::<String>);
    let state = choose(
        space.going,
        "namespace is being deleted",
        "nothing deployed",
    );
    vec![Row::from([place, none(), none(), none(), state.to_owned()])]
}

fn row(place: &str, Hinted { operator, hint }: &Hinted, is_going: bool) -> Row<5> {
    let (solution, namespace) = (&operator.solution, &operator.namespace);
    let command = || format!("solution status {solution} -n {namespace} -o yaml");
    let why = operator.why.iter();
    let mut below: Vec<_> = why.flat_map(|why| render::reason(why, command)).collect();
    below.extend(operator.releases.iter().map(release));
    below.extend(hint.map(|hint| format!("hint: {hint}")));
    Row {
        cells: [
            place.to_owned(),
            solution.to_string(),
            operator.version.to_string(),
            pods(operator),
            state(operator, is_going),
        ],
        below,
    }
}

fn imported(version: &VersionStatus) -> Row<6> {
    let record = &version.record;
    let images = record.images.iter();
    let images = images.filter(|image| image.image.tag.subject().is_none());
    Row::from([
        record.name.to_string(),
        record.version.to_string(),
        images.count().to_string(),
        render::cell(version.active.then_some("active")),
        render::cell(record.expires),
        record.endpoint.clone(),
    ])
}

/// Shows a change that is incomplete, and what completes it.
fn show_incomplete(receipt: &ChangeReceipt) {
    render::line(incomplete::headline(receipt));
    let why = incomplete::why(&receipt.outcome);
    render::lines("  ", render::reason(&why, || full_reason(receipt)));
    render::line!("  hint: {}", incomplete::way_on(&receipt.outcome));
}

/// What this user may not see, all of it together.
fn show_unseen(unseen: &[Unseen]) {
    if unseen.is_empty() {
        return;
    }
    render::line("not shown because a right is missing:");
    for Unseen { what, right } in unseen {
        render::line!("  {what} ({right})");
    }
    render::line(
        "  hint: ask the cluster administrator for the roles that `solution site rbac --verb status` prints",
    );
}
