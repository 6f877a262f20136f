//! The objects that a plan is about, as they were read.

use std::collections::BTreeMap;

use deployer::{Object, ObjectIdentity, ObjectRef};

/// The finding under the name of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// The object is there.
    There(Object),
    /// No object of the name is there; or the cluster does not have its kind.
    Absent,
    /// The object cannot be seen: this user may not look.
    Hidden,
}

/// The objects that were looked for, under whatever version of their API.
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
    /// Returns what is there of an object.
    #[must_use]
    pub fn get(&self, object: &ObjectRef) -> Option<&Object> {
        match self.0.get(&object.identity().into()) {
            Some(Seen::There(live)) => Some(live),
            Some(Seen::Absent | Seen::Hidden) | None => None,
        }
    }

    /// Whether this user may not look at an object.
    #[must_use]
    pub fn is_hidden(&self, object: &ObjectRef) -> bool {
        self.0.get(&object.identity().into()) == Some(&Seen::Hidden)
    }
}

impl<'a> FromIterator<(&'a ObjectRef, Seen)> for Live {
    fn from_iter<I: IntoIterator<Item = (&'a ObjectRef, Seen)>>(seen: I) -> Self {
        let seen = seen.into_iter();
        Self(
            seen.map(|(it, seen)| (it.identity().into(), seen))
                .collect(),
        )
    }
}
