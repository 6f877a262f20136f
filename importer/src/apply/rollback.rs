//! A failed upgrade returns to the version that ran: its objects are kept from before the first change, and put back.

use std::time::Duration;

use deployer::{Cluster, Object, ObjectRef};
use schemas::{Namespace, SolutionName};

use crate::apply::leased::Leased;
use crate::model::applied::without_server_fields;
use crate::model::authority::Authority;
use crate::model::carried::CarriedRecord;
use crate::model::error::Error;
use crate::model::inventory::inventory;
use crate::model::owner::owner_of;
use crate::plan::handover::started;

/// An object as it was asked for, before anything was changed; an attempt that was interrupted may have stopped it.
fn before(live: Object) -> Result<Object, Error> {
    started(Object::new(without_server_fields(live.into_value()))?)
}

/// Removes what was made anew in the place of this object, which could not become it.
async fn make_room(
    leased: &mut Leased<'_>,
    former: &Object,
    solution: &SolutionName,
    wait: Duration,
) -> Result<(), Error> {
    let live = leased.cluster.get(former.reference()).await?;
    if live.is_some_and(|live| live.uid() != former.uid()) {
        let ours = |live: &Object| owner_of(live, solution);
        leased.make_room(former.reference(), wait, ours).await?;
    }
    Ok(())
}

/// The objects of an operator before an upgrade.
#[derive(Debug)]
pub(crate) struct Before(Vec<Object>);

impl Before {
    pub(crate) async fn read(
        (cluster, authority): (&Cluster, &Authority),
        solution: &SolutionName,
        namespace: &Namespace,
        carried: &CarriedRecord,
    ) -> Result<Self, Error> {
        let mut objects = Vec::new();
        // What runs once has run.
        let restored = carried.objects.iter().filter(|it| it.inputs.is_none());
        for recorded in restored.rev() {
            if let Some(live) = cluster.get(&recorded.reference()).await? {
                objects.push(before(live)?);
            }
        }
        for scope in inventory(solution, namespace, authority) {
            for live in cluster.stale(&scope, &[]).await? {
                objects.push(before(live)?);
            }
        }
        // The inventory begins with what needs the rest.
        objects.reverse();
        Ok(Self(objects))
    }

    /// Puts everything back, and removes what only the new version had.
    pub(crate) async fn restore(
        self,
        leased: &mut Leased<'_>,
        (solution, namespace): (&SolutionName, &Namespace),
        carried: &CarriedRecord,
        (replaced, wait): (&[Object], Duration),
    ) -> Result<(), Error> {
        for object in &self.0 {
            let mut replaced = replaced.iter();
            let is_it = |it: &&Object| it.reference().is_same_object(object.reference());
            if let Some(former) = replaced.find(is_it) {
                make_room(leased, former, solution, wait).await?;
            }
            let decide = |live: Option<&Object>| match live.map(|live| owner_of(live, solution)) {
                Some(Err(obstacle)) => Err(Error::Refused(obstacle)),
                Some(Ok(())) | None => Ok(Some(object.clone())),
            };
            leased.put(object.reference(), decide).await?;
        }
        let keep: Vec<ObjectRef> = self.0.iter().map(|it| it.reference().clone()).collect();
        for new in carried.objects.iter().rev() {
            let object = new.reference();
            if !keep.iter().any(|keep| keep.is_same_object(&object)) {
                let ours = |live: &Object| owner_of(live, solution);
                leased.remove(&object, ours).await?;
            }
        }
        leased.prune(solution, namespace, &keep).await
    }
}
