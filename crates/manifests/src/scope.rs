//! Which objects belong to the whole cluster, told from their kinds alone.

use serde_json::Value;

use crate::document::text;

/// Whether an object belongs to the whole cluster: its kind is Kubernetes' own, or one of these definitions'. Of other
/// kinds only a cluster can tell; they count as belonging to a namespace.
#[must_use]
pub fn is_cluster_scoped(object: &Value, definitions: &[Value]) -> bool {
    let api_version = text(object, "/apiVersion");
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let kind = text(object, "/kind");
    let defined = definitions.iter().any(|definition| {
        let of = |pointer| text(definition, pointer);
        of("/spec/group") == group
            && of("/spec/names/kind") == kind
            && of("/spec/scope") == "Cluster"
    });
    defined || schemas::is_cluster_scoped(group, &plural(kind))
}

/// The resource of a kind, as URLs and rules name it: that of one of these definitions, else as Kubernetes names its own.
#[must_use]
pub fn resource(group: &str, kind: &str, definitions: &[Value]) -> String {
    let of = |definition: &&Value| {
        text(definition, "/spec/group") == group && text(definition, "/spec/names/kind") == kind
    };
    match definitions.iter().find(of) {
        Some(definition) => text(definition, "/spec/names/plural").to_owned(),
        None => plural(kind),
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

    #[test]
    fn resources_are_named_as_kubernetes_or_a_definition_names_them() {
        let definition = json!({
            "spec": {"group": "example.test", "names": {"kind": "Datum", "plural": "data"}},
        });
        let of = |group: &str, kind: &str| resource(group, kind, std::slice::from_ref(&definition));
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
    }

    #[test]
    fn objects_of_the_whole_cluster_are_told_by_their_kinds() {
        let of = |api_version: &str, kind: &str| {
            is_cluster_scoped(
                &json!({"apiVersion": api_version, "kind": kind}),
                &[json!({
                    "spec": {"group": "example.test", "scope": "Cluster", "names": {"kind": "Issuer"}},
                })],
            )
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
        ] {
            assert!(!of(api_version, kind), "{kind}");
        }
    }
}
