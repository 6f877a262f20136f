//! The removal of a deployment's packaged objects. Webhooks that could refuse the other removals come first, then
//! objects that the workloads must release, then the workloads, then the objects that they read. [`Withdrawal::take`]
//! runs all of it.
//!
//! The sets that a Solution provides for its own removal. They are applied and awaited before anything is removed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kubernetes::{
    Cluster, DeletionOutcome, DeletionTarget, Goal, Gvk, Object, ObjectRef, Propagation, Readiness,
    readiness,
};
use planner::{DeletionOrder, Entry, Inventory, disarmed, marked, vocabulary as v, without_marks};
use schemas::{Namespace, SolutionName};

use crate::apply::leased::Leased;
use crate::apply::steps::settle;
use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::model::writer::Authority;
use crate::objects::withdrawal::{Withdrawal, note};
use crate::records::cleanup::{self, Cleanup, CleanupStep, check_step};
use crate::records::inventory::{self, NEEDED, custom_resources};

impl Withdrawal {
    /// Applies the sets for removal, and adds their objects to the ones to remove.
    pub(crate) async fn clean_up(
        &mut self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
        namespace: &Namespace,
        wait: Duration,
    ) -> Result<(), Error> {
        if let Some(blocker) = self.blockers.first() {
            return Err(blocker.clone().into());
        }
        let before = self.recorded.clone();
        let steps = self.cleanup.steps.iter();
        let steps = Inventory {
            // The entries have no UIDs: a Job that runs again gets another one, and the run may be interrupted before
            // it is known.
            entries: steps.map(|step| step.recorded.clone()).collect(),
            ..Inventory::default()
        };
        if steps.is_empty() {
            return Ok(());
        }
        // The objects are recorded before they exist, so that an interrupted removal finds them again.
        let recorded = &mut self.recorded;
        let other = |entry: &Entry| steps.find(&entry.reference()).is_none();
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
            // The next attempt recognizes the objects by this record. The failure of this attempt is returned, not that
            // of the write.
            let kept = leased
                .keep(inventory::to_object(recorded, solution, namespace))
                .await;
            kept.ok();
            return Err(error);
        }
        // The next removals may delete objects that the sets need, so the sets must not be applied again.
        recorded.cleaned = true;
        leased
            .keep(inventory::to_object(recorded, solution, namespace))
            .await?;
        self.objects.retain(other);
        for object in steps.seen(leased.uids()).entries {
            if object.keeps_data() {
                let live = leased.cluster.get(&object.reference()).await?;
                if let Some(why) = live.and_then(|live| object.keep_reason(&live)) {
                    self.notes.push(note(&object, why));
                    continue;
                }
            }
            self.objects.push(object);
        }
        // The objects of the sets were appended, and removals follow the order of stages.
        self.objects.sort_by_key(DeletionOrder::from_entry);
        Ok(())
    }

    /// Deletes the records of the removed deployment. The inventory is deleted last: as long as it exists, repeating
    /// the removal completes it. If the user may not delete it, it is kept empty.
    pub(crate) async fn forget(
        &self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
        namespace: &Namespace,
    ) -> Result<(), Error> {
        // A namespace administrator keeps no inventory.
        if let Authority::Namespace(_) = leased.authority {
            return Ok(());
        }
        if !self.recorded.cleanup.is_empty() {
            let kept = cleanup::reference(solution, namespace);
            leased.forget(&kept).await?;
        }
        let reference = inventory::reference(solution, namespace);
        match leased.forget(&reference).await {
            Err(Error::Cluster(kubernetes::Error::Forbidden { .. })) => {
                let empty = inventory::to_object(&Inventory::default(), solution, namespace);
                leased.keep(empty).await
            }
            forgotten => forgotten,
        }
    }

    /// Removes all objects, without the records of them.
    pub(crate) async fn take(
        &mut self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
        wait: Duration,
    ) -> Result<(), Error> {
        self.disarm(leased, solution).await?;
        self.take_disarmed(leased, solution, wait).await
    }

    /// Removes all objects in the same way after [`Self::disarm`].
    pub(crate) async fn take_disarmed(
        &mut self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
        wait: Duration,
    ) -> Result<(), Error> {
        // The set is ordered: all objects of one stage are deleted before the next stage starts.
        let departures: BTreeSet<DeletionOrder> =
            self.objects.iter().map(DeletionOrder::from_entry).collect();
        for departure in departures {
            let recorded = self.at(departure);
            let mut objects: Vec<ObjectRef> = recorded.keys().cloned().collect();
            if departure == DeletionOrder::Definition {
                objects = self.unused(objects, leased.cluster, wait).await?;
            }
            if departure == DeletionOrder::Space {
                let empty = self.unoccupied(&objects, leased.cluster).await?;
                let stay = objects.iter().filter(|space| !empty.contains(space));
                release(stay, &recorded, leased, solution).await?;
                objects = empty;
            }
            let may = |wanted: &ObjectRef, live: &Object| recorded[wanted].check(live, solution);
            leased.remove_all(&objects, propagation, may).await?;
            let gone = objects.iter().map(|object| recorded[object].leaving());
            leased.wait_gone(gone, wait).await?;
        }
        let there_before: BTreeMap<ObjectRef, Entry> = self
            .released
            .iter()
            .map(|entry| (entry.reference(), entry.clone()))
            .collect();
        release(there_before.keys(), &there_before, leased, solution).await?;
        // Workloads may have recreated webhooks before they were deleted.
        self.silence(leased).await
    }

    /// Removes all webhooks that could refuse a request.
    pub(crate) async fn disarm(
        &self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
    ) -> Result<(), Error> {
        self.silence(leased).await?;
        self.remove_interceptors(leased, solution).await
    }

    /// Removes the webhooks that were applied, without those that other programs created for the same Services.
    pub(crate) async fn remove_interceptors(
        &self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
    ) -> Result<(), Error> {
        let recorded = self.at(DeletionOrder::Interceptor);
        let objects: Vec<ObjectRef> = recorded.keys().cloned().collect();
        let may = |wanted: &ObjectRef, live: &Object| recorded[wanted].check(live, solution);
        leased.remove_all(&objects, propagation, may).await
    }

    /// Removes webhooks that could refuse the write of a Lease, as far as they belong to this removal. Returns the
    /// removed ones.
    pub(crate) async fn clear(
        &self,
        cluster: &Cluster,
        solution: &SolutionName,
    ) -> Result<Vec<ObjectRef>, Error> {
        let recorded = self.at(DeletionOrder::Interceptor);
        let references: Vec<&ObjectRef> = recorded.keys().collect();
        let live = cluster.get_all(&references).await?.into_iter().flatten();
        let ours = |live: &Object| {
            let mut recorded = recorded.values().filter(|entry| entry.is(live.reference()));
            recorded.any(|entry| entry.check(live, solution).is_ok())
        };
        let mut going: Vec<Object> = live.filter(ours).collect();
        going.extend(self.find_callers(cluster).await?);
        clear(cluster, &going).await
    }

    /// Returns the CRDs without custom resources, after waiting for those that are deleted with other objects. CRDs
    /// with other custom resources are kept and noted.
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
            // A CRD that is being deleted deletes its custom resources as well.
            let resources = if is_used || live.is_being_deleted() {
                Vec::new()
            } else {
                custom_resources(cluster, &live).await?
            };
            let (leaving, staying): (Vec<Object>, Vec<Object>) =
                resources.into_iter().partition(|object| self.goes(object));
            if is_used || !staying.is_empty() {
                let note = format!("{definition} is kept because objects of it exist");
                self.notes.push(note);
                continue;
            }
            let leaving: Vec<Goal> = leaving.iter().map(of_object).map(Goal::Deleted).collect();
            cluster.wait(&leaving, wait, &|_| ()).await?;
            unused.push(definition);
        }
        Ok(unused)
    }

    /// Returns the namespaces that are not in use. Those in use are kept and noted.
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

    /// Removes the webhooks that call the removed Services.
    async fn silence(&self, leased: &mut Leased<'_>) -> Result<(), Error> {
        for caller in self.find_callers(leased.cluster).await? {
            let may = |live: &Object| {
                let calls = self.recorded.is_called_by(live);
                calls
                    .then_some(())
                    .ok_or_else(|| Blocker::changed([live.reference()]))
            };
            leased.remove(caller.reference(), may).await?;
        }
        Ok(())
    }
}

