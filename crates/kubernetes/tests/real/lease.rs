//! Leases, which ensure a single writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use kubernetes::{
    Clock, Cluster, Error, HeldLeases, HolderCheck, LeaseGuard, LeaseRequest, ObjectRef,
};
use serde_json::{Value, json};

use crate::setup::{admin, apply, namespace, until};

const START: u64 = 1_800_000_000;

/// A clock that a test controls.
#[derive(Clone, Default)]
struct Hands(Arc<AtomicU64>);

impl Hands {
    fn go_on(&self, by: Duration) {
        self.0.fetch_add(by.as_secs(), Ordering::SeqCst);
    }

    fn clock(&self) -> Clock {
        let hands = self.0.clone();
        Arc::new(move || {
            SystemTime::UNIX_EPOCH + Duration::from_secs(START + hands.load(Ordering::SeqCst))
        })
    }
}

fn request(namespace: &str, holder: &str, ttl: u64) -> LeaseRequest {
    LeaseRequest {
        namespace: namespace.to_owned(),
        name: "import".to_owned(),
        holder: holder.to_owned(),
        ttl: Duration::from_secs(ttl),
        gone: HolderCheck::unknown(),
        leases: HeldLeases::default(),
    }
}

async fn take(
    cluster: &Cluster,
    ns: &str,
    holder: &str,
    hands: &Hands,
) -> Result<LeaseGuard, Error> {
    cluster
        .acquire_lease(request(ns, holder, 60), hands.clock())
        .await
}

async fn spec(cluster: &Cluster, ns: &str) -> Value {
    let reference = ObjectRef::namespaced("coordination.k8s.io/v1", "Lease", ns, "import");
    cluster.get(&reference).await.unwrap().unwrap().as_value()["spec"].clone()
}

#[tokio::test]
async fn a_second_writer_is_told_who_is_first() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "lease").await;
    let hands = Hands::default();
    let first = take(&cluster, &ns, "first", &hands).await.unwrap();
    first.check().unwrap();
    let error = take(&cluster, &ns, "second", &hands).await.unwrap_err();
    assert!(
        matches!(&error, Error::LeaseHeld(held) if held.holder == "first"),
        "{error:?}"
    );
    assert!(error.is_temporary());
    first.release().await.unwrap();
    assert_eq!(spec(&cluster, &ns).await.get("holderIdentity"), None);
    take(&cluster, &ns, "second", &hands)
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
}

#[tokio::test]
async fn of_many_at_once_one_gets_it() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "race").await;
    let hands = Hands::default();
    let names: Vec<String> = (0..8).map(|i| format!("holder-{i}")).collect();
    let results =
        futures::future::join_all(names.iter().map(|name| take(&cluster, &ns, name, &hands))).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    for error in results.iter().filter_map(|result| result.as_ref().err()) {
        assert!(matches!(error, Error::LeaseHeld { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_lease_of_somebody_gone_is_taken_over() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "takeover").await;
    let hands = Hands::default();
    apply(
        &cluster,
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "import", "namespace": ns},
            "spec": {"holderIdentity": "gone", "leaseDurationSeconds": 60, "renewTime": "2027-01-15T08:00:00.000000Z"}}),
    )
    .await;
    let error = take(&cluster, &ns, "next", &hands).await.unwrap_err();
    assert!(matches!(error, Error::LeaseHeld { .. }), "{error:?}");
    hands.go_on(Duration::from_secs(70));
    let guard = take(&cluster, &ns, "next", &hands).await.unwrap();
    let spec = spec(&cluster, &ns).await;
    assert_eq!(
        (&spec["holderIdentity"], &spec["leaseTransitions"]),
        (&json!("next"), &json!(1))
    );
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_held_lease_is_renewed_and_its_loss_is_noticed() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "renew").await;
    let hands = Hands::default();
    let guard = cluster
        .acquire_lease(request(&ns, "first", 1), hands.clock())
        .await
        .unwrap();
    let before = spec(&cluster, &ns).await["renewTime"].clone();
    hands.go_on(Duration::from_secs(1000));
    until("a renewal", async || {
        spec(&cluster, &ns).await["renewTime"] != before
    })
    .await;
    guard.check().unwrap();

    hands.go_on(Duration::from_secs(1000));
    let thief = take(&cluster, &ns, "second", &hands).await;
    until("the loss is noticed", async || {
        thief.is_err() || guard.check().is_err()
    })
    .await;
    let thief = thief.unwrap();
    let error = guard.check().unwrap_err();
    assert!(error.to_string().contains("second holds it"), "{error}");
    assert!(matches!(
        guard.release().await,
        Err(Error::LeaseLost { .. })
    ));
    thief.check().unwrap();
}

#[tokio::test]
async fn a_dropped_guard_gives_the_lease_back() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "drop").await;
    let hands = Hands::default();
    drop(take(&cluster, &ns, "first", &hands).await.unwrap());
    until("the lease is free", async || {
        spec(&cluster, &ns).await.get("holderIdentity").is_none()
    })
    .await;
}
