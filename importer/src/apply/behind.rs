//! Pods that a failed version leaves behind: their `StatefulSet`s wait for them, and they never become ready. They are
//! deleted while the sets are awaited after a rollback. [`Cluster::clear_behind`] decides which pods these are.
//!
//! [`Cluster::clear_behind`]: deployer::Cluster::clear_behind

use deployer::{Cleared, ObjectRef, Restart};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::apply::leased::Leased;
use crate::limits;
use crate::model::error::Error;
use crate::model::event::Event;

/// The `StatefulSet`s to inspect.
#[derive(Debug)]
pub(crate) struct Behind {
    sets: Vec<ObjectRef>,
    found: bool,
    looking: UnderWay<Result<Cleared, deployer::Error>>,
}

/// Work that continues if its caller is cancelled. The next caller that waits receives the outcome.
#[derive(Debug)]
struct UnderWay<T>(Option<JoinHandle<T>>);

impl<T: Send + 'static> UnderWay<T> {
    /// Waits for the work under way, or starts this work. Returns `None` if the work panicked.
    async fn or<F: Future<Output = T> + Send + 'static>(
        &mut self,
        begin: impl FnOnce() -> F,
    ) -> Option<T> {
        let Self(work) = self;
        let done = work.get_or_insert_with(|| tokio::spawn(begin())).await;
        *work = None;
        done.ok()
    }

    fn is_there(&self) -> bool {
        self.0.is_some()
    }
}

impl Behind {
    /// Returns the `StatefulSet`s among these objects.
    pub(crate) fn of<'a>(objects: impl IntoIterator<Item = &'a ObjectRef>) -> Self {
        let objects = objects.into_iter();
        let is_set =
            |object: &&ObjectRef| object.gvk.group == "apps" && object.gvk.kind == "StatefulSet";
        Self {
            sets: objects.filter(is_set).cloned().collect(),
            found: false,
            looking: UnderWay(None),
        }
    }

    /// Checks whether any pod was left behind and deleted, after the controllers of all sets have observed their
    /// objects.
    pub(crate) async fn has_found(&mut self, leased: &Leased<'_>) -> Result<bool, Error> {
        let end = Instant::now() + limits::OBSERVED;
        while !self.found && self.look(leased).await && Instant::now() < end {
            leased.lock.check()?;
            sleep(limits::SERVED_POLL).await;
        }
        Ok(self.found)
    }

    /// Inspects the sets once and deletes pods that are left behind. Returns whether another inspection could find
    /// more.
    pub(crate) async fn look(&mut self, leased: &Leased<'_>) -> bool {
        if self.sets.is_empty() {
            return false;
        }
        let looked = self.looking.or(|| {
            let (cluster, sets) = (leased.cluster.clone(), self.sets.clone());
            async move { cluster.clear_behind(&sets).await }
        });
        // The cleanup is an aid only: the wait for the rollback itself reports errors.
        let Some(Ok(cleared)) = looked.await else {
            return false;
        };
        for (pod, restart) in cleared.pods {
            self.found |= restart == Restart::Done;
            (leased.tell)(Event::Behind { pod, restart });
        }
        cleared.is_early
    }

    /// Waits for an inspection under way, if there is one, and reports its result.
    pub(crate) async fn end(&mut self, leased: &Leased<'_>) {
        if self.looking.is_there() {
            self.look(leased).await;
        }
    }

    /// Inspects the sets until the work is done. Losing the Lease ends it early.
    pub(crate) async fn during<T>(
        &mut self,
        leased: &Leased<'_>,
        work: impl Future<Output = T>,
    ) -> Result<T, Error> {
        let looks = async {
            loop {
                leased.lock.check()?;
                self.look(leased).await;
                sleep(limits::RELEASE_LOOK).await;
            }
        };
        let done = tokio::select! {
            done = work => Ok(done),
            lost = looks => lost,
        };
        self.end(leased).await;
        done
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn what_nobody_waited_for_is_told_to_the_next() {
        let (tell, told) = oneshot::channel();
        let mut work = UnderWay(None);
        {
            let waiting = work.or(|| told);
            tokio::select! {
                biased;
                _ = waiting => panic!("it is not done"),
                () = std::future::ready(()) => {}
            }
        }
        assert!(work.is_there());
        tell.send("first").unwrap();
        let other = || async { Ok("second") };
        assert_eq!(work.or(other).await, Some(Ok("first")));
        assert!(!work.is_there());
        assert_eq!(work.or(other).await, Some(Ok("second")));
    }
}
