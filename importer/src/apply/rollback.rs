//! A failed upgrade returns to the version that ran: its objects are kept from before the first change, and put back.

use std::time::Duration;

use deployer::{Cluster, Conflicts, Object, ObjectRef};
use schemas::{Namespace, SolutionName, Version};

use crate::apply::carried::{asks_nobody, disarmed, without_injected};
use crate::apply::leased::Leased;
use crate::model::applied::without_server_fields;
use crate::model::authority::Authority;
use crate::model::carried::{CarriedRecord, RecordedObject};
use crate::model::error::Error;
use crate::model::inventory::inventory;
use crate::model::owner::{look_all, owner_of};
use crate::model::vocabulary as v;
use crate::plan::crd::{self, Judged, Users};
use crate::plan::deployment::{Deployment, without};
use crate::plan::finish::is_definition;
use crate::plan::handover::started;
use crate::plan::losses;
use crate::plan::trial::Unchanged;
use crate::plan::withdrawal::Withdrawal;

/// What ran before an upgrade.
#[derive(Debug)]
pub(crate) struct Before {
    /// The objects of the operator, in the order to apply them.
    operator: Vec<Object>,
    /// What was carried, in the order to apply it; but for what runs once, which has run.
    carried: Vec<Object>,
    /// Everything that was carried.
    record: CarriedRecord,
}

impl Before {
    pub(crate) async fn read(
        (cluster, authority): (&Cluster, &Authority),
        solution: &SolutionName,
        namespace: &Namespace,
        record: &CarriedRecord,
    ) -> Result<Self, Error> {
        let recorded = record.objects.iter().filter(|it| it.inputs.is_none());
        let recorded: Vec<&RecordedObject> = recorded.collect();
        let references: Vec<ObjectRef> = recorded.iter().map(|it| it.reference()).collect();
        let references: Vec<&ObjectRef> = references.iter().collect();
        let found = look_all(cluster, &references).await?;
        // What somebody made anew is not ours to put back.
        let ours = |(recorded, live): (&RecordedObject, Option<Object>)| {
            live.filter(|live| recorded.check(live, solution).is_ok())
        };
        let found = recorded.into_iter().zip(found);
        let live: Vec<Object> = found.filter_map(ours).collect();
        let mut operator = Vec::new();
        for scope in inventory(solution, namespace, authority) {
            operator.extend(cluster.stale(&scope, &[]).await?);
        }
        // The inventory begins with what needs the rest.
        operator.reverse();
        Ok(Self {
            operator: as_asked_for(without(operator, &live))?,
            carried: as_asked_for(live)?,
            record: record.clone(),
        })
    }

    /// Puts everything back, and removes what only the new version had. Webhooks refuse nothing until [`Self::arm`].
    pub(crate) async fn restore(
        &self,
        leased: &mut Leased<'_>,
        deployment: &Deployment,
        wait: Duration,
    ) -> Result<(), Error> {
        let (solution, namespace) = (&deployment.solution, &deployment.namespace);
        let others = self.coming_back(deployment, leased.cluster).await?;
        let mut brought = deployment.carried.brought_after(&self.record);
        // What was there was taken over, from the operator or from others.
        let was_there = |it: &RecordedObject| deployment.was_there(&it.reference());
        let runs_once = |it: &RecordedObject| it.inputs.is_some();
        let goes = |it: &RecordedObject| runs_once(it) || !was_there(it);
        brought.objects.retain(goes);
        // What runs once may be that of the version before still.
        let is_new = |recorded: &RecordedObject, live: &Object| {
            let made = live.annotations().get(v::INPUTS).copied();
            recorded.inputs.is_none() || recorded.inputs.as_deref() == made
        };
        let mut brought = Withdrawal::of(leased.cluster, solution, brought, is_new).await?;
        // Nothing may refuse what follows.
        brought.disarm(leased, solution).await?;
        let webhooks = self.webhooks().map(|webhooks| disarmed(webhooks, None));
        let webhooks = webhooks.collect::<Result<Vec<_>, _>>()?;
        for former in &deployment.replaced {
            remove_successor(leased, former, solution, wait).await?;
        }
        put_back(leased, solution, &webhooks).await?;
        put_back(leased, solution, &self.operator).await?;
        put_back(leased, solution, &others).await?;
        brought.take(leased, solution, wait).await?;
        let kept = self.operator.iter().chain(&self.carried);
        let kept: Vec<ObjectRef> = kept.map(|it| it.reference().clone()).collect();
        leased.prune(solution, namespace, &kept).await
    }

