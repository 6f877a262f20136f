//! Changes as a table, for people.

use importer::{ChangeReceipt, Gap, Outcome, Passage};
use schemas::KeyId;

use super::shown::{ShownChange, ShownHistory};
use super::signature::Signature;
use crate::render;

/// The titles of the table.
pub(in crate::commands) const TITLES: [&str; 8] = [
    "REVISION",
    "AT",
    "VERB",
    "SOLUTION",
    "NAMESPACE",
    "BEFORE",
    "OUTCOME",
    "BY",
];

/// Shows a history to people.
pub(super) fn show(shown: &ShownHistory<'_>) {
    if shown.revisions.is_empty() {
        render::line("no changes");
    } else {
        let changes: Vec<&ShownChange<'_>> = shown.revisions.iter().collect();
        table(TITLES, &changes, |_, cells| cells);
    }
    for unreadable in shown.unreadable {
        render::line!("note: {unreadable} is not a readable receipt");
    }
    for changed in shown.changed {
        render::line!(
            "note: the receipt of revision {changed} was changed after the next revision recorded it"
        );
    }
    for Gap { first, last } in shown.missing {
        render::line!("note: the receipts of revisions {first} to {last} were removed");
    }
    for foreign in shown.foreign {
        render::line!("note: revision {foreign} was created in another cluster");
    }
}

/// One row for each namespace of a change, and what went wrong below. `row` puts before the cells of a change whatever is
/// in front of them.
pub(in crate::commands) fn table<const N: usize>(
    titles: [&str; N],
    changes: &[&ShownChange<'_>],
    row: impl Fn(usize, [String; 8]) -> [String; N],
) {
    let rows = changes.iter().enumerate().map(|(at, change)| {
        let rows = rows(change.receipt).into_iter();
        rows.map(|cells| row(at, cells)).collect()
    });
    let rows: Vec<Vec<[String; N]>> = rows.collect();
    let all = std::iter::once(titles.map(str::to_owned)).chain(rows.iter().flatten().cloned());
    let mut lines = render::columns(&all.collect::<Vec<_>>()).into_iter();
    lines.by_ref().take(1).for_each(render::line);
    for (change, rows) in changes.iter().zip(&rows) {
        lines.by_ref().take(rows.len()).for_each(render::line);
        if let Outcome::Failed(why) | Outcome::RolledBack(why) = &change.receipt.outcome {
            render::line!("  why: {why}");
        }
        if let Some(words) = signed(change) {
            render::line!("  {words}");
        }
    }
}

/// Who signed the receipt. Where no key is given, only what is wrong with it is worth a line.
fn signed(change: &ShownChange<'_>) -> Option<String> {
    match change.signature {
        Signature::None if change.is_asked => Some("not signed".to_owned()),
        Signature::None | Signature::Unchecked => None,
        Signature::Valid => {
            let keys = render::list(change.signed_by.iter().map(KeyId::short));
            Some(format!("signed by key {keys}"))
        }
        Signature::Invalid => Some("its signature is not valid".to_owned()),
    }
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
        receipt.origin.person(),
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
    let (environment, namespace) = (&place.environment, &place.namespace);
    let namespace = if namespace.as_str() == environment.as_str() {
        namespace.to_string()
    } else {
        format!("{namespace} ({environment})")
    };
    let before = place.from.as_ref().map(|from| from.version.to_string());
    [namespace, before.unwrap_or_default()]
}

fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Begun => "in progress",
        Outcome::Interrupted => "interrupted",
        Outcome::Done => "done",
        Outcome::Failed(_) => "failed",
        Outcome::RolledBack(_) => "rolled back",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_has_a_row_for_each_namespace() {
        let place = |namespace: &str| {
            let from = json!({ "version": "1.0.0" });
            json!({ "environment": "prod", "namespace": namespace, "from": from })
        };
        let receipt = serde_json::from_value(json!({
            "schemaVersion": 1,
            "revision": 7,
            "at": "2026-01-02T03:04:05Z",
            "by": "me@here",
            "verb": "undeploy",
            "solution": "shop",
            "version": "1.0.0",
            "places": [place("prod"), place("shop")],
            "outcome": "failed",
            "reason": "no answer",
            "written": [],
            "removed": [],
        }));
        let rows = rows(&receipt.unwrap());
        let at = "2026-01-02T03:04:05Z";
        assert_eq!(
            rows,
            [
                [
                    "7",
                    at,
                    "undeploy",
                    "shop 1.0.0",
                    "prod",
                    "1.0.0",
                    "failed",
                    "unknown user (me@here)"
                ],
                ["", "", "", "", "shop (prod)", "1.0.0", "", ""],
            ]
        );
    }
}
