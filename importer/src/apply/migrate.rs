//! Stores a CRD's objects anew before it gives up the version that they were stored in. Each step is as good as done
//! when it is done again, so that an interruption anywhere costs nothing.

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

/// Objects that are rewritten between two looks at the Lease.
const BATCH: usize = 100;

/// Stores all objects of a CRD anew, in the version that the planned one stores in. `plan` decides about the CRD as it
/// is, which is waited for until it is served.
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

/// Returns an object that names another in one state.
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

/// Notes that objects are stored in no other version.
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
