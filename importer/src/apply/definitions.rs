//! The removal and the migration of a Solution's CRDs. CRDs that the Solution created are removed once nothing uses
//! them. CRDs that existed before it are kept without the project's labels.
//!
//! [`migrate`] rewrites the objects of a CRD before the CRD drops the version in which they are stored. Every step is
//! idempotent, so an interruption at any point is harmless.

use std::time::Duration;

use kubernetes::{Cluster, ConflictPolicy, Object, ObjectRef, Selector};
use planner::{owner_of, vocabulary as v, without_server_fields};
use schemas::{SolutionName, Version};
use serde_json::{Value, json};

use crate::apply::leased::Leased;
use crate::limits;
use crate::model::blocker::Blocker;
use crate::model::error::{Error, Use};
use crate::model::event::Event;
use crate::objects::crd::{self, PlannedCrd};
use crate::objects::migration;
use crate::objects::needs::check_resources;
use crate::records::inventory::{self, custom_resources, served_kind};

/// The CRDs of a Solution.
#[derive(Debug)]
pub(crate) struct Definitions {
    /// The CRDs that existed before the Solution.
    adopted: Vec<Object>,
    /// The CRDs that the Solution created.
    own: Vec<Object>,
}

impl Definitions {
    pub(crate) async fn read(cluster: &Cluster, solution: &SolutionName) -> Result<Self, Error> {
        let ours = Selector::label(v::SOLUTION, solution.as_str());
        let crds = inventory::crds(cluster, &ours).await?;
        let (adopted, own) = crds.into_iter().partition(is_adopted);
        Ok(Self { adopted, own })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.adopted.is_empty() && self.own.is_empty()
    }

    /// Returns the CRDs that are removed.
    pub(crate) fn own(&self) -> impl Iterator<Item = &ObjectRef> {
        self.own.iter().map(Object::reference)
    }

    /// Returns the CRDs that are kept.
    pub(crate) fn adopted(&self) -> impl Iterator<Item = &ObjectRef> {
        self.adopted.iter().map(Object::reference)
    }

    /// Returns a note on each CRD that is kept.
    pub(crate) fn notes(&self) -> Vec<String> {
        let stays = |crd| format!("{crd} existed before the Solution and is kept");
        self.adopted().map(stays).collect()
    }

    /// Returns the CRDs that a version of the Solution wrote.
    pub(crate) fn written_by(mut self, version: &Version) -> Self {
        let wrote = |crd: &Object| crd::written_by(crd).as_ref() == Some(version);
        self.adopted.retain(wrote);
        self.own.retain(wrote);
        self
    }

    /// Returns the custom resources of all CRDs. A missing right to list them is a blocker.
    pub(crate) async fn uses(
        &self,
        cluster: &Cluster,
        blockers: &mut Vec<Blocker>,
    ) -> Result<Vec<Use>, Error> {
        let mut uses = Vec::new();
        let all = self.own.iter().chain(&self.adopted);
        if check_resources(cluster, all.clone(), blockers).await? {
            return Ok(uses);
        }
        for crd in all {
            uses.extend(resources(cluster, crd).await?.iter().map(Use::new));
        }
        Ok(uses)
    }

    /// Returns a blocker for each CRD to remove that has custom resources, since these would be deleted with it. A
    /// missing right to list them is a blocker too.
    pub(crate) async fn in_use(&self, cluster: &Cluster) -> Result<Vec<Blocker>, Error> {
        Ok(self.used(cluster).await?.0)
    }

    /// Returns the same blockers, and the custom resources themselves.
    pub(crate) async fn used(&self, cluster: &Cluster) -> Result<(Vec<Blocker>, Vec<Use>), Error> {
        let (mut blockers, mut uses) = (Vec::new(), Vec::new());
        if check_resources(cluster, self.own.iter(), &mut blockers).await? {
            return Ok((blockers, uses));
        }
        for crd in &self.own {
            match resources(cluster, crd).await {
                Err(Error::Refused(blocker)) => blockers.push(blocker),
                found => {
                    let found: Vec<Use> = found?.iter().map(Use::new).collect();
                    blockers.extend(in_use(&found));
                    uses.extend(found);
                }
            }
        }
        Ok((blockers, uses))
    }

    /// Returns an error if anything uses the CRDs to remove.
    pub(crate) async fn check_unused(&self, cluster: &Cluster) -> Result<(), Error> {
        let mut blockers = self.in_use(cluster).await?.into_iter();
        blockers.next().map_or(Ok(()), |first| Err(first.into()))
    }

