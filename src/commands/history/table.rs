//! The table of changes for people, with the signature of each receipt. The command `fleet history` uses the same rows
//! for multiple clusters.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use importer::{
    ChangeReceipt, History, KnownChange, Outcome, ReceiptEnvelope, ReceiptSignature, RevisionGap,
};
use schemas::{EnvironmentName, KeyId, Namespace};
use signing::Trust;

use crate::failure::Failure;
use crate::keys;
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

/// Shows a history to people. If keys are given, a receipt without a signature is noted.
pub(super) fn show(history: &History, has_keys: bool) {
    if history.revisions.is_empty() {
        render::line("no changes");
    } else {
        let rows = history
            .revisions
            .iter()
            .flat_map(|change| rows(change, has_keys, || full_reason(&change.receipt)));
        render::table(TITLES, &rows.collect::<Vec<_>>());
    }
    for unreadable in &history.unreadable {
        render::line!("note: {unreadable} is not a readable receipt");
    }
    for changed in &history.changed {
        render::line!(
            "note: the receipt of revision {changed} was changed after the next revision recorded it"
        );
    }
    for RevisionGap { first, last } in &history.missing {
        render::line!("note: the receipts of revisions {first} to {last} were removed");
    }
    for foreign in &history.foreign {
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
    change: &KnownChange,
    has_keys: bool,
    command: impl FnOnce() -> String,
) -> Vec<Row<COLUMNS>> {
    let mut rows: Vec<Row<COLUMNS>> = cells(&change.receipt).into_iter().map(Row::from).collect();
    let mut below = match &change.receipt.outcome {
        Outcome::Failed(why) | Outcome::RolledBack(why) => render::reason(why, command),
        Outcome::Begun | Outcome::Interrupted | Outcome::Done => Vec::new(),
    };
    below.extend(signed(change, has_keys));
    if let Some(last) = rows.last_mut() {
        last.below = below;
    }
    rows
}

/// Describes the signature of the receipt. Without keys, only a problem is worth a line.
fn signed(change: &KnownChange, has_keys: bool) -> Option<String> {
    match change.signature {
        ReceiptSignature::None if has_keys => Some("not signed".to_owned()),
        ReceiptSignature::None | ReceiptSignature::Unchecked => None,
        ReceiptSignature::Valid => {
            let keys = render::list(change.signed_by.iter().map(KeyId::short));
            Some(format!("signed by key {keys}"))
        }
        ReceiptSignature::Invalid => Some("its signature is not valid".to_owned()),
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

/// Returns the trusted keys; none if the user names no key.
pub(in crate::commands) fn trust(paths: &[PathBuf]) -> Result<Option<Trust>, Failure> {
    if paths.is_empty() {
        return Ok(None);
    }
    let keys = paths.iter().map(|path| keys::public(path));
    let keys = keys.collect::<Result<_, _>>()?;
    Ok(Some(Trust::new(keys, Some(NonZeroUsize::MIN))?))
}

/// Verifies the signature of a receipt with these keys.
pub(super) fn verify(change: &mut KnownChange, trust: &Trust) {
    let ReceiptEnvelope::Yes(envelope) = &change.sealed else {
        return;
    };
    match signing::verify(envelope, trust) {
        Ok(signers) => {
            change.signature = ReceiptSignature::Valid;
            change.signed_by = signers.trusted;
        }
        Err(_) => change.signature = ReceiptSignature::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use schemas::{Envelope, PayloadType};
    use serde_json::json;
    use signing::SecretKey;

    use super::*;

    /// Returns the receipt of a change in two namespaces.
    fn receipt() -> ChangeReceipt {
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
        receipt.unwrap()
    }

    #[test]
    fn a_signature_counts_if_one_of_the_keys_made_it_over_a_receipt() {
        let [ours, theirs] = [(); 2].map(|()| SecretKey::generate().unwrap());
        let signed = |key: &SecretKey, as_a: PayloadType| {
            let mut envelope = Envelope::unsigned(PayloadType::Receipt, b"{}".to_vec()).unwrap();
            envelope.add(key.sign(as_a, b"{}")).unwrap();
            ReceiptEnvelope::Yes(Box::new(envelope))
        };
        let trust = Trust::new(vec![ours.public()], Some(NonZeroUsize::MIN)).unwrap();
        let good = signed(&ours, PayloadType::Receipt);
        let verified = |sealed| {
            let mut change = KnownChange::unverified(receipt(), sealed);
            verify(&mut change, &trust);
            (change.signature, change.signed_by)
        };
        let valid = (ReceiptSignature::Valid, vec![ours.public().id()]);
        assert_eq!(verified(good.clone()), valid);
        for bad in [
            signed(&theirs, PayloadType::Receipt),
            signed(&ours, PayloadType::Plan),
            ReceiptEnvelope::Otherwise,
        ] {
            let words = format!("{bad:?}");
            assert_eq!(
                verified(bad),
                (ReceiptSignature::Invalid, vec![]),
                "{words}"
            );
        }
        let none = (ReceiptSignature::None, vec![]);
        assert_eq!(verified(ReceiptEnvelope::No), none);
        let unchecked = KnownChange::unverified(receipt(), good);
        assert_eq!(unchecked.signature, ReceiptSignature::Unchecked);
    }

    #[test]
    fn a_change_has_a_row_for_each_namespace() {
        let receipt = receipt();
        let at = "2026-01-02T03:04:05Z";
        let (by, second) = ("unknown user (me@here)", "prod (namespace shop)");
        let expected = [
            [
                "7", at, "undeploy", "shop", "1.0.0", "1.0.0", "prod", "failed", by,
            ],
            ["", "", "", "", "", "1.0.0", second, "", ""],
        ];
        assert_eq!(cells(&receipt), expected);
        let change = KnownChange::unverified(receipt.clone(), ReceiptEnvelope::No);
        let rows = rows(&change, true, || full_reason(&receipt));
        assert!(rows[0].below.is_empty());
        assert_eq!(rows[1].below, ["reason: no answer", "not signed"]);
        let full = "solution history shop -n prod -o yaml";
        assert_eq!(full_reason(&receipt), full);
    }
}
