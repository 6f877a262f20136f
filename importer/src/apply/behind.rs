//! Pods that a version which failed leaves behind: their `StatefulSet`s wait for them, and they never become ready. They are
//! deleted while the sets are waited for, whoever took that version back: [`Cluster::clear_behind`] says which.
//!
//! [`Cluster::clear_behind`]: deployer::Cluster::clear_behind

use deployer::{ObjectRef, Restart};
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
}

impl Behind {
    /// Returns the sets among these objects.
    pub(crate) fn of<'a>(objects: impl IntoIterator<Item = &'a ObjectRef>) -> Self {
        let objects = objects.into_iter();
        let is_set = |it: &&ObjectRef| it.gvk.group == "apps" && it.gvk.kind == "StatefulSet";
        Self {
            sets: objects.filter(is_set).cloned().collect(),
            found: false,
        }
    }

    /// Whether any pod was left behind and is deleted, also one of a set whose controller is only about to see where it is
    /// to go.
    pub(crate) async fn has_found(&mut self, leased: &Leased<'_>) -> bool {
        let end = Instant::now() + limits::RELEASE_LOOK;
        while !self.found && Instant::now() < end {
            self.look(leased).await;
            sleep(limits::SERVED_POLL).await;
        }
        self.found
    }

    /// Looks once, and deletes what is left behind.
    pub(crate) async fn look(&mut self, leased: &Leased<'_>) {
        if self.sets.is_empty() {
            return;
        }
        let cleared = leased.cluster.clear_behind(&self.sets);
        // A look is a help: whoever waits for the way back says what is wrong.
        for (pod, restart) in cleared.await.unwrap_or_default() {
            self.found |= restart == Restart::Done;
            (leased.tell)(Event::Behind { pod, restart });
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
        tokio::select! {
            done = work => Ok(done),
            lost = looks => lost,
        }
    }
}
