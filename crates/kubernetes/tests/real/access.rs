//! Permissions of the administrator and of users with few of them.

use kubernetes::{
    Access, ApplyOutcome, Cluster, ConflictPolicy, DryRunResult, Error, Grant, PolicyRule,
};
use serde_json::{Value, json};

use crate::setup::{admin, apply, config_map, grant, manager, namespace, object, until, user};

fn rules(value: Value) -> Vec<PolicyRule> {
    serde_json::from_value(value).unwrap()
}

fn operator_rules() -> Value {
    json!([
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "patch"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ])
}

async fn missing(cluster: &Cluster, grant: Grant<'_>) -> Vec<String> {
    let missing = cluster
        .missing_grants(grant, &rules(operator_rules()))
        .await
        .unwrap();
    missing.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn the_administrator_may_do_everything() {
    let cluster = admin().await;
    let wanted = [
        Access::new("create", "", "namespaces"),
        Access::new("get", "", "pods").subresource("log"),
    ];
    assert!(cluster.denied(&wanted).await.unwrap().is_empty());
    for grant in [
        Grant::Role {
            namespace: "default",
        },
        Grant::ClusterRole,
        Grant::RoleBinding {
            namespace: "default",
        },
        Grant::ClusterRoleBinding,
    ] {
        assert_eq!(missing(&cluster, grant).await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn what_a_user_may_not_do_is_known_before() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "denied").await;
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "patch", "create"], "resourceNames": []}]);
    grant(&cluster, "denied-user", Some(&ns), rules).await;
    let user = user("denied-user").await;
    let patch = Access::new("patch", "", "configmaps").namespace(&ns);
    let wanted = [
        patch.clone(),
        patch.clone().namespace("default"),
        Access::new("delete", "", "configmaps")
            .namespace(&ns)
            .name("a"),
        Access::new("patch", "apps", "deployments").namespace(&ns),
    ];
    until("the grant is seen", async || {
        user.may(&patch).await.unwrap()
    })
    .await;
    let denied = user.denied(&wanted).await.unwrap();
    assert_eq!(denied, wanted[1..]);
    assert_eq!(
        denied[1].to_string(),
        format!("delete configmaps a in namespace {ns}")
    );

    let map = object(config_map(&ns, "a", &json!({})));
    user.apply(&map, &manager(), ConflictPolicy::Refuse)
        .await
        .unwrap();
    let error = user
        .delete(map.reference(), kubernetes::Propagation::Background, None)
        .await
        .unwrap_err();
    assert!(
        matches!(&error, Error::Forbidden { .. }) && !error.is_temporary(),
        "{error:?}"
    );
    assert!(
        error
            .to_string()
            .contains("cannot delete resource \"configmaps\""),
        "{error}"
    );
}

/// Checks whether the user may create an object. The comparison and the server must agree.
async fn may_create(cluster: &Cluster, kind: &str, namespace: Option<&str>) -> bool {
    let mut metadata = json!({"name": format!("try-{}", std::process::id())});
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    let mut value =
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata});
    let resources_only = json!([operator_rules()[0], operator_rules()[1]]);
    value["rules"] = if kind == "Role" {
        resources_only
    } else {
        operator_rules()
    };
    match cluster
        .diff(&object(value), &manager(), ConflictPolicy::Refuse)
        .await
    {
        Ok(_) => true,
        Err(Error::Forbidden { message, .. })
            if message.contains("attempting to grant RBAC permissions") =>
        {
            false
        }
        Err(error) => panic!("{error:?}"),
    }
}

const WRITE_ROLES: &str = r#"{"apiGroups": ["rbac.authorization.k8s.io"], "verbs": ["get", "create", "patch"],
    "resources": ["roles", "clusterroles", "rolebindings"]}"#;

