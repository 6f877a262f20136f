//! Kinds of objects in a release that may define custom resources: their scope, and their plural names in URLs and
//! RBAC rules. They are needed before the release is installed, when no cluster can be asked about its kinds.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::definition::Definition;
use crate::document::text;

/// The kinds of Kubernetes and of a group of CRDs. Any other kind counts as namespaced, since only
/// a cluster knows its scope.
#[derive(Clone, Debug, Default)]
pub struct ObjectKinds(
    /// The defined kinds by group and kind. Without this index, an archive with many definitions and many objects would
    /// take quadratic time.
    BTreeMap<String, BTreeMap<String, DefinedKind>>,
);

#[derive(Clone, Debug)]
struct DefinedKind {
    plural: String,
    of_cluster: bool,
}

impl ObjectKinds {
    /// Creates the kinds of these CRDs.
    pub fn new<'a>(definitions: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut kinds = Self::default();
        for definition in definitions.into_iter().map(Definition) {
            let group = kinds.0.entry(definition.group().to_owned()).or_default();
            let kind = definition.kind().to_owned();
            let defined = group.entry(kind).or_insert_with(|| DefinedKind {
                plural: definition.plural().to_owned(),
                of_cluster: false,
            });
            defined.of_cluster |= definition.is_cluster_scoped();
        }
        kinds
    }

    fn find(&self, group: &str, kind: &str) -> Option<&DefinedKind> {
        self.0.get(group)?.get(kind)
    }

    /// Checks whether one of the CRDs defines a kind.
    #[must_use]
    pub fn defines(&self, group: &str, kind: &str) -> bool {
        self.find(group, kind).is_some()
    }

    /// Checks whether an object is cluster-scoped.
    #[must_use]
    pub fn is_cluster_scoped(&self, object: &Value) -> bool {
        let api_version = text(object, "/apiVersion");
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let kind = text(object, "/kind");
        let defined = self.find(group, kind);
        defined.is_some_and(|defined| defined.of_cluster)
            || schemas::is_cluster_scoped(group, &plural(kind))
    }

    /// Returns the plural name of a kind, as in URLs and RBAC rules: from its CustomResourceDefinition, or by the
    /// naming convention of Kubernetes.
    #[must_use]
    pub fn resource(&self, group: &str, kind: &str) -> String {
        let defined = self.find(group, kind);
        defined.map_or_else(|| plural(kind), |defined| defined.plural.clone())
    }

    /// Checks whether an object is outside of these namespaces, so that its name cannot differ between sites. The
    /// namespaces themselves are not outside.
    #[must_use]
    pub fn reaches_out(&self, object: &Value, own: &BTreeSet<&str>) -> bool {
        if text(object, "/apiVersion") == "v1" && text(object, "/kind") == "Namespace" {
            return !own.contains(text(object, "/metadata/name"));
        }
        let namespace = text(object, "/metadata/namespace");
        let elsewhere = !namespace.is_empty() && !own.contains(namespace);
        elsewhere || self.is_cluster_scoped(object)
    }
}

/// Returns the plural of a kind by the convention of Kubernetes' own kinds.
fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    let vowel = |text: &str| text.ends_with(['a', 'e', 'i', 'o', 'u']);
    match kind.strip_suffix('y') {
        _ if kind == "endpoints" => kind,
        Some(stem) if !vowel(stem) => format!("{stem}ies"),
        None if kind.ends_with(['s', 'x']) || kind.ends_with("ch") => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kinds() -> ObjectKinds {
        ObjectKinds::new(&[
            json!({
                "spec": {
                    "group": "example.test", "scope": "Namespaced",
                    "names": { "kind": "Datum", "plural": "data" },
                },
            }),
            json!({
                "spec": { "group": "example.test", "scope": "Cluster", "names": { "kind": "Issuer" } },
            }),
        ])
    }

    #[test]
    fn resources_are_named_as_kubernetes_or_a_definition_names_them() {
        let of = |group: &str, kind: &str| kinds().resource(group, kind);
        for (kind, plural) in [
            ("Service", "services"),
            ("NetworkPolicy", "networkpolicies"),
            ("Ingress", "ingresses"),
            ("StorageClass", "storageclasses"),
            ("Endpoints", "endpoints"),
            ("Gateway", "gateways"),
            ("Datum", "datums"),
        ] {
            assert_eq!(of("", kind), plural);
        }
        assert_eq!(of("example.test", "Datum"), "data");
        assert!(kinds().defines("example.test", "Datum") && !kinds().defines("", "Datum"));
    }

    #[test]
    fn objects_of_the_whole_cluster_are_told_by_their_kinds() {
        let of = |api_version: &str, kind: &str| {
            kinds().is_cluster_scoped(&json!({"apiVersion": api_version, "kind": kind}))
        };
        for (api_version, kind) in [
            ("v1", "Namespace"),
            ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
            ("networking.k8s.io/v1", "IngressClass"),
            ("apiregistration.k8s.io/v1", "APIService"),
            (
                "admissionregistration.k8s.io/v1",
                "ValidatingAdmissionPolicy",
            ),
            ("storage.k8s.io/v1", "CSIDriver"),
            ("scheduling.k8s.io/v1", "PriorityClass"),
            ("example.test/v1", "Issuer"),
        ] {
            assert!(of(api_version, kind), "{kind}");
        }
        for (api_version, kind) in [
            ("v1", "Service"),
            ("apps/v1", "Deployment"),
            ("other.test/v1", "Issuer"),
            ("example.test/v1", "Datum"),
        ] {
            assert!(!of(api_version, kind), "{kind}");
        }
    }

    /// A linear search in the definitions for each object would take minutes.
    #[test]
    fn many_objects_of_many_kinds_take_no_longer_than_both() {
        let definition = |number: usize| {
            let kind = format!("Kind{number}");
            json!({ "spec": { "group": "a.test", "scope": "Cluster", "names": { "kind": kind } } })
        };
        let definitions: Vec<Value> = (0..20_000).map(definition).collect();
        let kinds = ObjectKinds::new(&definitions);
        let object = |number: usize| {
            let kind = format!("Kind{number}");
            json!({ "apiVersion": "a.test/v1", "kind": kind })
        };
        let wide = (0..40_000).filter(|number| kinds.is_cluster_scoped(&object(*number)));
        assert_eq!(wide.count(), 20_000);
    }

    #[test]
    fn what_is_outside_of_the_releases_namespaces_reaches_out() {
        let kinds = kinds();
        let own = BTreeSet::from(["shop"]);
        let reaches_out = |api_version: &str, kind: &str, metadata: Value| {
            let object = json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata });
            kinds.reaches_out(&object, &own)
        };
        for (api_version, kind, metadata) in [
            (
                "v1",
                "Service",
                json!({ "name": "a", "namespace": "kube-system" }),
            ),
            ("v1", "Namespace", json!({ "name": "other" })),
            ("example.test/v1", "Issuer", json!({ "name": "shop" })),
            (
                "example.test/v1",
                "Namespace",
                json!({ "name": "a", "namespace": "other" }),
            ),
        ] {
            assert!(
                reaches_out(api_version, kind, metadata),
                "{api_version} {kind}"
            );
        }
        for (api_version, kind, metadata) in [
            ("v1", "Service", json!({ "name": "a", "namespace": "shop" })),
            ("v1", "Service", json!({ "name": "a" })),
            ("v1", "Namespace", json!({ "name": "shop" })),
            ("example.test/v1", "Datum", json!({ "name": "a" })),
        ] {
            assert!(
                !reaches_out(api_version, kind, metadata),
                "{api_version} {kind}"
            );
        }
    }
}
