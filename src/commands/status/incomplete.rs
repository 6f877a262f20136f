//! Changes of which a part may be there, for people.

use importer::{ChangeReceipt, Outcome};

/// A change of which a part may be there, as one line.
pub(in crate::commands) fn in_words(receipt: &ChangeReceipt) -> String {
    format!("{}: {}", headline(receipt), why(&receipt.outcome))
}

/// A change of which a part may be there, without the reason.
pub(super) fn headline(receipt: &ChangeReceipt) -> String {
    let subject = &receipt.subject;
    let solution = subject.solution.as_ref().map(ToString::to_string);
    let version = subject.version.as_ref().map(ToString::to_string);
    let words = [Some(subject.verb.to_string()), solution, version];
    let what: Vec<String> = words.into_iter().flatten().collect();
    let places = subject.places.iter().map(|place| place.namespace.as_str());
    let places: Vec<&str> = places.collect();
    let places = match places.join(", ") {
        none if none.is_empty() => none,
        places => format!(" in {places}"),
    };
    let (revision, what) = (receipt.revision, what.join(" "));
    let (by, at) = (receipt.origin.person(), receipt.at);
    format!("revision {revision} is incomplete: {what}{places}, by {by} at {at}")
}

/// Why only a part of a change may be there.
pub(super) fn why(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed(why) | Outcome::RolledBack(why) => format!("it failed: {why}"),
        Outcome::Begun => "it is still running or was interrupted".to_owned(),
        Outcome::Interrupted | Outcome::Done => "it was interrupted".to_owned(),
    }
}

/// What completes a change of which a part may be there.
pub(in crate::commands) fn way_on(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Begun => "if it is no longer running, run the same command again to complete it",
        Outcome::Interrupted | Outcome::Done => "run the same command again to complete it",
        Outcome::Failed(_) | Outcome::RolledBack(_) => {
            "fix the cause, then run the same command again to complete it"
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_that_is_incomplete_is_one_line() {
        let receipt = |places: serde_json::Value, outcome: serde_json::Value| -> ChangeReceipt {
            let mut receipt = json!({
                "schemaVersion": 1, "revision": 7, "at": "2026-01-02T03:04:05Z", "by": "me@here",
                "verb": "deploy", "solution": "shop", "version": "1.1.0", "places": places,
                "written": [], "removed": [],
            });
            let fields = receipt.as_object_mut().unwrap();
            fields.extend(outcome.as_object().unwrap().clone());
            serde_json::from_value(receipt).unwrap()
        };
        let place = |namespace: &str| json!({"environment": "prod", "namespace": namespace});
        let by = "by unknown user (me@here) at 2026-01-02T03:04:05Z";
        let begun = receipt(
            json!([place("prod"), place("shop")]),
            json!({"outcome": "begun"}),
        );
        assert_eq!(
            in_words(&begun),
            format!(
                "revision 7 is incomplete: deploy shop 1.1.0 in prod, shop, {by}: it is still running or was interrupted"
            )
        );
        let failed = receipt(json!([]), json!({"outcome": "failed", "reason": "no"}));
        let again = "run the same command again to complete it";
        assert_eq!(way_on(&Outcome::Interrupted), again);
        for (outcome, first) in [
            (&begun.outcome, "if it is no longer running,"),
            (&failed.outcome, "fix the cause, then"),
        ] {
            assert_eq!(way_on(outcome), format!("{first} {again}"));
        }
        assert_eq!(
            in_words(&failed),
            format!("revision 7 is incomplete: deploy shop 1.1.0, {by}: it failed: no")
        );
    }
}
