//! Drift of objects since a field manager applied them ([`Cluster::drift`]): the changes that applying them again would
//! make. If a dry run is not possible, managed fields are evaluated instead ([`Drift::from_managed_fields`]).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Map, Value, json};

use super::apply::{ConflictPolicy, DryRun, FieldManager};
use super::diff::{FieldChange, IGNORED, ValuePair, change, changes, field, names};
use crate::cluster::Cluster;
use crate::error::{Error, FieldConflict, bounded};
use crate::limits;
use crate::object::Object;

/// The field that other controllers inject into webhooks and definitions, regardless of the applied value.
const INJECTED: &str = ".caBundle";
/// The field that Kubernetes fills in an aggregated ClusterRole.
const RULES: &str = ".rules";
/// The field with the desired number of pods of a workload.
const REPLICAS: &str = "/spec/replicas";

/// The changes that other clients have made to an object since it was applied.
#[derive(Clone, Debug)]
pub struct Drift {
    /// The current object; `None` if it was deleted.
    pub before: Option<Object>,
    /// The object after applying it again; `None` if it was deleted, or if only managed fields were evaluated.
    pub after: Option<Object>,
    /// The differing fields, from the current to the applied value.
    pub changes: Vec<FieldChange>,
    /// The fields among them that other managers own.
    pub taken: Vec<FieldConflict>,
}

impl Drift {
    /// Returns the drift of a deleted object.
    #[must_use]
    pub fn deleted() -> Self {
        Self {
            before: None,
            after: None,
            changes: Vec::new(),
            taken: Vec::new(),
        }
    }

    /// Returns the drift according to managed fields: a field that was applied has a different value and no longer
    /// belongs to the manager. A client that changes a field takes over its ownership. Fields that the manager still
    /// owns have the applied value, possibly in a different form. Sends no request.
    #[must_use]
    pub fn from_managed_fields(
        applied: &Object,
        live: &Object,
        manager: &FieldManager,
    ) -> Option<Self> {
        let applied = as_scaled(applied, live, manager).into_value();
        let applied = with_data(applied);
        let (ours, others) = entries(live, manager);
        let mut found = DriftCollector {
            is_secret: live.is_secret(),
            changes: Vec::new(),
            taken: Vec::new(),
        };
        found.compare(&AppliedValue {
            path: String::new(),
            applied: &applied,
            live: Some(live.as_value()),
            ours,
            others,
        });
        Self::new(Some(live), None, found.changes, found.taken)
    }

    fn new(
        before: Option<&Object>,
        after: Option<Object>,
        mut changes: Vec<FieldChange>,
        mut taken: Vec<FieldConflict>,
    ) -> Option<Self> {
        let is_aggregated =
            before.is_some_and(|object| object.as_value()["aggregationRule"].is_object());
        let is_theirs =
            |path: &str| path.ends_with(INJECTED) || is_aggregated && path.starts_with(RULES);
        changes.retain(|change| !is_theirs(&change.path));
        taken.retain(|conflict| !is_theirs(&conflict.field));
        (!changes.is_empty()).then(|| Self {
            before: before.cloned(),
            after,
            changes,
            taken,
        })
    }
}

/// The objects that were dry-run without drift, by uid and resource version. While these are unchanged, the dry run is
/// not repeated.
#[derive(Debug, Default)]
pub struct UnchangedObjects(Mutex<BTreeMap<String, String>>);

impl UnchangedObjects {
    fn note(&self, live: &Object) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(uid), Some(stored)) = (live.uid(), live.resource_version()) {
            known.insert(uid.to_owned(), stored.to_owned());
        }
    }

    fn contains(&self, live: &Object) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tried = live.uid().and_then(|uid| known.get(uid));
        tried.is_some_and(|stored| live.resource_version() == Some(stored))
    }
}

impl Cluster {
    /// Returns the changes that other clients have made to each of these objects since this manager applied them. The
    /// result is `None` for objects without drift, for objects that the user may not read, and for unknown kinds. Each
    /// object is read by its name and dry-run once, twice if other managers own some of its fields, and not at all if
    /// it is known to be unchanged. If a dry run is not possible, [`Drift::from_managed_fields`] is used. Writes
    /// nothing.
    pub async fn drift(
        &self,
        objects: &[Object],
        manager: &FieldManager,
        known: &UnchangedObjects,
    ) -> Result<Vec<Option<Drift>>, Error> {
        stream::iter(objects)
            .map(|object| self.drift_of(object, manager, known))
            .buffered(limits::PARALLEL)
            .try_collect()
            .await
    }

