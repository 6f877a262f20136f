//! Leases, which ensure a single writer. [`Cluster::acquire_lease`] acquires one, or takes over an expired one, and the
//! [`LeaseGuard`] renews it until it is dropped.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::cluster::request::{Call, chain_text};
use crate::error::{Error, HeldLease, cut};
use crate::limits;
use crate::object::{Object, ObjectRef};
use crate::read::object_in;

/// The number of attempts if other writers change the lease at the same time.
const RACES: usize = 5;

/// The clock of the caller, because this crate does not read the time.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// A function that decides whether the holder with this name no longer exists, so that its lease can be taken over at
/// once. The caller provides it, because this crate does not inspect processes. In doubt, it must return `false`.
#[derive(Clone)]
pub struct HolderCheck(Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl HolderCheck {
    /// Creates the value from a function of the holder's name.
    pub fn new(decide: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }

    /// Creates the value that regards every holder as existing.
    #[must_use]
    pub fn unknown() -> Self {
        Self::new(|_| false)
    }
}

impl fmt::Debug for HolderCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HolderCheck")
    }
}

/// The leases that a program holds, so that it can wait for their release before it exits. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct HeldLeases(Arc<watch::Sender<usize>>);

impl HeldLeases {
    /// Waits until no lease is held.
    pub async fn wait_released(&self) {
        // This fails only without a sender, and `self` is one.
        let _ = self.0.subscribe().wait_for(|held| *held == 0).await;
    }

    pub(crate) fn count(&self) -> LeaseCount {
        self.0.send_modify(|held| *held += 1);
        LeaseCount(self.clone())
    }
}

/// The count of one lease, until it is dropped.
#[derive(Debug)]
pub(crate) struct LeaseCount(HeldLeases);

impl LeaseCount {
    /// Returns the counter that includes this lease.
    #[cfg(test)]
    pub(crate) fn leases(&self) -> &HeldLeases {
        &self.0
    }
}

impl Drop for LeaseCount {
    fn drop(&mut self) {
        self.0.0.send_modify(|held| *held -= 1);
    }
}

/// The lease to acquire, and its holder.
#[derive(Debug, Clone)]
pub struct LeaseRequest {
    /// The lease's namespace, which must exist.
    pub namespace: String,
    /// The lease's name.
    pub name: String,
    /// The holder's name, which other writers see. Two writers that may compete for the lease must have different
    /// names.
    pub holder: String,
    /// The time without renewal after which other writers may take over the lease, at least one second. The lease is
    /// renewed three times as often.
    pub ttl: Duration,
    /// The holders whose lease can be taken over before it expires.
    pub gone: HolderCheck,
    /// The counter of held leases.
    pub leases: HeldLeases,
}

impl LeaseRequest {
    fn reference(&self) -> ObjectRef {
        ObjectRef::namespaced(
            "coordination.k8s.io/v1",
            "Lease",
            &self.namespace,
            &self.name,
        )
    }

    /// Returns the duration in whole seconds, the unit of leases.
    fn seconds(&self) -> u64 {
        self.ttl.as_secs().max(1)
    }

    /// Fails if another holder has renewed the lease in time and is not known to have ended.
    fn check_free(&self, lease: &Object, now: SystemTime) -> Result<(), Error> {
        let spec = &lease.as_value()["spec"];
        let holder = spec["holderIdentity"].as_str().unwrap_or_default();
        if holder.is_empty() || holder == self.holder || (self.gone.0)(holder) {
            return Ok(());
        }
        let left = time_left(spec, now);
        if left.is_zero() {
            return Ok(());
        }
        Err(Error::LeaseHeld(HeldLease {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            holder: cut(holder, limits::MAX_SHOWN_VALUE),
            since: time(&spec["acquireTime"]),
            expires_in: left,
        }))
    }

    fn lost(&self, why: impl Into<String>) -> Error {
        Error::LeaseLost {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            why: why.into(),
        }
    }
}

/// A held lease. Dropping it releases the lease in the background; [`LeaseGuard::release`] waits until it is released.
pub struct LeaseGuard {
    request: LeaseRequest,
    state: watch::Receiver<Option<String>>,
    previous_renewal: Option<SystemTime>,
    /// The sender that stops the renewal when it is dropped.
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), Error>>,
}

