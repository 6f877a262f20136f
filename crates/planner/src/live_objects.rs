//! The live objects that a plan is based on, read from the cluster before planning. Planning itself makes no requests,
//! so that a plan depends only on its inputs.

use std::collections::BTreeMap;

use kubernetes::{Object, ObjectIdentity, ObjectRef};

/// The result of reading one object.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadResult {
    /// The object exists.
    There(Object),
    /// The object does not exist, or the cluster does not serve its kind.
    Absent,
    /// The user lacks the permission to read the object.
    Hidden,
}

/// The objects that were read, by group, kind, namespace and name. The version of the API is ignored, so that an object
/// is found under any of its versions.
#[derive(Clone, Debug, Default)]
pub struct LiveObjects(BTreeMap<Key, ReadResult>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    group: String,
    kind: String,
    namespace: Option<String>,
    name: String,
}

impl From<ObjectIdentity<'_>> for Key {
    fn from(identity: ObjectIdentity<'_>) -> Self {
        Self {
            group: identity.group.to_owned(),
            kind: identity.kind.to_owned(),
            namespace: identity.namespace.map(str::to_owned),
            name: identity.name.to_owned(),
        }
    }
}

impl LiveObjects {
    /// Returns a live object, if it exists and is readable.
    #[must_use]
    pub fn get(&self, object: &ObjectRef) -> Option<&Object> {
        match self.0.get(&object.identity().into()) {
            Some(ReadResult::There(live)) => Some(live),
            Some(ReadResult::Absent | ReadResult::Hidden) | None => None,
        }
    }

    /// Returns true if the user lacks the permission to read an object.
    #[must_use]
    pub fn is_hidden(&self, object: &ObjectRef) -> bool {
        self.0.get(&object.identity().into()) == Some(&ReadResult::Hidden)
    }
}

impl<'a> FromIterator<(&'a ObjectRef, ReadResult)> for LiveObjects {
    fn from_iter<I: IntoIterator<Item = (&'a ObjectRef, ReadResult)>>(seen: I) -> Self {
        let seen = seen.into_iter();
        Self(
            seen.map(|(object, seen)| (object.identity().into(), seen))
                .collect(),
        )
    }
}
