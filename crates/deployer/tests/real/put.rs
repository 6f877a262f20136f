//! Conditional writes.

use deployer::{Applied, Cluster, Conflicts, Error, FieldManager, Goal, Object};
use serde_json::json;

use crate::apply::{crd, widget};
use crate::setup::{
    DEADLINE, admin, apply, config_map, config_map_ref, manager, namespace, object,
};

async fn put(
    cluster: &Cluster,
    wanted: &Object,
    seen: Option<&Object>,
) -> Result<(Applied, Object), Error> {
    cluster
        .put(wanted, seen, &manager(), Conflicts::Force)
        .await
}

#[tokio::test]
async fn only_what_is_as_it_was_seen_is_written() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "put").await;
    let wanted = object(config_map(&ns, "a", &json!({"x": "1", "y": "1"})));
    let (applied, first) = put(&cluster, &wanted, None).await.unwrap();
    assert_eq!(applied, Applied::Created);
    // The object exists, or its state differs from the expected one: nothing is written.
    let other = object(config_map(&ns, "a", &json!({"x": "2"})));
    let late = put(&cluster, &other, None).await;
    assert!(matches!(late, Err(Error::Changed { .. })), "{late:?}");
    let less = object(config_map(&ns, "a", &json!({"x": "3"})));
    let (applied, second) = put(&cluster, &less, Some(&first)).await.unwrap();
    assert_eq!(applied, Applied::Changed);
    let stale = put(&cluster, &wanted, Some(&first)).await;
    assert!(matches!(stale, Err(Error::Changed { .. })), "{stale:?}");
    // Fields that were created count as applied, so an omitted field is removed.
    assert_eq!(second.as_value()["data"], json!({"x": "3"}));
    let (applied, _) = put(&cluster, &less, Some(&second)).await.unwrap();
    assert_eq!(applied, Applied::Unchanged);
}

/// A creation takes one request and leaves existing objects unchanged, whoever created them and whatever they contain.
#[tokio::test]
async fn what_is_there_already_is_not_created_over() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "put-over").await;
    let group = format!("over{}.test", std::process::id());
    let crd = crd(&group);
    let (_, made) = put(&cluster, &crd, None).await.unwrap();
    cluster
        .wait(&[Goal::Settled(crd.reference().clone())], DEADLINE, &|_| ())
        .await
        .unwrap();
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": ns},
        "spec": {"ports": [{"port": 80}]}});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": ns},
        "data": {"a": "QQ=="}});
    let all = [
        widget(&group, &ns, &json!(1)),
        object(config_map(&ns, "a", &json!({"x": "1"}))),
        object(service),
        object(secret),
    ];
    let mut live = vec![(crd, made)];
    for wanted in all {
        let (applied, made) = put(&cluster, &wanted, None).await.unwrap();
        assert_eq!(applied, Applied::Created);
        live.push((wanted, made));
    }
    for (wanted, made) in live {
        assert!(manager().has_claimed(&made), "{made:?}");
        let before = cluster.get(wanted.reference()).await.unwrap().unwrap();
        // The same object of the same manager, of another manager, and a different object of another manager.
        let mut marked = wanted.as_value().clone();
        marked["metadata"]["labels"] = json!({"is": "another"});
        let theirs = FieldManager::new("theirs").unwrap();
        for (wanted, by) in [
            (&wanted, &manager()),
            (&wanted, &theirs),
            (&object(marked), &theirs),
        ] {
            let late = cluster.put(wanted, None, by, Conflicts::Force).await;
            assert!(matches!(late, Err(Error::Changed { .. })), "{late:?}");
        }
        let after = cluster.get(wanted.reference()).await.unwrap().unwrap();
        assert_eq!(
            before.as_value()["metadata"]["labels"],
            after.as_value()["metadata"]["labels"]
        );
        assert!(
            !after.as_value().to_string().contains("theirs"),
            "{after:?}"
        );
    }
}

/// Another client deleted the object and created a new one with the same name.
#[tokio::test]
async fn another_object_of_the_name_is_not_written() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "put-another").await;
    let wanted = object(config_map(&ns, "a", &json!({"x": "1"})));
    let (_, first) = put(&cluster, &wanted, None).await.unwrap();
    let a = config_map_ref(&ns, "a");
    cluster
        .delete(&a, deployer::Propagation::Background, None)
        .await
        .unwrap();
    let late = put(&cluster, &wanted, Some(&first)).await;
    assert!(matches!(late, Err(Error::Changed { .. })), "{late:?}");
    assert_eq!(cluster.get(&a).await.unwrap(), None);
    apply(&cluster, config_map(&ns, "a", &json!({"theirs": "1"}))).await;
    let late = put(&cluster, &wanted, Some(&first)).await;
    assert!(matches!(late, Err(Error::Changed { .. })), "{late:?}");
}
