//! Images of pods that can start other pods, because their ServiceAccount may create pods. They may contain the
//! references of the images that they start in their code, which no object shows.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::document::RBAC;
use crate::hazard::accounts;
use crate::rbac::reach::Reach;
use crate::rbac::right::Right;
use crate::rbac::rights::rights;

/// The built-in ClusterRoles with the right to create pods.
const BUILT_IN: [&str; 3] = ["admin", "cluster-admin", "edit"];

/// Returns the images, in their spelling in the objects, of pods whose ServiceAccount may create pods by the roles and
/// bindings among the same objects. Namespaces are not compared: an account has the right if an account with the same
/// name has it in any namespace.
pub fn starters<'a>(objects: impl Iterator<Item = &'a Value> + Clone) -> BTreeSet<&'a str> {
    let text = |object: &'a Value, pointer| manifests::text(object, pointer);
    let is_of = |object: &'a Value, kinds: [&str; 2]| {
        let version = text(object, "/apiVersion");
        let is_rbac = version
            .split_once('/')
            .is_some_and(|(group, _)| group == RBAC);
        is_rbac && kinds.contains(&text(object, "/kind"))
    };
    let roles = objects
        .clone()
        .filter(|object| is_of(object, ["Role", "ClusterRole"]));
    let makes_pods = |role: &&Value| {
        // The API server rejects a role that cannot be interpreted.
        let rights = rights(role, &Reach::Cluster).unwrap_or_default();
        rights.iter().any(Right::makes_pods)
    };
    let makers = roles.filter(makes_pods);
    let makers: BTreeSet<[&str; 2]> = makers
        .map(|role| [text(role, "/kind"), text(role, "/metadata/name")])
        .chain(BUILT_IN.map(|name| ["ClusterRole", name]))
        .collect();
    let bindings = objects
        .clone()
        .filter(|object| is_of(object, ["RoleBinding", "ClusterRoleBinding"]))
        .filter(|binding| {
            makers.contains(&[
                text(binding, "/roleRef/kind"),
                text(binding, "/roleRef/name"),
            ])
        });
    let subjects = bindings.flat_map(|binding| manifests::list(binding, "/subjects"));
    let holders: BTreeSet<&str> = subjects
        .filter(|subject| text(subject, "/kind") == "ServiceAccount")
        .map(|subject| text(subject, "/name"))
        .collect();
    let pods = objects.filter(|object| {
        accounts(object)
            .iter()
            .any(|account| holders.contains(account))
    });
    pods.flat_map(manifests::pod_images).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_images_of_pods_whose_account_may_create_pods_are_starters() {
        let role = |kind: &str, name: &str, resource: &str, verb: &str| {
            let rules =
                json!([{"apiGroups": ["", "batch"], "resources": [resource], "verbs": [verb]}]);
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "rules": rules})
        };
        let binding = |kind: &str, of: &str, name: &str, account: &str| {
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": account},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": of, "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "any"}],
            })
        };
        let pod = |account: &str| {
            let containers = json!([{"name": "a", "image": format!("r.test/{account}:1")}]);
            let spec = json!({"serviceAccountName": account, "containers": containers});
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": account}, "spec": {"template": {"spec": spec}}})
        };
        let objects = [
            role("ClusterRole", "jobs", "jobs", "create"),
            role("Role", "pods", "pods", "*"),
            role("Role", "reader", "pods", "list"),
            binding("ClusterRoleBinding", "ClusterRole", "jobs", "controller"),
            binding("RoleBinding", "Role", "pods", "runner"),
            binding("RoleBinding", "ClusterRole", "edit", "editor"),
            // A Role with this name is another role than the ClusterRole.
            binding("RoleBinding", "Role", "jobs", "other"),
            binding("RoleBinding", "Role", "reader", "reader"),
            pod("controller"),
            pod("runner"),
            pod("editor"),
            pod("other"),
            pod("reader"),
            pod("default"),
        ];
        let expected = ["controller", "editor", "runner"].map(|name| format!("r.test/{name}:1"));
        assert!(starters(objects.iter()).into_iter().eq(expected.iter()));
    }
}
