//! Takes back what a deployment carries: what could refuse the rest first, then what its workloads have to let go, then
//! the workloads, then what they read.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use change::{Departure, Entry, Inventory, without_marks};
use deployer::{Cluster, Deleted, Goal, Gvk, Leaving, Object, ObjectRef, Propagation};
use schemas::{Namespace, SolutionName};

use crate::apply::leased::Leased;
use crate::model::authority::Authority;
use crate::model::cleanup;
use crate::model::error::Error;
use crate::model::inventory;
use crate::model::labelled::{NEEDED, custom_resources};
use crate::model::obstacle::Obstacle;
use crate::plan::withdrawal::{Withdrawal, note};

impl Withdrawal {
    /// Applies what is to be applied before, and counts it to what goes.
    pub(crate) async fn clean_up(
        &mut self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
        namespace: &Namespace,
        wait: Duration,
    ) -> Result<(), Error> {
        if let Some(obstacle) = self.obstacles.first() {
            return Err(obstacle.clone().into());
        }
        let before = self.recorded.clone();
        let steps = self.cleanup.steps.iter();
        let steps = Inventory {
            // Without uids: what runs once more gets another one, and may be interrupted before that is known.
            entries: steps.map(|it| it.recorded.clone()).collect(),
            ..Inventory::default()
        };
        if steps.is_empty() {
            return Ok(());
        }
        // Recorded before it is there, so that it is found again whatever happens.
        let recorded = &mut self.recorded;
        let other = |it: &Entry| steps.find(&it.reference()).is_none();
        recorded.entries.retain(other);
        recorded.entries.extend(steps.entries.clone());
        leased
            .keep(inventory::to_object(recorded, solution, namespace))
            .await?;
        let cleaned = self
            .cleanup
            .carry_out(leased, solution, &before, wait)
            .await;
        *recorded = recorded.seen(leased.uids());
        if let Err(error) = cleaned {
            // The next attempt knows its own by it; why this one failed is what matters.
            let kept = leased
                .keep(inventory::to_object(recorded, solution, namespace))
                .await;
            kept.ok();
            return Err(error);
        }
        // What is removed next may be what it needs, so that it is not done again.
        recorded.cleaned = true;
        leased
            .keep(inventory::to_object(recorded, solution, namespace))
            .await?;
        self.objects.retain(other);
        for object in steps.seen(leased.uids()).entries {
            if object.keeps_data() {
                let live = leased.cluster.get(&object.reference()).await?;
                if let Some(why) = live.and_then(|live| object.stays(&live)) {
                    self.notes.push(note(&object, why));
                    continue;
                }
            }
            self.objects.push(object);
        }
        self.objects.sort_by_key(Departure::of);
        Ok(())
    }

    /// Forgets what was recorded of what was taken back. The inventory goes last: as long as it is there, running it again
    /// completes what was begun. Who may not delete it keeps it empty.
    pub(crate) async fn forget(
        &self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
        namespace: &Namespace,
    ) -> Result<(), Error> {
        if let Authority::Namespace(_) = leased.authority {
            return Ok(());
        }
        if !self.recorded.cleanup.is_empty() {
            let kept = cleanup::reference(solution, namespace);
            leased.forget(&kept).await?;
        }
        let reference = inventory::reference(solution, namespace);
        match leased.forget(&reference).await {
            Err(Error::Cluster(deployer::Error::Forbidden { .. })) => {
                let empty = inventory::to_object(&Inventory::default(), solution, namespace);
                leased.keep(empty).await
            }
            forgotten => forgotten,
        }
    }

    /// Takes it back, but for the records of it.
    pub(crate) async fn take(
        &mut self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
        wait: Duration,
    ) -> Result<(), Error> {
        self.disarm(leased, solution).await?;
        self.take_disarmed(leased, solution, wait).await
    }