    /// Deletes the CRDs that the Solution created, and releases those that existed before it.
    pub(crate) async fn remove(
        &self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
        deadline: Duration,
    ) -> Result<(), Error> {
        for crd in self.adopted() {
            let decide = |live: Option<&Object>| {
                let ours = live.filter(|live| owner_of(live, solution).is_ok());
                let released = ours.map(|live| Object::new(released(live.clone())));
                Ok(released.transpose()?)
            };
            leased.put(crd, decide).await?;
        }
        let own: Vec<ObjectRef> = self.own().cloned().collect();
        for crd in &own {
            leased.remove(crd, |live| owner_of(live, solution)).await?;
        }
        leased.wait_gone(own, deadline).await
    }
}

fn is_adopted(crd: &Object) -> bool {
    crd.annotations().contains_key(v::ADOPTED)
}

/// Returns a CRD without the project's labels and annotations.
fn released(crd: Object) -> Value {
    let mut crd = without_server_fields(crd.into_value());
    for (field, marks) in [
        ("labels", &[v::MANAGED_BY, v::SOLUTION, v::VERSION][..]),
        ("annotations", &[v::ADOPTED]),
    ] {
        if let Some(map) = crd["metadata"][field].as_object_mut() {
            for mark in marks {
                map.remove(*mark);
            }
        }
    }
    crd
}

/// Returns the custom resources of a CRD. A CRD that is being deleted already deletes them, so they do not count.
async fn resources(cluster: &Cluster, crd: &Object) -> Result<Vec<Object>, Error> {
    if crd.is_being_deleted() {
        return Ok(Vec::new());
    }
    custom_resources(cluster, crd).await
}

fn in_use(resources: &[Use]) -> Option<Blocker> {
    let kind = resources.first()?.kind.clone();
    let objects = resources.iter().map(ToString::to_string).collect();
    Some(Blocker::InUse { kind, objects })
}

/// The number of objects that are rewritten between two checks of the Lease.
const BATCH: usize = 100;

/// Rewrites all objects of a CRD in the storage version of the planned one. `plan` decides about the live CRD, and the
/// migration waits until its intermediate form is served.
pub(crate) async fn migrate(
    leased: &mut Leased<'_>,
    planned: &PlannedCrd,
    conflicts: ConflictPolicy,
    wait: Duration,
    plan: impl Fn(Option<&Object>) -> Result<PlannedCrd, Error>,
) -> Result<(), Error> {
    let Some(migration) = planned.migration() else {
        return Ok(());
    };
    let reference = planned.object.reference();
    let decide = |live: Option<&Object>| {
        let now = plan(live)?;
        if now.change != planned.change {
            return Err(Blocker::changed([reference]).into());
        }
        Ok(migration::between(now))
    };
    let live = leased.put_with(conflicts, reference, decide).await?;
    leased
        .wait_settled(std::slice::from_ref(reference), wait)
        .await?;
    let nothing = || Blocker::ServesNothing {
        crd: reference.to_string(),
    };
    let kind = live.as_ref().and_then(served_kind).ok_or_else(nothing)?;
    let mut objects = Vec::new();
    let keep = |object: Object| objects.push(stripped(&object));
    leased.cluster.visit(&kind, None, None, keep).await?;
    let objects = objects.into_iter().collect::<Result<Vec<_>, _>>()?;
    let (mut done, total) = (0, objects.len());
    for batch in objects.chunks(BATCH) {
        let crd = reference.clone();
        (leased.tell)(Event::Migrated { crd, done, total });
        leased.lock.check()?;
        leased.cluster.rewrite(batch).await?;
        done += batch.len();
    }
    trim(leased, reference, &migration.storage).await
}

/// Returns the identity of an object and its resource version, without its content.
fn stripped(object: &Object) -> Result<Object, kubernetes::ObjectError> {
    let metadata = json!({
        "name": object.name(),
        "namespace": object.namespace(),
        "uid": object.uid(),
        "resourceVersion": object.resource_version(),
    });
    let gvk = object.gvk();
    Object::new(json!({"apiVersion": gvk.api_version(), "kind": gvk.kind, "metadata": metadata}))
}

/// Records in the CRD's status that objects are stored in no other version.
async fn trim(leased: &Leased<'_>, crd: &ObjectRef, storage: &str) -> Result<(), Error> {
    let stored = json!([storage]);
    for decision in 1.. {
        leased.lock.check()?;
        let live = leased.cluster.get(crd).await?;
        let is_untrimmed = |live: &Object| live.as_value()["status"]["storedVersions"] != stored;
        let Some(live) = live.filter(is_untrimmed) else {
            return Ok(());
        };
        let status = json!({ "storedVersions": stored });
        match leased.cluster.put_status(&live, &status).await {
            Err(kubernetes::Error::Changed { .. }) if decision < limits::DECISIONS => {}
            put => return Ok(put?),
        }
    }
    unreachable!("the loop ends at the last decision")
}
