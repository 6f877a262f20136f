//! Kinds of objects, where definitions of custom resources come with them: whether their objects belong to the whole
//! cluster, and how URLs and rules name them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::definition::Definition;
use crate::document::text;

/// The kinds of some definitions, and Kubernetes' own. Of other kinds only a cluster can tell; they count as belonging to a
/// namespace.
#[derive(Clone, Debug, Default)]
pub struct ObjectKinds(
    /// The kinds by group and kind, so that an archive full of both is looked through once.
    BTreeMap<String, BTreeMap<String, Defined>>,
);

#[derive(Clone, Debug)]
struct Defined {
    plural: String,
    of_cluster: bool,
}

impl ObjectKinds {
    /// Returns the kinds with those that these definitions define.
    pub fn new<'a>(definitions: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut kinds = Self::default();
        for definition in definitions.into_iter().map(Definition) {
            let group = kinds.0.entry(definition.group().to_owned()).or_default();
            let kind = definition.kind().to_owned();
            let defined = group.entry(kind).or_insert_with(|| Defined {
                plural: definition.plural().to_owned(),
                of_cluster: false,
            });
            defined.of_cluster |= definition.is_cluster_scoped();
        }
        kinds
    }

    fn find(&self, group: &str, kind: &str) -> Option<&Defined> {
        self.0.get(group)?.get(kind)
    }

    /// Whether one of the definitions defines a kind.
    #[must_use]
    pub fn defines(&self, group: &str, kind: &str) -> bool {
        self.find(group, kind).is_some()
    }

    /// Whether an object belongs to the whole cluster.
    #[must_use]
    pub fn is_cluster_scoped(&self, object: &Value) -> bool {
        let api_version = text(object, "/apiVersion");
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let kind = text(object, "/kind");
        let defined = self.find(group, kind);
        defined.is_some_and(|defined| defined.of_cluster)
            || schemas::is_cluster_scoped(group, &plural(kind))
    }

    /// The resource of a kind, as URLs and rules name it: that of one of the definitions, else as Kubernetes names its own.
    #[must_use]
    pub fn resource(&self, group: &str, kind: &str) -> String {
        let defined = self.find(group, kind);
        defined.map_or_else(|| plural(kind), |defined| defined.plural.clone())
    }

    /// Whether an object is outside of these namespaces: its name, and what refers to it, cannot be made anew for each
    /// site. The namespaces themselves are not.
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

    /// Looked through for each object, the definitions would take minutes.
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
