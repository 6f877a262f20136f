//! The removal of recorded objects and its order: webhooks first, because they could reject the other deletions, then
//! custom resources that need their controllers to finalize them, then workloads, then the data that workloads read.
//! Objects with data and namespaces of other owners are kept.

use std::collections::BTreeMap;

use kubernetes::{Object, ObjectRef};
use schemas::SolutionName;
use serde_json::{Value, json};

use crate::inventory::{Entry, Inventory};
use crate::live_objects::LiveObjects;
use crate::stage::{Stage, intercepts};
use crate::vocabulary as v;

/// The decisions about recorded objects in a removal.
#[derive(Clone, Debug, Default)]
pub struct Removal {
    /// The entries whose objects are deleted, in order. Entries of objects that the user may not read are included.
    pub going: Vec<Entry>,
    /// The live objects of these entries.
    pub live: Vec<Object>,
    /// The entries whose objects are kept, each with the reason.
    pub staying: Vec<(Entry, KeepReason)>,
    /// The live objects that have the name of a recorded object, but are not the ones that were applied.
    pub left: Vec<ObjectRef>,
}

/// The reason why an object is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepReason {
    /// The object is a namespace that existed before the deployment.
    WasThere,
    /// The object holds data.
    HoldsData,
}

impl Inventory {
    /// Returns the decisions about all entries. `goes` selects the existing objects that the removal is about.
    #[must_use]
    pub fn removal(
        &self,
        live: &LiveObjects,
        solution: &SolutionName,
        goes: impl Fn(&Entry, &Object) -> bool,
    ) -> Removal {
        let mut removal = Removal::default();
        for entry in &self.entries {
            let reference = entry.reference();
            if live.is_hidden(&reference) {
                // It is unknown whether the object exists, so the removal has to include it.
                removal.going.push(entry.clone());
                continue;
            }
            let Some(live) = live.get(&reference).filter(|live| goes(entry, live)) else {
                continue;
            };
            if entry.check(live, solution).is_err() {
                removal.left.push(reference);
            } else if let Some(why) = entry.keep_reason(live) {
                removal.staying.push((entry.clone(), why));
            } else {
                removal.going.push(entry.clone());
                removal.live.push(live.clone());
            }
        }
        removal.going.sort_by_key(DeletionOrder::from_entry);
        removal
    }

    /// Checks whether a webhook configuration or `APIService` calls one of the recorded Services.
    #[must_use]
    pub fn is_called_by(&self, live: &Object) -> bool {
        let value = live.as_value();
        let webhooks = value["webhooks"].as_array().into_iter().flatten();
        let services = webhooks.map(|webhook| &webhook["clientConfig"]["service"]);
        let mut called = services.chain([&value["spec"]["service"]]);
        called.any(|service| {
            self.entries.iter().any(|entry| {
                entry.is_service()
                    && service["name"] == entry.name.as_str()
                    && entry.namespace.as_deref() == service["namespace"].as_str()
            })
        })
    }
}

impl Entry {
    /// Returns the reason to keep an object, if it is known before the removal starts.
    #[must_use]
    pub fn keep_reason(&self, live: &Object) -> Option<KeepReason> {
        match self.stage {
            Stage::Space if !live.annotations().contains_key(v::CREATED) => {
                Some(KeepReason::WasThere)
            }
            Stage::Data if self.kind == "PersistentVolumeClaim" => Some(KeepReason::HoldsData),
            _ => None,
        }
    }
}

/// The position of an object in the order of deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeletionOrder {
    /// The object is called for requests to the API server, and could reject later deletions.
    Interceptor,
    /// The object is a custom resource, whose finalizers may need the Solution's workloads.
    Resource,
    /// The object is a workload.
    Workload,
    /// The object is read by workloads.
    Data,
    /// The object is a CustomResourceDefinition.
    Definition,
    /// The object is a namespace.
    Space,
}

impl DeletionOrder {
    /// Returns the position of an entry's object.
    #[must_use]
    pub fn from_entry(entry: &Entry) -> Self {
        match entry.stage {
            _ if intercepts(&entry.reference()) => Self::Interceptor,
            Stage::Resource => Self::Resource,
            Stage::Workload => Self::Workload,
            Stage::Data => Self::Data,
            Stage::Definition => Self::Definition,
            Stage::Space => Self::Space,
        }
    }
}

