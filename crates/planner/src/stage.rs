//! The stages in which the objects of a part are applied, derived from their kinds. Namespaces and definitions come
//! first, because other objects cannot be created without them.

use kubernetes::Object;
use manifests::ObjectKinds;
use serde::{Deserialize, Serialize};

/// The stage in which an object is applied. All objects of earlier stages of its part exist by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// Namespaces.
    Space,
    /// CRDs.
    Definition,
    /// Objects that other objects read: configuration, RBAC rules, classes, Services.
    Data,
    /// Workloads, and the webhook configurations and `APIService` objects that send requests to them.
    Workload,
    /// Custom resources of kinds that the release defines, which its workloads validate and process.
    Resource,
}

impl Stage {
    /// Returns the stage of an object. `kinds` are the custom kinds that the release defines.
    #[must_use]
    pub fn from_object(object: &Object, kinds: &ObjectKinds) -> Self {
        let kind = object.gvk();
        match (kind.group.as_str(), kind.kind.as_str()) {
            ("", "Namespace") => Self::Space,
            ("apiextensions.k8s.io", _) => Self::Definition,
            ("", "Pod" | "ReplicationController")
            | ("apps" | "batch" | "admissionregistration.k8s.io" | "apiregistration.k8s.io", _) => {
                Self::Workload
            }
            (group, kind) if kinds.defines(group, kind) => Self::Resource,
            _ => Self::Data,
        }
    }
}

/// Checks whether the API server calls a Service because of this object when objects are written. Such an object must
/// never exist without its Service.
#[must_use]
pub fn intercepts(object: &kubernetes::ObjectRef) -> bool {
    matches!(
        object.gvk.group.as_str(),
        "admissionregistration.k8s.io" | "apiregistration.k8s.io"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kind_tells_when_its_objects_are_applied() {
        let definition = json!({"spec": {"group": "example.test", "names": {"kind": "Issuer"}}});
        let kinds = ObjectKinds::new([&definition]);
        for (api_version, kind, stage) in [
            ("v1", "Namespace", Stage::Space),
            (
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                Stage::Definition,
            ),
            ("v1", "Service", Stage::Data),
            ("rbac.authorization.k8s.io/v1", "ClusterRole", Stage::Data),
            ("policy/v1", "PodDisruptionBudget", Stage::Data),
            ("apps/v1", "DaemonSet", Stage::Workload),
            ("batch/v1", "Job", Stage::Workload),
            (
                "admissionregistration.k8s.io/v1",
                "ValidatingWebhookConfiguration",
                Stage::Workload,
            ),
            ("apiregistration.k8s.io/v1", "APIService", Stage::Workload),
            ("example.test/v1", "Issuer", Stage::Resource),
            ("other.test/v1", "Issuer", Stage::Data),
        ] {
            let object =
                json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}});
            let object = Object::new(object).unwrap();
            assert_eq!(Stage::from_object(&object, &kinds), stage, "{kind}");
        }
    }
}