impl fmt::Debug for LeaseGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseGuard")
            .field("request", &self.request)
            .finish_non_exhaustive()
    }
}

impl LeaseGuard {
    /// Fails if the lease is lost. Callers must check this before each step that requires a single writer.
    pub fn check(&self) -> Result<(), Error> {
        match &*self.state.borrow() {
            None => Ok(()),
            Some(why) => Err(self.request.lost(why)),
        }
    }

    /// Returns a function that checks whether the lease is still held. It can outlive this value.
    pub fn holds(&self) -> impl Fn() -> bool + Send + Sync + use<> {
        let state = self.state.clone();
        // When the keeper task has ended, the lease is no longer held.
        move || state.borrow().is_none() && state.has_changed().is_ok()
    }

    /// Returns the time of the last renewal or release before this writer acquired the lease, by the clock of that
    /// holder; `None` if there was none.
    #[must_use]
    pub fn previous_renewal(&self) -> Option<SystemTime> {
        self.previous_renewal
    }

    /// Releases the lease.
    pub async fn release(mut self) -> Result<(), Error> {
        drop(self.stop.take());
        match self.task.await {
            Ok(result) => result,
            Err(error) => Err(self.request.lost(error.to_string())),
        }
    }
}

/// The parameters of the task that holds a lease.
struct LeaseKeeper {
    cluster: Cluster,
    request: LeaseRequest,
    clock: Clock,
}

impl Cluster {
    /// Acquires a lease that is free, expired, or held by a writer that no longer exists, and then renews it. Must be
    /// called in a tokio runtime that keeps running while the lease is held. If the future is dropped, a lease that was
    /// just acquired is released.
    pub async fn acquire_lease(
        &self,
        request: LeaseRequest,
        clock: Clock,
    ) -> Result<LeaseGuard, Error> {
        let keeper = LeaseKeeper {
            cluster: self.clone(),
            request: request.clone(),
            clock,
        };
        let (lost, state) = watch::channel(None);
        let (stop, stopped) = oneshot::channel();
        let (tell, taken) = oneshot::channel();
        let counted = request.leases.count();
        let task = tokio::spawn(async move {
            let _counted = counted;
            keeper.run(tell, lost, stopped).await
        });
        let mut guard = LeaseGuard {
            request,
            state,
            previous_renewal: None,
            stop: Some(stop),
            task,
        };
        match taken.await {
            Ok(result) => {
                guard.previous_renewal = result?;
                Ok(guard)
            }
            Err(error) => Err(guard.request.lost(error.to_string())),
        }
    }

    /// Checks whether another holder has the lease, has renewed it in time and is not known to have ended.
    pub async fn is_lease_held(
        &self,
        request: &LeaseRequest,
        now: SystemTime,
    ) -> Result<bool, Error> {
        let lease = self.get(&request.reference()).await?;
        Ok(lease.is_some_and(|lease| request.check_free(&lease, now).is_err()))
    }
}

impl LeaseKeeper {
    /// Acquires the lease, reports the result, and renews it.
    async fn run(
        self,
        tell: oneshot::Sender<Result<Option<SystemTime>, Error>>,
        lost: watch::Sender<Option<String>>,
        stopped: oneshot::Receiver<()>,
    ) -> Result<(), Error> {
        let result = self.take().await;
        let taken = result.is_ok();
        // If the receiver is dropped, `stopped` is closed too.
        let _ = tell.send(result);
        if taken {
            self.keep(lost, stopped).await
        } else {
            Ok(())
        }
    }

