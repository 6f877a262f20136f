//! The execution of a plan's steps: [`Ready::bring`] applies the objects of each step and waits until the next one can
//! start.
//!
//! Webhooks that call a Service of the release are first written with settings under which they refuse nothing, until
//! their Service has ready pods. Otherwise, the release could block its own pods.

use std::collections::BTreeMap;
use std::time::Duration;

use kubernetes::{Object, ObjectRef, Selector};
use manifests::is_definition;
use planner::{
    Claim, DesiredObject, Inventory, ObjectChange, Ownership, Stage, Step, asks_nobody, batches,
    disarmed, scaled,
};
use schemas::KubernetesName;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::apply::leased::Leased;
use crate::apply::rollback::StatefulSetSelection;
use crate::decide::deployment::Deployment;
use crate::decide::proof::Network;
use crate::limits;
use crate::model::blocker::Blocker;
use crate::model::error::{Error, FailurePolicy};
use crate::model::event::Event;
use crate::model::request::Nodes;
use crate::objects::crd::{self, Judged, Users};
use crate::objects::pull_secret::DefaultAccount;
use crate::plan::Ready;
use crate::records::{cleanup, inventory};

impl Ready<'_> {
    /// Records the inventory of a deployment, so that its objects are found after an interruption.
    pub(crate) async fn record_inventory(
        &self,
        deployment: &Deployment,
        inventory: &Inventory,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let (solution, namespace) = (&deployment.solution, deployment.namespace());
        if !inventory.is_empty() {
            return leased
                .keep(inventory::to_object(inventory, solution, namespace))
                .await;
        }
        let (new, before) = (&deployment.change.inventory, &deployment.change.before);
        // A record that names the pods of a proof exists even without packaged objects.
        if new.is_empty() && before.is_empty() && self.proof.is_none() {
            return Ok(());
        }
        let reference = inventory::reference(solution, namespace);
        leased.forget(&reference).await
    }

    /// Returns the inventory of a deployment in progress: the objects of this version, of the previous one and the pods
    /// of the proof, with the UIDs that are known by now.
    pub(crate) fn so_far(&self, deployment: &Deployment, leased: &Leased<'_>) -> Inventory {
        let (new, before) = (&deployment.change.inventory, &deployment.change.before);
        let proof = self.proof.as_ref();
        let proving = proof.map(|proof| proof.recorded(&deployment.solution));
        let known = proving.unwrap_or_default().with(before);
        leased.as_written(&new.with(&known))
    }

    /// Records the inventory of a deployment in progress.
    pub(crate) async fn record_progress(
        &self,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let so_far = self.so_far(deployment, leased);
        self.record_inventory(deployment, &so_far, leased).await
    }

    /// Records the applied inventory and the sets for removal. The sets are written before the inventory that names
    /// them, and deleted after it.
    pub(crate) async fn record_applied(
        &self,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let (solution, namespace) = (&deployment.solution, deployment.namespace());
        let applied = leased.as_written(&deployment.change.inventory);
        if !applied.cleanup.is_empty() {
            let kept = deployment.cleanup.to_object(solution, namespace);
            leased.keep(kept).await?;
        }
        self.record_inventory(deployment, &applied, leased).await?;
        if applied.cleanup.is_empty() && !deployment.change.before.cleanup.is_empty() {
            let kept = cleanup::reference(solution, namespace);
            return leased.forget(&kept).await;
        }
        Ok(())
    }

    /// Executes all steps in their order.
    pub(crate) async fn bring(
        &self,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        for step in &deployment.change.steps {
            let network = Network::of_step(deployment, step);
            self.await_nodes(network, leased).await?;
            match step {
                Step::Stop(former) => self.stop_former(former, leased).await?,
                Step::Bring(stage, changes) => {
                    self.bring_stage(deployment, *stage, changes, leased)
                        .await?;
                }
                Step::Release(name) => {
                    let Some(planned) = deployment.releases.named(name.as_str()) else {
                        continue;
                    };
                    restart_unpulled(deployment, planned.objects.iter(), leased).await?;
                    self.bring_release(deployment, planned, leased).await?;
                }
            }
        }
        Ok(())
    }

    /// Waits for the nodes if it is requested and the next step cannot run on a node that is not Ready.
    pub(crate) async fn await_nodes(
        &self,
        network: Network,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let (Nodes::Awaited(longest), Network::Needed) = (self.asked.request.nodes, network) else {
            return Ok(());
        };
        leased.lock.check()?;
        let tell = |nodes| (leased.tell)(Event::Nodes(nodes));
        leased.cluster.wait_nodes(longest, &tell).await?;
        Ok(())
    }

    /// Applies the objects of one stage of a part, and waits until the next stage can start.
    async fn bring_stage(
        &self,
        deployment: &Deployment,
        stage: Stage,
        changes: &[ObjectChange],
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        for batch in batches(stage, changes) {
            self.bring_all(deployment, &batch, leased).await?;
        }
        let is_operators = changes.iter().any(|change| change.desired.part.is_none());
        if is_operators && stage == Stage::Workload {
            return self.come_up(deployment, leased).await;
        }
        let objects = || changes.iter().map(ObjectChange::object);
        restart_unpulled(deployment, objects(), leased).await?;
        settle(leased, stage, objects(), self.deadline.wait()).await?;
        for change in changes
            .iter()
            .filter(|change| !asks_nobody(change.object()))
        {
            self.arm(deployment, change, leased).await?;
        }
        Ok(())
    }

    /// Writes the objects of these changes, after deleting those that are recreated.
    async fn bring_all(
        &self,
        deployment: &Deployment,
        changes: &[&ObjectChange],
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        for change in changes {
            self.remove_replaced(deployment, change, leased).await?;
        }
        let written = leased.uids().clone();
        let objects: Vec<&Object> = changes.iter().map(|change| change.object()).collect();
        let by_object = changes
            .iter()
            .map(|change| (change.object().reference(), &change.desired));
        let by_object: BTreeMap<&ObjectRef, &DesiredObject> = by_object.collect();
        let decide = |object: &Object, live: Option<&Object>| {
            let desired = by_object[object.reference()];
            // Other writers change the default account too, so its content is kept and this deployment adds to it.
            if desired.is_the_namespaces() {
                return default_account(deployment, live).map(Some);
            }
            self.check_change(deployment, &written, desired, live)?;
            if desired.part.is_none() {
                return Ok(Some(object.clone()));
            }
            if !deployment.change.is_untouched(desired, live) {
                return Err(Blocker::changed([object.reference()]).into());
            }
            self.check_definition(object, live)?;
            Ok(Some(disarmed(&scaled(object, live)?, live)?))
        };
        let conflicts = |object: &Object| self.asked.conflicts(object);
        leased
            .put_all(&objects, &self.unchanged, conflicts, decide)
            .await?;
        self.know_secret(deployment, changes, leased).await
    }

    /// Records the UID of a new Secret of parameters at once, since only the UID proves that it belongs to the
    /// deployment.
    async fn know_secret(
        &self,
        deployment: &Deployment,
        changes: &[&ObjectChange],
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let mut desired = changes.iter().map(|change| &change.desired);
        let secret = desired.find(|desired| desired.ownership == Ownership::Sensitive);
        let planned = &deployment.change.inventory;
        let recorded = secret.and_then(|secret| planned.find(secret.object.reference()));
        if recorded.is_none_or(|recorded| recorded.uid.is_some()) {
            return Ok(());
        }
        self.record_progress(deployment, leased).await
    }

    /// Deletes an object that is to be recreated.
    async fn remove_replaced(
        &self,
        deployment: &Deployment,
        change: &ObjectChange,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        if change.replaced().is_none() {
            return Ok(());
        }
        let (desired, written) = (&change.desired, leased.uids().clone());
        let may = |live: &Object| self.check_change(deployment, &written, desired, Some(live));
        let reference = desired.object.reference();
        leased.make_room(reference, self.deadline.wait(), may).await
    }

    /// Checks whether the live object, if any, may still be written. Objects that this change has `written` already are
    /// recognized by their UID.
    fn check_change(
        &self,
        deployment: &Deployment,
        written: &BTreeMap<ObjectRef, String>,
        desired: &DesiredObject,
        live: Option<&Object>,
    ) -> Result<(), Blocker> {
        let deployed = self.decision.state.namespaces_with(&deployment.solution);
        let claim = Claim {
            solution: &deployment.solution,
            adopt: self.asked.request.allowed.adopt.objects,
            deployed: Some(&deployed),
        };
        let written = written.get(desired.object.reference()).map(String::as_str);
        Ok(deployment.change.check(desired, live, written, &claim)?)
    }

    /// Refuses to replace a CRD that the plan decided to keep.
    fn check_definition(&self, object: &Object, live: Option<&Object>) -> Result<(), Blocker> {
        let Some(live) = live.filter(|_| is_definition(object.as_value())) else {
            return Ok(());
        };
        let (version, written) = (self.asked.id.version(), crd::defined_by(live));
        match crd::judge(version, object.as_value(), live, written, Users::Here)? {
            Judged::Replaced => Ok(()),
            Judged::Kept(_) => Err(Blocker::changed([object.reference()])),
        }
    }

    /// Writes the final form of a webhook once it is served.
    async fn arm(
        &self,
        deployment: &Deployment,
        change: &ObjectChange,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let (desired, object) = (&change.desired, change.object());
        let end = Instant::now() + self.deadline.wait();
        while let Some((policy, lacking)) = unserved(object, leased).await? {
            if Instant::now() >= end {
                return Err(Error::Unserved {
                    webhook: object.reference().to_string(),
                    policy,
                    lacking,
                });
            }
            sleep(limits::SERVED_POLL).await;
        }
        let written = leased.uids().clone();
        let decide = |live: Option<&Object>| {
            self.check_change(deployment, &written, desired, live)?;
            Ok(Some(object.clone()))
        };
        let (conflicts, reference) = (self.asked.conflicts(object), object.reference());
        leased.put_with(conflicts, reference, decide).await?;
        Ok(())
    }
}

