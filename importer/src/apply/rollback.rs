//! The rollback of a failed upgrade to the former version. [`Ready::restore`] writes the changed objects in their
//! former state and removes new ones, with all webhooks disarmed. [`Ready::arm_former`] restores the webhooks at the
//! end.

use std::time::Duration;

use change::{Entry, Inverse, asks_nobody, disarmed, owner_of, vocabulary as v};
use deployer::{Cluster, Conflicts, Object};
use manifests::is_definition;
use schemas::{SolutionName, Version};

use crate::apply::leased::Leased;
use crate::model::error::Error;
use crate::plan::Ready;
use crate::plan::crd::{self, Judged, Users};
use crate::plan::deployment::Deployment;
use crate::plan::losses;
use crate::plan::trial::Unchanged;
use crate::plan::withdrawal::Withdrawal;

impl Ready<'_> {
    /// Restores all former objects and removes those that only the new version had. Webhooks refuse nothing until
    /// [`Self::arm_former`].
    pub(crate) async fn restore(
        &self,
        inverse: &Inverse,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let (solution, wait) = (&deployment.solution, self.deadline.wait());
        let others = coming_back(inverse, deployment, leased.cluster).await?;
        // A Job of the same name may still be the one of the previous version.
        let is_new = |recorded: &Entry, live: &Object| {
            let made = live.annotations().get(v::INPUTS).copied();
            recorded.inputs.is_none() || recorded.inputs.as_deref() == made
        };
        let brought = inverse.brought.clone();
        let mut brought = Withdrawal::of(leased.cluster, solution, brought, is_new).await?;
        // Webhooks of the new version must not refuse the following writes.
        brought.disarm(leased, solution).await?;
        let webhooks = inverse
            .objects
            .iter()
            .filter(|object| !asks_nobody(object))
            .map(|webhooks| disarmed(webhooks, None))
            .collect::<Result<Vec<_>, _>>()?;
        for former in deployment.change.replaced() {
            remove_successor(leased, former, solution, wait).await?;
        }
        put_back(leased, solution, &webhooks).await?;
        put_back(leased, solution, &others).await?;
        brought.take(leased, solution, wait).await
    }

    /// Restores the former failure policies and rules of the webhooks.
    pub(crate) async fn arm_former(
        &self,
        inverse: &Inverse,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let webhooks: Vec<Object> = inverse
            .objects
            .iter()
            .filter(|object| !asks_nobody(object))
            .cloned()
            .collect();
        put_back(leased, self.asked.id.name(), &webhooks).await
    }
}

/// Returns the packaged objects to restore, except webhooks. A CRD that a newer version wrote is kept if it serves
/// everything that the former one does, as in a deployment of an older version. If it cannot be kept, no custom
/// resource may lose data.
async fn coming_back(
    inverse: &Inverse,
    deployment: &Deployment,
    cluster: &Cluster,
) -> Result<Vec<Object>, Error> {
    let mut coming = Vec::new();
    for object in inverse.objects.iter().filter(|object| asks_nobody(object)) {
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

/// Checks whether the live CRD is kept and this one of an older version is not restored.
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

/// Deletes the object that was recreated in place of this one, since the former object could not be changed into it.
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

/// Writes these objects. Consecutive objects of one kind are written together.
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
