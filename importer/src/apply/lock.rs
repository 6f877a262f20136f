//! The locks for writing: a Lease of the cluster that is held shortly, and a Lease of each changed environment that is
//! held until the change ends. [`Lock::acquire`] takes them.
//!
//! The cluster's Lease covers the dependencies of a decision beyond one environment: CRDs, versions, signers, and the
//! environments that have a Solution. It is released as soon as these are decided and written. Work that takes minutes
//! continues under the Lease of its environment alone. All Leases are in the namespace of the records, where no tenant
//! can write. A namespace administrator uses one in their own namespace.
//!
//! Deadlocks cannot occur: environments are locked first, in their order, and the cluster last, so a holder of the
//! cluster's Lease never waits for another one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kubernetes::{Cluster, ConflictPolicy, LeaseGuard, LeaseRequest, Object, ObjectRef, limits};
use planner::vocabulary as v;
use progress::ProgressSink;
use schemas::EnvironmentName;
use tokio::time::Instant;

use crate::limits::CLUSTER_LEASE_WAIT;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::model::writer::{Authority, LeaseConflictPolicy, Writer};
use crate::records::record;

/// The time for which a dead writer blocks the next one. Live writers renew much earlier.
const TIME_TO_LIVE: Duration = Duration::from_secs(30);

/// A writer that requests the Leases: its cluster, its authority, the environments that it changes, and its listener.
#[derive(Clone, Copy)]
pub(crate) struct LeaseCandidate<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) authority: &'a Authority,
    pub(crate) environments: &'a BTreeSet<EnvironmentName>,
    pub(crate) writer: &'a Writer,
    pub(crate) tell: ProgressSink<'a, Event>,
    /// The time of the plan, if the change is applied only when it still matches that plan.
    pub(crate) planned: Option<SystemTime>,
}

/// The acquired Leases, until they are released.
#[derive(Debug)]
pub(crate) struct Lock {
    environments: BTreeMap<EnvironmentName, LeaseGuard>,
    /// The Lease of the cluster, or of the only namespace that a namespace administrator changes. `None` once it was
    /// released.
    whole: Option<LeaseGuard>,
    /// The time at which the last Lease was acquired.
    since: Instant,
    /// The objects that had to be removed before the server accepted a Lease.
    pub(crate) cleared: Vec<ObjectRef>,
}

impl Lock {
    /// Takes the Leases, and creates the namespace of the records if it does not exist. As long as a webhook for Leases
    /// does not answer, no writer can take one. In that case `clear` removes the objects that are to be removed and
    /// cause such calls, and returns them.
    pub(crate) async fn acquire(
        candidate: LeaseCandidate<'_>,
        clear: impl AsyncFnOnce() -> Result<Vec<ObjectRef>, Error>,
    ) -> Result<Self, Error> {
        let LeaseCandidate {
            cluster,
            authority,
            environments,
            writer,
            ..
        } = candidate;
        if let Authority::Cluster = authority {
            make_home(cluster).await?;
        }
        let user = cluster.username().await;
        let request = |name: String| LeaseRequest {
            holder: (writer.name)(user.as_deref()),
            ..request(writer, authority.home(), name)
        };
        let mut clearing = Clearing {
            clear: Some(clear),
            cleared: Vec::new(),
        };
        let mut held = BTreeMap::new();
        for environment in environments {
            let wanted = request(environment_lease(environment));
            let lease = candidate.take(&wanted, writer.turn, &mut clearing).await?;
            held.insert(environment.clone(), lease);
        }
        // Other writers hold the cluster's Lease only for a moment if their change has its own Lease.
        let turn = match (authority, writer.turn) {
            (Authority::Cluster, LeaseConflictPolicy::Refuse) => {
                LeaseConflictPolicy::Wait(CLUSTER_LEASE_WAIT)
            }
            (Authority::Cluster, LeaseConflictPolicy::Wait(longest)) => {
                LeaseConflictPolicy::Wait(longest.max(CLUSTER_LEASE_WAIT))
            }
            (Authority::Namespace(_), turn) => turn,
        };
        let wanted = request(WHOLE.to_owned());
        let whole = candidate.take(&wanted, turn, &mut clearing).await?;
        candidate.tell_if_overtaken(&whole);
        Ok(Self {
            environments: held,
            whole: Some(whole),
            since: Instant::now(),
            cleared: clearing.cleared,
        })
    }

