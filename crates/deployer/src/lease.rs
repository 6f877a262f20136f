//! Leases, for one writer at a time: renewed while their guard lives, and taken over when their holder is gone.

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
use crate::cluster::wire::{Call, chain_text};
use crate::error::{Error, cut};
use crate::held::HeldLease;
use crate::limits;
use crate::object::{Object, ObjectRef};
use crate::read::object_in;

/// The number of times that a race for the lease is run before it is given up.
const RACES: usize = 5;

/// The time of day. The caller's, since the crate reads no clock.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// Whether the holder of this name is known to be gone for good, so that its lease can be taken at once. The caller's,
/// since the crate looks at no processes. In doubt it is not.
#[derive(Clone)]
pub struct Gone(Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl Gone {
    /// Decides by the holder's name.
    pub fn by(decide: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }

    /// Knows of nobody.
    #[must_use]
    pub fn unknown() -> Self {
        Self::by(|_| false)
    }
}

impl fmt::Debug for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gone")
    }
}

/// The leases that a program holds, so that it can wait at its end until they are given back. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Leases(Arc<watch::Sender<usize>>);

impl Leases {
    /// Waits until no lease is held.
    pub async fn given_back(&self) {
        // Fails only without a sender, and we are one.
        let _ = self.0.subscribe().wait_for(|held| *held == 0).await;
    }

    pub(crate) fn count(&self) -> Counted {
        self.0.send_modify(|held| *held += 1);
        Counted(self.clone())
    }
}

/// The count of one more lease, until dropped.
#[derive(Debug)]
pub(crate) struct Counted(Leases);

impl Counted {
    /// The count that it is one more of.
    #[cfg(test)]
    pub(crate) fn leases(&self) -> &Leases {
        &self.0
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.send_modify(|held| *held -= 1);
    }
}

/// The lease that is wanted, and its holder.
#[derive(Debug, Clone)]
pub struct LeaseRequest {
    /// The lease's namespace, which must exist.
    pub namespace: String,
    /// The lease's name.
    pub name: String,
    /// The name that others read of us; must differ between any two that may want the lease at the same time.
    pub holder: String,
    /// The time without renewal after which others may take it. Renewed three times as often; at least one second.
    pub ttl: Duration,
    /// The holders whose lease can be taken without waiting for that.
    pub gone: Gone,
    /// The counter in which it is counted while it is held.
    pub leases: Leases,
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

    /// Returns the time in whole seconds, which leases count.
    fn seconds(&self) -> u64 {
        self.ttl.as_secs().max(1)
    }

    /// Refuses a lease that another holder keeps, who is not known to be gone and has renewed it in time.
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

/// Holds a lease. Dropping it gives the lease back in the background; [`LeaseGuard::release`] waits until that is done.
pub struct LeaseGuard {
    request: LeaseRequest,
    state: watch::Receiver<Option<String>>,
    held_before: Option<SystemTime>,
    /// The sender that ends the renewal when it is closed.
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
    /// An error once the lease is not ours any more. To be asked before each step that must have one writer.
    pub fn check(&self) -> Result<(), Error> {
        match &*self.state.borrow() {
            None => Ok(()),
            Some(why) => Err(self.request.lost(why)),
        }
    }

    /// Whether it is still ours, for somebody who asks elsewhere, also after this value is gone.
    pub fn holds(&self) -> impl Fn() -> bool + Send + Sync + use<> {
        let state = self.state.clone();
        // The keeper that has ended keeps nothing.
        move || state.borrow().is_none() && state.has_changed().is_ok()
    }

    /// The time at which it was last renewed or given back before it became ours, by the clock of whoever held it; none if
    /// nobody ever did.
    #[must_use]
    pub fn held_before(&self) -> Option<SystemTime> {
        self.held_before
    }

    /// Gives the lease back.
    pub async fn release(mut self) -> Result<(), Error> {
        drop(self.stop.take());
        match self.task.await {
            Ok(result) => result,
            Err(error) => Err(self.request.lost(error.to_string())),
        }
    }
}

/// The cluster, the request and the clock that holding a lease needs.
struct Keeper {
    cluster: Cluster,
    request: LeaseRequest,
    clock: Clock,
}

impl Cluster {
    /// Takes a lease that is free, or whose holder is gone or has not renewed it in time, and renews it from then on.
    /// Must be called in a tokio runtime that goes on running while the lease is held. When nobody waits for it any
    /// more, a lease that was just being taken is given back too.
    pub async fn acquire_lease(
        &self,
        request: LeaseRequest,
        clock: Clock,
    ) -> Result<LeaseGuard, Error> {
        let keeper = Keeper {
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
            held_before: None,
            stop: Some(stop),
            task,
        };
        match taken.await {
            Ok(result) => {
                guard.held_before = result?;
                Ok(guard)
            }
            Err(error) => Err(guard.request.lost(error.to_string())),
        }
    }

