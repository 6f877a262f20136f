//! Writing under the Leases. [`Leased::run`] frames a whole change. Each object is read first, a closure derives the
//! desired object from that state, and the write succeeds only if the object is unchanged since. If another writer has
//! changed it, it is read and decided again. [`side_by_side`] handles multiple objects in parallel.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use kubernetes::{
    ApplyOutcome, Cluster, ConflictPolicy, DeletionOutcome, DeletionTarget, Goal, Object,
    ObjectRef, Propagation, PruneScope,
};
use planner::{Inventory, ReleaseEntry, intercepts, owner_of, vocabulary as v};
use progress::{Cancel, ProgressSink};
use schemas::{EnvironmentName, KubernetesName, Namespace, SolutionName};
use serde_json::Value;
use store::Record;

use crate::apply::journal::{Journal, WriteLog};
use crate::apply::lock::{LeaseCandidate, Lock};
use crate::decide::trial::Unchanged;
use crate::limits;
use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::model::writer::Authority;
use crate::objects::changes::fields_owned;
use crate::objects::pull_secret;
use crate::records::namespace_record::NamespaceRecord;
use crate::records::receipt::ChangeSubject;
use crate::records::state::{ClusterState, active, maps};
use crate::records::{record, storage};

/// A cluster that is written under the Leases, and the record of the writes.
pub(crate) struct Leased<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) lock: Lock,
    pub(crate) tell: ProgressSink<'a, Event>,
    pub(crate) authority: &'a Authority,
    /// The handle that cancels a run of Helm.
    pub(crate) cancel: Cancel<'static>,
    /// The journal. `None` for a change by a namespace administrator, since receipts are stored with the cluster's
    /// records.
    journal: Option<Journal<'a>>,
    /// The states of objects at the time of the decision under the Leases, or after a write of this change. Writes are
    /// conditional on the known resource version, so a later change by another writer makes them fail.
    known: BTreeMap<ObjectRef, Option<Object>>,
    done: WriteLog,
}

