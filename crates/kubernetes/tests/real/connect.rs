//! Connections and their errors.

use std::error::Error as _;
use std::path::PathBuf;

use kubernetes::{Cluster, Error};
use serde_json::{Value, json};

use crate::setup::{admin, kubeconfig, parts, with};

fn config(cluster: &Value, user: &Value) -> (tempfile::TempDir, PathBuf) {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config");
    std::fs::write(&path, config.to_string()).unwrap();
    (dir, path)
}

async fn fails(cluster: &Value, user: &Value) -> Error {
    let (_dir, path) = config(cluster, user);
    Cluster::connect(&with(vec![path], None)).await.unwrap_err()
}

fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text = format!("{text}: {source}");
        next = source.source();
    }
    text
}

#[tokio::test]
async fn a_cluster_says_who_and_where_it_is() {
    let cluster = admin().await;
    assert_eq!(cluster.version().major, 1);
    assert!(cluster.version().minor >= 30, "{:?}", cluster.version());
    assert!(cluster.version().text.starts_with("v1."));
    assert!(cluster.server().starts_with("https://") && !cluster.server().ends_with('/'));
    assert!(cluster.context().is_some());
    let nodes = cluster.nodes().await.unwrap();
    let node = nodes.first().expect("the cluster has a node");
    assert!(node.ready && node.schedulable);
    assert_eq!(
        (node.os.as_str(), node.architecture.is_empty()),
        ("linux", false)
    );
}

#[tokio::test]
async fn wrong_credentials_are_told_from_an_unreachable_server() {
    let (cluster, user) = parts();
    let error = fails(&cluster["cluster"], &json!({"token": "very-secret"})).await;
    assert!(
        matches!(error, Error::Unauthorized { .. }) && !error.is_temporary(),
        "{error:?}"
    );

    let error = fails(&json!({"server": "https://127.0.0.1:1"}), &user).await;
    assert!(
        matches!(error, Error::Unreachable { .. }) && error.is_temporary(),
        "{error:?}"
    );
    assert!(
        chain(&error).to_lowercase().contains("refused"),
        "{}",
        chain(&error)
    );

    let error = fails(&json!({"server": cluster["cluster"]["server"]}), &user).await;
    assert!(chain(&error).contains("certificate"), "{}", chain(&error));
}

#[tokio::test]
async fn what_a_credential_plugin_says_is_not_repeated() {
    let (cluster, _) = parts();
    let script = "echo very-secret; echo very-secret >&2; exit 7";
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh", "args": ["-c", script],
        "interactiveMode": "Never",
    });
    let error = fails(&cluster["cluster"], &json!({"exec": exec})).await;
    assert!(matches!(error, Error::Credentials { .. }), "{error:?}");
    assert!(error.to_string().contains('7'), "{error}");
    assert!(
        !format!("{error:?} {}", chain(&error)).contains("very-secret"),
        "{error:?}"
    );
}

#[tokio::test]
async fn the_context_must_be_there() {
    let error = Cluster::connect(&with(vec![kubeconfig()], Some("no-such")))
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "kubeconfig has no context no-such");
}