    /// Returns an error once another writer has taken over.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for lease in self.leases() {
            lease.check()?;
        }
        Ok(())
    }

    /// Returns the same check as a function that can be called elsewhere.
    pub(crate) fn holds(&self) -> Arc<dyn Fn() -> bool + Send + Sync> {
        let all: Vec<_> = self.leases().map(LeaseGuard::holds).collect();
        Arc::new(move || all.iter().all(|holds| holds()))
    }

    /// Returns once the Leases have been held for this long. Requests that a former holder had sent by then have ended.
    pub(crate) async fn settled(&self, time: Duration) {
        tokio::time::sleep_until(self.since + time).await;
    }

    /// Releases the Lease of the cluster, unless no environment's Lease covers the rest of the change.
    pub(crate) async fn give_cluster_back(&mut self) -> Result<(), Error> {
        if self.environments.is_empty() {
            return Ok(());
        }
        match self.whole.take() {
            Some(whole) => Ok(whole.release().await?),
            None => Ok(()),
        }
    }

    /// Releases all Leases. Of multiple failures, the first is returned.
    pub(crate) async fn release(self) -> Result<(), Error> {
        let mut released = Ok(());
        let environments = self.environments.into_values();
        for lease in self.whole.into_iter().chain(environments) {
            let given = lease.release().await;
            released = released.and(given);
        }
        Ok(released?)
    }

    fn leases(&self) -> impl Iterator<Item = &LeaseGuard> {
        self.environments.values().chain(&self.whole)
    }

    /// Checks whether the Leases of all these environments are held.
    pub(crate) fn covers(&self, environments: &BTreeSet<EnvironmentName>) -> bool {
        environments
            .iter()
            .all(|environment| self.environments.contains_key(environment))
    }

    /// Checks whether another writer may be changing these environments, all of them in one change. Without
    /// environments, the cluster's Lease decides.
    pub(crate) async fn is_at_work(
        &self,
        environments: &BTreeSet<EnvironmentName>,
        cluster: &Cluster,
        writer: &Writer,
    ) -> Result<bool, Error> {
        let mut names: Vec<String> = environments.iter().map(environment_lease).collect();
        // A change holds the Leases of all its environments, so holding one of them excludes that change.
        let is_ours = if names.is_empty() {
            names.push(WHOLE.to_owned());
            self.whole.is_some()
        } else {
            let mut ours = self.environments.keys();
            ours.any(|environment| environments.contains(environment))
        };
        if is_ours {
            return Ok(false);
        }
        for name in names {
            let request = request(writer, v::RECORDS_NAMESPACE, name);
            if cluster.is_lease_held(&request, (writer.clock)()).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl LeaseCandidate<'_> {
    /// Takes one Lease, and waits for it as `turn` allows.
    async fn take<C: AsyncFnOnce() -> Result<Vec<ObjectRef>, Error>>(
        self,
        request: &LeaseRequest,
        turn: LeaseConflictPolicy,
        clearing: &mut Clearing<C>,
    ) -> Result<LeaseGuard, Error> {
        let began = Instant::now();
        let mut told = None;
        loop {
            let clock = self.writer.clock.clone();
            let held = match self.cluster.acquire_lease(request.clone(), clock).await {
                Ok(lease) => return Ok(lease),
                Err(kubernetes::Error::LeaseHeld(held)) => held,
                Err(error) => {
                    clearing.clear(error).await?;
                    continue;
                }
            };
            match turn {
                LeaseConflictPolicy::Wait(longest) if began.elapsed() < longest => {
                    // Each holder is reported once while waiting.
                    if told.as_ref() != Some(&held.holder) {
                        told = Some(held.holder.clone());
                        (self.tell)(Event::Waiting(held));
                    }
                }
                _ => return Err(kubernetes::Error::LeaseHeld(held).into()),
            }
            tokio::time::sleep(limits::POLL).await;
        }
    }

    /// Reports that another writer has held the Lease since the plan was made, which may therefore be outdated.
    fn tell_if_overtaken(self, lease: &LeaseGuard) {
        // If the other writer's clock is behind, the import stops instead and does not continue wrongly.
        if self.planned.is_some() && lease.previous_renewal() >= self.planned {
            (self.tell)(Event::Overtaken);
        }
    }
}

/// The removal of objects that prevent any Lease from being taken. It runs at most once.
struct Clearing<C> {
    clear: Option<C>,
    cleared: Vec<ObjectRef>,
}

impl<C: AsyncFnOnce() -> Result<Vec<ObjectRef>, Error>> Clearing<C> {
    async fn clear(&mut self, error: kubernetes::Error) -> Result<(), Error> {
        match self.clear.take() {
            Some(clear) if error.is_unanswered_webhook() => {
                self.cleared = clear().await?;
                // If nothing was removed, another attempt would fail in the same way.
                if self.cleared.is_empty() {
                    return Err(error.into());
                }
                Ok(())
            }
            _ => Err(error.into()),
        }
    }
}

/// The name of the cluster's Lease, and of the Lease in a namespace that its administrator changes.
const WHOLE: &str = "solution";

/// The prefix of the names of environments' Leases.
const OF_ENVIRONMENT: &str = "environment-";

/// Returns the name of the Lease of an environment.
fn environment_lease(environment: &EnvironmentName) -> String {
    format!("{OF_ENVIRONMENT}{environment}")
}

/// Returns the environment to which a Lease of this name belongs, if any.
#[must_use]
pub fn leased_environment(lease: &str) -> Option<&str> {
    lease.strip_prefix(OF_ENVIRONMENT)
}

/// Returns a request for inspecting a Lease, without a holder.
fn request(writer: &Writer, namespace: &str, name: String) -> LeaseRequest {
    LeaseRequest {
        namespace: namespace.to_owned(),
        name,
        holder: String::new(),
        ttl: TIME_TO_LIVE,
        gone: writer.gone.clone(),
        leases: writer.leases.clone(),
    }
}

/// Creates the namespace of the records. An existing one is not written: as long as a webhook for namespaces does not
/// answer, every write would fail, and so would the removal of that webhook.
async fn make_home(cluster: &Cluster) -> Result<(), Error> {
    let namespace = Object::new(record::namespace())?;
    if cluster.get(namespace.reference()).await?.is_none() {
        cluster
            .apply(&namespace, &v::manager(), ConflictPolicy::Force)
            .await?;
    }
    Ok(())
}