impl Leased<'_> {
    /// Runs a change: decides under the Leases, acts, leaves a receipt of the writes even after a failure, and releases
    /// the Leases. `clear` removes objects that are to be removed anyway and prevent a Lease from being taken. Returns
    /// the decision and the record of the writes.
    pub(crate) async fn run<T>(
        candidate: LeaseCandidate<'_>,
        clear: impl AsyncFnOnce() -> Result<Vec<ObjectRef>, Error>,
        decide: impl AsyncFnOnce(&Cluster) -> Result<LeasedDecision<T>, Error>,
        act: impl AsyncFnOnce(&mut Leased<'_>, &mut T) -> Result<(), Error>,
    ) -> Result<(T, WriteLog), Error> {
        let lock = Lock::acquire(candidate, clear).await?;
        let LeaseCandidate {
            cluster,
            authority,
            writer,
            tell,
            ..
        } = candidate;
        let acting = async |lock: Lock| {
            // Objects that the decision reads are remembered, so that the writes need not read them again.
            let once = cluster.once();
            let decided = decide(&once)
                .await
                .and_then(|decided| decided.within(&lock));
            let LeasedDecision {
                mut what, subject, ..
            } = match decided {
                Ok(decided) => decided,
                Err(error) => return (lock, Err(error)),
            };
            let journal = match authority {
                Authority::Cluster => Some(Journal::new(cluster, writer, subject)),
                Authority::Namespace(_) => None,
            };
            let mut leased = Leased {
                cluster,
                lock,
                tell,
                authority,
                cancel: writer.cancel,
                journal,
                known: once.take_cache(),
                done: WriteLog::default(),
            };
            for object in leased.lock.cleared.clone() {
                leased.gone(object);
            }
            let acted = act(&mut leased, &mut what).await;
            let Leased {
                lock,
                journal,
                mut done,
                ..
            } = leased;
            let ended = match journal {
                Some(journal) => journal.end(&lock, acted.as_ref().err(), &done).await,
                None => Ok(None),
            };
            let done = acted.and(ended).map(|revision| {
                done.revision = revision;
                (what, done)
            });
            (lock, done)
        };
        // The future is on the heap because it contains everything that a change holds while it waits.
        let (lock, acted) = Box::pin(acting(lock)).await;
        // The administrator needs the first failure, not that of the release.
        let released = lock.release().await;
        let acted = acted?;
        released?;
        Ok(acted)
    }

    /// Releases the cluster's Lease once the rest of the change concerns only an environment. The record of its
    /// namespace is in the current format by then, which stops earlier versions of the program that do not know the
    /// environments' Leases.
    pub(crate) async fn leave_cluster(&mut self, space: &NamespaceRecord) -> Result<(), Error> {
        if let Authority::Namespace(_) = self.authority {
            return Ok(());
        }
        let record = Object::new(space.to_object())?;
        let decide = |live: Option<&Object>| {
            let is_current = live.is_some_and(storage::is_current);
            Ok((!is_current).then(|| record.clone()))
        };
        self.put(record.reference(), decide).await?;
        self.lock.give_cluster_back().await
    }

    /// Writes the object that `decide` derives from the live one, or nothing if it returns `None`. Fields of other
    /// field managers are taken over. Returns the resulting object.
    pub(crate) async fn put(
        &mut self,
        reference: &ObjectRef,
        decide: impl Fn(Option<&Object>) -> Result<Option<Object>, Error>,
    ) -> Result<Option<Object>, Error> {
        self.put_with(ConflictPolicy::Force, reference, decide)
            .await
    }

    /// Writes an object in the same way, with an explicit policy for fields of other field managers.
    pub(crate) async fn put_with(
        &mut self,
        conflicts: ConflictPolicy,
        reference: &ObjectRef,
        decide: impl Fn(Option<&Object>) -> Result<Option<Object>, Error>,
    ) -> Result<Option<Object>, Error> {
        let live = self.look(reference).await?;
        let (applied, after) = self.hand().put(conflicts, reference, live, decide).await?;
        self.done
            .written(self.tell, reference, applied, after.as_ref());
        self.known.insert(reference.clone(), after.clone());
        Ok(after)
    }

    /// Writes the objects that `decide` derives from the live ones, in parallel. An object that is known to be
    /// unchanged is not written. Events are sent in the order of the objects.
    pub(crate) async fn put_all(
        &mut self,
        objects: &[&Object],
        unchanged: &Unchanged,
        conflicts: impl Fn(&Object) -> ConflictPolicy,
        decide: impl Fn(&Object, Option<&Object>) -> Result<Option<Object>, Error>,
    ) -> Result<(), Error> {
        let references: Vec<&ObjectRef> = objects.iter().map(|object| object.reference()).collect();
        let live = self.look_at_all(&references).await?;
        let Leased {
            cluster,
            lock,
            tell,
            journal,
            known,
            done,
            ..
        } = self;
        let (journal, tell) = (journal.as_ref(), *tell);
        let hand = Hand {
            cluster,
            lock,
            journal,
        };
        let put = async |(object, live): (&Object, Option<Object>)| {
            let reference = object.reference();
            // The decision is made even for an unchanged object, since it may refuse.
            if live.as_ref().is_some_and(|live| unchanged.has(live))
                && decide(object, live.as_ref())?.as_ref() == Some(object)
            {
                return Ok((reference.clone(), (Some(ApplyOutcome::Unchanged), live)));
            }
            let decide = |live: Option<&Object>| decide(object, live);
            let put = hand.put(conflicts(object), reference, live, decide);
            Ok((reference.clone(), put.await?))
        };
        let objects = objects.iter().copied().zip(live);
        side_by_side(objects, put, |(object, (applied, after))| {
            done.written(tell, &object, applied, after.as_ref());
            known.insert(object, after);
        })
        .await
    }

    /// Returns the known state of an object, or reads the object.
    pub(crate) async fn look(&self, reference: &ObjectRef) -> Result<Option<Object>, Error> {
        match self.known.get(reference) {
            Some(known) => Ok(known.clone()),
            None => Ok(self.cluster.get(reference).await?),
        }
    }

    /// Assumes that an object without known state does not exist. It is created without a read, and read only if the
    /// creation finds that it exists.
    pub(crate) fn suppose_absent(&mut self, reference: ObjectRef) {
        self.known.entry(reference).or_default();
    }

    /// Discards the known state of an object that another program has changed since.
    pub(crate) fn look_again(&mut self, reference: &ObjectRef) {
        self.known.remove(reference);
    }

    /// Returns the known states of multiple objects, and reads the remaining ones.
    async fn look_at_all(&self, references: &[&ObjectRef]) -> Result<Vec<Option<Object>>, Error> {
        let known = references
            .iter()
            .map(|reference| self.known.get(*reference).cloned());
        let known: Vec<_> = known.collect();
        let unknown: Vec<&ObjectRef> = references
            .iter()
            .zip(&known)
            .filter(|(_, known)| known.is_none())
            .map(|(reference, _)| *reference)
            .collect();
        let mut read = self.cluster.get_all(&unknown).await?.into_iter();
        let live = known
            .into_iter()
            .map(|known| known.or_else(|| read.next()).flatten());
        Ok(live.collect())
    }

    /// Writes an object without a decision about its live state, since only this program writes it: an object in the
    /// namespace of the records, or a projection.
    pub(crate) async fn keep(&mut self, object: Value) -> Result<(), Error> {
        let object = Object::new(object)?;
        let reference = object.reference().clone();
        self.put(&reference, |_| Ok(Some(object.clone()))).await?;
        Ok(())
    }

    /// Writes the object that `decide` derives from a record, without an event, since further writes of it follow.
    pub(crate) async fn rewrite(
        &mut self,
        reference: &ObjectRef,
        decide: impl Fn(Option<&Object>) -> Result<Option<Object>, Error>,
    ) -> Result<(), Error> {
        let live = self.look(reference).await?;
        let put = self
            .hand()
            .put(ConflictPolicy::Force, reference, live, decide);
        let (_, after) = put.await?;
        self.known.insert(reference.clone(), after);
        Ok(())
    }

    /// Ensures that a receipt exists if this change has a journal.
    pub(crate) async fn begin(&self) -> Result<(), Error> {
        self.hand().begin().await
    }

    fn hand(&self) -> Hand<'_> {
        Hand {
            cluster: self.cluster,
            lock: &self.lock,
            journal: self.journal.as_ref(),
        }
    }

    /// Returns the writer of single objects, the record of the writes, and the listener.
    fn parts(&mut self) -> (Hand<'_>, &mut WriteLog, ProgressSink<'_, Event>) {
        let hand = Hand {
            cluster: self.cluster,
            lock: &self.lock,
            journal: self.journal.as_ref(),
        };
        (hand, &mut self.done, self.tell)
    }

    /// Deletes an object if `may` accepts its live state.
    pub(crate) async fn remove<E: Into<Blocker>>(
        &mut self,
        reference: &ObjectRef,
        may: impl Fn(&Object) -> Result<(), E>,
    ) -> Result<(), Error> {
        self.remove_with(Propagation::Foreground, reference, may)
            .await
    }

    /// Deletes an object in the same way, with an explicit policy for its dependents.
    async fn remove_with<E: Into<Blocker>>(
        &mut self,
        propagation: Propagation,
        reference: &ObjectRef,
        may: impl Fn(&Object) -> Result<(), E>,
    ) -> Result<(), Error> {
        // A deletion is always decided from the live object and never from the known state.
        let live = self.cluster.get(reference).await?;
        let removed = self.hand().remove(propagation, reference, live, may);
        if removed.await? == DeletionOutcome::Requested {
            self.gone(reference.clone());
        }
        Ok(())
    }

    /// Deletes each of these objects if `may` accepts its live state, in parallel. Events are sent in the order of the
    /// objects.
    pub(crate) async fn remove_all<E: Into<Blocker>>(
        &mut self,
        objects: &[ObjectRef],
        propagation: impl Fn(&ObjectRef) -> Propagation,
        may: impl Fn(&ObjectRef, &Object) -> Result<(), E>,
    ) -> Result<(), Error> {
        let references: Vec<&ObjectRef> = objects.iter().collect();
        let live = self.cluster.get_all(&references).await?;
        for reference in &references {
            self.known.remove(*reference);
        }
        let (hand, done, tell) = self.parts();
        let remove = async |(reference, live): (&ObjectRef, Option<Object>)| {
            let may = |live: &Object| may(reference, live);
            let removed = hand.remove(propagation(reference), reference, live, may);
            Ok((reference.clone(), removed.await?))
        };
        let objects = references.iter().copied().zip(live);
        side_by_side(objects, remove, |(object, deleted)| {
            if deleted == DeletionOutcome::Requested {
                done.gone(tell, object);
            }
        })
        .await
    }

    /// Deletes an object that is to be recreated, and waits until it is deleted.
    pub(crate) async fn make_room<E: Into<Blocker>>(
        &mut self,
        reference: &ObjectRef,
        wait: Duration,
        may: impl Fn(&Object) -> Result<(), E>,
    ) -> Result<(), Error> {
        let propagation = match reference.gvk.kind.as_str() {
            // The recreated one adopts the pods and replaces them one by one.
            "StatefulSet" => Propagation::Orphan,
            _ => Propagation::Foreground,
        };
        self.remove_with(propagation, reference, may).await?;
        self.wait_gone([reference.clone()], wait).await
    }

    /// Waits until the objects no longer exist.
    pub(crate) async fn wait_gone<T: Into<DeletionTarget>>(
        &self,
        objects: impl IntoIterator<Item = T>,
        wait: Duration,
    ) -> Result<(), Error> {
        let goals: Vec<Goal> = objects
            .into_iter()
            .map(|object| Goal::Deleted(object.into()))
            .collect();
        Ok(self.cluster.wait(&goals, wait, &|_| ()).await?)
    }

    /// Waits until the objects are ready, and reports their progress.
    pub(crate) async fn wait_settled(
        &self,
        objects: &[ObjectRef],
        wait: Duration,
    ) -> Result<(), Error> {
        let goals: Vec<Goal> = objects.iter().cloned().map(Goal::Ready).collect();
        let tell = |status| (self.tell)(Event::ObjectStatus(status));
        Ok(self.cluster.wait(&goals, wait, &tell).await?)
    }

    /// Deletes one of the records.
    pub(crate) async fn forget(&mut self, reference: &ObjectRef) -> Result<(), Error> {
        self.remove(reference, |_| Ok::<_, Blocker>(())).await
    }

    /// Deletes a Solution's generated pull secret. A pull secret of the site is kept.
    pub(crate) async fn remove_login(
        &mut self,
        solution: &SolutionName,
        namespace: &Namespace,
        secret: &KubernetesName,
    ) -> Result<(), Error> {
        if *secret != pull_secret::secret_name(solution) {
            return Ok(());
        }
        let reference = pull_secret::reference(namespace, secret);
        self.remove(&reference, |live| owner_of(live, solution))
            .await
    }

    /// Restarts the pods of these workloads that wait for their image, since this change may have written the pull
    /// secret that they need.
    pub(crate) async fn restart_unpulled(&self, workloads: &[&ObjectRef]) -> Result<(), Error> {
        for (pod, restart) in self.cluster.restart_unpulled(workloads).await? {
            (self.tell)(Event::Restart { pod, restart });
        }
        Ok(())
    }

    /// Records that another program changed an object.
    pub(crate) fn changed(&mut self, what: String) {
        self.done.objects.push(what);
    }

    /// Records that another program removed an object.
    pub(crate) fn removed(&mut self, what: String) {
        self.done.removed.push(what);
    }

    /// Records the current state of a release.
    pub(crate) fn released(&mut self, release: ReleaseEntry) {
        let others = &mut self.done.releases;
        others.retain(|other| !other.is(&release.namespace, &release.name));
        others.push(release);
    }

    /// Returns the current state of the releases that this change has installed or rolled back.
    pub(crate) fn releases(&self) -> &[ReleaseEntry] {
        &self.done.releases
    }

    /// Returns an inventory with the UIDs and the releases' revisions that this change knows by now.
    pub(crate) fn as_written(&self, inventory: &Inventory) -> Inventory {
        inventory.seen(self.uids()).released(self.releases())
    }

    fn gone(&mut self, object: ObjectRef) {
        self.known.remove(&object);
        self.done.gone(self.tell, object);
    }

    /// Returns the UIDs of the objects that this change has written.
    pub(crate) fn uids(&self) -> &BTreeMap<ObjectRef, String> {
        &self.done.uids
    }

    /// Deletes the objects in a scope, except those to keep.
    pub(crate) async fn prune_scope(
        &mut self,
        scope: &PruneScope,
        keep: &[ObjectRef],
    ) -> Result<(), Error> {
        self.lock.check()?;
        if self
            .journal
            .as_ref()
            .is_some_and(|journal| !journal.has_begun())
        {
            // A change that deletes nothing needs no receipt.
            if self.cluster.stale(scope, keep).await?.is_empty() {
                return Ok(());
            }
            self.begin().await?;
        }
        let removed = self
            .cluster
            .prune(scope, keep, Propagation::Foreground)
            .await?;
        for object in removed {
            self.gone(object);
        }
        Ok(())
    }

    /// Rewrites the ConfigMap for upstream's controllers from these records and the current CRDs.
    pub(crate) async fn project(&mut self, records: &[Record]) -> Result<(), Error> {
        let active = active(self.cluster).await?;
        self.keep(record::projection(records, &active)).await
    }

    /// Rewrites that ConfigMap from the current records without these versions.
    pub(crate) async fn project_without(&mut self, versions: &[Record]) -> Result<(), Error> {
        let mut state = ClusterState::of_records(&maps(self.cluster).await?)?;
        let going = |record: &Record| versions.iter().any(|going| going.id() == record.id());
        state.records.retain(|record| !going(record));
        self.project(&state.records).await
    }
}

