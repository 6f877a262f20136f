//! Deletion, waiting for it, and pruning.

use std::time::Duration;

use deployer::{Deleted, Error, Goal, Gvk, Propagation, Scope, Selector};
use serde_json::json;

use crate::setup::{DEADLINE, admin, apply, config_map, config_map_ref, gone, namespace};

#[tokio::test]
async fn deleting_is_exact_and_can_be_repeated() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "delete").await;
    apply(&cluster, config_map(&ns, "a", &json!({}))).await;
    let a = config_map_ref(&ns, "a");
    let seen = cluster.get(&a).await.unwrap().unwrap();
    apply(&cluster, config_map(&ns, "a", &json!({"changed": "since"}))).await;
    let wrong = cluster
        .delete(&a, Propagation::Background, Some(&seen))
        .await;
    assert!(matches!(wrong, Err(Error::Changed { .. })), "{wrong:?}");
    let seen = cluster.get(&a).await.unwrap().unwrap();
    assert_eq!(
        cluster
            .delete(&a, Propagation::Foreground, Some(&seen))
            .await
            .unwrap(),
        Deleted::Requested
    );
    cluster.wait(&[gone(&a)], DEADLINE, &|_| ()).await.unwrap();
    assert_eq!(
        cluster
            .delete(&a, Propagation::Background, None)
            .await
            .unwrap(),
        Deleted::WasAbsent
    );
}

#[tokio::test]
async fn what_holds_an_object_is_named() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "held").await;
    let mut value = config_map(&ns, "a", &json!({}));
    value["metadata"]["finalizers"] = json!(["solution.test/hold"]);
    apply(&cluster, value).await;
    let a = config_map_ref(&ns, "a");
    cluster
        .delete(&a, Propagation::Background, None)
        .await
        .unwrap();
    let error = cluster
        .wait(&[gone(&a)], Duration::from_secs(2), &|_| ())
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains(&format!("ConfigMap {ns}/a (held by solution.test/hold)")),
        "{error}"
    );
    apply(&cluster, config_map(&ns, "a", &json!({}))).await;
    cluster.wait(&[gone(&a)], DEADLINE, &|_| ()).await.unwrap();
}

#[tokio::test]
async fn only_our_own_leftovers_are_pruned() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "prune").await;
    let mut refs = Vec::new();
    for (name, owner) in [("keep", "us"), ("old", "us"), ("foreign", "them")] {
        let mut value = config_map(&ns, name, &json!({}));
        value["metadata"]["labels"] = json!({"owner": owner});
        apply(&cluster, value).await;
        refs.push(config_map_ref(&ns, name));
    }
    let keep_uid = cluster
        .get(&refs[0])
        .await
        .unwrap()
        .unwrap()
        .uid()
        .unwrap()
        .to_owned();
    let mut owned = config_map(&ns, "owned", &json!({}));
    owned["metadata"]["labels"] = json!({"owner": "us"});
    owned["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "keep", "uid": keep_uid, "controller": true}]);
    apply(&cluster, owned).await;

    let scope = Scope {
        kinds: vec![
            Gvk::new("v1", "ConfigMap"),
            Gvk::new("v1", "Secret"),
            Gvk::new("monitoring.coreos.com/v1", "ServiceMonitor"),
        ],
        namespace: Some(ns.clone()),
        selector: Selector::label("owner", "us"),
    };
    let keep = &refs[..1];
    let stale = cluster.stale(&scope, keep).await.unwrap();
    assert_eq!(
        stale
            .iter()
            .map(|object| object.reference().clone())
            .collect::<Vec<_>>(),
        refs[1..2]
    );
    let removed = cluster
        .prune(&scope, keep, Propagation::Foreground)
        .await
        .unwrap();
    assert_eq!(removed, refs[1..2]);
    let gone: Vec<Goal> = removed.iter().map(gone).collect();
    cluster.wait(&gone, DEADLINE, &|_| ()).await.unwrap();
    assert!(cluster.stale(&scope, keep).await.unwrap().is_empty());
    for (name, there) in [
        ("keep", true),
        ("old", false),
        ("foreign", true),
        ("owned", true),
    ] {
        assert_eq!(
            cluster
                .get(&config_map_ref(&ns, name))
                .await
                .unwrap()
                .is_some(),
            there,
            "{name}"
        );
    }
}