    /// Acquires the lease. Returns the time of the last renewal before, if there was one.
    async fn take(&self) -> Result<Option<SystemTime>, Error> {
        for _ in 0..RACES {
            let found = self.cluster.get(&self.request.reference()).await?;
            let attempt = match &found {
                None => self.create().await,
                Some(lease) => {
                    self.request.check_free(lease, (self.clock)())?;
                    self.replace(lease, Some(&self.request.holder)).await
                }
            };
            match attempt {
                // Another writer was faster, or the server did process our own first attempt: read the lease again.
                Err(Error::Changed { .. }) => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    return Ok(found.and_then(|lease| time(&lease.as_value()["spec"]["renewTime"])));
                }
            }
        }
        Err(self.request.lost("other writers keep changing it"))
    }

    async fn create(&self) -> Result<(), Error> {
        let reference = self.request.reference();
        let doing = format!("create {reference}");
        let body = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.request.name, "namespace": self.request.namespace},
            "spec": self.spec(Some(&self.request.holder), &Value::Null),
        });
        let path = self
            .cluster
            .collection_path(&reference.gvk, Some(&self.request.namespace))
            .await?;
        self.cluster
            .call(&Call::json(Method::POST, path, &body, &doing)?)
            .await?;
        Ok(())
    }

    /// Writes a lease that was just read. Fails with [`Error::Changed`] if it has changed since.
    async fn replace(&self, lease: &Object, holder: Option<&str>) -> Result<(), Error> {
        let reference = lease.reference();
        let doing = format!("write {reference}");
        let mut body = lease.as_value().clone();
        body["spec"] = self.spec(holder, &lease.as_value()["spec"]);
        let path = self.cluster.object_path(reference).await?;
        let reply = self
            .cluster
            .call(&Call::json(Method::PUT, path, &body, &doing)?)
            .await?;
        object_in(&reply, &doing).map(|_| ())
    }

    fn spec(&self, holder: Option<&str>, old: &Value) -> Value {
        let now = micro_time((self.clock)());
        let transitions = old["leaseTransitions"].as_u64().unwrap_or(0);
        let same = old["holderIdentity"].as_str() == holder;
        let acquired = if same {
            old["acquireTime"].clone()
        } else {
            json!(now)
        };
        let mut spec = json!({
            "leaseDurationSeconds": self.request.seconds(),
            "renewTime": now,
            "acquireTime": acquired,
            "leaseTransitions": if same { transitions } else { transitions.saturating_add(1) },
        });
        if let Some(holder) = holder {
            spec["holderIdentity"] = json!(holder);
        }
        spec
    }

    /// Renews the lease until it is stopped, then releases it. If the lease is lost, this is reported instead.
    async fn keep(
        self,
        lost: watch::Sender<Option<String>>,
        mut stopped: oneshot::Receiver<()>,
    ) -> Result<(), Error> {
        let period = Duration::from_secs(self.request.seconds()) / 3;
        let mut renewed = Instant::now();
        loop {
            tokio::select! {
                _ = &mut stopped => return self.give_back().await,
                () = tokio::time::sleep(period) => {}
            }
            // The server stores the renewal at some time after this, so other writers wait at least until the end that
            // is computed here.
            let began = Instant::now();
            let left = (period * 3).saturating_sub(renewed.elapsed());
            let why = match tokio::time::timeout(left, self.renew()).await {
                Ok(Ok(())) => {
                    renewed = began;
                    continue;
                }
                Ok(Err(error)) if !may_be_retried(&error) => chain_text(&error),
                // A failed renewal can be retried until other writers may take over the lease.
                _ if renewed.elapsed() + period < period * 3 => continue,
                Ok(Err(error)) => chain_text(&error),
                Err(_) => "the server did not respond in time".to_owned(),
            };
            lost.send_replace(Some(why.clone()));
            return Err(self.request.lost(why));
        }
    }

    async fn renew(&self) -> Result<(), Error> {
        let lease = self.own_lease().await?;
        self.replace(&lease, Some(&self.request.holder)).await
    }

    async fn give_back(&self) -> Result<(), Error> {
        let lease = self.own_lease().await?;
        self.replace(&lease, None).await
    }

    async fn own_lease(&self) -> Result<Object, Error> {
        let lease = self
            .cluster
            .get(&self.request.reference())
            .await?
            .ok_or_else(|| self.request.lost("it was deleted"))?;
        let holder = lease.as_value()["spec"]["holderIdentity"]
            .as_str()
            .unwrap_or_default();
        if holder == self.request.holder {
            return Ok(lease);
        }
        let holder = if holder.is_empty() {
            "no writer"
        } else {
            holder
        };
        Err(self
            .request
            .lost(format!("{} holds it", cut(holder, limits::MAX_SHOWN_VALUE))))
    }
}

/// Checks whether a failed renewal can succeed later.
fn may_be_retried(error: &Error) -> bool {
    // The permission was granted when the lease was acquired, so a server that has just started will grant it again.
    let is_passing = error.is_temporary() || error.may_be_of_a_start();
    is_passing && !matches!(error, Error::LeaseLost { .. })
}

