//! The rollback of a plan whose version did not become ready. Objects of the previous version are restored from the
//! live objects that the plan observed, because the previous archive may no longer be available.

use std::collections::BTreeMap;

use kubernetes::{Object, ObjectError, ObjectRef};
use schemas::SolutionName;

use crate::applied::without_server_fields;
use crate::form::started;
use crate::inventory::{Entry, Inventory};
use crate::plan::Plan;
use crate::release_change::ReleaseRollback;
use crate::webhook::{asks_nobody, without_injected};

/// The operations that roll a plan back.
#[derive(Clone, Debug)]
pub struct RollbackPlan {
    /// The releases to roll back or uninstall, in this order.
    pub releases: Vec<ReleaseRollback>,
    /// The objects to restore afterwards, in the order to apply them. Objects that run once are left out, since they
    /// have already run.
    pub objects: Vec<Object>,
    /// The entries that the plan added, whose objects are removed. An interrupted plan may not have created all of
    /// them, and an object that runs once may still be the previous one.
    pub brought: Inventory,
    /// The objects of the parts among them that must become ready again.
    pub awaited: Vec<ObjectRef>,
}

impl Plan {
    /// Returns the rollback of this plan. An object that another actor recreated under a recorded name is not restored.
    pub fn inverse(&self, solution: &SolutionName) -> Result<RollbackPlan, ObjectError> {
        let live: BTreeMap<_, &Object> = self
            .live()
            .map(|live| (live.reference().identity(), live))
            .collect();
        let (mut objects, mut awaited) = (Vec::new(), Vec::new());
        for entry in self
            .before
            .entries
            .iter()
            .filter(|entry| entry.inputs.is_none())
        {
            let reference = entry.reference();
            let live = live.get(&reference.identity());
            let Some(live) = live.filter(|live| entry.check(live, solution).is_ok()) else {
                continue;
            };
            if entry.part.is_some() && entry.is_awaited() && asks_nobody(live) {
                awaited.push(live.reference().clone());
            }
            objects.push(as_asked_for(live)?);
        }
        let mut brought = self.inventory.brought_after(&self.before);
        // An object that existed before was taken over from another part or owner, and is not the plan's to delete.
        let goes = |entry: &Entry| entry.inputs.is_some() || !self.was_there(&entry.reference());
        brought.entries.retain(goes);
        let releases = self.releases.iter().rev();
        Ok(RollbackPlan {
            releases: releases
                .filter_map(|change| change.inverse(&self.before))
                .collect(),
            objects,
            brought,
            awaited,
        })
    }
}

/// Returns an object with the fields that were requested before the plan. An interrupted attempt may have scaled it to
/// zero, so its number of replicas is restored.
fn as_asked_for(live: &Object) -> Result<Object, ObjectError> {
    started(Object::new(without_server_fields(without_injected(live)))?)
}
