//! An object in the state that a part of a Solution requires. It has the rule by which the live object is recognized,
//! because a name alone does not prove ownership.

use kubernetes::{Object, ObjectRef};
use manifests::ObjectKinds;
use schemas::SetName;

use crate::inventory::Entry;
use crate::stage::Stage;
use crate::vocabulary as v;

/// An object that a part of the Solution requires in the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredObject {
    /// The set or chart release that contains the object. `None` for the operator.
    pub part: Option<SetName>,
    /// The stage in which the object is applied.
    pub stage: Stage,
    /// The rule by which a live object is recognized as this one.
    pub ownership: Ownership,
    /// The plural name of the kind, as in URLs and RBAC rules.
    pub resource: String,
    /// The object to apply.
    pub object: Object,
}

/// The rule by which a live object is recognized as the Solution's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// The object is recognized by its UID in the inventory.
    Recorded,
    /// The object is recognized by its name and has no inventory entry. The pull secret has its own rule for its
    /// removal, and a record names its subject itself.
    Named,
    /// The object is recognized by its UID, and content written by other actors is never accepted: another object with
    /// the same name is replaced. A Secret with sensitive parameters is read back at the next change, so a forged one
    /// would change the parameters.
    Sensitive,
    /// The object belongs to the namespace, and the Solution only adds fields to it. This is the `default`
    /// ServiceAccount.
    Shared,
}

impl DesiredObject {
    /// Creates an object of a set, or one that a release needs before Helm installs it. `kinds` are the custom kinds
    /// that the version defines.
    #[must_use]
    pub fn of_part(part: SetName, object: Object, kinds: &ObjectKinds) -> Self {
        Self::new(Some(part), Ownership::Recorded, object, kinds)
    }

    /// Creates an object of the operator.
    #[must_use]
    pub fn of_operator(object: Object) -> Self {
        let labels = object.labels();
        // The pull secret and the records have their own rules, see [`Ownership::Named`].
        let is_ours = labels.contains_key(v::SOLUTION) && !labels.contains_key(v::RECORD);
        let ownership = if is_ours && object.gvk().kind != "Secret" {
            Ownership::Recorded
        } else {
            Ownership::Named
        };
        Self::new(None, ownership, object, &ObjectKinds::default())
    }

    fn new(
        part: Option<SetName>,
        ownership: Ownership,
        object: Object,
        kinds: &ObjectKinds,
    ) -> Self {
        let (group, kind) = (&object.gvk().group, &object.gvk().kind);
        Self {
            part,
            stage: Stage::from_object(&object, kinds),
            ownership: if is_default_account(object.reference()) {
                Ownership::Shared
            } else {
                ownership
            },
            resource: kinds.resource(group, kind),
            object,
        }
    }

    /// Returns the inventory entry of the object before it is created, or `None` if the inventory does not list it.
    #[must_use]
    pub fn entry(&self) -> Option<Entry> {
        let is_entry = match self.ownership {
            Ownership::Recorded | Ownership::Sensitive => true,
            // A set may contain the account itself. The operator only adds its pull secret to it.
            Ownership::Shared => self.part.is_some(),
            Ownership::Named => false,
        };
        is_entry.then(|| self.to_entry())
    }

    /// Returns the object as an entry, even if the inventory does not list it.
    #[must_use]
    pub fn to_entry(&self) -> Entry {
        let object = &self.object;
        Entry {
            part: self.part.clone(),
            stage: self.stage,
            api_version: object.gvk().api_version(),
            kind: object.gvk().kind.clone(),
            resource: self.resource.clone(),
            namespace: object.namespace().map(str::to_owned),
            name: object.name().to_owned(),
            inputs: object.annotations().get(v::INPUTS).map(ToString::to_string),
            uid: None,
        }
    }

    /// Returns true for the namespace's `default` ServiceAccount to which the operator adds its pull secret. Its other
    /// fields are read again when it is written.
    #[must_use]
    pub fn is_the_namespaces(&self) -> bool {
        self.ownership == Ownership::Shared && self.part.is_none()
    }

    /// Returns true for the record of a namespace administrator, which states that all other objects exist.
    #[must_use]
    pub(crate) fn is_record(&self) -> bool {
        self.object.labels().contains_key(v::RECORD)
    }
}

fn is_default_account(object: &ObjectRef) -> bool {
    object.gvk.kind == "ServiceAccount" && object.name == "default"
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_inventory_names_what_is_the_deployments_alone() {
        let own = |kind: &str, name: &str, labels: Value| {
            let metadata = json!({ "name": name, "namespace": "ns", "labels": labels });
            let object = json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata });
            DesiredObject::of_operator(Object::new(object).unwrap())
        };
        let ours = json!({ v::SOLUTION: "shop" });
        let objects = [
            own("ConfigMap", "a", ours.clone()),
            own("Secret", "a", ours),
            own("ServiceAccount", "default", json!({})),
            own(
                "ConfigMap",
                "b",
                json!({ v::SOLUTION: "shop", v::RECORD: "own" }),
            ),
        ];
        let ownerships = objects.each_ref().map(|object| object.ownership);
        let expected = [
            Ownership::Recorded,
            Ownership::Named,
            Ownership::Shared,
            Ownership::Named,
        ];
        assert_eq!(ownerships, expected);
        let entries: Vec<Entry> = objects.iter().filter_map(DesiredObject::entry).collect();
        let names: Vec<&str> = entries.iter().map(|entry| entry.kind.as_str()).collect();
        assert_eq!(names, ["ConfigMap"]);
    }
}
