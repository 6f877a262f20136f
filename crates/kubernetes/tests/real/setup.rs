//! The common setup of the tests: a connection, a namespace per test, and users with few permissions.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use kubernetes::{
    Account, ApplyOutcome, Cluster, ConflictPolicy, ConnectOptions, DeletionTarget, FieldManager,
    Goal, Identity, Object, ObjectRef,
};
use progress::Listener;
use serde_json::{Value, json};
use tokio::time::Instant;

pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// Returns a required environment variable.
pub(crate) fn variable(name: &str) -> String {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests are told by the environment where the cluster is"
    )]
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} must be set: these tests need a real cluster"))
}

pub(crate) fn kubeconfig() -> PathBuf {
    variable("SOLUTION_TEST_KUBECONFIG").into()
}

pub(crate) fn with(paths: Vec<PathBuf>, context: Option<&str>) -> ConnectOptions {
    let account = Account::Kubeconfig {
        paths,
        context: context.map(str::to_owned),
    };
    ConnectOptions {
        account,
        identity: Identity::Account,
        timeout: Duration::from_secs(10),
        listener: Listener::default(),
        clock: || SystemTime::UNIX_EPOCH,
    }
}

pub(crate) async fn admin() -> Cluster {
    Cluster::connect(&with(vec![kubeconfig()], None))
        .await
        .unwrap()
}

/// Returns the first cluster and user of the administrator's kubeconfig.
pub(crate) fn parts() -> (Value, Value) {
    let text = std::fs::read_to_string(kubeconfig()).unwrap();
    let config: Value = serde_saphyr::from_str(&text).unwrap();
    (
        config["clusters"][0].clone(),
        config["users"][0]["user"].clone(),
    )
}

/// Connects as another user, whom the administrator may impersonate. The user has only the permissions that a test
/// grants.
pub(crate) async fn user(name: &str) -> Cluster {
    let (cluster, mut user) = parts();
    user["as"] = json!(name);
    let config = json!({
        "apiVersion": "v1", "kind": "Config",
        "contexts": [{"name": name, "context": {"cluster": cluster["name"], "user": name}}],
        "users": [{"name": name, "user": user}],
    });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("user");
    std::fs::write(&path, config.to_string()).unwrap();
    Cluster::connect(&with(vec![path, kubeconfig()], Some(name)))
        .await
        .unwrap()
}

pub(crate) fn manager() -> FieldManager {
    FieldManager::new("solution-test").unwrap()
}

pub(crate) fn object(value: Value) -> Object {
    Object::new(value).unwrap()
}

pub(crate) async fn apply(cluster: &Cluster, value: Value) -> ApplyOutcome {
    cluster
        .apply(&object(value), &manager(), ConflictPolicy::Refuse)
        .await
        .unwrap()
}

/// Creates a namespace with a name that no earlier run has used.
pub(crate) async fn namespace(cluster: &Cluster, name: &str) -> String {
    namespace_with(cluster, name, json!({})).await
}

pub(crate) async fn namespace_with(cluster: &Cluster, name: &str, labels: Value) -> String {
    let name = format!("deployer-{name}-{}", std::process::id());
    let made = apply(
        cluster,
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}),
    )
    .await;
    assert_eq!(made, ApplyOutcome::Created);
    name
}

pub(crate) fn config_map(namespace: &str, name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data})
}

pub(crate) fn config_map_ref(namespace: &str, name: &str) -> ObjectRef {
    ObjectRef::namespaced("v1", "ConfigMap", namespace, name)
}

/// Grants permissions to a user, in a namespace or cluster-wide.
pub(crate) async fn grant(cluster: &Cluster, user: &str, namespace: Option<&str>, rules: Value) {
    let (role, binding) = if namespace.is_some() {
        ("Role", "RoleBinding")
    } else {
        ("ClusterRole", "ClusterRoleBinding")
    };
    let name = format!("{user}-{}", std::process::id());
    let mut metadata = json!({"name": name});
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    let api = "rbac.authorization.k8s.io/v1";
    apply(
        cluster,
        json!({"apiVersion": api, "kind": role, "metadata": metadata, "rules": rules}),
    )
    .await;
    apply(
        cluster,
        json!({
            "apiVersion": api, "kind": binding, "metadata": metadata,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        }),
    )
    .await;
}

/// Waits for a condition. Fails if it is not met in time.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut condition: impl FnMut() -> F) {
    let end = Instant::now() + DEADLINE;
    while !condition().await {
        assert!(Instant::now() < end, "did not happen: {what}");
        // A short pause between two checks leaves the processor to the awaited work.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Returns the goal that an object no longer exists, whatever its uid.
pub(crate) fn gone(object: &ObjectRef) -> Goal {
    Goal::Deleted(DeletionTarget::from(object.clone()))
}
