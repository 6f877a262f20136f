//! The live objects that a plan is based on, read from the cluster before planning.

use std::collections::BTreeMap;

use deployer::{Object, ObjectIdentity, ObjectRef};

/// The result of reading one object.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
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
pub struct Live(BTreeMap<Key, Seen>);

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

impl Live {
    /// Returns a live object, if it exists and is readable.
    #[must_use]
    pub fn get(&self, object: &ObjectRef) -> Option<&Object> {
        match self.0.get(&object.identity().into()) {
            Some(Seen::There(live)) => Some(live),
            Some(Seen::Absent | Seen::Hidden) | None => None,
        }
    }

    /// Returns true if the user lacks the permission to read an object.
    #[must_use]
    pub fn is_hidden(&self, object: &ObjectRef) -> bool {
        self.0.get(&object.identity().into()) == Some(&Seen::Hidden)
    }
}

impl<'a> FromIterator<(&'a ObjectRef, Seen)> for Live {
    fn from_iter<I: IntoIterator<Item = (&'a ObjectRef, Seen)>>(seen: I) -> Self {
        let seen = seen.into_iter();
        Self(
            seen.map(|(object, seen)| (object.identity().into(), seen))
                .collect(),
        )
    }
}
