//! The order in which the objects of a set are applied, told from their kinds.

use deployer::Object;
use manifests::ObjectKinds;
use serde::{Deserialize, Serialize};

/// The stage in which an object of a set is applied, and so what must be there before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// Namespaces, which others lie in.
    Space,
    /// Definitions of custom resources.
    Definition,
    /// Objects that are only there to be read: configuration, rights, classes, Services.
    Data,
    /// Objects that run, and those that send requests to them.
    Workload,
    /// Resources of the release's own kinds, which its workloads judge and serve.
    Resource,
}

impl Stage {
    /// The stage of an object, where these are the kinds that the release defines.
    #[must_use]
    pub fn of(object: &Object, kinds: &ObjectKinds) -> Self {
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

/// Whether an object calls a Service whenever objects are written: it must never be there without that Service.
#[must_use]
pub fn intercepts(object: &deployer::ObjectRef) -> bool {
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
            assert_eq!(Stage::of(&object, &kinds), stage, "{kind}");
        }
    }
}