/// Deletes objects in the seen state without a Lease. Returns the deleted ones.
pub(crate) async fn clear(cluster: &Cluster, seen: &[Object]) -> Result<Vec<ObjectRef>, Error> {
    let mut cleared = Vec::new();
    for live in seen {
        let (reference, background) = (live.reference(), Propagation::Background);
        let deleted = cluster.delete(reference, background, Some(live)).await?;
        if deleted == DeletionOutcome::Requested {
            cleared.push(reference.clone());
        }
    }
    Ok(cleared)
}

/// Removes the project's labels from namespaces that are kept, if they are the ones that were applied. Namespaces are
/// kept while they are in use, or if they existed before the deployment.
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

/// Returns the object with its UID, so that a recreated one does not count when its deletion is awaited.
fn of_object(live: &Object) -> DeletionTarget {
    DeletionTarget {
        object: live.reference().clone(),
        uid: live.uid().map(str::to_owned),
    }
}

/// Returns the deletion policy for the dependents of an object. Objects with mere data have none, and waiting for the
/// garbage collector costs time, since it processes only a few dozen objects in a second.
fn propagation(object: &ObjectRef) -> Propagation {
    match (object.gvk.group.as_str(), object.gvk.kind.as_str()) {
        ("", "ConfigMap" | "Secret" | "ServiceAccount") | ("rbac.authorization.k8s.io", _) => {
            Propagation::Background
        }
        _ => Propagation::Foreground,
    }
}