/// Restarts pods that wait for their image if there is a pull secret, which may have changed since they were created.
async fn restart_unpulled<'o>(
    deployment: &Deployment,
    objects: impl Iterator<Item = &'o Object>,
    leased: &Leased<'_>,
) -> Result<(), Error> {
    if deployment.deployed.pull_secret.is_none() {
        return Ok(());
    }
    let workloads = objects.map(Object::reference);
    let keeps_pods = |object: &&ObjectRef| {
        let kinds = ["Deployment", "StatefulSet", "DaemonSet"];
        object.gvk.group == "apps" && kinds.contains(&object.gvk.kind.as_str())
    };
    let workloads: Vec<&ObjectRef> = workloads.filter(keeps_pods).collect();
    leased.restart_unpulled(&workloads).await
}

/// Returns the live default account with the pull secrets of the deployment.
fn default_account(deployment: &Deployment, live: Option<&Object>) -> Result<Object, Error> {
    let secret = deployment.deployed.pull_secret.as_ref();
    let account = live
        .map(DefaultAccount::from_account)
        .unwrap_or_default()
        .deployed(
            &deployment.solution,
            secret.map(KubernetesName::as_str),
            &deployment.place,
        );
    Ok(Object::new(account.object(deployment.namespace()))?)
}

/// Waits until the next step can use these objects of a stage.
pub(crate) async fn settle<'o>(
    leased: &mut Leased<'_>,
    stage: Stage,
    objects: impl Iterator<Item = &'o Object>,
    wait: Duration,
) -> Result<(), Error> {
    leased.lock.check()?;
    match stage {
        Stage::Space | Stage::Data => Ok(()),
        Stage::Definition => {
            let crds: Vec<ObjectRef> = objects.map(|object| object.reference().clone()).collect();
            leased.wait_settled(&crds, wait).await
        }
        Stage::Workload | Stage::Resource => {
            let awaited = objects.filter(|object| asks_nobody(object));
            let awaited: Vec<ObjectRef> =
                awaited.map(|object| object.reference().clone()).collect();
            let settled = leased.wait_settled(&awaited, wait);
            StatefulSetSelection::new(&awaited)
                .during(leased, settled)
                .await?
        }
    }
}

