//! In which order the objects of a set are applied, told from their kinds.

use deployer::Object;
use manifests::Kinds;
use serde::{Deserialize, Serialize};

/// When an object of a set is applied, and so what must be there before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Stage {
    /// Namespaces, which others lie in.
    Space,
    /// Definitions of custom resources.
    Definition,
    /// What only is there to be read: configuration, rights, classes, Services.
    Data,
    /// What runs, and what sends requests to it.
    Workload,
    /// Resources of the release's own kinds, which its workloads judge and serve.
    Resource,
}

impl Stage {
    /// The stage of an object, where these are the kinds that the release defines.
    pub(crate) fn of(object: &Object, kinds: &Kinds) -> Self {
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

/// Objects of one stage in those batches of which the order matters; the objects of one batch may be applied at the same
/// time.
///
/// Data that others name goes before them: a binding to a role that is not there is refused to whoever may not bind at
/// will, and the token of an account that is not there is removed. Resources of the release's own kinds stay in the order
/// of the release from kind to kind, since its webhooks may ask for one when another is written.
pub(crate) fn batches(stage: Stage, objects: &[Object]) -> Vec<Vec<&Object>> {
    let batches: Vec<Vec<&Object>> = match stage {
        Stage::Space | Stage::Definition | Stage::Workload => vec![objects.iter().collect()],
        Stage::Data => {
            let (named, others) = objects.iter().partition(|object| is_named(object));
            vec![named, others]
        }
        Stage::Resource => {
            let by_kind = objects.chunk_by(|a, b| a.gvk() == b.gvk());
            by_kind.map(|batch| batch.iter().collect()).collect()
        }
    };
    let some = batches.into_iter().filter(|batch| !batch.is_empty());
    some.collect()
}

/// Whether other data names objects of this kind.
fn is_named(object: &Object) -> bool {
    let kind = object.gvk();
    matches!(
        (kind.group.as_str(), kind.kind.as_str()),
        ("", "ServiceAccount") | ("rbac.authorization.k8s.io", "Role" | "ClusterRole")
    )
}

/// What calls a Service whenever objects are written: it must never be there without that Service.
pub(crate) fn intercepts(object: &deployer::ObjectRef) -> bool {
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
        let kinds = Kinds::new([&definition]);
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

    #[test]
    fn what_others_name_goes_before_them_and_the_rest_together() {
        let object = |api_version: &str, kind: &str, name: &str| {
            let metadata = json!({"name": name, "namespace": "n"});
            let object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata});
            Object::new(object).unwrap()
        };
        let rbac = "rbac.authorization.k8s.io/v1";
        let objects = [
            object("v1", "Secret", "token"),
            object(rbac, "RoleBinding", "binding"),
            object("v1", "ServiceAccount", "account"),
            object(rbac, "Role", "role"),
            object("v1", "Service", "service"),
        ];
        let names = |stage, objects: &[Object]| -> Vec<String> {
            let batches = batches(stage, objects).into_iter();
            let names = batches.map(|batch| {
                let names: Vec<&str> = batch.into_iter().map(Object::name).collect();
                names.join(" ")
            });
            names.collect()
        };
        assert_eq!(
            names(Stage::Data, &objects),
            ["account role", "token binding service"]
        );
        assert_eq!(names(Stage::Data, &objects[..1]), ["token"]);
        assert_eq!(
            names(Stage::Workload, &objects[..2]),
            ["token binding"],
            "nothing that runs names another"
        );
        let resources = [
            object("x.test/v1", "Class", "a"),
            object("x.test/v1", "Cart", "b"),
            object("x.test/v1", "Cart", "c"),
            object("x.test/v1", "Class", "d"),
        ];
        assert_eq!(names(Stage::Resource, &resources), ["a", "b c", "d"]);
    }
}
