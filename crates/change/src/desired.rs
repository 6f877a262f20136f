//! An object as a part of a Solution wants it.

use deployer::{Object, ObjectRef};
use manifests::ObjectKinds;
use schemas::SetName;

use crate::inventory::Entry;
use crate::stage::Stage;
use crate::vocabulary as v;

/// An object that a part wants to be there.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredObject {
    /// The set or the release of a chart that brings it; none for the operator.
    pub part: Option<SetName>,
    /// The stage in which it is brought.
    pub stage: Stage,
    /// The way in which it is known once it is there.
    pub tenure: Tenure,
    /// The name of its kind in URLs and rules.
    pub resource: String,
    /// The object, as it is applied.
    pub object: Object,
}

/// The way in which an object is known to be a Solution's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tenure {
    /// The object is known by its uid, which the inventory names.
    Recorded,
    /// The object is known by its name: it is no entry of the inventory. A login has its own rule for when it goes, and
    /// a record says itself what it is about.
    Named,
    /// The object is known by its uid, and nothing that others wrote is ever believed: what has its name and is another
    /// one is removed. A Secret of sensitive parameters is read again at the next change.
    Sensitive,
    /// The object is the namespace's, and the Solution only adds fields: the account that pods have by default.
    Shared,
}

impl DesiredObject {
    /// An object of a set, or one that a release needs before Helm brings the rest. `kinds` are those that the version
    /// defines.
    #[must_use]
    pub fn of_part(part: SetName, object: Object, kinds: &ObjectKinds) -> Self {
        Self::new(Some(part), Tenure::Recorded, object, kinds)
    }

    /// An object of the operator.
    #[must_use]
    pub fn of_operator(object: Object) -> Self {
        let labels = object.labels();
        let is_ours = labels.contains_key(v::SOLUTION) && !labels.contains_key(v::RECORD);
        let tenure = if is_ours && object.gvk().kind != "Secret" {
            Tenure::Recorded
        } else {
            Tenure::Named
        };
        Self::new(None, tenure, object, &ObjectKinds::default())
    }

    fn new(part: Option<SetName>, tenure: Tenure, object: Object, kinds: &ObjectKinds) -> Self {
        let (group, kind) = (&object.gvk().group, &object.gvk().kind);
        Self {
            part,
            stage: Stage::of(&object, kinds),
            tenure: if is_default_account(object.reference()) {
                Tenure::Shared
            } else {
                tenure
            },
            resource: kinds.resource(group, kind),
            object,
        }
    }

    /// Returns what the inventory says of it before it is there, if it is an entry.
    #[must_use]
    pub fn entry(&self) -> Option<Entry> {
        let is_entry = match self.tenure {
            Tenure::Recorded | Tenure::Sensitive => true,
            Tenure::Shared => self.part.is_some(),
            Tenure::Named => false,
        };
        is_entry.then(|| self.to_entry())
    }

    /// Returns it as an entry, whether or not an inventory names it.
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

    /// Whether it is the namespace's account that pods have by default, to which the operator adds what they pull with. What
    /// else is in it is read again when it is written.
    #[must_use]
    pub fn is_the_namespaces(&self) -> bool {
        self.tenure == Tenure::Shared && self.part.is_none()
    }

    /// Whether it is the record of who administers one namespace alone, which says that all else is there.
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
        let tenures = objects.each_ref().map(|it| it.tenure);
        let expected = [
            Tenure::Recorded,
            Tenure::Named,
            Tenure::Shared,
            Tenure::Named,
        ];
        assert_eq!(tenures, expected);
        let entries: Vec<Entry> = objects.iter().filter_map(DesiredObject::entry).collect();
        let names: Vec<&str> = entries.iter().map(|it| it.kind.as_str()).collect();
        assert_eq!(names, ["ConfigMap"]);
    }
}