/// Returns the remaining time of a lease; zero if it has expired or its times are invalid.
fn time_left(spec: &Value, now: SystemTime) -> Duration {
    let (Some(renewed), Some(seconds)) = (
        time(&spec["renewTime"]),
        spec["leaseDurationSeconds"].as_u64(),
    ) else {
        return Duration::ZERO;
    };
    let lasts = Duration::from_secs(seconds).saturating_add(limits::CLOCK_SKEW);
    match renewed.checked_add(lasts) {
        // The clock of the holder may be wrong. The wait is limited to the duration of the lease.
        Some(end) => end.duration_since(now).unwrap_or_default().min(lasts),
        None => Duration::ZERO,
    }
}

fn time(value: &Value) -> Option<SystemTime> {
    let time: Timestamp = value.as_str()?.parse().ok()?;
    Some(SystemTime::from(time))
}

/// Formats a time as the API server requires it, always with six decimal digits.
fn micro_time(time: SystemTime) -> String {
    Timestamp::try_from(time)
        .unwrap_or(Timestamp::UNIX_EPOCH)
        .strftime("%Y-%m-%dT%H:%M:%S.%6fZ")
        .to_string()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::mock::{Answer, cluster};

    const NOW: u64 = 1_800_000_000;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn request(ttl: Duration) -> LeaseRequest {
        LeaseRequest {
            namespace: "n".to_owned(),
            name: "l".to_owned(),
            holder: "us".to_owned(),
            ttl,
            gone: HolderCheck::new(|holder| holder == "dead"),
            leases: HeldLeases::default(),
        }
    }

    /// A server with one lease that ignores resource versions.
    async fn keeping(lease: Value) -> (Cluster, Arc<Mutex<Value>>) {
        let stored = Arc::new(Mutex::new(lease));
        let kept = Arc::clone(&stored);
        let (cluster, _) = cluster(move |request| {
            let mut kept = kept.lock().unwrap();
            match request.method.as_str() {
                "GET" if kept.is_null() => Answer::json(404, &json!({})),
                "GET" => Answer::json(200, &kept),
                _ => {
                    *kept = serde_json::from_str(&request.body).unwrap();
                    Answer::json(201, &kept)
                }
            }
        })
        .await;
        (cluster, stored)
    }

    fn held_by(holder: &str) -> Value {
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l", "namespace": "n"},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": 30,
                "acquireTime": micro_time(at(NOW - 41)), "renewTime": micro_time(at(NOW - 1))}})
    }

    #[tokio::test(start_paused = true)]
    async fn a_holder_that_is_gone_is_not_waited_for_and_a_living_one_is_told() {
        let (cluster, stored) = keeping(held_by("dead")).await;
        let ttl = Duration::from_secs(30);
        let guard = cluster
            .acquire_lease(request(ttl), Arc::new(|| at(NOW)))
            .await
            .unwrap();
        assert_eq!(stored.lock().unwrap()["spec"]["holderIdentity"], "us");
        guard.release().await.unwrap();
        let (cluster, _) = keeping(held_by("alive")).await;
        let result = cluster
            .acquire_lease(request(ttl), Arc::new(|| at(NOW)))
            .await;
        assert!(
            matches!(&result, Err(Error::LeaseHeld(held)) if held.holder == "alive" && held.since == Some(at(NOW - 41))),
            "{result:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_is_counted_until_it_is_given_back_also_when_nobody_waits_for_it() {
        let (cluster, stored) = keeping(Value::Null).await;
        let request = request(Duration::from_secs(30));
        let leases = request.leases.clone();
        {
            let mut taking = Box::pin(cluster.acquire_lease(request, Arc::new(|| at(NOW))));
            // Started, but not awaited.
            let begun = futures::poll!(taking.as_mut());
            assert!(begun.is_pending());
        }
        assert_eq!(*leases.0.borrow(), 1);
        leases.wait_released().await;
        assert!(
            stored.lock().unwrap()["spec"]
                .get("holderIdentity")
                .is_none(),
            "{stored:?}"
        );
    }

    #[test]
    fn times_are_written_as_the_server_reads_them() {
        assert_eq!(micro_time(at(NOW)), "2027-01-15T08:00:00.000000Z");
        assert_eq!(
            micro_time(at(NOW) + Duration::from_nanos(1_002_003)),
            "2027-01-15T08:00:00.001002Z"
        );
    }

    #[test]
    fn a_lease_ends_and_cannot_be_made_to_last_for_ever() {
        let spec = |renewed: SystemTime| json!({"renewTime": micro_time(renewed), "leaseDurationSeconds": 60});
        let whole = Duration::from_mins(1) + limits::CLOCK_SKEW;
        assert_eq!(time_left(&spec(at(NOW)), at(NOW)), whole);
        assert_eq!(time_left(&spec(at(NOW)), at(NOW + 60)), limits::CLOCK_SKEW);
        assert_eq!(time_left(&spec(at(NOW)), at(NOW + 65)), Duration::ZERO);
        assert_eq!(time_left(&spec(at(NOW + 1_000_000)), at(NOW)), whole);
        for odd in [
            json!({}),
            json!({"renewTime": "x", "leaseDurationSeconds": 60}),
            json!({"renewTime": micro_time(at(NOW))}),
        ] {
            assert_eq!(time_left(&odd, at(NOW)), Duration::ZERO);
        }
        let endless = json!({"renewTime": micro_time(at(NOW)), "leaseDurationSeconds": u64::MAX});
        assert_eq!(time_left(&endless, at(NOW)), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_may_take_as_long_as_the_lease_holds() {
        // Two answers that request a pause of 7 s each.
        let state = Mutex::new((Value::Null, 2));
        let (cluster, seen) = cluster(move |request| {
            let (stored, busy) = &mut *state.lock().unwrap();
            match request.method.as_str() {
                "GET" if stored.is_null() => return Answer::json(404, &json!({})),
                "GET" if *busy > 0 => {
                    *busy -= 1;
                    return Answer(503, Some(7), Vec::new());
                }
                "POST" | "PUT" => *stored = serde_json::from_str(&request.body).unwrap(),
                _ => {}
            }
            Answer::json(200, stored)
        })
        .await;
        let ttl = Duration::from_secs(30);
        let clock: Clock = Arc::new(|| at(NOW));
        let guard = cluster.acquire_lease(request(ttl), clock).await.unwrap();
        tokio::time::sleep(ttl).await;
        guard.check().unwrap();
        let renewed = |request: &crate::mock::RecordedRequest| request.method == "PUT";
        assert!(seen.lock().unwrap().iter().any(renewed));
        guard.release().await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_that_a_starting_api_server_refuses_is_tried_again() {
        let state = Mutex::new((Value::Null, 1));
        let (cluster, _) = cluster(move |request| {
            let (stored, refusals) = &mut *state.lock().unwrap();
            match request.method.as_str() {
                "GET" if stored.is_null() => return Answer::json(404, &json!({})),
                "GET" if *refusals > 0 => {
                    *refusals -= 1;
                    return Answer(403, None, Vec::new());
                }
                "POST" | "PUT" => *stored = serde_json::from_str(&request.body).unwrap(),
                _ => {}
            }
            Answer::json(200, stored)
        })
        .await;
        let ttl = Duration::from_secs(30);
        let clock: Clock = Arc::new(|| at(NOW));
        let guard = cluster.acquire_lease(request(ttl), clock).await.unwrap();
        tokio::time::sleep(2 * ttl).await;
        guard.check().unwrap();
        guard.release().await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_cannot_be_renewed_is_given_up_before_others_may_take_it() {
        let stored: Mutex<Value> = Mutex::new(Value::Null);
        let (cluster, _) = cluster(move |request| {
            let mut stored = stored.lock().unwrap();
            match request.method.as_str() {
                "GET" if stored.is_null() => Answer::json(404, &json!({})),
                "POST" => {
                    *stored = serde_json::from_str(&request.body).unwrap();
                    Answer::json(201, &stored)
                }
                _ => Answer(503, None, Vec::new()),
            }
        })
        .await;
        let ttl = Duration::from_secs(30);
        let request = request(ttl);
        let began = Instant::now();
        let guard = cluster
            .acquire_lease(request, Arc::new(|| at(NOW)))
            .await
            .unwrap();
        guard.check().unwrap();
        guard.state.clone().changed().await.unwrap();
        assert!(guard.check().unwrap_err().is_temporary());
        assert!(began.elapsed() <= ttl, "{:?}", began.elapsed());
        assert!(matches!(
            guard.release().await,
            Err(Error::LeaseLost { .. })
        ));
    }
}
