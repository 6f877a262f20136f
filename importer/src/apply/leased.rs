//! The writing under the Leases: each object is looked at before it is written, the decision about it is made from that
//! look, and it is written only if it is still as it was seen. Where somebody was quicker, it is looked at anew. Many
//! are looked at together, and written several at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use change::{Inventory, ReleaseEntry, intercepts, owner_of, vocabulary as v};
use deployer::{
    Applied, Cluster, Conflicts, Deleted, Goal, Leaving, Object, ObjectRef, Propagation, Scope,
};
use schemas::{EnvironmentName, KubernetesName, Namespace, SolutionName};
use serde_json::Value;
use shelf::Record;
use watch::{Cancel, Tell};

use crate::apply::done::Done;
use crate::apply::journal::Journal;
use crate::apply::lock::{LeaseCandidate, Lock};
use crate::apply::several::side_by_side;
use crate::limits;
use crate::model::authority::Authority;
use crate::model::config_map;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::model::namespace_record::NamespaceRecord;
use crate::model::obstacle::Obstacle;
use crate::model::receipt::ChangeSubject;
use crate::model::record;
use crate::model::state::{ClusterState, active, maps};
use crate::plan::login;
use crate::plan::summary::fields_owned;
use crate::plan::trial::Unchanged;

/// A cluster that is written under the Leases, and what was written.
pub(crate) struct Leased<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) lock: Lock,
    pub(crate) tell: Tell<'a, Event>,
    pub(crate) authority: &'a Authority,
    /// A handle that ends a run of Helm.
    pub(crate) cancel: Cancel<'static>,
    /// The journal; none for a change in one namespace alone: receipts lie with the records.
    journal: Option<Journal<'a>>,
    /// Objects as they were when the change was decided under the Leases, or as it has written them. What others have changed
    /// since is found when it is written, which only what is still so can be.
    known: BTreeMap<ObjectRef, Option<Object>>,
    done: Done,
}