/// Returns the webhooks of a configuration.
fn webhooks(object: &Value) -> impl Iterator<Item = &Value> {
    object["webhooks"].as_array().into_iter().flatten()
}

/// Returns the reason why a webhook is not served, with the failure policy that the release gives it. A webhook that
/// would refuse requests comes first.
async fn unserved(
    object: &Object,
    leased: &Leased<'_>,
) -> Result<Option<(FailurePolicy, String)>, Error> {
    // The live object is read because certificate controllers write the certificate authority there.
    let live = leased.cluster.get(object.reference()).await?;
    let mut ignored = None;
    for webhook in live.iter().flat_map(|live| webhooks(live.as_value())) {
        let Some(lacking) = lacking(webhook, leased).await? else {
            continue;
        };
        match failure_policy(object, &webhook["name"]) {
            FailurePolicy::Fail => return Ok(Some((FailurePolicy::Fail, lacking))),
            policy @ FailurePolicy::Ignore => ignored = ignored.or(Some((policy, lacking))),
        }
    }
    Ok(ignored)
}

/// Returns the failure policy of a configuration's webhook of this name. The default of the API is `Fail`.
fn failure_policy(object: &Object, name: &Value) -> FailurePolicy {
    let mut named = webhooks(object.as_value()).filter(|webhook| webhook["name"] == *name);
    if named.any(|webhook| webhook["failurePolicy"] == "Ignore") {
        FailurePolicy::Ignore
    } else {
        FailurePolicy::Fail
    }
}

