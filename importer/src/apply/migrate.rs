//! Storage migration: rewrites the objects of a CRD before the CRD drops the version in which they are stored. Every
//! step is idempotent, so an interruption at any point is harmless.

use std::time::Duration;

use deployer::{Conflicts, Object, ObjectRef};
use serde_json::json;

use crate::apply::leased::Leased;
use crate::limits;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::model::labelled::served_kind;
use crate::model::obstacle::Obstacle;
use crate::plan::crd::PlannedCrd;

/// The number of objects that are rewritten between two checks of the Lease.
const BATCH: usize = 100;

/// Rewrites all objects of a CRD in the storage version of the planned one. `plan` decides about the live CRD, and the
/// migration waits until its intermediate form is served.
pub(crate) async fn migrate(
    leased: &mut Leased<'_>,
    planned: &PlannedCrd,
    conflicts: Conflicts,
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
            return Err(Obstacle::changed([reference]).into());
        }
        Ok(now.between)
    };
    let live = leased.put_with(conflicts, reference, decide).await?;
    leased
        .wait_settled(std::slice::from_ref(reference), wait)
        .await?;
    let nothing = || Obstacle::ServesNothing {
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
fn stripped(object: &Object) -> Result<Object, deployer::ObjectError> {
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
            Err(deployer::Error::Changed { .. }) if decision < limits::DECISIONS => {}
            put => return Ok(put?),
        }
    }
    unreachable!("the loop ends at the last decision")
}
