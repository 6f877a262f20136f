//! The record of the writes that a change has made so far.

use std::collections::BTreeMap;

use change::ReleaseEntry;
use deployer::{Applied, Object, ObjectRef};
use watch::Tell;

use crate::model::event::Event;
use crate::model::receipt::Revision;

/// The writes of a change.
#[derive(Debug, Default)]
pub(crate) struct Done {
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

impl Done {
    /// Records the write of an object and sends its event. Does nothing if no object was desired.
    pub(crate) fn written(
        &mut self,
        tell: Tell<'_, Event>,
        object: &ObjectRef,
        applied: Option<Applied>,
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
        if applied != Applied::Unchanged {
            self.objects.push(object.to_string());
        }
    }

    /// Records the deletion of an object and sends its event.
    pub(crate) fn gone(&mut self, tell: Tell<'_, Event>, object: ObjectRef) {
        self.removed.push(object.to_string());
        tell(Event::Removed { object });
    }
}