    async fn drift_of(
        &self,
        object: &Object,
        manager: &FieldManager,
        known: &UnchangedObjects,
    ) -> Result<Option<Drift>, Error> {
        let live = match self.get(object.reference()).await {
            Ok(Some(live)) => live,
            Ok(None) => return Ok(Some(Drift::deleted())),
            Err(Error::Forbidden { .. } | Error::NoSuchKind(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        if known.contains(&live) {
            return Ok(None);
        }
        let wanted = as_scaled(object, &live, manager);
        // The dry run is forced, because the fields of other managers are of interest. The server handles defaults and
        // conversions.
        let tried = self.dry_run_one(&wanted, Some(&live), manager, ConflictPolicy::Force);
        let found = match tried.await {
            Ok(DryRun { after, taken, .. }) => {
                let changes = changes(Some(&live), &after);
                Drift::new(Some(&live), Some(after), changes, taken)
            }
            Err(_) => Drift::from_managed_fields(object, &live, manager),
        };
        if found.is_none() {
            known.note(&live);
        }
        Ok(found)
    }
}

/// Checks whether another field manager has set the number of pods.
#[must_use]
pub fn is_scaled(live: &Value, manager: &str) -> bool {
    let entries = live["metadata"]["managedFields"].as_array();
    let others = entries.into_iter().flatten();
    let mut others = others.filter(|entry| entry["manager"] != manager);
    others.any(|entry| !entry["fieldsV1"]["f:spec"]["f:replicas"].is_null())
}

/// Returns the object with the number of pods set by an autoscaler or a user, if there is one.
fn as_scaled(object: &Object, live: &Object, manager: &FieldManager) -> Object {
    let mut value = object.as_value().clone();
    let theirs = live.as_value().pointer(REPLICAS);
    let theirs = theirs.filter(|_| is_scaled(live.as_value(), manager.as_str()));
    if let (Some(replicas), Some(theirs)) = (value.pointer_mut(REPLICAS), theirs) {
        *replicas = theirs.clone();
    }
    Object::new(value).unwrap_or_else(|_| object.clone())
}

/// Returns the object with a Secret's `stringData` moved to `data`, where the server stores it.
fn with_data(mut object: Value) -> Value {
    if object["kind"] != "Secret" {
        return object;
    }
    let texts = object
        .as_object_mut()
        .and_then(|fields| fields.remove("stringData"));
    let texts = texts.as_ref().and_then(Value::as_object);
    for (key, text) in texts.into_iter().flatten() {
        if !object["data"].is_object() {
            object["data"] = json!({});
        }
        object["data"][key] = json!(BASE64_STANDARD.encode(text.as_str().unwrap_or_default()));
    }
    object
}

/// The fields of an object that a manager owns, in the format of managed fields.
type Fields<'a> = Option<&'a Value>;

/// Returns the fields that this manager has applied, and the fields of all other managers with their names.
fn entries<'a>(
    live: &'a Object,
    manager: &FieldManager,
) -> (Fields<'a>, Vec<(&'a str, &'a Value)>) {
    let entries = live.as_value()["metadata"]["managedFields"].as_array();
    let entries = entries.map(Vec::as_slice).unwrap_or_default();
    let (ours, others): (Vec<&Value>, Vec<&Value>) = entries.iter().partition(|entry| {
        entry["manager"] == manager.as_str()
            && entry["operation"] == "Apply"
            && entry["subresource"].as_str().is_none_or(str::is_empty)
    });
    let named = |entry: &'a Value| {
        (
            entry["manager"].as_str().unwrap_or_default(),
            &entry["fieldsV1"],
        )
    };
    (
        ours.first().map(|entry| &entry["fieldsV1"]),
        others.into_iter().map(named).collect(),
    )
}

/// A position in an object: the applied value, the current value, and the owners.
struct AppliedValue<'a> {
    path: String,
    applied: &'a Value,
    live: Option<&'a Value>,
    ours: Fields<'a>,
    others: Vec<(&'a str, &'a Value)>,
}

