//! Writing only what is still as it was seen.

use deployer::{Applied, Cluster, Conflicts, Error, Object};
use serde_json::json;

use crate::setup::{admin, apply, config_map, config_map_ref, manager, namespace, object};

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
    // Absent no more, and another state than was seen: nothing is written.
    let other = object(config_map(&ns, "a", &json!({"x": "2"})));
    let late = put(&cluster, &other, None).await;
    assert!(matches!(late, Err(Error::Changed { .. })), "{late:?}");
    let less = object(config_map(&ns, "a", &json!({"x": "3"})));
    let (applied, second) = put(&cluster, &less, Some(&first)).await.unwrap();
    assert_eq!(applied, Applied::Changed);
    let stale = put(&cluster, &wanted, Some(&first)).await;
    assert!(matches!(stale, Err(Error::Changed { .. })), "{stale:?}");
    // What was created counts as applied, so a field that is left out goes.
    assert_eq!(second.as_value()["data"], json!({"x": "3"}));
    let (applied, _) = put(&cluster, &less, Some(&second)).await.unwrap();
    assert_eq!(applied, Applied::Unchanged);
}

/// Somebody deleted it and made another of the same name.
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
