//! Writes the receipt of a change: begun after its first write, ended with what became of it.

use std::time::SystemTime;

use deployer::{Cluster, Conflicts, Object, Propagation};
use schemas::{StatementTime, printable_within};

use crate::apply::announce::announce;
use crate::apply::leased::Done;
use crate::limits;
use crate::model::error::Error;
use crate::model::receipt::{ChangeReceipt, ChangeSubject, Outcome, Receipts, Revision};
use crate::model::vocabulary as v;
use crate::model::writer::Writer;

/// The receipt of a change that goes on under the Lease.
///
/// It exists from the first write on, so that a change that changes nothing leaves none, and says that it has begun
/// until the change ends. A change that is killed therefore stands in the history as begun, and the next one that
/// writes anything notes that it was interrupted. Only a kill after the very first write and before the receipt is
/// there leaves nothing; running the command again then leaves a receipt with what ran before, since that is read from
/// the records, which change last.
pub(crate) struct Journal<'a> {
    cluster: &'a Cluster,
    writer: &'a Writer,
    subject: ChangeSubject,
    begun: Option<Begun>,
}

struct Begun {
    receipt: ChangeReceipt,
    /// Those of the changes before.
    earlier: Receipts,
}

impl<'a> Journal<'a> {
    pub(crate) fn new(cluster: &'a Cluster, writer: &'a Writer, subject: ChangeSubject) -> Self {
        Self {
            cluster,
            writer,
            subject,
            begun: None,
        }
    }

    /// Makes sure that there is a receipt.
    pub(crate) async fn begin(&mut self) -> Result<(), Error> {
        if self.begun.is_some() {
            return Ok(());
        }
        let earlier = Receipts::read(self.cluster).await?;
        let by = self.writer.person.clone();
        let (subject, previous) = (self.subject.clone(), earlier.newest());
        let receipt = ChangeReceipt::new(earlier.next(), self.now(), by, previous, subject);
        let object = self.object(&receipt)?;
        let (manager, force) = (v::manager(), Conflicts::Force);
        // Created, never applied: one of the same number is another change's.
        self.cluster.put(&object, None, &manager, force).await?;
        for interrupted in earlier.interrupted() {
            self.keep(&interrupted).await?;
        }
        self.begun = Some(Begun { receipt, earlier });
        Ok(())
    }

    /// Ends the receipt, if there is one, and tells the cluster's users of what it says. Returns its number.
    pub(crate) async fn end(
        self,
        failed: Option<&Error>,
        done: &Done,
    ) -> Result<Option<Revision>, Error> {
        let Some(Begun { receipt, earlier }) = &self.begun else {
            return Ok(None);
        };
        let receipt = receipt.clone();
        let receipt = receipt.ended(outcome(failed), &done.objects, &done.removed);
        self.keep(&receipt).await?;
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

    async fn keep(&self, receipt: &ChangeReceipt) -> Result<(), Error> {
        let object = self.object(receipt)?;
        let (manager, force) = (v::manager(), Conflicts::Force);
        self.cluster.apply(&object, &manager, force).await?;
        Ok(())
    }

    fn object(&self, receipt: &ChangeReceipt) -> Result<Object, Error> {
        Ok(Object::new(receipt.to_object(self.writer.seal.as_ref()))?)
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
