//! The rights of the operator, and where they hold.

use super::*;

#[test]
fn only_the_operators_roles_are_taken() {
    let pods = "{apiGroups: [''], resources: [pods], verbs: [get]}";
    let text = [
        DEPLOYMENT,
        &role("Role", "own", pods),
        &role("Role", "other", pods),
        &role("ClusterRole", "view", pods),
        &binding("RoleBinding", "Role", "own", "app"),
        &binding("RoleBinding", "Role", "other", "web"),
        &binding(
            "ClusterRoleBinding",
            "ClusterRole",
            "system:auth-delegator",
            "app",
        ),
    ]
    .concat();
    let draft = drafted(&text);
    assert!(roles(&draft).contains("name: own") && !roles(&draft).contains("name: other"));
    assert_eq!(note(&draft, "Roles `other`, `view`").weight, Weight::Lost);
    let note = note(&draft, "Roles of others");
    assert!(
        note.text.contains("`ClusterRole system:auth-delegator`"),
        "{}",
        note.text
    );
    assert_eq!(block(&draft).scope, OperatorScope::Namespace);
}

#[test]
fn without_bindings_all_roles_are_taken_and_that_is_said() {
    let text = format!("{DEPLOYMENT}{}", role("Role", "any", ""));
    let draft = drafted(&text);
    assert!(roles(&draft).contains("name: any"));
    assert_eq!(note(&draft, "Roles").weight, Weight::Decide);
}

/// A `ClusterRole` of one rule for the operator's account, bound in the whole cluster.
fn wide(rule: &str) -> String {
    let bound = binding("ClusterRoleBinding", "ClusterRole", "wide", "app");
    role("ClusterRole", "wide", rule) + &bound
}

/// The right to read some resources.
fn reading(group: &str, resources: &str) -> String {
    wide(&format!(
        "{{apiGroups: ['{group}'], resources: [{resources}], verbs: [get]}}"
    ))
}

#[track_caller]
fn check_scope(container: &str, more: &str, expected: OperatorScope, watching: Option<&str>) {
    let draft = drafted(&[&operator(container), more].concat());
    assert_eq!(block(&draft).scope, expected);
    let mut variables = env(&draft).into_iter();
    let watch = variables.find(|(name, _)| *name == "WATCH_NAMESPACE");
    assert_eq!(watch.map(|(_, value)| value), watching);
}

#[test]
fn the_scope_follows_from_rights_and_what_is_watched() {
    let own =
        "env: [{name: WATCH_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}]";
    let all = "env: [{name: WATCH_NAMESPACE, value: ''}]";
    let argument = "args: [--watch-namespace=$(POD_NAMESPACE)]";
    let (cluster, namespace) = (OperatorScope::Cluster, OperatorScope::Namespace);
    check_scope("", &reading("", "pods"), cluster, Some(""));
    check_scope(all, &reading("", "pods"), cluster, Some(""));
    check_scope(own, &reading("", "pods"), namespace, None);
    check_scope(argument, &reading("", "pods"), namespace, None);
    check_scope(own, &reading("", "nodes"), cluster, None);
    let addresses = wide("{nonResourceURLs: [/metrics], verbs: [get]}");
    check_scope(own, &addresses, cluster, None);
    let cluster_crd = crd("tests.app.test").replace("Namespaced", "Cluster");
    let own_kind = reading("app.test", "tests/status");
    check_scope(own, &own_kind, namespace, None);
    check_scope(own, &(own_kind + &cluster_crd), cluster, None);
}

#[test]
fn a_role_for_one_namespace_never_grows_into_one_for_the_cluster() {
    let rule = "{apiGroups: [''], resources: [secrets], verbs: [get]}, {nonResourceURLs: [/x], verbs: [get]}";
    let nodes = "{apiGroups: [''], resources: [nodes], verbs: [get]}";
    let text = [
        DEPLOYMENT,
        &role("ClusterRole", "both", rule),
        &role("Role", "both", rule),
        &role("ClusterRole", "wide", nodes),
        &binding("RoleBinding", "ClusterRole", "both", "app"),
        &binding("RoleBinding", "Role", "both", "app").replace("both-R", "role-R"),
        &binding("ClusterRoleBinding", "ClusterRole", "wide", "app"),
    ]
    .concat();
    let draft = drafted(&text);
    assert_eq!(block(&draft).scope, OperatorScope::Cluster);
    let roles = schemas::yaml::documents(roles(&draft).as_bytes()).unwrap();
    let names: Vec<(&str, &str, usize)> = roles
        .iter()
        .map(|role| {
            let text = |pointer| manifests::text(role, pointer);
            (
                text("/kind"),
                text("/metadata/name"),
                manifests::list(role, "/rules").len(),
            )
        })
        .collect();
    assert_eq!(
        names,
        [
            ("Role", "both", 2),
            ("Role", "both-2", 1),
            ("ClusterRole", "wide", 1)
        ]
    );
    assert_eq!(note(&draft, "ClusterRole `both`").weight, Weight::Chosen);
}