/// Returns a text about an object in a namespace that may be needed, or about a kind that this user may not list. The
/// ConfigMap with the cluster's certificate authority exists in every namespace and does not count.
async fn occupied(cluster: &Cluster, namespace: &str) -> Result<Option<String>, Error> {
    for kind in NEEDED {
        let kind = Gvk::new("v1", kind);
        let found = match cluster.list(&kind, Some(namespace), None).await {
            Err(kubernetes::Error::Forbidden { .. }) => {
                return Ok(Some(format!(
                    "may contain a {} that is still needed",
                    kind.kind
                )));
            }
            found => found?,
        };
        let needed =
            |object: &&Object| object.name() != "kube-root-ca.crt" && !object.is_being_deleted();
        if let Some(found) = found.iter().find(needed) {
            return Ok(Some(format!(
                "contains {}, which may still be needed",
                found.reference()
            )));
        }
    }
    Ok(None)
}

impl Cleanup {
    pub(crate) async fn carry_out(
        &self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
        recorded: &Inventory,
        wait: Duration,
    ) -> Result<(), Error> {
        for wave in self.steps.chunk_by(CleanupStep::is_in_one_wave) {
            let mut objects = Vec::new();
            for step in wave {
                let object = step.object()?;
                apply(&object, leased, solution, recorded, wait).await?;
                objects.push(object);
            }
            let settled = settle(leased, wave[0].recorded.stage, objects.iter(), wait);
            settled.await.map_err(|error| match error {
                Error::Cluster(source) => Error::Cleanup(solution.clone(), Box::new(source)),
                other => other,
            })?;
        }
        Ok(())
    }
}

async fn apply(
    object: &Object,
    leased: &mut Leased<'_>,
    solution: &SolutionName,
    recorded: &Inventory,
    wait: Duration,
) -> Result<(), Error> {
    let reference: &ObjectRef = object.reference();
    let may = |live: &Object| check_step(object, Some(live), solution, recorded, None);
    let live = leased.cluster.get(reference).await?;
    if live.is_some_and(|live| must_run_anew(object, &live)) {
        leased.make_room(reference, wait, may).await?;
    }
    let decide = |live: Option<&Object>| {
        live.map_or(Ok(()), may)?;
        Ok(Some(disarmed(&marked(object.clone(), live)?, live)?))
    };
    leased.put(reference, decide).await?;
    Ok(())
}

/// Checks whether a Job must run again because an earlier attempt failed or its inputs differ.
fn must_run_anew(object: &Object, live: &Object) -> bool {
    let inputs = |object: &Object| object.annotations().get(v::INPUTS).map(ToString::to_string);
    inputs(object).is_some_and(|made| {
        inputs(live) != Some(made) || matches!(readiness(live), Readiness::Failed(_))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_job_that_failed_runs_once_more_and_one_that_is_done_does_not() {
        let job = |inputs: &str, status: Value| {
            Object::new(json!({
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": { "name": "j", "annotations": { v::INPUTS: inputs } },
                "status": status,
            }))
            .unwrap()
        };
        let condition = |kind: &str| json!({ "conditions": [{ "type": kind, "status": "True" }] });
        let wanted = job("a", json!({}));
        for (live, anew) in [
            (job("a", json!({})), false),
            (job("a", condition("Complete")), false),
            (job("a", condition("Failed")), true),
            (job("b", condition("Complete")), true),
        ] {
            assert_eq!(must_run_anew(&wanted, &live), anew, "{live:?}");
        }
    }
}
