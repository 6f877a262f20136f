//! Writes the receipt of a change: begun before its first write, ended with what became of it.

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

/// The receipt of a change that goes on under its Leases.
///
/// It exists from right before the first write that changes anything, so that a change that changes nothing leaves none,
/// and says that it has begun until the change ends. A change that is killed therefore stands in the history as begun, and
/// the next one that writes anything notes that it was interrupted: nobody holds its Leases any more.
///
/// Several changes may be under way. A receipt is created, so that each number is one change's, and needs no Lease.
pub(crate) struct Journal<'a> {
    cluster: &'a Cluster,
    writer: &'a Writer,
    subject: ChangeSubject,
    begun: OnceCell<Begun>,
}

struct Begun {
    receipt: ChangeReceipt,
    /// The receipt as it is stored.
    live: Object,
    /// The receipts of the changes before.
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

    /// Whether there is a receipt.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.initialized()
    }

    /// Makes sure that there is a receipt. Of several who want one at the same time, one makes it and the others wait.
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
                // Another change has taken the number.
                Err(Error::Cluster(deployer::Error::Changed { .. }))
                    if attempt < limits::DECISIONS =>
                {
                    continue;
                }
                created => created?,
            };
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

    /// Returns the receipts with what is known of the changes that others are making: they hold their Leases.
    async fn with_others(&self, mut receipts: Receipts, lock: &Lock) -> Result<Receipts, Error> {
        let begun: Vec<_> = receipts
            .begun()
            .map(|it| (it.revision, it.subject.environments()))
            .collect();
        for (revision, environments) in begun {
            let at_work = lock.is_at_work(&environments, self.cluster, self.writer);
            if at_work.await? {
                receipts = receipts.at_work(revision);
            }
        }
        Ok(receipts)
    }

    /// Ends the receipt, if there is one, and tells the cluster's users of what it says. Returns its number.
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
        let receipt = receipt.clone();
        let receipt = receipt.ended(outcome(failed), &done.objects, &done.removed);
        self.keep(receipt.to_object(self.writer.seal.as_ref()), Some(live))
            .await?;
        for object in earlier.surplus() {
            // Whoever may not delete them leaves them to the next one.
            let removed = self.cluster.delete(&object, Propagation::Background, None);
            if removed.await.is_err() {
                break;
            }
        }
        announce(self.cluster, &receipt, (self.writer.clock)()).await;
        Ok(Some(receipt.revision))
    }

    /// Takes the mark from the receipts of earlier changes that were incomplete and are made up for by this one, also if it
    /// found nothing more to change.
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
                let settled = earlier.clone().interrupted();
                let settled = settled.to_settled_object(self.writer.seal.as_ref());
                self.keep(settled, None).await?;
            }
        }
        Ok(())
    }

    /// Creates the object, and never applies it: one of the same number is another change's, unless it says the very
    /// same. Then the answer to the creation was lost, and it was sent once more.
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

    /// Writes a receipt that is there, perhaps as is known here, with its marks as they are to be. One that says the same
    /// stays as it was signed.
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
        // A clock that is wrong by decades keeps nobody from undoing a change.
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

/// An error with its causes, in one line of bounded length.
fn reason(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    printable_within(&text, limits::RECEIPT_REASON)
}