#[tokio::test]
async fn nobody_grants_what_he_does_not_hold() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "grants").await;
    let write: Value = serde_json::from_str(WRITE_ROLES).unwrap();
    grant(
        &cluster,
        "grants-user",
        None,
        json!([write, {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]),
    )
    .await;
    let held = json!([
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]},
        {"apiGroups": ["apps"], "resources": ["*"], "verbs": ["get"]},
    ]);
    grant(&cluster, "grants-user", Some(&ns), held).await;
    let user = user("grants-user").await;

    let reads = Access::new("get", "", "configmaps").namespace(&ns);
    let writes = Access::new("patch", "rbac.authorization.k8s.io", "clusterroles");
    until("the grants are seen", async || {
        user.denied(&[reads.clone(), writes.clone()])
            .await
            .unwrap()
            .is_empty()
    })
    .await;
    let in_namespace = ["patch deployments.apps"];
    assert_eq!(
        missing(&user, Grant::Role { namespace: &ns }).await,
        in_namespace
    );
    assert_eq!(
        missing(&user, Grant::RoleBinding { namespace: &ns }).await,
        in_namespace
    );
    let everywhere = [
        "get configmaps",
        "get deployments.apps",
        "list configmaps",
        "patch deployments.apps",
    ];
    assert_eq!(missing(&user, Grant::ClusterRole).await, everywhere);
    assert!(!may_create(&user, "Role", Some(&ns)).await);
    assert!(!may_create(&user, "ClusterRole", None).await);

    let rest = json!([{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["patch"]}]);
    let binding = format!("grants-user-{}", std::process::id());
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "rest", "namespace": ns}, "rules": rest});
    apply(&cluster, role).await;
    apply(&cluster, json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": format!("{binding}-rest"), "namespace": ns},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "rest"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "grants-user"}]}))
    .await;
    until("the rest is held", async || {
        missing(&user, Grant::Role { namespace: &ns })
            .await
            .is_empty()
    })
    .await;
    assert!(may_create(&user, "Role", Some(&ns)).await);
    assert!(
        !may_create(&user, "ClusterRole", None).await,
        "rights in one namespace are not rights everywhere"
    );
}

#[tokio::test]
async fn escalate_and_bind_open_the_way() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "escalate").await;
    let write: Value = serde_json::from_str(WRITE_ROLES).unwrap();
    let open = json!({"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": ["escalate"]});
    grant(&cluster, "escalate-user", None, json!([write, open])).await;
    let user = user("escalate-user").await;
    until("the grant is seen", async || {
        missing(&user, Grant::ClusterRole).await.is_empty()
    })
    .await;
    assert!(may_create(&user, "ClusterRole", None).await);
    assert!(
        !missing(&user, Grant::Role { namespace: &ns })
            .await
            .is_empty()
    );
    assert!(
        !missing(&user, Grant::RoleBinding { namespace: &ns })
            .await
            .is_empty(),
        "escalate is not bind"
    );
}

#[tokio::test]
async fn a_binding_to_a_role_of_the_same_list_can_be_planned() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "later").await;
    let write: Value = serde_json::from_str(WRITE_ROLES).unwrap();
    grant(&cluster, "later-user", None, json!([write])).await;
    let user = user("later-user").await;
    let binds = Access::new("patch", "rbac.authorization.k8s.io", "rolebindings").namespace(&ns);
    until("the grant is seen", async || {
        user.may(&binds).await.unwrap()
    })
    .await;
    let metadata = json!({"name": "own", "namespace": ns});
    let api = "rbac.authorization.k8s.io/v1";
    let rules = json!([{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["get"]}]);
    let list = [
        object(json!({"apiVersion": api, "kind": "Role", "metadata": metadata, "rules": rules})),
        object(
            json!({"apiVersion": api, "kind": "RoleBinding", "metadata": metadata, "subjects": [],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "own"}}),
        ),
    ];
    let trials = user
        .dry_run(&list, &manager(), ConflictPolicy::Refuse)
        .await
        .unwrap();
    assert!(
        matches!(&trials[0].1, DryRunResult::Would(difference) if difference.applied == ApplyOutcome::Created),
        "{trials:?}"
    );
    assert!(
        matches!(&trials[1].1, DryRunResult::Later { missing } if missing == list[0].reference()),
        "{trials:?}"
    );
    for object in &list {
        user.apply(object, &manager(), ConflictPolicy::Refuse)
            .await
            .unwrap();
    }
}