    /// Takes the objects back in the same way, once they are disarmed.
    pub(crate) async fn take_disarmed(
        &mut self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
        wait: Duration,
    ) -> Result<(), Error> {
        let departures: BTreeSet<Departure> = self.objects.iter().map(Departure::of).collect();
        for departure in departures {
            let recorded = self.at(departure);
            let mut objects: Vec<ObjectRef> = recorded.keys().cloned().collect();
            if departure == Departure::Definition {
                objects = self.unused(objects, leased.cluster, wait).await?;
            }
            if departure == Departure::Space {
                let empty = self.unoccupied(&objects, leased.cluster).await?;
                let stay = objects.iter().filter(|it| !empty.contains(it));
                release(stay, &recorded, leased, solution).await?;
                objects = empty;
            }
            let may = |wanted: &ObjectRef, live: &Object| recorded[wanted].check(live, solution);
            leased.remove_all(&objects, propagation, may).await?;
            let gone = objects.iter().map(|it| recorded[it].leaving());
            leased.wait_gone(gone, wait).await?;
        }
        let there_before = self.released.iter();
        let there_before = there_before.map(|it| (it.reference(), it.clone()));
        let there_before: BTreeMap<ObjectRef, Entry> = there_before.collect();
        release(there_before.keys(), &there_before, leased, solution).await?;
        // What ran may have made them anew before it went.
        self.silence(leased).await
    }

    /// Removes what could refuse something.
    pub(crate) async fn disarm(
        &self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
    ) -> Result<(), Error> {
        self.silence(leased).await?;
        self.remove_interceptors(leased, solution).await
    }

    /// Removes what could refuse something and was applied, and not what others have made that calls a Service that goes.
    pub(crate) async fn remove_interceptors(
        &self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
    ) -> Result<(), Error> {
        let recorded = self.at(Departure::Interceptor);
        let objects: Vec<ObjectRef> = recorded.keys().cloned().collect();
        let may = |wanted: &ObjectRef, live: &Object| recorded[wanted].check(live, solution);
        leased.remove_all(&objects, propagation, may).await
    }

    /// Removes what could refuse even that the Lease is taken, as far as it is seen to be what goes. Returns what that was.
    pub(crate) async fn clear(
        &self,
        cluster: &Cluster,
        solution: &SolutionName,
    ) -> Result<Vec<ObjectRef>, Error> {
        let recorded = self.at(Departure::Interceptor);
        let references: Vec<&ObjectRef> = recorded.keys().collect();
        let live = cluster.get_all(&references).await?.into_iter().flatten();
        let ours = |live: &Object| {
            let mut recorded = recorded.values().filter(|it| it.is(live.reference()));
            recorded.any(|it| it.check(live, solution).is_ok())
        };
        let mut going: Vec<Object> = live.filter(ours).collect();
        going.extend(self.find_callers(cluster).await?);
        clear(cluster, &going).await
    }

    /// The definitions that have no objects, once those are gone that go with others; the others stay, and are noted.
    async fn unused(
        &mut self,
        definitions: Vec<ObjectRef>,
        cluster: &Cluster,
        wait: Duration,
    ) -> Result<Vec<ObjectRef>, Error> {
        let mut unused = Vec::new();
        for definition in definitions {
            let Some(live) = cluster.get(&definition).await? else {
                continue;
            };
            let is_used = self.used.contains(&definition);
            // One that goes already takes its objects with it.
            let resources = if is_used || live.is_being_deleted() {
                Vec::new()
            } else {
                custom_resources(cluster, &live).await?
            };
            let (leaving, staying): (Vec<Object>, Vec<Object>) =
                resources.into_iter().partition(|it| self.goes(it));
            if is_used || !staying.is_empty() {
                let note = format!("{definition} is kept because objects of it exist");
                self.notes.push(note);
                continue;
            }
            let leaving = leaving.iter().map(of_object).map(Goal::Gone);
            let leaving: Vec<Goal> = leaving.collect();
            cluster.wait(&leaving, wait, &|_| ()).await?;
            unused.push(definition);
        }
        Ok(unused)
    }

