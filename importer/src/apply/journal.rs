//! The receipt of a change in progress. [`Journal::begin`] creates it before the first write, and [`Journal::end`] adds
//! the outcome. A change that does not reach its end is marked as interrupted by the next one, and the mark is removed
//! once a later change completes it.
//!
//! [`WriteLog`] collects the writes that a change has made so far. [`announce`] reports the change to the users of the
//! cluster as a Kubernetes Event (events.k8s.io/v1), on which nothing depends.

use std::collections::BTreeMap;
use std::time::SystemTime;

use kubernetes::{ApplyOutcome, Cluster, ConflictPolicy, Object, ObjectRef, Propagation};
use planner::{ReleaseEntry, vocabulary as v};
use progress::ProgressSink;
use schemas::{SolutionName, StatementTime, printable, printable_within};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::apply::lock::Lock;
use crate::limits;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::model::writer::Writer;
use crate::objects::operator::operator_name;
use crate::records::receipt::{
    ChangeOrigin, ChangeReceipt, ChangeSubject, Outcome, Revision, Transition,
};
use crate::records::receipts::Receipts;
use crate::records::storage::identity;

/// The receipt of a change that runs under its Leases.
///
/// It is created right before the first write, so a change without writes has no receipt. Its state is "begun" until
/// the change ends. A change that is killed therefore remains in the history as begun. The next change that writes
/// anything marks it as interrupted, since no writer holds its Leases any more.
///
/// Several changes may run at once. A receipt is created and never overwritten, so each number belongs to one change
/// and needs no Lease.
pub(crate) struct Journal<'a> {
    cluster: &'a Cluster,
    writer: &'a Writer,
    subject: ChangeSubject,
    begun: OnceCell<Begun>,
}

struct Begun {
    receipt: ChangeReceipt,
    /// The stored receipt.
    live: Object,
    /// The receipts of earlier changes.
    earlier: Receipts,
}

impl<'a> Journal<'a> {
    pub(crate) fn new(cluster: &'a Cluster, writer: &'a Writer, subject: ChangeSubject) -> Self {
        Self {
            cluster,
            writer,
            subject,
            begun: OnceCell::new(),
        }
    }

