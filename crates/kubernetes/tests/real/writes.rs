//! Conditional writes, deletion and pruning, and the writes of many objects.

use std::time::Duration;

use futures::stream::{self, StreamExt, TryStreamExt};
use kubernetes::{
    ApplyOutcome, Cluster, ConflictPolicy, DeletionOutcome, Error, FieldManager, Goal, Gvk, Object,
    ObjectRef, Propagation, PruneScope, Selector,
};
use serde_json::json;
use tokio::time::Instant;

use crate::apply::{crd, widget};
use crate::setup::{
    DEADLINE, admin, apply, config_map, config_map_ref, gone, manager, namespace, object,
};

async fn put(
    cluster: &Cluster,
    wanted: &Object,
    seen: Option<&Object>,
) -> Result<(ApplyOutcome, Object), Error> {
    cluster
        .put(wanted, seen, &manager(), ConflictPolicy::Force)
        .await
}

#[tokio::test]
async fn only_what_is_as_it_was_seen_is_written() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "put").await;
    let wanted = object(config_map(&ns, "a", &json!({"x": "1", "y": "1"})));
    let (applied, first) = put(&cluster, &wanted, None).await.unwrap();
    assert_eq!(applied, ApplyOutcome::Created);
    // The object exists, or its state differs from the expected one: nothing is written.
    let other = object(config_map(&ns, "a", &json!({"x": "2"})));
    let late = put(&cluster, &other, None).await;
    assert!(matches!(late, Err(Error::Changed { .. })), "{late:?}");
    let less = object(config_map(&ns, "a", &json!({"x": "3"})));
    let (applied, second) = put(&cluster, &less, Some(&first)).await.unwrap();
    assert_eq!(applied, ApplyOutcome::Changed);
    let stale = put(&cluster, &wanted, Some(&first)).await;
    assert!(matches!(stale, Err(Error::Changed { .. })), "{stale:?}");
    // Fields that were created count as applied, so an omitted field is removed.
    assert_eq!(second.as_value()["data"], json!({"x": "3"}));
    let (applied, _) = put(&cluster, &less, Some(&second)).await.unwrap();
    assert_eq!(applied, ApplyOutcome::Unchanged);
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
        .wait(&[Goal::Ready(crd.reference().clone())], DEADLINE, &|_| ())
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
        assert_eq!(applied, ApplyOutcome::Created);
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
            let late = cluster.put(wanted, None, by, ConflictPolicy::Force).await;
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
        .delete(&a, kubernetes::Propagation::Background, None)
        .await
        .unwrap();
    let late = put(&cluster, &wanted, Some(&first)).await;
    assert!(matches!(late, Err(Error::Changed { .. })), "{late:?}");
    assert_eq!(cluster.get(&a).await.unwrap(), None);
    apply(&cluster, config_map(&ns, "a", &json!({"theirs": "1"}))).await;
    let late = put(&cluster, &wanted, Some(&first)).await;
    assert!(matches!(late, Err(Error::Changed { .. })), "{late:?}");
}

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
        DeletionOutcome::Requested
    );
    cluster.wait(&[gone(&a)], DEADLINE, &|_| ()).await.unwrap();
    assert_eq!(
        cluster
            .delete(&a, Propagation::Background, None)
            .await
            .unwrap(),
        DeletionOutcome::WasAbsent
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

    let scope = PruneScope {
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

const MANY: usize = 500;

/// The maximum time per object of a plan with many objects.
const PER_OBJECT: Duration = Duration::from_millis(30);

/// Reads and writes each object, this many at a time.
async fn write_all(cluster: &Cluster, objects: &[Object], at_a_time: usize) -> Duration {
    let begun = Instant::now();
    let writes = objects.iter().map(async |object| {
        let seen = cluster.get(object.reference()).await?;
        cluster
            .put(object, seen.as_ref(), &manager(), ConflictPolicy::Force)
            .await
    });
    let written: Vec<_> = stream::iter(writes)
        .buffer_unordered(at_a_time)
        .try_collect()
        .await
        .unwrap();
    assert_eq!(written.len(), objects.len());
    begun.elapsed() / u32::try_from(objects.len()).unwrap()
}

#[tokio::test]
async fn many_objects_are_written_several_at_a_time_and_read_at_once() {
    let cluster = admin().await;
    let mut figures = Vec::new();
    // Other work on the machine can slow down a round, but not all of them.
    for (round, at_a_time) in [1, 8, 8, 8].into_iter().enumerate() {
        let ns = namespace(&cluster, &format!("many-{round}")).await;
        let wanted = |value: usize| -> Vec<Object> {
            let data = json!({"x": value.to_string()});
            let maps = (0..MANY).map(|i| config_map(&ns, &format!("a{i}"), &data));
            maps.map(object).collect()
        };
        let created = write_all(&cluster, &wanted(1), at_a_time).await;
        let changed = write_all(&cluster, &wanted(2), at_a_time).await;
        let objects = wanted(3);
        let references: Vec<&ObjectRef> = objects.iter().map(Object::reference).collect();
        let begun = Instant::now();
        let read = cluster.get_all(&references).await.unwrap();
        let read_in = begun.elapsed() / u32::try_from(MANY).unwrap();
        let found = read.iter().flatten().map(Object::reference);
        assert!(found.eq(references));
        eprintln!(
            "{at_a_time} at a time, each: created {created:?}, changed {changed:?}, read {read_in:?}"
        );
        figures.push(created + changed);
        if at_a_time > 1 && created + changed < PER_OBJECT {
            return;
        }
    }
    panic!("slow in each round: {figures:?}");
}
