//! Drift of objects since a field manager applied them: what applying them once more would change, and
//! where that cannot be tried, what their managed fields tell.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Map, Value, json};

use super::apply::{Conflicts, FieldManager, Tried};
use super::diff::{FieldChange, IGNORED, Pair, change, changes, field, names};
use crate::cluster::Cluster;
use crate::error::{Error, FieldConflict, bounded};
use crate::limits;
use crate::object::Object;

/// The field that others inject into webhooks and definitions, whatever was applied.
const INJECTED: &str = ".caBundle";
/// The field that Kubernetes itself fills in a ClusterRole that is made of others.
const RULES: &str = ".rules";
/// The field in which a workload says how many pods it wants.
const REPLICAS: &str = "/spec/replicas";

/// The changes that others have made to an object since it was applied.
#[derive(Clone, Debug)]
pub struct Drift {
    /// The object that is there; none if it is gone.
    pub before: Option<Object>,
    /// The object that would be there if it was applied again; none if it is gone, or if only the fields tell.
    pub after: Option<Object>,
    /// The fields that are others, from what is there to what was applied.
    pub changes: Vec<FieldChange>,
    /// The fields among them that other managers set.
    pub taken: Vec<FieldConflict>,
}

impl Drift {
    /// Returns the drift of an object that is not there any more.
    #[must_use]
    pub fn gone() -> Self {
        Self {
            before: None,
            after: None,
            changes: Vec::new(),
            taken: Vec::new(),
        }
    }

    /// Returns the drift that managed fields tell: a field that was applied, is another one now, and is not the
    /// manager's any more. Whoever changes a field takes it from the manager who applied it, so that its own fields are
    /// as the server took them then, in whatever form. Nothing is asked.
    #[must_use]
    pub fn seen(applied: &Object, live: &Object, manager: &FieldManager) -> Option<Self> {
        let applied = as_scaled(applied, live, manager).into_value();
        let applied = with_data(applied);
        let (ours, others) = entries(live, manager);
        let mut found = Found {
            is_secret: live.is_secret(),
            changes: Vec::new(),
            taken: Vec::new(),
        };
        found.compare(&Place {
            path: String::new(),
            applied: &applied,
            live: Some(live.as_value()),
            ours,
            others,
        });
        Self::of(Some(live), None, found.changes, found.taken)
    }

    fn of(
        before: Option<&Object>,
        after: Option<Object>,
        mut changes: Vec<FieldChange>,
        mut taken: Vec<FieldConflict>,
    ) -> Option<Self> {
        let is_aggregated = before.is_some_and(|it| it.as_value()["aggregationRule"].is_object());
        let is_theirs =
            |path: &str| path.ends_with(INJECTED) || is_aggregated && path.starts_with(RULES);
        changes.retain(|it| !is_theirs(&it.path));
        taken.retain(|it| !is_theirs(&it.field));
        (!changes.is_empty()).then(|| Self {
            before: before.cloned(),
            after,
            changes,
            taken,
        })
    }
}

/// The objects that were tried and have not drifted, by uid and stored version. As long as they have these, they need
/// not be tried again.
#[derive(Debug, Default)]
pub struct Undrifted(Mutex<BTreeMap<String, String>>);

impl Undrifted {
    fn note(&self, live: &Object) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(uid), Some(stored)) = (live.uid(), live.resource_version()) {
            known.insert(uid.to_owned(), stored.to_owned());
        }
    }

    fn has(&self, live: &Object) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tried = live.uid().and_then(|uid| known.get(uid));
        tried.is_some_and(|stored| live.resource_version() == Some(stored))
    }
}

