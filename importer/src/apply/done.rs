//! The writes of a change so far.

use std::collections::BTreeMap;

use change::ReleaseEntry;
use deployer::{Applied, Object, ObjectRef};
use watch::Tell;

use crate::model::event::Event;
use crate::model::receipt::Revision;

/// The objects that were written.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// Every object that was created or changed.
    pub(crate) objects: Vec<String>,
    /// Every object that was removed.
    pub(crate) removed: Vec<String>,
    /// The uids of the objects that are there as they were written.
    pub(crate) uids: BTreeMap<ObjectRef, String>,
    /// Releases of charts that were changed, as they are now.
    pub(crate) releases: Vec<ReleaseEntry>,
    /// The number of the receipt; none where nothing was changed.
    pub(crate) revision: Option<Revision>,
}

impl Done {
    /// Notes and tells what became of an object; nothing where nothing was to be made of it.
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

    /// Notes and tells that an object goes.
    pub(crate) fn gone(&mut self, tell: Tell<'_, Event>, object: ObjectRef) {
        self.removed.push(object.to_string());
        tell(Event::Removed { object });
    }
}
