//! The right to write: a Lease for what is the cluster's, held shortly, and one for each environment that is changed, held
//! until the change ends.
//!
//! The cluster's Lease covers what a decision about one environment depends on beyond it: CRDs, versions, signers, and
//! which environments have a Solution. As soon as that is decided and written it is given back, and what takes minutes
//! goes on under the Lease of its environment alone. All of them lie with the records, where no tenant writes; whoever
//! administers only a namespace has one there.
//!
//! Environments come first, in their order, and the cluster last: nobody who holds the cluster's waits for another, so
//! that no two can wait for each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use change::vocabulary as v;
use deployer::{Cluster, Conflicts, LeaseGuard, LeaseRequest, Object, ObjectRef, limits};
use schemas::EnvironmentName;
use tokio::time::Instant;
use watch::Tell;

use crate::limits::CLUSTER_LEASE_WAIT;
use crate::model::authority::Authority;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::model::record;
use crate::model::writer::{Turn, Writer};

/// The time for which a writer that is gone keeps others out. Renewed long before.
const TIME_TO_LIVE: Duration = Duration::from_secs(30);

/// The candidate for the Leases: its cluster, its authority, the environments that it changes, the writer itself, and the
/// listener that is told what happens.
#[derive(Clone, Copy)]
pub(crate) struct LeaseCandidate<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) authority: &'a Authority,
    pub(crate) environments: &'a BTreeSet<EnvironmentName>,
    pub(crate) writer: &'a Writer,
    pub(crate) tell: Tell<'a, Event>,
    /// The time at which what is to be done was planned, where it is carried out only if it still comes to the same.
    pub(crate) planned: Option<SystemTime>,
}

/// The right to write, until released.
#[derive(Debug)]
pub(crate) struct Lock {
    environments: BTreeMap<EnvironmentName, LeaseGuard>,
    /// The Lease of the cluster, or of the one namespace that is changed alone; none once it was given back.
    whole: Option<LeaseGuard>,
    /// The time at which the last of them became ours.
    since: Instant,
    /// The objects that had to go before the server took a Lease at all.
    pub(crate) cleared: Vec<ObjectRef>,
}

impl Lock {
    /// Takes the Leases. The namespace of the records is made for them where there is none. As long as a webhook does not
    /// answer that is asked about Leases, nobody can take one, and nobody else writes: then `clear` removes what was to go
    /// and asks such webhooks, and says what that was.
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
        // Others hold it for a moment, where what they change has a Lease of its own.
        let turn = match (authority, writer.turn) {
            (Authority::Cluster, Turn::Refuse) => Turn::Wait(CLUSTER_LEASE_WAIT),
            (Authority::Cluster, Turn::Wait(longest)) => {
                Turn::Wait(longest.max(CLUSTER_LEASE_WAIT))
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

    /// An error once another writer has taken over.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for lease in self.leases() {
            lease.check()?;
        }
        Ok(())
    }

    /// Returns the same question for somebody who asks it elsewhere.
    pub(crate) fn holds(&self) -> Arc<dyn Fn() -> bool + Send + Sync> {
        let all: Vec<_> = self.leases().map(LeaseGuard::holds).collect();
        Arc::new(move || all.iter().all(|holds| holds()))
    }

    /// Returns once it has been ours for so long: what whoever had it before had sent by then has an end.
    pub(crate) async fn settled(&self, time: Duration) {
        tokio::time::sleep_until(self.since + time).await;
    }

    /// Lets others write what is the cluster's. What has no Lease of its own is still ours alone.
    pub(crate) async fn give_cluster_back(&mut self) -> Result<(), Error> {
        if self.environments.is_empty() {
            return Ok(());
        }
        match self.whole.take() {
            Some(whole) => Ok(whole.release().await?),
            None => Ok(()),
        }
    }

    /// Lets others write. What went wrong first is what counts.
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