    /// What comes back of what was carried, but for webhooks. A definition that a newer version wrote stays where it serves all
    /// that this one does, as where an older version is deployed; where it cannot stay, no object may lose anything.
    async fn coming_back(
        &self,
        deployment: &Deployment,
        cluster: &Cluster,
    ) -> Result<Vec<Object>, Error> {
        let mut coming = Vec::new();
        for object in self.carried.iter().filter(|it| asks_nobody(it)) {
            if let Some(standing) = &deployment.standing
                && is_definition(object.as_value())
                && let Some(live) = cluster.get(object.reference()).await?
                && stays(object, &live, &standing.version, cluster).await?
            {
                continue;
            }
            coming.push(object.clone());
        }
        Ok(coming)
    }

    /// Whether an operator ran.
    pub(crate) fn has_operator(&self) -> bool {
        let mut operator = self.operator.iter();
        operator.any(|it| it.gvk().kind == "Deployment")
    }

    /// What is waited for of what was carried.
    pub(crate) fn awaited(&self) -> Vec<ObjectRef> {
        let carried = self.carried.iter().filter(|it| asks_nobody(it));
        let carried = carried.map(Object::reference);
        let awaited =
            carried.filter(|it| self.record.find(it).is_some_and(RecordedObject::is_awaited));
        awaited.cloned().collect()
    }

    /// Lets the webhooks refuse again what they refused before.
    pub(crate) async fn arm(
        &self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
    ) -> Result<(), Error> {
        let webhooks: Vec<Object> = self.webhooks().cloned().collect();
        put_back(leased, solution, &webhooks).await
    }

    fn webhooks(&self) -> impl Iterator<Item = &Object> {
        self.carried.iter().filter(|it| !asks_nobody(it))
    }
}

/// Objects as they were asked for, before anything was changed; an attempt that was interrupted may have stopped some.
fn as_asked_for(live: Vec<Object>) -> Result<Vec<Object>, Error> {
    let asked = live.into_iter().map(|live| {
        let live = without_server_fields(without_injected(&live));
        started(Object::new(live)?)
    });
    asked.collect()
}

/// Whether a definition stays as it is when this one of an older version would come back.
async fn stays(
    definition: &Object,
    live: &Object,
    version: &Version,
    cluster: &Cluster,
) -> Result<bool, Error> {
    let (wanted, written) = (definition.as_value(), crd::defined_by(live));
    if let Ok(Judged::Kept(_)) = crd::judge(version, wanted, live, written, Users::Here) {
        return Ok(true);
    }
    crd::judge(version, wanted, live, None, Users::Here)?;
    losses::check_replaced(cluster, live, wanted, version).await?;
    Ok(false)
}

/// Removes what was made anew in the place of this object, which could not become it.
async fn remove_successor(
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

/// Writes these objects, those of one kind that follow one another together.
async fn put_back(
    leased: &mut Leased<'_>,
    solution: &SolutionName,
    objects: &[Object],
) -> Result<(), Error> {
    let decide = |object: &Object, live: Option<&Object>| match live {
        Some(live) => match owner_of(live, solution) {
            Ok(()) => Ok(Some(object.clone())),
            Err(obstacle) => Err(Error::Refused(obstacle)),
        },
        None => Ok(Some(object.clone())),
    };
    for batch in objects.chunk_by(|a, b| a.gvk() == b.gvk()) {
        let batch: Vec<&Object> = batch.iter().collect();
        leased
            .put_all(&batch, &Unchanged::default(), |_| Conflicts::Force, decide)
            .await?;
    }
    Ok(())
}
