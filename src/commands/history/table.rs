//! Changes as a table, for people.

use importer::{ChangeReceipt, Gap, Outcome};
use schemas::{EnvironmentName, KeyId, Namespace};

use super::shown::{ShownChange, ShownHistory};
use super::signature::Signature;
use crate::render::{self, Row};

/// The number of columns.
pub(in crate::commands) const COLUMNS: usize = 9;

/// The headings.
pub(in crate::commands) const TITLES: [&str; COLUMNS] = [
    "REVISION",
    "TIME",
    "COMMAND",
    "SOLUTION",
    "VERSION",
    "PREVIOUS",
    "ENVIRONMENT",
    "RESULT",
    "BY",
];

/// Shows a history to people.
pub(super) fn show(shown: &ShownHistory<'_>) {
    if shown.revisions.is_empty() {
        render::line("no changes");
    } else {
        let rows = shown
            .revisions
            .iter()
            .flat_map(|change| rows(change, || full_reason(change.receipt)));
        render::table(TITLES, &rows.collect::<Vec<_>>());
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

/// Returns the command that prints why a change failed in full.
pub(in crate::commands) fn full_reason(receipt: &ChangeReceipt) -> String {
    let subject = &receipt.subject;
    let solution = subject.solution.as_ref();
    let solution = solution.map_or(String::new(), |solution| format!("{solution} "));
    let place = subject.places.first();
    let place = place.map_or(String::new(), |place| format!("-n {} ", place.namespace));
    format!("solution history {solution}{place}-o yaml")
}

/// Returns one row for each namespace of a change, with the reason of its failure and the signature below the last.
/// `command` prints the reason in full.
pub(in crate::commands) fn rows(
    change: &ShownChange<'_>,
    command: impl FnOnce() -> String,
) -> Vec<Row<COLUMNS>> {
    let mut rows: Vec<Row<COLUMNS>> = cells(change.receipt).into_iter().map(Row::from).collect();
    let mut below = match &change.receipt.outcome {
        Outcome::Failed(why) | Outcome::RolledBack(why) => render::reason(why, command),
        Outcome::Begun | Outcome::Interrupted | Outcome::Done => Vec::new(),
    };
    below.extend(signed(change));
    if let Some(last) = rows.last_mut() {
        last.below = below;
    }
    rows
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

/// Returns the cells of each namespace of a change. What all rows have in common is in the first.
fn cells(receipt: &ChangeReceipt) -> Vec<[String; COLUMNS]> {
    let subject = &receipt.subject;
    let first = [
        receipt.revision.to_string(),
        receipt.at.to_string(),
        subject.verb.to_string(),
        render::cell(subject.solution.as_ref()),
        render::cell(subject.version.as_ref()),
        render::cell(None::<String>),
        render::cell(None::<String>),
        outcome(&receipt.outcome).to_owned(),
        receipt.origin.person(),
    ];
    let mut rows = vec![first];
    for (at, passage) in subject.places.iter().enumerate() {
        if at > 0 {
            rows.push(Default::default());
        }
        rows[at][5] = render::cell(passage.from.as_ref().map(|from| &from.version));
        rows[at][6] = place(&passage.environment, &passage.namespace);
    }
    rows
}

/// Returns an environment, with its namespace if that has another name.
pub(in crate::commands) fn place(environment: &EnvironmentName, namespace: &Namespace) -> String {
    if namespace.as_str() == environment.as_str() {
        environment.to_string()
    } else {
        format!("{environment} (namespace {namespace})")
    }
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
        let receipt = receipt.unwrap();
        let at = "2026-01-02T03:04:05Z";
        let (by, second) = ("unknown user (me@here)", "prod (namespace shop)");
        let expected = [
            [
                "7", at, "undeploy", "shop", "1.0.0", "1.0.0", "prod", "failed", by,
            ],
            ["", "", "", "", "", "1.0.0", second, "", ""],
        ];
        assert_eq!(cells(&receipt), expected);
        let change = ShownChange {
            receipt: &receipt,
            signature: Signature::None,
            signed_by: Vec::new(),
            is_asked: true,
        };
        let rows = rows(&change, || full_reason(&receipt));
        assert!(rows[0].below.is_empty());
        assert_eq!(rows[1].below, ["reason: no answer", "not signed"]);
        let full = "solution history shop -n prod -o yaml";
        assert_eq!(full_reason(&receipt), full);
    }
}