impl<'a> AppliedValue<'a> {
    /// Returns an inner position, whose name in managed fields is `called`. A value that is owned as a whole is owned
    /// at all inner positions.
    fn inside(
        &self,
        path: String,
        applied: &'a Value,
        live: Option<&'a Value>,
        called: &str,
    ) -> Self {
        let within = |fields: &'a Value| {
            if is_whole(fields) {
                Some(fields)
            } else {
                fields.get(called)
            }
        };
        let others = self.others.iter();
        Self {
            path,
            applied,
            live,
            ours: self.ours.and_then(within),
            others: others
                .filter_map(|(name, fields)| Some((*name, within(fields)?)))
                .collect(),
        }
    }

    /// Returns the keys by which managed fields identify the items of a list; empty for a list that is owned as a
    /// whole.
    fn keys(&self) -> Vec<(&'a str, Map<String, Value>)> {
        let others = self.others.iter().map(|(_, fields)| *fields);
        let all = self.ours.into_iter().chain(others);
        let called = all.filter_map(Value::as_object).flat_map(Map::keys);
        let keys = called.filter_map(|called| {
            // In managed fields, the name of a field is `f:NAME`, and that of an item of a list with keys is `k:{KEY:
            // VALUE}`.
            let key = serde_json::from_str(called.strip_prefix("k:")?).ok()?;
            Some((called.as_str(), key))
        });
        keys.collect()
    }

    fn fields(&self, applied: &'a Map<String, Value>, live: &'a Map<String, Value>) -> Vec<Self> {
        let inside = applied.iter().map(|(key, value)| {
            let path = format!("{}{}", self.path, field(key));
            self.inside(path, value, live.get(key), &format!("f:{key}"))
        });
        inside.collect()
    }

    /// Returns the items of a list with their current values, or `None` if the list is compared as a whole.
    fn items(&self, applied: &'a [Value], live: &'a [Value]) -> Option<Vec<Self>> {
        let keys = self.keys();
        if !keys.is_empty() {
            let keyed = applied.iter().map(|item| self.keyed(item, live, &keys));
            return Some(keyed.collect());
        }
        if let (Some(names), Some(_)) = (names(applied), names(live)) {
            let named = applied.iter().zip(names).map(|(item, name)| {
                let there = live.iter().find(|other| other["name"] == name);
                self.inside(format!("{}[name={name}]", self.path), item, there, "")
            });
            return Some(named.collect());
        }
        let inside = applied.iter().zip(live).enumerate();
        let inside = inside.map(|(at, (item, there))| {
            self.inside(format!("{}[{at}]", self.path), item, Some(there), "")
        });
        (applied.len() == live.len()).then(|| inside.collect())
    }

    /// Returns an item of a list with these keys. A key that the item does not set has the server's default.
    fn keyed(
        &self,
        item: &'a Value,
        live: &'a [Value],
        keys: &[(&'a str, Map<String, Value>)],
    ) -> Self {
        let is = |key: &Map<String, Value>, other: &Value| {
            let mut key = key.keys();
            key.all(|field| {
                item.get(field)
                    .is_none_or(|value| other.get(field) == Some(value))
            })
        };
        let called = keys.iter().find(|(_, key)| is(key, &json!(key)));
        let key = called.or(keys.first()).map(|(_, key)| key);
        let there = key.and_then(|key| live.iter().find(|other| is(key, other)));
        let said = key.into_iter().flat_map(Map::keys);
        let said = said.filter_map(|field| Some(format!("{field}={}", in_path(item.get(field)?))));
        let said: Vec<String> = said.collect();
        let path = format!("{}[{}]", self.path, said.join(","));
        self.inside(path, item, there, called.map_or("", |(called, _)| called))
    }
}

/// The changes found in an object.
struct DriftCollector {
    is_secret: bool,
    changes: Vec<FieldChange>,
    taken: Vec<FieldConflict>,
}

impl DriftCollector {
    fn compare(&mut self, place: &AppliedValue<'_>) {
        let is_same = place.live == Some(place.applied);
        let is_kept = is_same || IGNORED.contains(&place.path.as_str());
        // The server omits empty values.
        let is_left_out = is_nothing(place.applied) && place.others.is_empty();
        if is_kept || is_left_out || self.changes.len() == limits::MAX_CHANGES {
            return;
        }
        // The manager still owns the value, so no other client has changed it.
        if place.ours.is_some_and(is_whole) {
            return;
        }
        let inside = match (place.applied, place.live) {
            (Value::Object(applied), Some(Value::Object(live))) => {
                Some(place.fields(applied, live))
            }
            (Value::Array(applied), Some(Value::Array(live))) => place.items(applied, live),
            _ => None,
        };
        match inside {
            Some(inside) => inside.iter().for_each(|place| self.compare(place)),
            None => self.note(place),
        }
    }

    fn note(&mut self, place: &AppliedValue<'_>) {
        let pair = ValuePair {
            path: place.path.clone(),
            before: place.live,
            after: Some(place.applied),
        };
        let found = change(&pair, self.is_secret);
        let manager = place.others.first().filter(|(name, _)| !name.is_empty());
        self.taken.extend(manager.map(|(name, _)| FieldConflict {
            field: found.path.clone(),
            manager: bounded(name),
        }));
        self.changes.push(found);
    }
}

/// Checks whether fields have no inner fields: a value, or a list or map that belongs to one manager.
fn is_whole(fields: &Value) -> bool {
    fields.as_object().is_none_or(Map::is_empty)
}

/// Checks whether a value is empty and can be omitted.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.iter().all(is_nothing),
        Value::Object(fields) => fields.values().all(is_nothing),
    }
}