/// A decision that was made under the Leases.
pub(crate) struct LeasedDecision<T> {
    pub(crate) what: T,
    /// The subject that the receipt names.
    pub(crate) subject: ChangeSubject,
    /// The environments whose Leases the change needs.
    pub(crate) environments: BTreeSet<EnvironmentName>,
}

impl<T> LeasedDecision<T> {
    /// Refuses a decision about an environment whose Lease was not taken, because the state has changed since.
    fn within(self, lock: &Lock) -> Result<Self, Error> {
        if lock.covers(&self.environments) {
            Ok(self)
        } else {
            Err(Blocker::changed(["its environments"]).into())
        }
    }
}

/// A writer of single objects. It can be copied for parallel writes.
#[derive(Clone, Copy)]
struct Hand<'a> {
    cluster: &'a Cluster,
    lock: &'a Lock,
    journal: Option<&'a Journal<'a>>,
}

impl Hand<'_> {
    /// Writes the object that `decide` derives from this state. Returns the performed action, unless `decide` returned
    /// `None`, and the resulting object.
    async fn put(
        self,
        conflicts: ConflictPolicy,
        reference: &ObjectRef,
        mut live: Option<Object>,
        decide: impl Fn(Option<&Object>) -> Result<Option<Object>, Error>,
    ) -> Result<(Option<ApplyOutcome>, Option<Object>), Error> {
        for decision in 1.. {
            self.lock.check()?;
            let Some(wanted) = decide(live.as_ref())? else {
                return Ok((None, live));
            };
            match self.write(&wanted, live, conflicts).await {
                Ok((applied, after)) => return Ok((Some(applied), Some(after))),
                Err(Error::Cluster(kubernetes::Error::Changed { .. }))
                    if decision < limits::DECISIONS => {}
                Err(Error::Cluster(kubernetes::Error::Conflict { conflicts, .. })) => {
                    return Err(fields_owned(&wanted, &conflicts).into());
                }
                Err(error) => return Err(error),
            }
            live = self.cluster.get(reference).await?;
        }
        unreachable!("the loop ends at the last decision")
    }

    /// Writes an object. The receipt is created before the first write that changes something. Returns the performed
    /// action and the resulting object.
    async fn write(
        self,
        wanted: &Object,
        mut live: Option<Object>,
        conflicts: ConflictPolicy,
    ) -> Result<(ApplyOutcome, Object), Error> {
        let (cluster, manager) = (self.cluster, v::manager());
        if self.journal.is_some_and(|journal| !journal.has_begun()) {
            if let Some(live) = &mut live {
                // Taking over field ownership alone is not a change that needs a receipt.
                if let Some(claimed) = cluster.claim_fields(live, &manager).await? {
                    *live = claimed;
                }
                let changes = cluster.would_change(wanted, live, &manager, conflicts);
                if !changes.await? {
                    return Ok((ApplyOutcome::Unchanged, live.clone()));
                }
            }
            self.begin().await?;
        }
        let written = cluster.put(wanted, live.as_ref(), &manager, conflicts);
        Ok(written.await?)
    }

    /// Deletes an object that was seen in this state if `may` accepts it.
    async fn remove<E: Into<Blocker>>(
        self,
        propagation: Propagation,
        reference: &ObjectRef,
        mut live: Option<Object>,
        may: impl Fn(&Object) -> Result<(), E>,
    ) -> Result<DeletionOutcome, Error> {
        for decision in 1.. {
            self.lock.check()?;
            let Some(seen) = live else {
                return Ok(DeletionOutcome::WasAbsent);
            };
            may(&seen).map_err(Into::into)?;
            match self.begin().await {
                // A webhook without a server refuses all writes, including that of the receipt. It is deleted without
                // one, and the next write creates the receipt.
                Err(Error::Cluster(error))
                    if intercepts(reference) && error.is_unanswered_webhook() => {}
                begun => begun?,
            }
            let deleted = self
                .cluster
                .delete(reference, propagation, Some(&seen))
                .await;
            match deleted {
                Err(kubernetes::Error::Changed { .. }) if decision < limits::DECISIONS => {}
                deleted => return Ok(deleted?),
            }
            live = self.cluster.get(reference).await?;
        }
        unreachable!("the loop ends at the last decision")
    }

    async fn begin(self) -> Result<(), Error> {
        match self.journal {
            Some(journal) => journal.begin(self.lock).await,
            None => Ok(()),
        }
    }
}