/// Returns the reason why a webhook is not served: a missing certificate authority, or no pod behind its Service.
async fn lacking(webhook: &Value, leased: &Leased<'_>) -> Result<Option<String>, Error> {
    let client = &webhook["clientConfig"];
    let service = &client["service"];
    let (Some(namespace), Some(name)) = (service["namespace"].as_str(), service["name"].as_str())
    else {
        return Ok(None);
    };
    if client["caBundle"].as_str().is_none_or(str::is_empty) {
        let webhook = webhook["name"].as_str().unwrap_or_default();
        return Ok(Some(format!(
            "`{webhook}` has no certificate authority (`caBundle`)"
        )));
    }
    let is_served = has_endpoint(namespace, name, leased).await?;
    Ok((!is_served).then(|| format!("Service {namespace}/{name} has no ready pod")))
}

async fn has_endpoint(namespace: &str, service: &str, leased: &Leased<'_>) -> Result<bool, Error> {
    let slices = kubernetes::Gvk::new("discovery.k8s.io/v1", "EndpointSlice");
    let of_service = Selector::label("kubernetes.io/service-name", service);
    let slices = leased
        .cluster
        .list(&slices, Some(namespace), Some(&of_service));
    let ready = |slice: &Object| {
        let mut endpoints = slice.as_value()["endpoints"]
            .as_array()
            .into_iter()
            .flatten();
        endpoints.any(|endpoint| endpoint["conditions"]["ready"] == true)
    };
    Ok(slices.await?.iter().any(ready))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn configuration(policies: &[(&str, &str)]) -> Object {
        let webhooks: Vec<Value> = policies
            .iter()
            .map(|(name, policy)| json!({"name": name, "failurePolicy": policy}))
            .collect();
        Object::new(json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "w"},
            "webhooks": webhooks,
        }))
        .unwrap()
    }

    #[test]
    fn only_a_webhook_that_would_refuse_is_said_to() {
        let mut object = configuration(&[("a", "Fail"), ("b", "Ignore")]).into_value();
        let webhooks = object["webhooks"].as_array_mut().unwrap();
        webhooks.push(json!({"name": "c"}));
        let object = Object::new(object).unwrap();
        for (name, policy) in [
            ("a", FailurePolicy::Fail),
            ("b", FailurePolicy::Ignore),
            ("c", FailurePolicy::Fail),
        ] {
            assert_eq!(failure_policy(&object, &json!(name)), policy, "{name}");
        }
        let unserved = |policy| {
            let (webhook, lacking) = ("the webhook".to_owned(), "no pod".to_owned());
            let error = Error::Unserved {
                webhook,
                policy,
                lacking,
            };
            error.to_string().contains("would reject")
        };
        assert!(unserved(FailurePolicy::Fail) && !unserved(FailurePolicy::Ignore));
    }
}
