//! Many objects: read, written and read again, one by one and concurrently.

use std::time::Duration;

use deployer::{Cluster, Conflicts, Object, ObjectRef};
use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::json;
use tokio::time::Instant;

use crate::setup::{admin, config_map, manager, namespace, object};

const MANY: usize = 500;

/// The maximum time per object of a plan with many objects.
const PER_OBJECT: Duration = Duration::from_millis(30);

/// Reads and writes each object, this many at a time.
async fn write_all(cluster: &Cluster, objects: &[Object], at_a_time: usize) -> Duration {
    let begun = Instant::now();
    let writes = objects.iter().map(async |object| {
        let seen = cluster.get(object.reference()).await?;
        cluster
            .put(object, seen.as_ref(), &manager(), Conflicts::Force)
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
    for at_a_time in [1, 8] {
        let ns = namespace(&cluster, &format!("many-{at_a_time}")).await;
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
    }
    assert!(figures[1] < PER_OBJECT, "{figures:?}");
}