/// Runs a task for all items, in parallel, and shows each outcome in the order of the items. After a failure, no
/// further task starts. Tasks under way are awaited and shown, so that every completed write is known.
///
/// # Errors
///
/// The first failure in the order of the items.
pub(crate) async fn side_by_side<I, T>(
    items: impl IntoIterator<Item = I>,
    act: impl AsyncFn(I) -> Result<T, Error>,
    mut show: impl FnMut(T),
) -> Result<(), Error> {
    let has_failed = AtomicBool::new(false);
    let (has_failed, act) = (&has_failed, &act);
    let acts = stream::iter(items).map(|item| async move {
        // The flag only prevents further starts. The failure itself is returned through the stream, so a relaxed order
        // suffices.
        if has_failed.load(Ordering::Relaxed) {
            return None;
        }
        let done = act(item).await;
        has_failed.fetch_or(done.is_err(), Ordering::Relaxed);
        Some(done)
    });
    let mut acts = pin!(acts.buffered(limits::SIDE_BY_SIDE));
    let mut ended = Ok(());
    while let Some(done) = acts.next().await {
        match done {
            Some(Ok(done)) => show(done),
            Some(Err(error)) if ended.is_ok() => ended = Err(error),
            Some(Err(_)) | None => {}
        }
    }
    ended
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::task::yield_now;

    use super::*;
    use crate::model::blocker::Blocker;

    /// Returns a failure that names its item.
    fn failure(item: usize) -> Error {
        Blocker::Unplanned {
            object: item.to_string(),
        }
        .into()
    }

    #[tokio::test]
    async fn several_are_done_at_a_time_and_shown_in_their_order() {
        let under_way = Mutex::new((0, 0));
        let act = async |item: usize| {
            {
                let (now, most) = &mut *under_way.lock().unwrap();
                *now += 1;
                *most = (*most).max(*now);
            }
            // Later items finish first.
            for _ in 0..100 - item {
                yield_now().await;
            }
            under_way.lock().unwrap().0 -= 1;
            Ok(item)
        };
        let mut shown = Vec::new();
        side_by_side(0..50, act, |item| shown.push(item))
            .await
            .unwrap();
        assert_eq!(shown, (0..50).collect::<Vec<_>>());
        assert_eq!(*under_way.lock().unwrap(), (0, limits::SIDE_BY_SIDE));
    }

    #[tokio::test]
    async fn after_a_failure_what_is_under_way_is_awaited_and_nothing_is_begun() {
        let begun = Mutex::new(Vec::new());
        let act = async |item: usize| {
            begun.lock().unwrap().push(item);
            for _ in 0..item {
                yield_now().await;
            }
            match item {
                2 | 5 => Err(failure(item)),
                done => Ok(done),
            }
        };
        let mut shown = Vec::new();
        let ended = side_by_side(0..50, act, |item| shown.push(item)).await;
        let begun = begun.into_inner().unwrap();
        assert!(begun.len() < limits::SIDE_BY_SIDE + 3, "{begun:?}");
        let failed = [2, 5];
        let done: Vec<usize> = begun
            .into_iter()
            .filter(|item| !failed.contains(item))
            .collect();
        assert_eq!(shown, done);
        assert_eq!(ended.unwrap_err().to_string(), failure(2).to_string());
    }
}