    /// The namespaces that nobody needs; the others stay, and are noted.
    async fn unoccupied(
        &mut self,
        spaces: &[ObjectRef],
        cluster: &Cluster,
    ) -> Result<Vec<ObjectRef>, Error> {
        let mut empty = Vec::new();
        for space in spaces {
            match occupied(cluster, &space.name).await? {
                Some(kind) => {
                    let note = format!("{space} is kept because it {kind}");
                    self.notes.push(note);
                }
                None => empty.push(space.clone()),
            }
        }
        Ok(empty)
    }

    /// Removes what calls the Services that go.
    async fn silence(&self, leased: &mut Leased<'_>) -> Result<(), Error> {
        for caller in self.find_callers(leased.cluster).await? {
            let may = |live: &Object| {
                let calls = self.recorded.is_called_by(live);
                calls
                    .then_some(())
                    .ok_or_else(|| Obstacle::changed([live.reference()]))
            };
            leased.remove(caller.reference(), may).await?;
        }
        Ok(())
    }
}

/// Removes objects without the Lease, each as it was seen. Returns what was removed.
pub(crate) async fn clear(cluster: &Cluster, seen: &[Object]) -> Result<Vec<ObjectRef>, Error> {
    let mut cleared = Vec::new();
    for live in seen {
        let (reference, background) = (live.reference(), Propagation::Background);
        let deleted = cluster.delete(reference, background, Some(live)).await?;
        if deleted == Deleted::Requested {
            cleared.push(reference.clone());
        }
    }
    Ok(cleared)
}

/// Takes our marks off namespaces that stay, as far as they are those that were applied.
async fn release<'o>(
    spaces: impl Iterator<Item = &'o ObjectRef>,
    recorded: &BTreeMap<ObjectRef, Entry>,
    leased: &mut Leased<'_>,
    solution: &SolutionName,
) -> Result<(), Error> {
    for space in spaces {
        let is_ours = |live: &&Object| recorded[space].check(live, solution).is_ok();
        let decide = |live: Option<&Object>| {
            let live = live.filter(is_ours);
            Ok(live
                .map(|live| Object::new(without_marks(live)))
                .transpose()?)
        };
        leased.put(space, decide).await?;
    }
    Ok(())
}

/// The very object, to wait until it is gone.
fn of_object(live: &Object) -> Leaving {
    Leaving {
        object: live.reference().clone(),
        uid: live.uid().map(str::to_owned),
    }
}

/// Returns the policy for waiting on the objects that belong to an object. Nothing belongs to mere data, and the
/// garbage collector, which would have to be waited for, looks at a few dozen objects in a second.
fn propagation(object: &ObjectRef) -> Propagation {
    match (object.gvk.group.as_str(), object.gvk.kind.as_str()) {
        ("", "ConfigMap" | "Secret" | "ServiceAccount") | ("rbac.authorization.k8s.io", _) => {
            Propagation::Background
        }
        _ => Propagation::Foreground,
    }
}

/// Returns the object of a namespace that somebody could need, or the kind that may be there: this user may not look.
/// Every namespace has the cluster's certificate authority.
async fn occupied(cluster: &Cluster, namespace: &str) -> Result<Option<String>, Error> {
    for kind in NEEDED {
        let kind = Gvk::new("v1", kind);
        let found = match cluster.list(&kind, Some(namespace), None).await {
            Err(deployer::Error::Forbidden { .. }) => {
                return Ok(Some(format!(
                    "may contain a {} that is still needed",
                    kind.kind
                )));
            }
            found => found?,
        };
        let needed = |it: &&Object| it.name() != "kube-root-ca.crt" && !it.is_being_deleted();
        if let Some(found) = found.iter().find(needed) {
            return Ok(Some(format!(
                "contains {}, which may still be needed",
                found.reference()
            )));
        }
    }
    Ok(None)
}