    /// Whether these are among the environments that nobody else changes meanwhile.
    pub(crate) fn covers(&self, environments: &BTreeSet<EnvironmentName>) -> bool {
        environments
            .iter()
            .all(|it| self.environments.contains_key(it))
    }

    /// Whether somebody else may be changing these environments, all of them in one change; the cluster alone where there
    /// are none.
    pub(crate) async fn is_at_work(
        &self,
        environments: &BTreeSet<EnvironmentName>,
        cluster: &Cluster,
        writer: &Writer,
    ) -> Result<bool, Error> {
        let mut names: Vec<String> = environments.iter().map(environment_lease).collect();
        let is_ours = if names.is_empty() {
            names.push(WHOLE.to_owned());
            self.whole.is_some()
        } else {
            let mut ours = self.environments.keys();
            ours.any(|it| environments.contains(it))
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
    /// Takes one Lease, and waits for it as `turn` says.
    async fn take<C: AsyncFnOnce() -> Result<Vec<ObjectRef>, Error>>(
        self,
        request: &LeaseRequest,
        turn: Turn,
        clearing: &mut Clearing<C>,
    ) -> Result<LeaseGuard, Error> {
        let began = Instant::now();
        let mut told = None;
        loop {
            let clock = self.writer.clock.clone();
            let held = match self.cluster.acquire_lease(request.clone(), clock).await {
                Ok(lease) => return Ok(lease),
                Err(deployer::Error::LeaseHeld(held)) => held,
                Err(error) => {
                    clearing.clear(error).await?;
                    continue;
                }
            };
            match turn {
                Turn::Wait(longest) if began.elapsed() < longest => {
                    if told.as_ref() != Some(&held.holder) {
                        told = Some(held.holder.clone());
                        (self.tell)(Event::Waiting(held));
                    }
                }
                _ => return Err(deployer::Error::LeaseHeld(held).into()),
            }
            tokio::time::sleep(limits::POLL).await;
        }
    }

    /// Tells it where somebody has held the Lease since what is to be done was planned, which may hold no more.
    fn tell_if_overtaken(self, lease: &LeaseGuard) {
        // Where the other one's clock is behind, the import stops instead, and does not go on wrongly.
        if self.planned.is_some() && lease.held_before() >= self.planned {
            (self.tell)(Event::Overtaken);
        }
    }
}

/// The removal of what keeps any Lease from being taken: once.
struct Clearing<C> {
    clear: Option<C>,
    cleared: Vec<ObjectRef>,
}

impl<C: AsyncFnOnce() -> Result<Vec<ObjectRef>, Error>> Clearing<C> {
    async fn clear(&mut self, error: deployer::Error) -> Result<(), Error> {
        match self.clear.take() {
            Some(clear) if error.is_unanswered_webhook() => {
                self.cleared = clear().await?;
                if self.cleared.is_empty() {
                    return Err(error.into());
                }
                Ok(())
            }
            _ => Err(error.into()),
        }
    }
}

/// The name of the Lease of the cluster, and of that in a namespace that is changed alone.
const WHOLE: &str = "solution";

/// The prefix of the names of the environments' Leases.
const OF_ENVIRONMENT: &str = "environment-";

/// The name of the Lease of an environment.
fn environment_lease(environment: &EnvironmentName) -> String {
    format!("{OF_ENVIRONMENT}{environment}")
}

/// The environment that a Lease of this name is of, if any.
#[must_use]
pub fn leased_environment(lease: &str) -> Option<&str> {
    lease.strip_prefix(OF_ENVIRONMENT)
}

/// A Lease as it is looked at: nobody of no name holds it.
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

/// Makes the namespace of the records. One that is there is not written: as long as a webhook does not answer that is
/// asked about namespaces, nothing could be changed, and what asks it could not be removed.
async fn make_home(cluster: &Cluster) -> Result<(), Error> {
    let namespace = Object::new(record::namespace())?;
    if cluster.get(namespace.reference()).await?.is_none() {
        cluster
            .apply(&namespace, &v::manager(), Conflicts::Force)
            .await?;
    }
    Ok(())
}
