//! Kubernetes objects as JSON ([`Object`]), validated for the fields that every object has, and references to them
//! ([`ObjectRef`]). A plain JSON value keeps the fields that this program does not know.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::limits;

/// The maximum length of a name, namespace or kind: that of names in Kubernetes.
const MAX_NAME: usize = 253;

/// Group, version and kind. The core group is the empty string.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Gvk {
    /// The API group, for example `apps`; empty for the core group.
    pub group: String,
    /// The version in the group.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl Gvk {
    /// Builds a kind from an object's `apiVersion` and `kind`.
    #[must_use]
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// Returns the API version as in an object: `apps/v1`, or `v1` in the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.kind, self.api_version())
    }
}

/// A reference to an object: kind, namespace and name. Its JSON form equals its display form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// The kind of the object.
    pub gvk: Gvk,
    /// The namespace of the object; `None` for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
}

impl ObjectRef {
    /// Returns a reference to an object in a namespace.
    #[must_use]
    pub fn namespaced(api_version: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            gvk: Gvk::new(api_version, kind),
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        }
    }

    /// Returns a reference to an object of a cluster-scoped kind.
    #[must_use]
    pub fn cluster_scoped(api_version: &str, kind: &str, name: &str) -> Self {
        Self {
            gvk: Gvk::new(api_version, kind),
            namespace: None,
            name: name.to_owned(),
        }
    }

    /// Returns the identity of the stored object, which does not depend on the API version.
    #[must_use]
    pub fn identity(&self) -> ObjectIdentity<'_> {
        ObjectIdentity {
            group: &self.gvk.group,
            kind: &self.gvk.kind,
            namespace: self.namespace.as_deref(),
            name: &self.name,
        }
    }

    /// Checks whether both refer to the same stored object.
    #[must_use]
    pub fn is_same_object(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

/// The identity of an object, which is the same in every version of its API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectIdentity<'a> {
    /// The group of its kind; empty for the core group.
    pub group: &'a str,
    /// The kind of the object.
    pub kind: &'a str,
    /// The namespace of the object; `None` for cluster-scoped kinds.
    pub namespace: Option<&'a str>,
    /// The name of the object.
    pub name: &'a str,
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.gvk.kind, self.name),
            None => write!(f, "{} {}", self.gvk.kind, self.name),
        }
    }
}

impl Serialize for ObjectRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for ObjectRef {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ObjectRef".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// The reason why a JSON value is not a Kubernetes object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// A field that every object has is missing, empty, too long or not a string.
    #[error("not a Kubernetes object: `{0}` is missing or not a valid string")]
    Field(&'static str),
    /// The object is deeper than [`limits::MAX_DEPTH`].
    #[error("an object is nested deeper than {}", limits::MAX_DEPTH)]
    TooDeep,
}

/// A Kubernetes object with `apiVersion`, `kind` and `metadata.name`, and a limited depth. The server validates
/// everything else. `Debug` shows the reference but not the content, which may be secret.
#[derive(Clone, PartialEq)]
pub struct Object {
    value: Value,
    reference: ObjectRef,
}

impl Object {
    /// Validates a value.
    pub fn new(value: Value) -> Result<Self, ObjectError> {
        check_depth(&value)?;
        let api_version =
            string_at(&value, "/apiVersion").ok_or(ObjectError::Field("apiVersion"))?;
        let kind = string_at(&value, "/kind").ok_or(ObjectError::Field("kind"))?;
        let name =
            string_at(&value, "/metadata/name").ok_or(ObjectError::Field("metadata.name"))?;
        let namespace = match value.pointer("/metadata/namespace") {
            None | Some(Value::Null) => None,
            Some(_) => Some(
                string_at(&value, "/metadata/namespace")
                    .ok_or(ObjectError::Field("metadata.namespace"))?,
            ),
        };
        let reference = ObjectRef {
            gvk: Gvk::new(api_version, kind),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        };
        Ok(Self { value, reference })
    }

    /// Returns the reference to the object.
    #[must_use]
    pub fn reference(&self) -> &ObjectRef {
        &self.reference
    }

    /// Returns its group, version and kind.
    #[must_use]
    pub fn gvk(&self) -> &Gvk {
        &self.reference.gvk
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.reference.name
    }