/// Returns a namespace that is kept at a removal, without the project's labels and annotations. A namespace that the
/// deployment created keeps those by which the same Solution recognizes it, but no longer belongs to an environment.
#[must_use]
pub fn without_marks(live: &Object) -> Value {
    let mut metadata = json!({ "name": live.name() });
    if live.annotations().contains_key(v::CREATED) {
        metadata["annotations"] = json!({ v::CREATED: "true" });
        let labels = live.labels().into_iter();
        let known = labels.filter(|(name, _)| [v::SOLUTION, v::NAMESPACE].contains(name));
        metadata["labels"] = json!(known.collect::<BTreeMap<_, _>>());
    }
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(stage: Stage, api_version: &str, kind: &str, name: &str) -> Entry {
        Entry {
            part: Some("main".parse().unwrap()),
            stage,
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            resource: String::new(),
            namespace: Some("own".to_owned()),
            name: name.to_owned(),
            inputs: None,
            uid: None,
        }
    }

    #[test]
    fn what_could_refuse_goes_first_and_namespaces_last() {
        let webhook = "admissionregistration.k8s.io/v1";
        let mut objects = [
            recorded(Stage::Space, "v1", "Namespace", "a"),
            recorded(
                Stage::Definition,
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                "b",
            ),
            recorded(Stage::Data, "v1", "Service", "c"),
            recorded(Stage::Workload, "apps/v1", "Deployment", "d"),
            recorded(
                Stage::Workload,
                webhook,
                "ValidatingWebhookConfiguration",
                "e",
            ),
            recorded(Stage::Resource, "shop.test/v1", "Cart", "f"),
        ];
        objects.sort_by_key(DeletionOrder::from_entry);
        let names: Vec<&str> = objects.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["e", "f", "d", "c", "b", "a"]);
    }

    #[test]
    fn only_what_was_applied_goes_but_for_data_and_what_was_there_before() {
        use crate::live_objects::ReadResult;
        let shop = "shop".parse().unwrap();
        let entry = |stage, kind: &str, name: &str| Entry {
            uid: Some("1".to_owned()),
            ..recorded(stage, "v1", kind, name)
        };
        let inventory = Inventory {
            entries: vec![
                entry(Stage::Space, "Namespace", "there-before"),
                entry(Stage::Data, "PersistentVolumeClaim", "data"),
                entry(Stage::Data, "Secret", "hidden"),
                entry(Stage::Data, "Service", "gone"),
                entry(Stage::Data, "Service", "anew"),
                entry(Stage::Data, "Service", "kept-by-the-caller"),
                entry(Stage::Data, "Service", "web"),
                entry(Stage::Workload, "Pod", "web"),
            ],
            ..Inventory::default()
        };
        let references: Vec<ObjectRef> = inventory.entries.iter().map(Entry::reference).collect();
        let seen = references.iter().map(|object| {
            let uid = if object.name == "anew" { "2" } else { "1" };
            let metadata = json!({
                "name": object.name, "namespace": object.namespace, "uid": uid,
                "labels": { v::SOLUTION: "shop" },
            });
            let live = json!({ "apiVersion": "v1", "kind": object.gvk.kind, "metadata": metadata });
            let seen = match object.name.as_str() {
                "gone" => ReadResult::Absent,
                "hidden" => ReadResult::Hidden,
                _ => ReadResult::There(Object::new(live).unwrap()),
            };
            (object, seen)
        });
        let live: LiveObjects = seen.collect();
        let removal =
            inventory.removal(&live, &shop, |entry, _| entry.name != "kept-by-the-caller");
        let names: Vec<&str> = removal
            .going
            .iter()
            .map(|entry| entry.name.as_str())
            .collect();
        assert_eq!(
            names,
            ["web", "hidden", "web"],
            "pods before what they read"
        );
        let staying: Vec<_> = removal
            .staying
            .iter()
            .map(|(entry, why)| (&*entry.name, *why))
            .collect();
        let expected = [
            ("there-before", KeepReason::WasThere),
            ("data", KeepReason::HoldsData),
        ];
        assert_eq!(staying, expected);
        let left: Vec<&str> = removal
            .left
            .iter()
            .map(|object| object.name.as_str())
            .collect();
        assert_eq!(left, ["anew"]);
    }

    #[test]
    fn a_namespace_that_stays_says_no_more_that_it_is_an_environments() {
        let live = |annotations: Value| {
            Object::new(
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": {
                "name": "own", "annotations": annotations, "labels": {
                    v::SOLUTION: "shop", v::NAMESPACE: "prod", v::ENVIRONMENT: "prod", "a": "b",
                },
            } }),
            )
            .unwrap()
        };
        let there_before = without_marks(&live(json!({})));
        assert_eq!(there_before["metadata"], json!({ "name": "own" }));
        let made = without_marks(&live(json!({ v::CREATED: "true" })));
        let labels = json!({ v::SOLUTION: "shop", v::NAMESPACE: "prod" });
        assert_eq!(made["metadata"]["labels"], labels);
        assert_eq!(
            made["metadata"]["annotations"],
            json!({ v::CREATED: "true" })
        );
    }

    #[test]
    fn whoever_made_it_what_calls_a_service_that_goes_is_found() {
        let inventory = Inventory {
            entries: vec![recorded(Stage::Data, "v1", "Service", "web")],
            ..Inventory::default()
        };
        let called = |value: serde_json::Value| {
            let mut object =
                json!({ "apiVersion": "v1", "kind": "K", "metadata": { "name": "x" } });
            object
                .as_object_mut()
                .unwrap()
                .extend(value.as_object().unwrap().clone());
            inventory.is_called_by(&Object::new(object).unwrap())
        };
        let webhook = |namespace: &str, name: &str| {
            let service = json!({ "namespace": namespace, "name": name });
            json!({ "webhooks": [{}, { "clientConfig": { "service": service } }] })
        };
        assert!(called(webhook("own", "web")));
        assert!(called(
            json!({ "spec": { "service": { "namespace": "own", "name": "web" } } })
        ));
        assert!(!called(webhook("own", "other")));
        assert!(!called(webhook("other", "web")));
        assert!(!called(json!({ "spec": { "service": null } })));
    }
}
