//! Pods that a way back leaves behind: their `StatefulSet`s wait for them, and they never become ready, since they are of the
//! version that failed. They are deleted while the way back is waited for: [`Cluster::clear_behind`] says which.
//!
//! [`Cluster::clear_behind`]: deployer::Cluster::clear_behind

use std::collections::BTreeMap;

use deployer::{Attempts, ObjectRef, Restart};
use tokio::time::{Instant, sleep};

use crate::apply::leased::Leased;
use crate::limits;
use crate::model::error::Error;
use crate::model::event::Event;

/// The `StatefulSet`s that are looked at, and what is known of them.
#[derive(Debug)]
pub(crate) struct Behind {
    sets: Vec<ObjectRef>,
    attempts: Attempts,
    found: bool,
}

impl Behind {
    /// Of those among these objects that are `StatefulSet`s and may be taken back meanwhile.
    pub(crate) fn watched<'a>(objects: impl IntoIterator<Item = &'a ObjectRef>) -> Self {
        Self::of(objects, Attempts::Seen(BTreeMap::new()))
    }

    /// Of those that are taken back.
    pub(crate) fn taken_back<'a>(objects: impl IntoIterator<Item = &'a ObjectRef>) -> Self {
        Self::of(objects, Attempts::Any)
    }

    fn of<'a>(objects: impl IntoIterator<Item = &'a ObjectRef>, attempts: Attempts) -> Self {
        let objects = objects.into_iter();
        let is_set = |it: &&ObjectRef| it.gvk.group == "apps" && it.gvk.kind == "StatefulSet";
        Self {
            sets: objects.filter(is_set).cloned().collect(),
            attempts,
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
        let cleared = leased.cluster.clear_behind(&self.sets, &mut self.attempts);
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