fn in_path(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::{Answer, cluster};

    const IMAGE: &str = r#"{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}}}}}}}"#;

    fn helm() -> FieldManager {
        FieldManager::new("helm").unwrap()
    }

    fn entry(manager: &str, operation: &str, fields: &str) -> Value {
        let fields: Value = serde_json::from_str(fields).unwrap();
        json!({ "manager": manager, "operation": operation, "fieldsV1": fields })
    }

    fn object(kind: &str, fields: &Value, entries: &[Value]) -> Object {
        let (api_version, kind) = kind.split_once(' ').unwrap();
        let mut object = json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": { "name": "web", "namespace": "prod" },
        });
        for (key, value) in fields.as_object().unwrap() {
            object[key] = value.clone();
        }
        if !entries.is_empty() {
            object["metadata"]["managedFields"] = json!(entries);
        }
        Object::new(object).unwrap()
    }

    /// Returns the differing fields, each with its owner.
    fn seen(kind: &str, applied: &Value, live: &Value, entries: &[Value]) -> Vec<String> {
        let (applied, live) = (object(kind, applied, &[]), object(kind, live, entries));
        let found = Drift::from_managed_fields(&applied, &live, &helm());
        let Some(Drift { changes, taken, .. }) = found else {
            return Vec::new();
        };
        let by = |path: &str| taken.iter().find(|conflict| conflict.field == path);
        let said = changes.iter().map(|change| match by(&change.path) {
            Some(by) => by.to_string(),
            None => format!("{} (nobody)", change.path),
        });
        said.collect()
    }

    fn pods(containers: &Value) -> Value {
        json!({ "spec": { "template": { "spec": { "containers": containers } } } })
    }

    #[test]
    fn only_fields_that_are_no_longer_the_managers_have_drifted() {
        let deployment = "apps/v1 Deployment";
        let applied = pods(&json!([{ "name": "web", "image": "good" }]));
        let live = pods(&json!([{ "name": "web", "image": "evil", "imagePullPolicy": "Always" }]));
        let image = ".spec.template.spec.containers[name=web].image";
        let named = IMAGE.replace("f:image", "f:name");
        // Another manager has set and owns it.
        let set = [
            entry("helm", "Apply", &named),
            entry("kubectl-set", "Update", IMAGE),
        ];
        assert_eq!(
            seen(deployment, &applied, &live, &set),
            [format!("{image} (kubectl-set)")]
        );
        // An admission webhook changed it when it was applied, or the server stores it in another form.
        let own = [entry("helm", "Apply", IMAGE)];
        assert_eq!(seen(deployment, &applied, &live, &own), [""; 0]);
        // No owner is recorded.
        assert_eq!(
            seen(deployment, &applied, &live, &[]),
            [format!("{image} (nobody)")]
        );
        // Another manager has set the same value.
        assert_eq!(seen(deployment, &applied, &applied, &set), [""; 0]);
        // Fields that an earlier Helm wrote in another way were not applied.
        let update = [entry("helm", "Update", IMAGE)];
        assert_eq!(
            seen(deployment, &applied, &live, &update),
            [format!("{image} (helm)")]
        );
    }

    #[test]
    fn what_was_removed_from_an_object_has_drifted() {
        let map = "v1 ConfigMap";
        let applied = json!({ "data": { "a": "1", "b": "2" } });
        let kept = entry("helm", "Apply", r#"{"f:data":{"f:a":{}}}"#);
        let live = json!({ "data": { "a": "1" } });
        assert_eq!(
            seen(map, &applied, &live, std::slice::from_ref(&kept)),
            [".data.b (nobody)"]
        );
        assert_eq!(seen(map, &applied, &json!({}), &[kept]), [".data (nobody)"]);
        // The server omits empty values.
        let applied = json!({ "data": null, "binaryData": {}, "immutable": false, "list": [] });
        assert_eq!(seen(map, &applied, &json!({}), &[]), [""; 0]);
        // Additional fields belong to other field managers.
        let more = json!({ "data": { "a": "1", "b": "2", "c": "3" } });
        let applied = json!({ "data": { "a": "1", "b": "2" } });
        assert_eq!(seen(map, &applied, &more, &[]), [""; 0]);
    }

    #[test]
    fn items_of_lists_are_found_by_their_keys_and_other_lists_are_one_field() {
        let service = "v1 Service";
        let ports = |ports: Value| json!({ "spec": { "ports": ports } });
        let applied = ports(json!([{ "port": 80, "targetPort": 8080 }]));
        let live = ports(json!([
            { "port": 443, "protocol": "TCP", "targetPort": 1 },
            { "port": 80, "protocol": "TCP", "targetPort": 9 },
        ]));
        let key = |fields: &str| {
            format!(
                r#"{{"f:spec":{{"f:ports":{{"k:{{\"port\":80,\"protocol\":\"TCP\"}}":{fields}}}}}}}"#
            )
        };
        let set = [
            entry("helm", "Apply", &key(r#"{"f:port":{}}"#)),
            entry("editor", "Update", &key(r#"{"f:targetPort":{}}"#)),
        ];
        assert_eq!(
            seen(service, &applied, &live, &set),
            [".spec.ports[port=80].targetPort (editor)"]
        );
        // The whole item was removed.
        let other = ports(json!([{ "port": 443, "protocol": "TCP" }]));
        let left = [entry("editor", "Update", &key("{}").replace("80", "443"))];
        assert_eq!(
            seen(service, &applied, &other, &left),
            [".spec.ports[port=80] (nobody)"]
        );
        let deployment = "apps/v1 Deployment";
        let with = |args: &[&str]| pods(&json!([{ "name": "web", "args": args }]));
        let args = IMAGE.replace("f:image", "f:args");
        let theirs = [entry("editor", "Update", &args)];
        for (live, expected) in [
            (&["a", "c"][..], "args[1] (editor)"),
            (&["a"][..], "args (editor)"),
        ] {
            assert_eq!(
                seen(deployment, &with(&["a", "b"]), &with(live), &theirs),
                [format!(
                    ".spec.template.spec.containers[name=web].{expected}"
                )]
            );
        }
        let own = [entry("helm", "Apply", &args)];
        assert_eq!(
            seen(deployment, &with(&["a", "b"]), &with(&["a"]), &own),
            [""; 0]
        );
    }

    #[test]
    fn what_others_are_to_set_has_not_drifted() {
        let replicas = r#"{"f:spec":{"f:replicas":{}}}"#;
        let scaled = |count: u64| json!({ "spec": { "replicas": count } });
        for (manager, expected) in [
            ("kube-controller-manager", None),
            ("kubectl", None),
            ("", Some(".spec.replicas (nobody)")),
        ] {
            let entries = [entry(manager, "Update", replicas)];
            let entries = if manager.is_empty() {
                &[]
            } else {
                &entries[..]
            };
            let found = seen("apps/v1 Deployment", &scaled(1), &scaled(3), entries);
            assert_eq!(found.first().map(String::as_str), expected, "{manager}");
        }
        let webhooks = |bundle: &str, path: &str| {
            let config = json!({ "caBundle": bundle, "service": { "path": path } });
            json!({ "webhooks": [{ "name": "a.test", "clientConfig": config }] })
        };
        let kind = "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration";
        let (applied, injected) = (webhooks("YQ==", "/a"), webhooks("Yg==", "/a"));
        assert_eq!(seen(kind, &applied, &injected, &[]), [""; 0]);
        assert_eq!(
            seen(kind, &applied, &webhooks("Yg==", "/evil"), &[]),
            [".webhooks[name=a.test].clientConfig.service.path (nobody)"]
        );
        let kind = "rbac.authorization.k8s.io/v1 ClusterRole";
        let mut applied = json!({ "rules": [{ "verbs": ["get"] }] });
        let mut live = json!({ "rules": [{ "verbs": ["list"] }] });
        assert_eq!(seen(kind, &applied, &live, &[]).len(), 1);
        for role in [&mut applied, &mut live] {
            role["aggregationRule"] = json!({});
        }
        assert_eq!(seen(kind, &applied, &live, &[]), [""; 0]);
        let status = |told: &str| json!({ "status": { "told": told } });
        assert_eq!(seen("v1 Pod", &status("a"), &status("b"), &[]), [""; 0]);
    }

    #[test]
    fn texts_of_secrets_are_where_the_server_keeps_them_and_are_not_shown() {
        let applied = json!({ "stringData": { "a": "good", "b": "same" } });
        let live = json!({ "data": { "a": "ZXZpbA==", "b": "c2FtZQ==" } });
        assert_eq!(
            seen("v1 Secret", &applied, &live, &[]),
            [".data.a (nobody)"]
        );
        let (applied, live) = (
            object("v1 Secret", &applied, &[]),
            object("v1 Secret", &live, &[]),
        );
        let found = Drift::from_managed_fields(&applied, &live, &helm()).unwrap();
        assert_eq!(
            found.changes[0].to_string(),
            ".data.a: (secret) -> (secret)"
        );
    }

    /// Returns the drift of an object for these answers of the server to the read and to the dry run.
    async fn tried(live: Answer, answer: Answer) -> (Option<Drift>, Vec<String>) {
        let (cluster, asked) = cluster(move |request| match request.method.as_str() {
            "GET" => live.clone(),
            _ => answer.clone(),
        })
        .await;
        let map = object("v1 ConfigMap", &json!({ "data": { "a": "1" } }), &[]);
        let known = UnchangedObjects::default();
        let found = cluster.drift(&[map], &helm(), &known).await;
        let found = found.unwrap().remove(0);
        let asked = asked.lock().unwrap();
        let asked = asked.iter().map(|request| request.method.clone()).collect();
        (found, asked)
    }

    #[tokio::test]
    async fn what_has_not_drifted_is_tried_again_only_once_it_is_stored_as_another_one() {
        let map = |stored: &str| {
            let map = object("v1 ConfigMap", &json!({ "data": { "a": "1" } }), &[]);
            let mut map = map.into_value();
            map["metadata"]["uid"] = json!("u");
            map["metadata"]["resourceVersion"] = json!(stored);
            map
        };
        let stored = std::sync::Arc::new(Mutex::new("1"));
        let now = stored.clone();
        let (cluster, asked) =
            cluster(move |_| Answer::json(200, &map(*now.lock().unwrap()))).await;
        let known = UnchangedObjects::default();
        let wanted = [object(
            "v1 ConfigMap",
            &json!({ "data": { "a": "1" } }),
            &[],
        )];
        for (version, expected) in [("1", 2), ("1", 3), ("2", 5)] {
            *stored.lock().unwrap() = version;
            cluster.drift(&wanted, &helm(), &known).await.unwrap();
            assert_eq!(asked.lock().unwrap().len(), expected, "{version}");
        }
    }

    #[tokio::test]
    async fn an_object_is_tried_once_and_judged_by_its_fields_where_it_cannot_be() {
        let map = |value: &str| {
            let map = object("v1 ConfigMap", &json!({ "data": { "a": value } }), &[]);
            map.into_value()
        };
        let there = Answer::json(200, &map("2"));
        let (found, asked) = tried(there.clone(), Answer::json(200, &map("1"))).await;
        assert_eq!(found.unwrap().changes[0].path, ".data.a");
        assert_eq!(asked, ["GET", "PATCH"]);
        let (found, _) = tried(there.clone(), there.clone()).await;
        assert!(found.is_none(), "{found:?}");
        let (found, asked) = tried(Answer::json(404, &json!({})), there.clone()).await;
        assert!(found.unwrap().before.is_none());
        assert_eq!(asked, ["GET"]);
        for status in [400, 403, 422] {
            let refused = Answer::json(status, &json!({ "message": "no" }));
            let (found, _) = tried(there.clone(), refused).await;
            assert!(found.unwrap().after.is_none(), "{status}");
        }
        let (found, _) = tried(Answer::json(403, &json!({})), there).await;
        assert!(found.is_none(), "{found:?}");
    }
}
