//! Pods that a version which failed leaves behind: their `StatefulSet`s wait for them, and they never become ready. They are
//! deleted while the sets are waited for, whoever took that version back: [`Cluster::clear_behind`] says which.
//!
//! [`Cluster::clear_behind`]: deployer::Cluster::clear_behind

use deployer::{Cleared, ObjectRef, Restart};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::apply::leased::Leased;
use crate::limits;
use crate::model::error::Error;
use crate::model::event::Event;

/// The `StatefulSet`s that are looked at.
#[derive(Debug)]
pub(crate) struct Behind {
    sets: Vec<ObjectRef>,
    found: bool,
    /// A look that is under way. Whoever waits for it may have to do something else first, while a pod is being deleted: the
    /// next one that waits is told of it.
    looking: Option<JoinHandle<Result<Cleared, deployer::Error>>>,
}

impl Behind {
    /// Returns the sets among these objects.
    pub(crate) fn of<'a>(objects: impl IntoIterator<Item = &'a ObjectRef>) -> Self {
        let objects = objects.into_iter();
        let is_set = |it: &&ObjectRef| it.gvk.group == "apps" && it.gvk.kind == "StatefulSet";
        Self {
            sets: objects.filter(is_set).cloned().collect(),
            found: false,
            looking: None,
        }
    }

    /// Whether any pod was left behind and is deleted, once the controllers of all sets have seen where they are to go.
    pub(crate) async fn has_found(&mut self, leased: &Leased<'_>) -> Result<bool, Error> {
        let end = Instant::now() + limits::OBSERVED;
        while !self.found && self.look(leased).await && Instant::now() < end {
            leased.lock.check()?;
            sleep(limits::SERVED_POLL).await;
        }
        Ok(self.found)
    }

    /// Looks once, and deletes what is left behind. Returns whether another look could find more.
    pub(crate) async fn look(&mut self, leased: &Leased<'_>) -> bool {
        if self.sets.is_empty() {
            return false;
        }
        let looking = self.looking.get_or_insert_with(|| {
            let (cluster, sets) = (leased.cluster.clone(), self.sets.clone());
            tokio::spawn(async move { cluster.clear_behind(&sets).await })
        });
        let looked = looking.await;
        self.looking = None;
        // A look is a help: whoever waits for the way back says what is wrong.
        let Ok(Ok(cleared)) = looked else {
            return false;
        };
        for (pod, restart) in cleared.pods {
            self.found |= restart == Restart::Done;
            (leased.tell)(Event::Behind { pod, restart });
        }
        cleared.is_early
    }

    /// Waits for a look that is under way, if there is one, and tells of it.
    pub(crate) async fn end(&mut self, leased: &Leased<'_>) {
        if self.looking.is_some() {
            self.look(leased).await;
        }
    }

    /// Looks until this work is done. A Lease that is lost meanwhile ends it.
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