impl Cluster {
    /// Returns what others have done to each of these objects since this manager applied them; none where nothing, and
    /// where this user may not look or the kind is not known any more. Each object is read by its name and tried once,
    /// or twice where others own fields of it, and not at all where it is known not to have drifted; what cannot be
    /// tried is judged as by [`Drift::seen`]. Nothing is kept in the cluster.
    pub async fn drift(
        &self,
        objects: &[Object],
        manager: &FieldManager,
        known: &Undrifted,
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
        known: &Undrifted,
    ) -> Result<Option<Drift>, Error> {
        let live = match self.get(object.reference()).await {
            Ok(Some(live)) => live,
            Ok(None) => return Ok(Some(Drift::gone())),
            Err(Error::Forbidden { .. } | Error::NoSuchKind(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        if known.has(&live) {
            return Ok(None);
        }
        let wanted = as_scaled(object, &live, manager);
        // Forced, since what others have set is what is looked for. Defaults and conversions are left to the server.
        let tried = self.tried(&wanted, Some(&live), manager, Conflicts::Force);
        let found = match tried.await {
            Ok(Tried { after, taken, .. }) => {
                let changes = changes(Some(&live), &after);
                Drift::of(Some(&live), Some(after), changes, taken)
            }
            Err(_) => Drift::seen(object, &live, manager),
        };
        if found.is_none() {
            known.note(&live);
        }
        Ok(found)
    }
}

/// Whether another field manager than this one has set the number of pods.
#[must_use]
pub fn is_scaled(live: &Value, manager: &str) -> bool {
    let entries = live["metadata"]["managedFields"].as_array();
    let others = entries.into_iter().flatten();
    let mut others = others.filter(|entry| entry["manager"] != manager);
    others.any(|entry| !entry["fieldsV1"]["f:spec"]["f:replicas"].is_null())
}

/// The object with the number of pods that others have set: an autoscaler, or a person.
fn as_scaled(object: &Object, live: &Object, manager: &FieldManager) -> Object {
    let mut value = object.as_value().clone();
    let theirs = live.as_value().pointer(REPLICAS);
    let theirs = theirs.filter(|_| is_scaled(live.as_value(), manager.as_str()));
    if let (Some(replicas), Some(theirs)) = (value.pointer_mut(REPLICAS), theirs) {
        *replicas = theirs.clone();
    }
    Object::new(value).unwrap_or_else(|_| object.clone())
}

/// The object with a Secret's texts where the server keeps them.
fn with_data(mut object: Value) -> Value {
    if object["kind"] != "Secret" {
        return object;
    }
    let texts = object
        .as_object_mut()
        .and_then(|it| it.remove("stringData"));
    let texts = texts.as_ref().and_then(Value::as_object);
    for (key, text) in texts.into_iter().flatten() {
        if !object["data"].is_object() {
            object["data"] = json!({});
        }
        object["data"][key] = json!(BASE64_STANDARD.encode(text.as_str().unwrap_or_default()));
    }
    object
}

/// The fields of an object that somebody has, in the form of the server.
type Fields<'a> = Option<&'a Value>;

/// Returns what this manager has applied, and what everybody else has, each with a name.
fn entries<'a>(
    live: &'a Object,
    manager: &FieldManager,
) -> (Fields<'a>, Vec<(&'a str, &'a Value)>) {
    let entries = live.as_value()["metadata"]["managedFields"].as_array();
    let entries = entries.map(Vec::as_slice).unwrap_or_default();
    let (ours, others): (Vec<&Value>, Vec<&Value>) = entries.iter().partition(|it| {
        it["manager"] == manager.as_str()
            && it["operation"] == "Apply"
            && it["subresource"].as_str().is_none_or(str::is_empty)
    });
    let named = |it: &'a Value| (it["manager"].as_str().unwrap_or_default(), &it["fieldsV1"]);
    (
        ours.first().map(|it| &it["fieldsV1"]),
        others.into_iter().map(named).collect(),
    )
}

/// A place in an object: what was applied there, what is there, and who has what of it.
struct Place<'a> {
    path: String,
    applied: &'a Value,
    live: Option<&'a Value>,
    ours: Fields<'a>,
    others: Vec<(&'a str, &'a Value)>,
}

impl<'a> Place<'a> {
    /// A place inside, which fields call so. What is owned as a whole is owned in all of its places.
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