    /// Returns its namespace.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.reference.namespace.as_deref()
    }

    /// Returns its unique id; only objects that were read from a cluster have one.
    #[must_use]
    pub fn uid(&self) -> Option<&str> {
        string_at(&self.value, "/metadata/uid")
    }

    /// Returns the version of its stored content.
    #[must_use]
    pub fn resource_version(&self) -> Option<&str> {
        string_at(&self.value, "/metadata/resourceVersion")
    }

    /// Checks whether it is being deleted.
    #[must_use]
    pub fn is_being_deleted(&self) -> bool {
        string_at(&self.value, "/metadata/deletionTimestamp").is_some()
    }

    /// Returns its labels.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<&str, &str> {
        self.strings("/metadata/labels")
    }

    /// Returns its annotations.
    #[must_use]
    pub fn annotations(&self) -> BTreeMap<&str, &str> {
        self.strings("/metadata/annotations")
    }

    /// Returns the object as JSON.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.value
    }

    /// Converts the object into JSON.
    #[must_use]
    pub fn into_value(self) -> Value {
        self.value
    }

    /// Checks whether its content must not be shown.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.gvk().group.is_empty() && self.gvk().kind == "Secret"
    }

    fn strings(&self, pointer: &str) -> BTreeMap<&str, &str> {
        let map = self.value.pointer(pointer).and_then(Value::as_object);
        map.into_iter()
            .flatten()
            .filter_map(|(k, v)| Some((k.as_str(), v.as_str()?)))
            .collect()
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({})", self.reference)
    }
}

/// Returns the string at a JSON pointer if it can be an identifier.
fn string_at<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    let text = value.pointer(pointer)?.as_str()?;
    (!text.is_empty() && text.len() <= MAX_NAME && !text.contains(char::is_control)).then_some(text)
}

/// Checks the depth. An explicit stack is used because recursion could overflow the call stack.
fn check_depth(value: &Value) -> Result<(), ObjectError> {
    let mut open = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        if depth > limits::MAX_DEPTH {
            return Err(ObjectError::TooDeep);
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => open.extend(fields.values().map(|field| (field, depth + 1))),
            _ => {}
        }
    }
    Ok(())
}

/// Returns the condition of a type in an object's status.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_knows_what_it_is() {
        let object = Object::new(json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "namespace": "b", "labels": {"x": "y"}}}))
        .unwrap();
        assert_eq!(
            object.reference(),
            &ObjectRef::namespaced("apps/v1", "Deployment", "b", "a")
        );
        assert_eq!(object.gvk().api_version(), "apps/v1");
        assert_eq!(object.labels().get("x"), Some(&"y"));
        assert_eq!(format!("{object:?}"), "Object(Deployment b/a)");
    }

    #[test]
    fn what_every_object_has_must_be_there() {
        for (value, field) in [
            (
                json!({"kind": "A", "metadata": {"name": "a"}}),
                "apiVersion",
            ),
            (
                json!({"apiVersion": "v1", "metadata": {"name": "a"}}),
                "kind",
            ),
            (
                json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": ""}}),
                "metadata.name",
            ),
            (
                json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "namespace": 1}}),
                "metadata.namespace",
            ),
            (json!([]), "apiVersion"),
        ] {
            assert_eq!(Object::new(value).unwrap_err(), ObjectError::Field(field));
        }
    }

    #[test]
    fn depth_is_bounded() {
        let mut deep = json!(1);
        for _ in 0..limits::MAX_DEPTH {
            deep = json!([deep]);
        }
        let value =
            json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "spec": deep});
        assert_eq!(Object::new(value).unwrap_err(), ObjectError::TooDeep);
    }

    #[test]
    fn the_version_does_not_make_another_object() {
        let a = ObjectRef::namespaced("x.io/v1", "A", "n", "a");
        assert!(a.is_same_object(&ObjectRef::namespaced("x.io/v2", "A", "n", "a")));
        assert!(!a.is_same_object(&ObjectRef::namespaced("y.io/v1", "A", "n", "a")));
        assert!(!a.is_same_object(&ObjectRef::namespaced("x.io/v1", "A", "m", "a")));
    }
}