    /// Checks whether a receipt exists.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.initialized()
    }

    /// Ensures that a receipt exists. Of multiple concurrent callers, one creates it while the remaining ones wait.
    pub(crate) async fn begin(&self, lock: &Lock) -> Result<(), Error> {
        self.begun.get_or_try_init(|| self.made(lock)).await?;
        Ok(())
    }

    /// Creates the receipt with the next free number, and marks the changes that were interrupted earlier.
    async fn made(&self, lock: &Lock) -> Result<Begun, Error> {
        let origin = ChangeOrigin {
            by: self.writer.by.clone(),
            user: self.cluster.username().await,
            cluster_uid: identity(self.cluster).await?,
            fleet: self.writer.fleet.clone(),
        };
        for attempt in 1.. {
            let earlier = Receipts::read(self.cluster).await?;
            let earlier = self.with_others(earlier, lock).await?;
            let (origin, subject) = (origin.clone(), self.subject.clone());
            let (number, named) = (earlier.next(), earlier.named());
            let receipt = ChangeReceipt::new(number, self.now(), origin, named, subject);
            let live = match self.create(&receipt).await {
                // Another change has taken the number, so the next free one is used.
                Err(Error::Cluster(kubernetes::Error::Changed { .. }))
                    if attempt < limits::DECISIONS =>
                {
                    continue;
                }
                created => created?,
            };
            // No writer holds the Leases of these changes any more, so they cannot end by themselves.
            for interrupted in earlier.interrupted() {
                self.keep(interrupted.to_object(self.writer.seal.as_ref()), None)
                    .await?;
            }
            return Ok(Begun {
                receipt,
                live,
                earlier,
            });
        }
        unreachable!("the loop ends at the last attempt")
    }

    /// Returns the receipts with the mark that a change is still in progress if another writer holds its Leases.
    async fn with_others(&self, mut receipts: Receipts, lock: &Lock) -> Result<Receipts, Error> {
        let begun: Vec<_> = receipts
            .begun()
            .map(|receipt| (receipt.revision, receipt.subject.environments()))
            .collect();
        for (revision, environments) in begun {
            let at_work = lock.is_at_work(&environments, self.cluster, self.writer);
            if at_work.await? {
                receipts = receipts.at_work(revision);
            }
        }
        Ok(receipts)
    }

    /// Adds the outcome to the receipt, if there is one, and creates Events for the cluster's users. Returns its
    /// number.
    pub(crate) async fn end(
        self,
        lock: &Lock,
        failed: Option<&Error>,
        done: &WriteLog,
    ) -> Result<Option<Revision>, Error> {
        if failed.is_none() {
            self.settle(lock).await?;
        }
        let Some(Begun {
            receipt,
            live,
            earlier,
        }) = self.begun.get()
        else {
            return Ok(None);
        };
        let receipt = receipt
            .clone()
            .ended(outcome(failed), &done.objects, &done.removed);
        self.keep(receipt.to_object(self.writer.seal.as_ref()), Some(live))
            .await?;
        for object in earlier.surplus() {
            // A user without the right to delete receipts leaves them to the next writer.
            let removed = self.cluster.delete(&object, Propagation::Background, None);
            if removed.await.is_err() {
                break;
            }
        }
        announce(self.cluster, &receipt, (self.writer.clock)()).await;
        Ok(Some(receipt.revision))
    }

    /// Removes the mark of incompleteness from the receipts of earlier changes that this change completes, even if it
    /// found nothing more to write.
    async fn settle(&self, lock: &Lock) -> Result<(), Error> {
        let read;
        let earlier = if let Some(begun) = self.begun.get() {
            &begun.earlier
        } else {
            let incomplete = Receipts::read_incomplete(self.cluster).await?;
            read = self.with_others(incomplete, lock).await?;
            &read
        };
        for earlier in earlier.incomplete() {
            if earlier.is_settled_by(&self.subject) {
                let settled = earlier
                    .clone()
                    .interrupted()
                    .to_settled_object(self.writer.seal.as_ref());
                self.keep(settled, None).await?;
            }
        }
        Ok(())
    }

    /// Creates the receipt and never overwrites one: a receipt of the same number belongs to another change. If it is
    /// identical, the response to the creation was lost and the request was repeated.
    async fn create(&self, receipt: &ChangeReceipt) -> Result<Object, Error> {
        let object = Object::new(receipt.to_object(self.writer.seal.as_ref()))?;
        let (manager, force) = (v::manager(), ConflictPolicy::Force);
        match self.cluster.put(&object, None, &manager, force).await {
            Err(taken @ kubernetes::Error::Changed { .. }) => {
                let live = self.cluster.get(object.reference()).await?;
                let is_same =
                    |live: &Object| ChangeReceipt::from_object(live).as_ref() == Some(receipt);
                live.filter(is_same).ok_or_else(|| taken.into())
            }
            created => Ok(created.map(|(_, live)| live)?),
        }
    }

    /// Updates an existing receipt with the given marks, starting from the known state if there is one. A receipt with
    /// the same content keeps its signature.
    async fn keep(&self, receipt: Value, known: Option<&Object>) -> Result<(), Error> {
        let mut object = Object::new(receipt)?;
        let (manager, force) = (v::manager(), ConflictPolicy::Force);
        let mut known = known.cloned();
        for decision in 1.. {
            let live = match known.take() {
                Some(known) => Some(known),
                None => self.cluster.get(object.reference()).await?,
            };
            object = ChangeReceipt::as_signed(object, live.as_ref())?;
            let written = self.cluster.put(&object, live.as_ref(), &manager, force);
            match written.await {
                Err(kubernetes::Error::Changed { .. }) if decision < limits::DECISIONS => {}
                written => return Ok(written.map(|_| ())?),
            }
        }
        unreachable!("the loop ends at the last decision")
    }

    fn now(&self) -> StatementTime {
        let now = (self.writer.clock)();
        let since = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        // A clock that is wrong by decades must not prevent a rollback.
        StatementTime::from_unix(seconds).unwrap_or(StatementTime::DEFAULT)
    }
}

