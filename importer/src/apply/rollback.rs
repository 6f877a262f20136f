//! A failed upgrade returns to the version that ran: its objects are kept from before the first change, and put back.

use std::time::Duration;

use change::{Entry, Inventory, owner_of, started, vocabulary as v, without_server_fields};
use deployer::{Cluster, Conflicts, Object, ObjectRef};
use schemas::{SolutionName, Version};

use crate::apply::carried::{asks_nobody, disarmed, without_injected};
use crate::apply::leased::Leased;
use crate::model::error::Error;
use crate::model::look::look_all;
use crate::plan::crd::{self, Judged, Users};
use crate::plan::deployment::Deployment;
use crate::plan::finish::is_definition;
use crate::plan::losses;
use crate::plan::trial::Unchanged;
use crate::plan::withdrawal::Withdrawal;

/// What ran before an upgrade.
#[derive(Debug)]
pub(crate) struct Before {
    /// Its objects, in the order to apply them; but for what runs once, which has run.
    objects: Vec<Object>,
    /// Everything that it had.
    inventory: Inventory,
}

impl Before {
    pub(crate) async fn read(
        cluster: &Cluster,
        solution: &SolutionName,
        inventory: &Inventory,
    ) -> Result<Self, Error> {
        let recorded = inventory.entries.iter().filter(|it| it.inputs.is_none());
        let recorded: Vec<&Entry> = recorded.collect();
        let references: Vec<ObjectRef> = recorded.iter().map(|it| it.reference()).collect();
        let references: Vec<&ObjectRef> = references.iter().collect();
        let found = look_all(cluster, &references).await?;
        // What somebody made anew is not ours to put back.
        let ours = |(recorded, live): (&Entry, Option<Object>)| {
            live.filter(|live| recorded.check(live, solution).is_ok())
        };
        let found = recorded.into_iter().zip(found);
        Ok(Self {
            objects: as_asked_for(found.filter_map(ours).collect())?,
            inventory: inventory.clone(),
        })
    }

    /// Puts everything back, and removes what only the new version had. Webhooks refuse nothing until [`Self::arm`].
    pub(crate) async fn restore(
        &self,
        leased: &mut Leased<'_>,
        deployment: &Deployment,
        wait: Duration,
    ) -> Result<(), Error> {
        let solution = &deployment.solution;
        let others = self.coming_back(deployment, leased.cluster).await?;
        let mut brought = deployment.change.inventory.brought_after(&self.inventory);
        // What was there was taken over, from the operator or from others.
        let was_there = |it: &Entry| deployment.change.was_there(&it.reference());
        let runs_once = |it: &Entry| it.inputs.is_some();
        let goes = |it: &Entry| runs_once(it) || !was_there(it);
        brought.entries.retain(goes);
        // What runs once may be that of the version before still.
        let is_new = |recorded: &Entry, live: &Object| {
            let made = live.annotations().get(v::INPUTS).copied();
            recorded.inputs.is_none() || recorded.inputs.as_deref() == made
        };
        let mut brought = Withdrawal::of(leased.cluster, solution, brought, is_new).await?;
        // Nothing may refuse what follows.
        brought.disarm(leased, solution).await?;
        let webhooks = self.webhooks().map(|webhooks| disarmed(webhooks, None));
        let webhooks = webhooks.collect::<Result<Vec<_>, _>>()?;
        for former in deployment.change.replaced() {
            remove_successor(leased, former, solution, wait).await?;
        }
        put_back(leased, solution, &webhooks).await?;
        put_back(leased, solution, &others).await?;
        brought.take(leased, solution, wait).await
    }

    /// What comes back of what was carried, but for webhooks. A definition that a newer version wrote stays where it serves all
    /// that this one does, as where an older version is deployed; where it cannot stay, no object may lose anything.
    async fn coming_back(
        &self,
        deployment: &Deployment,
        cluster: &Cluster,
    ) -> Result<Vec<Object>, Error> {
        let mut coming = Vec::new();
        for object in self.objects.iter().filter(|it| asks_nobody(it)) {
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
        let mut entries = self.inventory.entries.iter();
        entries.any(|it| it.part.is_none() && it.kind == "Deployment")
    }

    /// What is waited for of what its parts brought.
    pub(crate) fn awaited(&self) -> Vec<ObjectRef> {
        let objects = self.objects.iter().filter(|it| asks_nobody(it));
        let objects = objects.map(Object::reference);
        let is_awaited = |it: &Entry| it.part.is_some() && it.is_awaited();
        let awaited = objects.filter(|it| self.inventory.find(it).is_some_and(is_awaited));
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
        self.objects.iter().filter(|it| !asks_nobody(it))
    }
}

/// Objects as they were asked for, before anything was changed; an attempt that was interrupted may have stopped some.
fn as_asked_for(live: Vec<Object>) -> Result<Vec<Object>, Error> {
    let asked = live.into_iter().map(|live| {
        let live = without_server_fields(without_injected(&live));
        Ok(started(Object::new(live)?)?)
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
            Err(not_ours) => Err(Error::Refused(not_ours.into())),
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