impl Leased<'_> {
    /// Decides under the Leases, acts, leaves a receipt of what was changed, whatever became of it, and gives the Leases
    /// back. What goes anyway and keeps a Lease from being taken, `clear` removes. Returns what was decided, and what was
    /// written.
    pub(crate) async fn run<T>(
        candidate: LeaseCandidate<'_>,
        clear: impl AsyncFnOnce() -> Result<Vec<ObjectRef>, Error>,
        decide: impl AsyncFnOnce(&Cluster) -> Result<LeasedDecision<T>, Error>,
        act: impl AsyncFnOnce(&mut Leased<'_>, &mut T) -> Result<(), Error>,
    ) -> Result<(T, Done), Error> {
        let lock = Lock::acquire(candidate, clear).await?;
        let LeaseCandidate {
            cluster,
            authority,
            writer,
            tell,
            ..
        } = candidate;
        let acting = async |lock: Lock| {
            let once = cluster.once();
            let decided = decide(&once).await;
            let decided = decided.and_then(|it| it.within(&lock));
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
                known: once.take_seen(),
                done: Done::default(),
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
        // On the heap: it holds whatever a change holds while it waits.
        let (lock, acted) = Box::pin(acting(lock)).await;
        // What went wrong first is what the administrator must know.
        let released = lock.release().await;
        let acted = acted?;
        released?;
        Ok(acted)
    }

    /// Lets others write what is the cluster's, where what is left to do is an environment's alone. The record of its
    /// namespace keeps programs out that know of no other Lease.
    pub(crate) async fn leave_cluster(&mut self, space: &NamespaceRecord) -> Result<(), Error> {
        if let Authority::Namespace(_) = self.authority {
            return Ok(());
        }
        let record = Object::new(space.to_object())?;
        let decide = |live: Option<&Object>| {
            let is_current = live.is_some_and(config_map::is_current);
            Ok((!is_current).then(|| record.clone()))
        };
        self.put(record.reference(), decide).await?;
        self.lock.give_cluster_back().await
    }

    /// Writes what `decide` makes of an object as it is; nothing when it makes nothing of it. Fields that others own
    /// are taken over. Returns the object as it is then.
    pub(crate) async fn put(
        &mut self,
        reference: &ObjectRef,
        decide: impl Fn(Option<&Object>) -> Result<Option<Object>, Error>,
    ) -> Result<Option<Object>, Error> {
        self.put_with(Conflicts::Force, reference, decide).await
    }

    /// Writes an object in the same way, with this choice about fields that others own.
    pub(crate) async fn put_with(
        &mut self,
        conflicts: Conflicts,
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

    /// Writes what `decide` makes of each of these objects as it is, several at a time; but not the object itself where it
    /// is known to be there as it is to be. They are told of in their order.
    pub(crate) async fn put_all(
        &mut self,
        objects: &[&Object],
        unchanged: &Unchanged,
        conflicts: impl Fn(&Object) -> Conflicts,
        decide: impl Fn(&Object, Option<&Object>) -> Result<Option<Object>, Error>,
    ) -> Result<(), Error> {
        let references: Vec<&ObjectRef> = objects.iter().map(|it| it.reference()).collect();
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
            if live.as_ref().is_some_and(|live| unchanged.has(live))
                && decide(object, live.as_ref())?.as_ref() == Some(object)
            {
                return Ok((reference.clone(), (Some(Applied::Unchanged), live)));
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

    /// An object as it is known; else as it is.
    pub(crate) async fn look(&self, reference: &ObjectRef) -> Result<Option<Object>, Error> {
        match self.known.get(reference) {
            Some(known) => Ok(known.clone()),
            None => Ok(self.cluster.get(reference).await?),
        }
    }

    /// Takes an object not to be there of which nothing is known: it is made without a look, and looked at where somebody
    /// has made it.
    pub(crate) fn suppose_absent(&mut self, reference: ObjectRef) {
        self.known.entry(reference).or_default();
    }

    /// Forgets what is known of an object that others have changed since.
    pub(crate) fn look_again(&mut self, reference: &ObjectRef) {
        self.known.remove(reference);
    }

    /// Returns several objects as they are known; else as they are.
    async fn look_at_all(&self, references: &[&ObjectRef]) -> Result<Vec<Option<Object>>, Error> {
        let known = references.iter().map(|it| self.known.get(*it).cloned());
        let known: Vec<_> = known.collect();
        let unknown = references.iter().zip(&known);
        let unknown = unknown.filter(|(_, known)| known.is_none());
        let unknown: Vec<&ObjectRef> = unknown.map(|(reference, _)| *reference).collect();
        let mut read = self.cluster.get_all(&unknown).await?.into_iter();
        let live = known
            .into_iter()
            .map(|known| known.or_else(|| read.next()).flatten());
        Ok(live.collect())
    }

    /// Writes an object that is ours alone, whatever is there: one in the namespace of the records, or a projection.
    pub(crate) async fn keep(&mut self, object: Value) -> Result<(), Error> {
        let object = Object::new(object)?;
        let reference = object.reference().clone();
        self.put(&reference, |_| Ok(Some(object.clone()))).await?;
        Ok(())
    }

    /// Writes what `decide` makes of a record of our own as it is, without a word: more of it follows.
    pub(crate) async fn rewrite(
        &mut self,
        reference: &ObjectRef,
        decide: impl Fn(Option<&Object>) -> Result<Option<Object>, Error>,
    ) -> Result<(), Error> {
        let live = self.look(reference).await?;
        let put = self.hand().put(Conflicts::Force, reference, live, decide);
        let (_, after) = put.await?;
        self.known.insert(reference.clone(), after);
        Ok(())
    }

    /// Makes sure that there is a receipt, where one is kept.
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

    /// Returns the hand that writes, the notes of its writes, and the listener that is told.
    fn parts(&mut self) -> (Hand<'_>, &mut Done, Tell<'_, Event>) {
        let hand = Hand {
            cluster: self.cluster,
            lock: &self.lock,
            journal: self.journal.as_ref(),
        };
        (hand, &mut self.done, self.tell)
    }

    /// Deletes an object as long as `may` says of it as it is that it may go.
    pub(crate) async fn remove<E: Into<Obstacle>>(
        &mut self,
        reference: &ObjectRef,
        may: impl Fn(&Object) -> Result<(), E>,
    ) -> Result<(), Error> {
        self.remove_with(Propagation::Foreground, reference, may)
            .await
    }

    /// Removes an object in the same way, with this choice about the objects that belong to it.
    async fn remove_with<E: Into<Obstacle>>(
        &mut self,
        propagation: Propagation,
        reference: &ObjectRef,
        may: impl Fn(&Object) -> Result<(), E>,
    ) -> Result<(), Error> {
        let live = self.cluster.get(reference).await?;
        let removed = self.hand().remove(propagation, reference, live, may);
        if removed.await? == Deleted::Requested {
            self.gone(reference.clone());
        }
        Ok(())
    }

    /// Deletes each of these objects as long as `may` says of it as it is that it may go, several at a time. They are told
    /// of in their order.
    pub(crate) async fn remove_all<E: Into<Obstacle>>(
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
            if deleted == Deleted::Requested {
                done.gone(tell, object);
            }
        })
        .await
    }

    /// Removes an object that is made anew, and waits until it is gone.
    pub(crate) async fn make_room<E: Into<Obstacle>>(
        &mut self,
        reference: &ObjectRef,
        wait: Duration,
        may: impl Fn(&Object) -> Result<(), E>,
    ) -> Result<(), Error> {
        let propagation = match reference.gvk.kind.as_str() {
            // The next one takes its pods over, and replaces them one by one.
            "StatefulSet" => Propagation::Orphan,
            _ => Propagation::Foreground,
        };
        self.remove_with(propagation, reference, may).await?;
        self.wait_gone([reference.clone()], wait).await
    }

    /// Waits until these are not there any more.
    pub(crate) async fn wait_gone<T: Into<Leaving>>(
        &self,
        objects: impl IntoIterator<Item = T>,
        wait: Duration,
    ) -> Result<(), Error> {
        let goals = objects.into_iter().map(|it| Goal::Gone(it.into()));
        let goals: Vec<Goal> = goals.collect();
        Ok(self.cluster.wait(&goals, wait, &|_| ()).await?)
    }

    /// Waits until these are settled, and tells how they stand.
    pub(crate) async fn wait_settled(
        &self,
        objects: &[ObjectRef],
        wait: Duration,
    ) -> Result<(), Error> {
        let goals: Vec<Goal> = objects.iter().cloned().map(Goal::Settled).collect();
        let tell = |standing| (self.tell)(Event::Standing(standing));
        Ok(self.cluster.wait(&goals, wait, &tell).await?)
    }

    /// Deletes an object of the records.
    pub(crate) async fn forget(&mut self, reference: &ObjectRef) -> Result<(), Error> {
        self.remove(reference, |_| Ok::<_, Obstacle>(())).await
    }

    /// Removes a Solution's login if it is one that was made for it; one of the site's own stays.
    pub(crate) async fn remove_login(
        &mut self,
        solution: &SolutionName,
        namespace: &Namespace,
        secret: &KubernetesName,
    ) -> Result<(), Error> {
        if *secret != login::secret_name(solution) {
            return Ok(());
        }
        let reference = login::reference(namespace, secret);
        self.remove(&reference, |live| owner_of(live, solution))
            .await
    }

    /// Restarts those pods of these workloads that wait for their image: the object that was applied may be the one
    /// they lack.
    pub(crate) async fn restart_unpulled(&self, workloads: &[&ObjectRef]) -> Result<(), Error> {
        for (pod, restart) in self.cluster.restart_unpulled(workloads).await? {
            (self.tell)(Event::Restart { pod, restart });
        }
        Ok(())
    }

    /// Notes what was changed by another program.
    pub(crate) fn changed(&mut self, what: String) {
        self.done.objects.push(what);
    }

    /// Notes what was removed by another program.
    pub(crate) fn removed(&mut self, what: String) {
        self.done.removed.push(what);
    }

    /// Notes a release as it is now.
    pub(crate) fn released(&mut self, release: ReleaseEntry) {
        let others = &mut self.done.releases;
        others.retain(|it| !it.is(&release.namespace, &release.name));
        others.push(release);
    }

    /// The releases that this change has brought or taken back, as they are now.
    pub(crate) fn releases(&self) -> &[ReleaseEntry] {
        &self.done.releases
    }

    /// Returns an inventory with what this change knows by now of which objects and revisions there are.
    pub(crate) fn as_written(&self, inventory: &Inventory) -> Inventory {
        inventory.seen(self.uids()).released(self.releases())
    }

    fn gone(&mut self, object: ObjectRef) {
        self.known.remove(&object);
        self.done.gone(self.tell, object);
    }

    /// Returns the uids of the objects that are there as they were written.
    pub(crate) fn uids(&self) -> &BTreeMap<ObjectRef, String> {
        &self.done.uids
    }

    /// Removes what is in a scope and not to be kept.
    pub(crate) async fn prune_scope(
        &mut self,
        scope: &Scope,
        keep: &[ObjectRef],
    ) -> Result<(), Error> {
        self.lock.check()?;
        if self.journal.as_ref().is_some_and(|it| !it.has_begun()) {
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

    /// Rewrites upstream's ConfigMap from these records, and the CRDs as they are now.
    pub(crate) async fn project(&mut self, records: &[Record]) -> Result<(), Error> {
        let active = active(self.cluster).await?;
        self.keep(record::projection(records, &active)).await
    }

    /// Projects the records as they are now, as if these versions were gone.
    pub(crate) async fn project_without(&mut self, versions: &[Record]) -> Result<(), Error> {
        let mut state = ClusterState::of_records(&maps(self.cluster).await?)?;
        let going = |record: &Record| versions.iter().any(|going| going.id() == record.id());
        state.records.retain(|record| !going(record));
        self.project(&state.records).await
    }
}

/// What was decided under the Leases.
pub(crate) struct LeasedDecision<T> {
    pub(crate) what: T,
    /// The subject that the receipt names.
    pub(crate) subject: ChangeSubject,
    /// The environments that nobody else may change meanwhile.
    pub(crate) environments: BTreeSet<EnvironmentName>,
}

impl<T> LeasedDecision<T> {
    /// Refuses what has come to be about an environment whose Lease was not taken.
    fn within(self, lock: &Lock) -> Result<Self, Error> {
        if lock.covers(&self.environments) {
            Ok(self)
        } else {
            Err(Obstacle::changed(["its environments"]).into())
        }
    }
}

/// The writer of single objects; several can be under way.
#[derive(Clone, Copy)]
struct Hand<'a> {
    cluster: &'a Cluster,
    lock: &'a Lock,
    journal: Option<&'a Journal<'a>>,
}

impl Hand<'_> {
    /// Writes what `decide` makes of an object that was seen like this. Returns what was done, if anything was to be made
    /// of it, and the object as it is then.
    async fn put(
        self,
        conflicts: Conflicts,
        reference: &ObjectRef,
        mut live: Option<Object>,
        decide: impl Fn(Option<&Object>) -> Result<Option<Object>, Error>,
    ) -> Result<(Option<Applied>, Option<Object>), Error> {
        for decision in 1.. {
            self.lock.check()?;
            let Some(wanted) = decide(live.as_ref())? else {
                return Ok((None, live));
            };
            match self.write(&wanted, live, conflicts).await {
                Ok((applied, after)) => return Ok((Some(applied), Some(after))),
                Err(Error::Cluster(deployer::Error::Changed { .. }))
                    if decision < limits::DECISIONS => {}
                Err(Error::Cluster(deployer::Error::Conflict { conflicts, .. })) => {
                    return Err(fields_owned(&wanted, &conflicts).into());
                }
                Err(error) => return Err(error),
            }
            live = self.cluster.get(reference).await?;
        }
        unreachable!("the loop ends at the last decision")
    }

    /// Writes an object, and before the first one that is changed the receipt. Returns what was done, and the object as it
    /// is then.
    async fn write(
        self,
        wanted: &Object,
        mut live: Option<Object>,
        conflicts: Conflicts,
    ) -> Result<(Applied, Object), Error> {
        let (cluster, manager) = (self.cluster, v::manager());
        if self.journal.is_some_and(|it| !it.has_begun()) {
            if let Some(live) = &mut live {
                // No change that a receipt is for.
                if let Some(claimed) = cluster.claim_fields(live, &manager).await? {
                    *live = claimed;
                }
                let changes = cluster.would_change(wanted, live, &manager, conflicts);
                if !changes.await? {
                    return Ok((Applied::Unchanged, live.clone()));
                }
            }
            self.begin().await?;
        }
        let written = cluster.put(wanted, live.as_ref(), &manager, conflicts);
        Ok(written.await?)
    }

    /// Deletes an object that was seen like this as long as `may` says of it that it may go.
    async fn remove<E: Into<Obstacle>>(
        self,
        propagation: Propagation,
        reference: &ObjectRef,
        mut live: Option<Object>,
        may: impl Fn(&Object) -> Result<(), E>,
    ) -> Result<Deleted, Error> {
        for decision in 1.. {
            self.lock.check()?;
            let Some(seen) = live else {
                return Ok(Deleted::WasAbsent);
            };
            may(&seen).map_err(Into::into)?;
            match self.begin().await {
                // Nothing can be written as long as it is there, and no receipt either. The next write begins it.
                Err(Error::Cluster(error))
                    if intercepts(reference) && error.is_unanswered_webhook() => {}
                begun => begun?,
            }
            let deleted = self
                .cluster
                .delete(reference, propagation, Some(&seen))
                .await;
            match deleted {
                Err(deployer::Error::Changed { .. }) if decision < limits::DECISIONS => {}
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