fn outcome(failed: Option<&Error>) -> Outcome {
    match failed {
        None => Outcome::Done,
        Some(Error::RolledBack { source, .. }) => Outcome::RolledBack(reason(source.as_ref())),
        Some(error) => Outcome::Failed(reason(error)),
    }
}

/// Returns an error with its causes in one line of bounded length.
fn reason(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    printable_within(&text, limits::RECEIPT_REASON)
}

/// The writes of a change.
#[derive(Debug, Default)]
pub(crate) struct WriteLog {
    /// Every object that was created or changed.
    pub(crate) objects: Vec<String>,
    /// Every object that was removed.
    pub(crate) removed: Vec<String>,
    /// The UIDs of the objects that this change has written.
    pub(crate) uids: BTreeMap<ObjectRef, String>,
    /// The changed releases of charts in their current state.
    pub(crate) releases: Vec<ReleaseEntry>,
    /// The number of the receipt. `None` if nothing was changed.
    pub(crate) revision: Option<Revision>,
}

impl WriteLog {
    /// Records the write of an object and sends its event. Does nothing if no object was desired.
    pub(crate) fn written(
        &mut self,
        tell: ProgressSink<'_, Event>,
        object: &ObjectRef,
        applied: Option<ApplyOutcome>,
        after: Option<&Object>,
    ) {
        let Some(applied) = applied else {
            return;
        };
        if let Some(uid) = after.and_then(Object::uid) {
            self.uids.insert(object.clone(), uid.to_owned());
        }
        tell(Event::Object {
            object: object.clone(),
            applied,
        });
        if applied != ApplyOutcome::Unchanged {
            self.objects.push(object.to_string());
        }
    }

    /// Records the deletion of an object and sends its event.
    pub(crate) fn gone(&mut self, tell: ProgressSink<'_, Event>, object: ObjectRef) {
        self.removed.push(object.to_string());
        tell(Event::Removed { object });
    }
}

/// Creates the Events of a change that has ended. After a failure to write one, the remaining ones are skipped and the
/// change still counts as done: a user without the right to create Events may change the cluster, and a namespace may
/// have been deleted.
pub(crate) async fn announce(cluster: &Cluster, receipt: &ChangeReceipt, now: SystemTime) {
    for event in events(receipt, now) {
        let Ok(event) = Object::new(event) else {
            continue;
        };
        let (manager, force) = (v::manager(), ConflictPolicy::Force);
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
fn describe_outcome(
    outcome: &Outcome,
    place: &Transition,
) -> Option<(&'static str, String, String)> {
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
    place: &Transition,
    now: SystemTime,
) -> Option<Value> {
    let (reason, what, more) = describe_outcome(&receipt.outcome, place)?;
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
    use crate::records::receipt::VersionRun;
    use crate::records::receipt::tests::{ran, receipt};

    /// Returns the type, reason, regarded kind and note of the only Event of a change.
    fn describe_outcome(receipt: &ChangeReceipt) -> Option<[String; 4]> {
        let mut events = events(receipt, SystemTime::UNIX_EPOCH);
        let event = events.pop()?;
        assert!(events.is_empty());
        let text = |path: &str| event.pointer(path).unwrap().as_str().unwrap().to_owned();
        Some(["/type", "/reason", "/regarding/kind", "/note"].map(text))
    }

    #[test]
    fn what_changed_for_users_is_told_where_they_look() {
        let [old, new] = ["1.0.0", "1.1.0"].map(|version| Some(ran(version)));
        let tell = |places: [&Option<VersionRun>; 2], outcome| {
            describe_outcome(&receipt(3, places.map(Clone::clone), outcome))
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
        let [.., note] = describe_outcome(&receipt(3, [old, new], why)).unwrap();
        assert!((limits::EVENT_NOTE - 3..=limits::EVENT_NOTE).contains(&note.len()));
    }
}
