//! Access to the fields that all Kubernetes objects have. The API groups that more than one module knows are defined
//! here as well.

use serde_json::Value;

/// The API group of roles and bindings.
pub(crate) const RBAC: &str = "rbac.authorization.k8s.io";
/// The API group of admission webhooks and policies.
pub(crate) const ADMISSION: &str = "admissionregistration.k8s.io";

/// Returns the text at a JSON pointer.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

/// Returns the API group of a document; empty for the core group.
pub(crate) fn group_of(document: &Value) -> &str {
    let api_version = text(document, "/apiVersion").unwrap_or_default();
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Returns the `apiVersion` and `kind` of a document.
pub(crate) fn kind_of(document: &Value) -> (&str, &str) {
    let field = |pointer| text(document, pointer).unwrap_or_default();
    (field("/apiVersion"), field("/kind"))
}
