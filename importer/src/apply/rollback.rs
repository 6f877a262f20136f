//! A failed upgrade returns to the version that ran: its objects are kept from before the first change, and put back.

use deployer::{Cluster, Object, ObjectRef};
use schemas::{Namespace, SolutionName};

use crate::apply::leased::Leased;
use crate::model::applied::without_server_fields;
use crate::model::authority::Authority;
use crate::model::carried::CarriedRecord;
use crate::model::error::Error;
use crate::model::inventory::inventory;
use crate::model::owner::owner_of;

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
                objects.push(Object::new(without_server_fields(live.into_value()))?);
            }
        }
        for scope in inventory(solution, namespace, authority) {
            for live in cluster.stale(&scope, &[]).await? {
                objects.push(Object::new(without_server_fields(live.into_value()))?);
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
        solution: &SolutionName,
        namespace: &Namespace,
        carried: &CarriedRecord,
    ) -> Result<(), Error> {
        for object in &self.0 {
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