    /// Whether another holder keeps a lease now, who is not known to be gone and has renewed it in time.
    pub async fn is_lease_held(
        &self,
        request: &LeaseRequest,
        now: SystemTime,
    ) -> Result<bool, Error> {
        let lease = self.get(&request.reference()).await?;
        Ok(lease.is_some_and(|lease| request.check_free(&lease, now).is_err()))
    }
}

impl Keeper {
    /// Takes the lease, says so, and keeps it.
    async fn run(
        self,
        tell: oneshot::Sender<Result<Option<SystemTime>, Error>>,
        lost: watch::Sender<Option<String>>,
        stopped: oneshot::Receiver<()>,
    ) -> Result<(), Error> {
        let result = self.take().await;
        let taken = result.is_ok();
        // Whoever does not listen any more has closed `stopped` too.
        let _ = tell.send(result);
        if taken {
            self.keep(lost, stopped).await
        } else {
            Ok(())
        }
    }

    /// Takes the lease. Returns the time at which it was last renewed before, if anybody ever held it.
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
                // Somebody else was quicker, or our own first attempt did arrive: look again.
                Err(Error::Changed { .. }) => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    return Ok(found.and_then(|it| time(&it.as_value()["spec"]["renewTime"])));
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

    /// Writes a lease that was just read; [`Error::Changed`] when it has changed since.
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

    /// Renews until told to stop, then gives the lease back; or until the lease is lost, and says so.
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
            // The server writes the renewal at some moment after this, so that others wait at least as long as is
            // counted here.
            let began = Instant::now();
            let left = (period * 3).saturating_sub(renewed.elapsed());
            let why = match tokio::time::timeout(left, self.renew()).await {
                Ok(Ok(())) => {
                    renewed = began;
                    continue;
                }
                Ok(Err(error)) if !may_be_retried(&error) => chain_text(&error),
                // A failed renewal may be tried again as long as nobody may take the lease.
                _ if renewed.elapsed() + period < period * 3 => continue,
                Ok(Err(error)) => chain_text(&error),
                Err(_) => "the server did not respond in time".to_owned(),
            };
            lost.send_replace(Some(why.clone()));
            return Err(self.request.lost(why));
        }
    }

    async fn renew(&self) -> Result<(), Error> {
        let lease = self.ours().await?;
        self.replace(&lease, Some(&self.request.holder)).await
    }

    async fn give_back(&self) -> Result<(), Error> {
        let lease = self.ours().await?;
        self.replace(&lease, None).await
    }

    async fn ours(&self) -> Result<Object, Error> {
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

/// Whether a renewal that failed may succeed later.
fn may_be_retried(error: &Error) -> bool {
    // What was allowed when the lease was taken is allowed once the API server knows it again.
    let is_passing = error.is_temporary() || error.may_be_of_a_start();
    is_passing && !matches!(error, Error::LeaseLost { .. })
}

/// Returns how long a lease still holds; zero when it does not, or when its times make no sense.
fn time_left(spec: &Value, now: SystemTime) -> Duration {
    let (Some(renewed), Some(seconds)) = (
        time(&spec["renewTime"]),
        spec["leaseDurationSeconds"].as_u64(),
    ) else {
        return Duration::ZERO;
    };
    let lasts = Duration::from_secs(seconds).saturating_add(limits::CLOCK_SKEW);
    match renewed.checked_add(lasts) {
        // A clock far ahead must not keep a lease for ever: never wait longer than it lasts.
        Some(end) => end.duration_since(now).unwrap_or_default().min(lasts),
        None => Duration::ZERO,
    }
}

fn time(value: &Value) -> Option<SystemTime> {
    let time: Timestamp = value.as_str()?.parse().ok()?;
    Some(SystemTime::from(time))
}

/// Writes a time as the API server reads it: always six digits.
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
            gone: Gone::by(|holder| holder == "dead"),
            leases: Leases::default(),
        }
    }

    /// A server that keeps one lease, without the API server's care for versions.
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
            // Begun, and not waited for.
            let begun = futures::poll!(taking.as_mut());
            assert!(begun.is_pending());
        }
        assert_eq!(*leases.0.borrow(), 1);
        leases.given_back().await;
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
        // Two answers that ask for 7 s each.
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
        let renewed = |request: &crate::mock::Seen| request.method == "PUT";
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
