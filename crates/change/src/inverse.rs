//! The way back of a plan that does not come to run. What ran before is put back as it was seen: the archive that it came
//! from may be gone.

use std::collections::BTreeMap;

use deployer::{Object, ObjectError, ObjectRef};
use schemas::SolutionName;

use crate::applied::without_server_fields;
use crate::form::started;
use crate::inventory::{Entry, Inventory};
use crate::plan::Plan;
use crate::release_change::ReleaseReturn;
use crate::webhook::{asks_nobody, without_injected};

/// The way back of a plan.
#[derive(Clone, Debug)]
pub struct Inverse {
    /// The releases that return to what they were, or go, in this order.
    pub releases: Vec<ReleaseReturn>,
    /// The objects that are put back then, in the order to apply them; but for those that run once, which have run.
    pub objects: Vec<Object>,
    /// The entries that the plan brought, and that go. It may not have come so far, and an object that runs once may be
    /// that of before.
    pub brought: Inventory,
    /// The objects among them that have to work, by the parts that they are of.
    pub awaited: Vec<ObjectRef>,
}

impl Plan {
    /// Returns the way back from what this plan brings. What somebody made anew under a recorded name is not put back.
    pub fn inverse(&self, solution: &SolutionName) -> Result<Inverse, ObjectError> {
        let live: BTreeMap<_, &Object> = self
            .live()
            .map(|live| (live.reference().identity(), live))
            .collect();
        let (mut objects, mut awaited) = (Vec::new(), Vec::new());
        for entry in self.before.entries.iter().filter(|it| it.inputs.is_none()) {
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
        // What was there was taken over, from another part or from others.
        let goes = |it: &Entry| it.inputs.is_some() || !self.was_there(&it.reference());
        brought.entries.retain(goes);
        let releases = self.releases.iter().rev();
        Ok(Inverse {
            releases: releases.filter_map(|it| it.inverse(&self.before)).collect(),
            objects,
            brought,
            awaited,
        })
    }
}

/// Returns an object as it was asked for, before anything was changed; an attempt that was interrupted may have stopped it.
fn as_asked_for(live: &Object) -> Result<Object, ObjectError> {
    started(Object::new(without_server_fields(without_injected(live)))?)
}
