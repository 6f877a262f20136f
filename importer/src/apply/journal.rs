//! The receipt of a change in progress: [`Journal::begin`] creates it before the first write, and [`Journal::end`] adds
//! the outcome. A change that does not reach its end is marked as interrupted by the next one. The mark is removed once
//! a later change completes it.

use std::time::SystemTime;

use change::vocabulary as v;
use deployer::{Cluster, Conflicts, Object, Propagation};
use schemas::{StatementTime, printable_within};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::apply::announce::announce;
use crate::apply::done::Done;
use crate::apply::lock::Lock;
use crate::limits;
use crate::model::error::Error;
use crate::model::look::identity;
use crate::model::receipt::{ChangeOrigin, ChangeReceipt, ChangeSubject, Outcome, Revision};
use crate::model::receipts::Receipts;
use crate::model::writer::Writer;

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

    /// Ensures that a receipt exists. Of several concurrent callers, one creates it while the remaining ones wait.
    pub(crate) async fn begin(&self, lock: &Lock) -> Result<(), Error> {
        self.begun.get_or_try_init(|| self.made(lock)).await?;
        Ok(())
    }

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
                Err(Error::Cluster(deployer::Error::Changed { .. }))
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
        done: &Done,
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
        let (manager, force) = (v::manager(), Conflicts::Force);
        match self.cluster.put(&object, None, &manager, force).await {
            Err(taken @ deployer::Error::Changed { .. }) => {
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
        let (manager, force) = (v::manager(), Conflicts::Force);
        let mut known = known.cloned();
        for decision in 1.. {
            let live = match known.take() {
                Some(known) => Some(known),
                None => self.cluster.get(object.reference()).await?,
            };
            object = ChangeReceipt::as_signed(object, live.as_ref())?;
            let written = self.cluster.put(&object, live.as_ref(), &manager, force);
            match written.await {
                Err(deployer::Error::Changed { .. }) if decision < limits::DECISIONS => {}
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
