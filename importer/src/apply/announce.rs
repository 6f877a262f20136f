//! Reports changes to the users of a cluster as Kubernetes Events (events.k8s.io/v1). Nothing depends on these Events.

use std::time::SystemTime;

use change::vocabulary as v;
use deployer::{Cluster, Conflicts, Object};
use schemas::{SolutionName, printable};
use serde_json::{Value, json};

use crate::limits;
use crate::model::receipt::{ChangeReceipt, Outcome, Passage};
use crate::plan::operator::operator_name;

/// Creates the Events of a change that has ended. After a failure to write one, the remaining ones are skipped and the
/// change still counts as done: a user without the right to create Events may change the cluster, and a namespace may
/// have been deleted.
pub(crate) async fn announce(cluster: &Cluster, receipt: &ChangeReceipt, now: SystemTime) {
    for event in events(receipt, now) {
        let Ok(event) = Object::new(event) else {
            continue;
        };
        let (manager, force) = (v::manager(), Conflicts::Force);
        if cluster.put(&event, None, &manager, force).await.is_err() {
            return;
        }
    }
}

fn events(receipt: &ChangeReceipt, now: SystemTime) -> Vec<Value> {
    let Some(solution) = &receipt.subject.solution else {
        return Vec::new();
    };
    let places = receipt.subject.places.iter();
    let events = places.filter_map(|place| event(receipt, solution, place, now));
    events.collect()
}

/// Returns the reason and text of a namespace's Event, and the further details of its note. Returns `None` if users of
/// the namespace need no Event.
fn told(outcome: &Outcome, place: &Passage) -> Option<(&'static str, String, String)> {
    match (outcome, &place.from, &place.to) {
        (Outcome::Done, from, Some(to)) => {
            let before = from
                .as_ref()
                .filter(|from| !from.is_like(to))
                .map(|from| format!("; the previous version was {}", from.version));
            let what = format!("{} is deployed", to.version);
            Some(("Deployed", what, before.unwrap_or_default()))
        }
        (Outcome::Done, Some(from), None) => {
            let what = format!("{} is undeployed", from.version);
            Some(("Undeployed", what, String::new()))
        }
        (Outcome::RolledBack(why), Some(from), Some(to)) => {
            let (failed, before) = (&to.version, &from.version);
            let what = format!("{failed} did not become ready and was rolled back to {before}");
            Some(("RolledBack", what, format!(": {why}")))
        }
        _ => None,
    }
}

/// Returns the Event on the operator's Deployment, or on its namespace if there is no Deployment any more.
fn event(
    receipt: &ChangeReceipt,
    solution: &SolutionName,
    place: &Passage,
    now: SystemTime,
) -> Option<Value> {
    let (reason, what, more) = told(&receipt.outcome, place)?;
    let (by, revision) = (receipt.origin.person(), receipt.revision);
    let note = format!("{solution} {what} (revision {revision}, by {by}){more}");
    let namespace = place.namespace.as_str();
    let (api, kind, name) = match place.to {
        Some(_) => ("apps/v1", "Deployment", operator_name(solution.as_str())),
        None => ("v1", "Namespace", namespace.to_owned()),
    };
    let since = now.duration_since(SystemTime::UNIX_EPOCH);
    let nanoseconds = since.unwrap_or_default().as_nanos();
    let severity = match receipt.outcome {
        Outcome::RolledBack(_) => "Warning",
        _ => "Normal",
    };
    Some(json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        // Kubernetes names Events by the object and the time.
        "metadata": { "name": format!("{name}.{nanoseconds:x}"), "namespace": namespace },
        "type": severity,
        "reason": reason,
        "action": receipt.subject.verb,
        "note": bounded(&note),
        "regarding": { "apiVersion": api, "kind": kind, "name": name, "namespace": namespace },
        // The API server requires a time with microseconds.
        "eventTime": receipt.at.to_string().replace('Z', ".000000Z"),
        "reportingController": v::EVENT_CONTROLLER,
        "reportingInstance": v::MANAGER,
    }))
}

/// Returns the note without control characters, cut to the length that the API server accepts.
fn bounded(note: &str) -> String {
    let mut text = printable(note).into_owned();
    text.truncate(text.floor_char_boundary(limits::EVENT_NOTE));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::receipt::Ran;
    use crate::model::receipt::tests::{ran, receipt};

    /// Returns the type, reason, regarded kind and note of the only Event of a change.
    fn told(receipt: &ChangeReceipt) -> Option<[String; 4]> {
        let mut events = events(receipt, SystemTime::UNIX_EPOCH);
        let event = events.pop()?;
        assert!(events.is_empty());
        let text = |path: &str| event.pointer(path).unwrap().as_str().unwrap().to_owned();
        Some(["/type", "/reason", "/regarding/kind", "/note"].map(text))
    }

    #[test]
    fn what_changed_for_users_is_told_where_they_look() {
        let [old, new] = ["1.0.0", "1.1.0"].map(|version| Some(ran(version)));
        let tell = |places: [&Option<Ran>; 2], outcome| {
            told(&receipt(3, places.map(Clone::clone), outcome))
        };
        let by = "(revision 3, by unknown user (me@here))";
        let event = |kind: [&str; 3], note: String| {
            let [severity, reason, kind] = kind.map(str::to_owned);
            Some([severity, reason, kind, note])
        };
        let deployed = ["Normal", "Deployed", "Deployment"];
        assert_eq!(
            tell([&old, &new], Outcome::Done),
            event(
                deployed,
                format!("shop 1.1.0 is deployed {by}; the previous version was 1.0.0")
            )
        );
        assert_eq!(
            tell([&new, &new], Outcome::Done),
            event(deployed, format!("shop 1.1.0 is deployed {by}"))
        );
        assert_eq!(
            tell([&old, &None], Outcome::Done),
            event(
                ["Normal", "Undeployed", "Namespace"],
                format!("shop 1.0.0 is undeployed {by}")
            )
        );
        let words =
            format!("shop 1.1.0 did not become ready and was rolled back to 1.0.0 {by}: no image");
        assert_eq!(
            tell([&old, &new], Outcome::RolledBack("no image".to_owned())),
            event(["Warning", "RolledBack", "Deployment"], words)
        );
        assert_eq!(tell([&old, &new], Outcome::Failed("no".to_owned())), None);
    }

    #[test]
    fn a_note_is_no_longer_than_the_api_server_takes() {
        let why = Outcome::RolledBack("é".repeat(2000));
        let [old, new] = ["1.0.0", "1.1.0"].map(|version| Some(ran(version)));
        let [.., note] = told(&receipt(3, [old, new], why)).unwrap();
        assert!((limits::EVENT_NOTE - 3..=limits::EVENT_NOTE).contains(&note.len()));
    }
}