    /// The keys by which fields call a list's items; none for one that is owned as a whole.
    fn keys(&self) -> Vec<(&'a str, Map<String, Value>)> {
        let others = self.others.iter().map(|(_, fields)| *fields);
        let all = self.ours.into_iter().chain(others);
        let called = all.filter_map(Value::as_object).flat_map(Map::keys);
        let keys = called.filter_map(|called| {
            // In managed fields, a field is called `f:NAME`, and an item of a list with keys `k:{KEY: VALUE}`.
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

    /// The items of a list, each with what is there of it; none where the list is compared as a whole.
    fn items(&self, applied: &'a [Value], live: &'a [Value]) -> Option<Vec<Self>> {
        let keys = self.keys();
        if !keys.is_empty() {
            let keyed = applied.iter().map(|item| self.keyed(item, live, &keys));
            return Some(keyed.collect());
        }
        if let (Some(names), Some(_)) = (names(applied), names(live)) {
            let named = applied.iter().zip(names).map(|(item, name)| {
                let there = live.iter().find(|it| it["name"] == name);
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

    /// An item of a list whose items have these keys. What an item does not say of its key is the server's default.
    fn keyed(
        &self,
        item: &'a Value,
        live: &'a [Value],
        keys: &[(&'a str, Map<String, Value>)],
    ) -> Self {
        let is = |key: &Map<String, Value>, other: &Value| {
            let mut key = key.keys();
            key.all(|it| {
                item.get(it)
                    .is_none_or(|value| other.get(it) == Some(value))
            })
        };
        let called = keys.iter().find(|(_, key)| is(key, &json!(key)));
        let key = called.or(keys.first()).map(|(_, key)| key);
        let there = key.and_then(|key| live.iter().find(|other| is(key, other)));
        let said = key.into_iter().flat_map(Map::keys);
        let said = said.filter_map(|it| Some(format!("{it}={}", in_path(item.get(it)?))));
        let said: Vec<String> = said.collect();
        let path = format!("{}[{}]", self.path, said.join(","));
        self.inside(path, item, there, called.map_or("", |(called, _)| called))
    }
}

/// The changes that are found in an object.
struct Found {
    is_secret: bool,
    changes: Vec<FieldChange>,
    taken: Vec<FieldConflict>,
}

impl Found {
    fn compare(&mut self, place: &Place<'_>) {
        let is_same = place.live == Some(place.applied);
        let is_kept = is_same || IGNORED.contains(&place.path.as_str());
        // The server leaves out what says nothing.
        let is_left_out = is_nothing(place.applied) && place.others.is_empty();
        if is_kept || is_left_out || self.changes.len() == limits::MAX_CHANGES {
            return;
        }
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
            Some(inside) => inside.iter().for_each(|it| self.compare(it)),
            None => self.note(place),
        }
    }

    fn note(&mut self, place: &Place<'_>) {
        let pair = Pair {
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

/// Whether fields have nothing inside: a value, or a list or map that belongs to one manager.
fn is_whole(fields: &Value) -> bool {
    fields.as_object().is_none_or(Map::is_empty)
}

/// Whether a value says nothing, so that it need not be there.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(it) => !it,
        Value::Number(it) => it.as_f64() == Some(0.0),
        Value::String(it) => it.is_empty(),
        Value::Array(it) => it.iter().all(is_nothing),
        Value::Object(it) => it.values().all(is_nothing),
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

    /// The fields that are others, each with who has it.
    fn seen(kind: &str, applied: &Value, live: &Value, entries: &[Value]) -> Vec<String> {
        let (applied, live) = (object(kind, applied, &[]), object(kind, live, entries));
        let found = Drift::seen(&applied, &live, &helm());
        let Some(Drift { changes, taken, .. }) = found else {
            return Vec::new();
        };
        let by = |path: &str| taken.iter().find(|it| it.field == path);
        let said = changes.iter().map(|it| match by(&it.path) {
            Some(by) => by.to_string(),
            None => format!("{} (nobody)", it.path),
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
        // Somebody set it, and has it now.
        let set = [
            entry("helm", "Apply", &named),
            entry("kubectl-set", "Update", IMAGE),
        ];
        assert_eq!(
            seen(deployment, &applied, &live, &set),
            [format!("{image} (kubectl-set)")]
        );
        // An admission webhook changed it when it was applied, or the server writes it in another form.
        let own = [entry("helm", "Apply", IMAGE)];
        assert_eq!(seen(deployment, &applied, &live, &own), [""; 0]);
        // Nobody says whose it is.
        assert_eq!(
            seen(deployment, &applied, &live, &[]),
            [format!("{image} (nobody)")]
        );
        // Others have set it to the same.
        assert_eq!(seen(deployment, &applied, &applied, &set), [""; 0]);
        // What an earlier Helm wrote otherwise is not what was applied.
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
        // What says nothing is left out by the server.
        let applied = json!({ "data": null, "binaryData": {}, "immutable": false, "list": [] });
        assert_eq!(seen(map, &applied, &json!({}), &[]), [""; 0]);
        // What others add is theirs.
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
        // The whole item is gone.
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
        let found = Drift::seen(&applied, &live, &helm()).unwrap();
        assert_eq!(
            found.changes[0].to_string(),
            ".data.a: (secret) -> (secret)"
        );
    }

    /// Returns the drift found of an object with this answer of the server, when the server answers a trial so.
    async fn tried(live: Answer, answer: Answer) -> (Option<Drift>, Vec<String>) {
        let (cluster, asked) = cluster(move |request| match request.method.as_str() {
            "GET" => live.clone(),
            _ => answer.clone(),
        })
        .await;
        let map = object("v1 ConfigMap", &json!({ "data": { "a": "1" } }), &[]);
        let known = Undrifted::default();
        let found = cluster.drift(&[map], &helm(), &known).await;
        let found = found.unwrap().remove(0);
        let asked = asked.lock().unwrap();
        let asked = asked.iter().map(|it| it.method.clone()).collect();
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
        let known = Undrifted::default();
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
