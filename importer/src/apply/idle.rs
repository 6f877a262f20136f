//! The fast path of an import that finds everything as desired. It writes nothing, so it takes no Lease and does not
//! decide a second time. [`Ready::stands`] checks for this case, and [`Ready::outlast`] waits for the operator to prove
//! stable.

use change::{Entry, intercepts, vocabulary as v};
use deployer::{Cluster, Goal, ObjectRef, Settled, settled};
use serde_json::Value;

use crate::apply::environment;
use crate::model::authority::Authority;
use crate::model::config_map;
use crate::model::error::Error;
use crate::model::receipts::Receipts;
use crate::model::record;
use crate::plan::Ready;
use crate::plan::deployment::Deployment;

impl Ready<'_> {
    /// Checks whether everything is as desired and ready. If something is not ready, the import may have more to do
    /// than wait.
    pub(crate) async fn stands(&self, cluster: &Cluster) -> Result<bool, Error> {
        if !self.changes_nothing()? || !self.is_told(cluster).await? {
            return Ok(false);
        }
        // This change may complete an earlier incomplete one.
        if !Receipts::read_incomplete(cluster).await?.all.is_empty() {
            return Ok(false);
        }
        match &self.decision.deployment {
            Some(deployment) => works(deployment, cluster).await,
            None => Ok(true),
        }
    }

    /// Checks whether every record, object and release would stay the same.
    fn changes_nothing(&self) -> Result<bool, Error> {
        let decision = &self.decision;
        let state = &decision.state;
        let is_same = self.is_done()
            && self.asked.request.authority == Authority::Cluster
            && self.memory(state).is_none()
            && self.summary.migrations.is_empty()
            && decision.deployment.as_ref().is_none_or(|deployment| {
                let place = state.namespace(deployment.namespace());
                place == Some(&deployment.place) && deployment.changes_nothing()
            });
        Ok(is_same && self.unchanged.is_all_of(decision.tried(&self.asked)?.len()))
    }

    /// Checks whether the ConfigMaps for upstream's controllers match the records.
    async fn is_told(&self, cluster: &Cluster) -> Result<bool, Error> {
        let state = &self.decision.state;
        let projection = record::projection(&state.records, &state.active);
        let available = config_map::reference(v::AVAILABLE);
        let mut told = vec![(available, projection)];
        if let Some(Deployment { place, .. }) = &self.decision.deployment {
            let namespace = place.namespace.as_str();
            let name = v::ENVIRONMENT_CONFIG;
            let reference = ObjectRef::namespaced("v1", "ConfigMap", namespace, name);
            let config = environment::config(&place.namespace, &place.versions());
            told.push((reference, config));
        }
        let references: Vec<&ObjectRef> = told.iter().map(|(reference, _)| reference).collect();
        let live = cluster.get_all(&references).await?.into_iter();
        let data = |object: &Value| object["data"].as_object().cloned().unwrap_or_default();
        let mut both = told.iter().zip(live);
        Ok(both.all(|((_, wanted), live)| {
            live.is_some_and(|live| data(live.as_value()) == data(wanted))
        }))
    }

    /// Waits until the operator has been ready for long enough to count as stable.
    pub(crate) async fn outlast(&self, cluster: &Cluster) -> Result<(), Error> {
        let deployment = self.decision.deployment.as_ref();
        let operator = deployment.and_then(|deployment| Some((deployment, deployment.operator()?)));
        let Some((deployment, operator)) = operator else {
            return Ok(());
        };
        let namespace = deployment.namespace().as_str();
        let operator = ObjectRef::namespaced("apps/v1", "Deployment", namespace, operator);
        let wait = self.deadline.wait();
        Ok(cluster
            .wait(&[Goal::Rollout(operator)], wait, &|_| ())
            .await?)
    }
}

/// Checks whether the workloads of a deployment are ready.
async fn works(deployment: &Deployment, cluster: &Cluster) -> Result<bool, Error> {
    if let Some(operator) = deployment.operator() {
        let namespace = deployment.namespace().as_str();
        let state = cluster.rollout_state(namespace, operator).await?;
        if state.is_none_or(|(_, state)| state.awaited.is_some()) {
            return Ok(false);
        }
    }
    let entries = deployment.change.inventory.entries.iter();
    // Jobs may have been deleted after they ran, and webhooks and API services depend only on the Services that they
    // call.
    let stays =
        |entry: &&Entry| entry.part.is_some() && entry.is_awaited() && entry.inputs.is_none();
    let awaited: Vec<ObjectRef> = entries
        .filter(stays)
        .map(Entry::reference)
        .filter(|object| !intercepts(object))
        .collect();
    let awaited: Vec<&ObjectRef> = awaited.iter().collect();
    let live = cluster.get_all(&awaited).await?;
    let is_ready = |live| settled(live) == Settled::Ready;
    Ok(live.iter().all(|live| live.as_ref().is_some_and(is_ready)))
}
