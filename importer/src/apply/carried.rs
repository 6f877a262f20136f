//! Applies the objects that a deployment carries as they are, wave by wave; and waits for each wave before the next.
//!
//! What sends requests to a Service of the release (webhooks) is made so that it cannot refuse anything until it is
//! served: else the release would keep its own pods from starting.

use std::collections::BTreeMap;
use std::time::Duration;

use deployer::{Object, ObjectRef, Selector};
use schemas::KubernetesName;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::apply::behind::Behind;
use crate::apply::leased::Leased;
use crate::limits;
use crate::model::cleanup;
use crate::model::error::{Error, FailurePolicy};
use crate::model::event::Event;
use crate::model::inventory::{self, Inventory};
use crate::model::owner::{Evidence, Recorded, check_carried};
use crate::model::request::Nodes;
use crate::model::stage::{Stage, batches, intercepts};
use crate::model::vocabulary as v;
use crate::plan::Ready;
use crate::plan::carried::Wave;
use crate::plan::carrying::scaled;
use crate::plan::crd::{self, Judged, Users};
use crate::plan::default_account::DefaultAccount;
use crate::plan::deployment::{Deployment, is_default_account};
use crate::plan::finish::is_definition;
use crate::plan::network::Network;
use crate::plan::parameters;

impl Ready<'_> {
    /// Writes down what is carried, so that it is found again whatever happens.
    pub(crate) async fn record_carried(
        &self,
        deployment: &Deployment,
        carried: &Inventory,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let (solution, namespace) = (&deployment.solution, &deployment.namespace);
        if !carried.is_empty() {
            return leased.keep(carried.to_object(solution, namespace)).await;
        }
        let (new, before) = (&deployment.inventory, &deployment.inventory_before);
        // A record that names the pods of a proof is there even so.
        if new.is_empty() && before.is_empty() && self.proof.is_none() {
            return Ok(());
        }
        let reference = inventory::reference(solution, namespace);
        leased.forget(&reference).await
    }

    /// Keeps what is applied before a removal: first what is kept, then the record that says so; and forgets it the other
    /// way round.
    pub(crate) async fn record_applied(
        &self,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let (solution, namespace) = (&deployment.solution, &deployment.namespace);
        let applied = deployment.inventory.seen(leased.uids());
        if !applied.cleanup.is_empty() {
            let kept = deployment.cleanup.to_object(solution, namespace);
            leased.keep(kept).await?;
        }
        self.record_carried(deployment, &applied, leased).await?;
        if applied.cleanup.is_empty() && !deployment.inventory_before.cleanup.is_empty() {
            let kept = cleanup::reference(solution, namespace);
            return leased.forget(&kept).await;
        }
        Ok(())
    }

    /// Brings all of it, wave by wave.
    pub(crate) async fn bring(
        &self,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let first = deployment.first_workloads();
        for (index, wave) in deployment.waves.iter().enumerate() {
            if first == Some(index) {
                self.stop_former(deployment, leased).await?;
            }
            let network = Network::of_wave(deployment, wave);
            self.await_nodes(network, leased).await?;
            match wave {
                Wave::Release(at) => {
                    let objects = &deployment.releases.all[*at].objects;
                    restart_unpulled(deployment, objects, leased).await?;
                    self.bring_release(deployment, *at, leased).await?;
                }
                Wave::Objects(stage, at) => {
                    let objects = &deployment.objects[at.clone()];
                    self.bring_stage(deployment, *stage, objects, leased)
                        .await?;
                }
            }
        }
        Ok(())
    }

    /// Waits for the nodes, where that is asked for and what comes next cannot run on one that is not Ready.
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

    /// Brings objects of one stage, and waits for what comes next to work.
    async fn bring_stage(
        &self,
        deployment: &Deployment,
        stage: Stage,
        objects: &[Object],
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        for batch in batches(stage, objects) {
            self.bring_all(deployment, &batch, leased).await?;
        }
        let is_own = objects
            .first()
            .is_some_and(|it| deployment.is_own(it.reference()));
        if is_own && stage == Stage::Workload {
            return self.come_up(deployment, leased).await;
        }
        restart_unpulled(deployment, objects, leased).await?;
        settle(leased, stage, objects, self.asked.request.wait).await?;
        for object in objects.iter().filter(|object| !asks_nobody(object)) {
            self.arm(deployment, object, leased).await?;
        }
        Ok(())
    }

    async fn bring_all(
        &self,
        deployment: &Deployment,
        objects: &[&Object],
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        for object in objects {
            self.remove_replaced(deployment, object, leased).await?;
        }
        let written = leased.uids().clone();
        let decide = |object: &Object, live: Option<&Object>| {
            if is_default_account(object.reference()) {
                return default_account(deployment, live).map(Some);
            }
            self.check_carried(deployment, &written, object, live)?;
            if deployment.is_own(object.reference()) {
                return Ok(Some(object.clone()));
            }
            check_secret(deployment, object, live)?;
            self.check_definition(object, live)?;
            Ok(Some(disarmed(&scaled(object, live)?, live)?))
        };
        let conflicts = |object: &Object| self.asked.conflicts(object);
        leased
            .put_all(objects, &self.unchanged, conflicts, decide)
            .await?;
        self.know_secret(deployment, objects, leased).await
    }

    /// Writes down at once which Secret of parameters it is that was made: by nothing else is it believed.
    async fn know_secret(
        &self,
        deployment: &Deployment,
        objects: &[&Object],
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let (new, before) = (&deployment.inventory, &deployment.inventory_before);
        let mut secret = objects.iter().map(|it| it.reference());
        let secret = secret.find(|it| is_secret(deployment, it));
        let recorded = secret.and_then(|secret| new.find(secret));
        if recorded.is_none_or(|recorded| recorded.uid.is_some()) {
            return Ok(());
        }
        let both = new.with(before).seen(leased.uids());
        self.record_carried(deployment, &both, leased).await
    }

    /// Removes an object that is to be made anew.
    pub(crate) async fn remove_replaced(
        &self,
        deployment: &Deployment,
        object: &Object,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let reference = object.reference();
        if !deployment.replaces(reference) {
            return Ok(());
        }
        let written = leased.uids().clone();
        let may = |live: &Object| self.check_carried(deployment, &written, object, Some(live));
        leased
            .make_room(reference, self.asked.request.wait, may)
            .await
    }

    /// Whether an object that is there, if any, is still the one that may be written. What this change has `written` already
    /// is known by its uid.
    fn check_carried(
        &self,
        deployment: &Deployment,
        written: &BTreeMap<ObjectRef, String>,
        object: &Object,
        live: Option<&Object>,
    ) -> Result<(), crate::Obstacle> {
        let reference = object.reference();
        // What was there when this was planned was judged then.
        let seen = deployment.inventory.find(reference);
        let recorded = if is_secret(deployment, reference) || seen.is_none() {
            // `check_secret` has the last word, and a login is known by its name.
            Recorded::Some
        } else {
            let seen = seen.filter(|seen| seen.uid.is_some());
            let recorded = seen.or_else(|| deployment.inventory_before.find(reference));
            match (written.get(reference), recorded) {
                (Some(uid), _) => Recorded::This(uid),
                // The answer to its creation may have been lost.
                (None, None) if deployment.is_own(reference) => Recorded::Some,
                (None, recorded) => Recorded::of(recorded),
            }
        };
        let evidence = Evidence {
            adopt: self.asked.request.allowed.adopt.objects,
            state: Some(&self.decision.state),
            recorded,
        };
        check_carried(object, live, &deployment.solution, evidence)
    }

    /// A definition takes no place that it was not to take when its objects were looked at.
    fn check_definition(
        &self,
        object: &Object,
        live: Option<&Object>,
    ) -> Result<(), crate::Obstacle> {
        let Some(live) = live.filter(|_| is_definition(object.as_value())) else {
            return Ok(());
        };
        let (version, written) = (self.asked.id.version(), crd::defined_by(live));
        match crd::judge(version, object.as_value(), live, written, Users::Here)? {
            Judged::Replaced => Ok(()),
            Judged::Kept(_) => Err(crate::Obstacle::Changed),
        }
    }

    /// Lets a webhook refuse what it is to refuse, once it is served.
    async fn arm(
        &self,
        deployment: &Deployment,
        object: &Object,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let end = Instant::now() + self.asked.request.wait;
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
            self.check_carried(deployment, &written, object, live)?;
            Ok(Some(object.clone()))
        };
        let (conflicts, reference) = (self.asked.conflicts(object), object.reference());
        leased.put_with(conflicts, reference, decide).await?;
        Ok(())
    }
}

/// Has pods made anew that wait for their image, where there is a login: it may be another one since they were made.
async fn restart_unpulled(
    deployment: &Deployment,
    objects: &[Object],
    leased: &Leased<'_>,
) -> Result<(), Error> {
    if deployment.deployed.pull_secret.is_none() {
        return Ok(());
    }
    let workloads = objects.iter().map(Object::reference);
    let keeps_pods = |it: &&ObjectRef| {
        let kinds = ["Deployment", "StatefulSet", "DaemonSet"];
        it.gvk.group == "apps" && kinds.contains(&it.gvk.kind.as_str())
    };
    let workloads: Vec<&ObjectRef> = workloads.filter(keeps_pods).collect();
    leased.restart_unpulled(&workloads).await
}

/// Returns the default account as it is, with what its pods pull with.
fn default_account(deployment: &Deployment, live: Option<&Object>) -> Result<Object, Error> {
    let secret = deployment.deployed.pull_secret.as_ref();
    let account = live.map(DefaultAccount::of).unwrap_or_default().deployed(
        &deployment.solution,
        secret.map(KubernetesName::as_str),
        &deployment.place,
    );
    Ok(Object::new(account.object(&deployment.namespace))?)
}

/// Whether an object is a Secret of sensitive parameters.
fn is_secret(deployment: &Deployment, object: &ObjectRef) -> bool {
    parameters::number_of(object, &deployment.solution, &deployment.namespace).is_some()
}

/// Into a Secret of sensitive parameters that somebody else has made in the meantime nothing is written: what else is in
/// it would be believed.
fn check_secret(
    deployment: &Deployment,
    object: &Object,
    live: Option<&Object>,
) -> Result<(), crate::Obstacle> {
    let recorded = deployment.inventory.find(object.reference());
    let known = recorded.and_then(|recorded| recorded.uid.as_deref());
    match live {
        Some(live) if is_secret(deployment, object.reference()) && live.uid() != known => {
            Err(crate::Obstacle::Changed)
        }
        _ => Ok(()),
    }
}

/// Waits for what the next wave needs of these objects of a stage.
pub(crate) async fn settle(
    leased: &mut Leased<'_>,
    stage: Stage,
    objects: &[Object],
    wait: Duration,
) -> Result<(), Error> {
    leased.lock.check()?;
    match stage {
        Stage::Space | Stage::Data => Ok(()),
        Stage::Definition => {
            let crds: Vec<ObjectRef> = objects.iter().map(|it| it.reference().clone()).collect();
            leased.wait_settled(&crds, wait).await
        }
        Stage::Workload | Stage::Resource => {
            let awaited = objects.iter().filter(|object| asks_nobody(object));
            let awaited: Vec<ObjectRef> = awaited.map(|it| it.reference().clone()).collect();
            let settled = leased.wait_settled(&awaited, wait);
            Behind::of(&awaited).during(leased, settled).await?
        }
    }
}

/// Whether an object is no webhook's configuration.
pub(crate) fn asks_nobody(object: &Object) -> bool {
    object.as_value().get("webhooks").is_none() || !intercepts(object.reference())
}

/// The webhooks of an object.
fn webhooks(object: &Value) -> impl Iterator<Item = &Value> {
    object["webhooks"].as_array().into_iter().flatten()
}

/// The object with webhooks that refuse nothing yet, but for those that did before.
pub(crate) fn disarmed(object: &Object, live: Option<&Object>) -> Result<Object, Error> {
    if asks_nobody(object) {
        return Ok(object.clone());
    }
    let armed: Vec<&Value> = live
        .into_iter()
        .flat_map(|live| webhooks(live.as_value()))
        .filter(|webhook| webhook["failurePolicy"] == "Fail")
        .map(|webhook| &webhook["name"])
        .collect();
    let mut value = object.clone().into_value();
    for webhook in value["webhooks"].as_array_mut().into_iter().flatten() {
        if !armed.contains(&&webhook["name"]) {
            webhook["failurePolicy"] = json!("Ignore");
        }
    }
    Ok(Object::new(value)?)
}

/// An object as it is, without the certificate authorities that others have written into it: they may be others by now.
pub(crate) fn without_injected(live: &Object) -> Value {
    let entries = live.as_value()["metadata"]["managedFields"].as_array();
    let ours = entries
        .into_iter()
        .flatten()
        .filter(|entry| entry["manager"] == v::FIELD_MANAGER);
    let ours: Vec<&Value> = ours.map(|entry| &entry["fieldsV1"]).collect();
    let is_ours = |client: &[&str]| {
        ours.iter().any(|fields| {
            let client = client.iter().fold(*fields, |at, field| &at[*field]);
            !client["f:caBundle"].is_null()
        })
    };
    let mut value = live.as_value().clone();
    let forget = |client: &mut Value| client.as_object_mut().map(|it| it.remove("caBundle"));
    let webhooks = value.get_mut("webhooks").and_then(Value::as_array_mut);
    for webhook in webhooks.into_iter().flatten() {
        let key = format!("k:{}", json!({ "name": webhook["name"] }));
        if !is_ours(&["f:webhooks", &key, "f:clientConfig"]) {
            forget(&mut webhook["clientConfig"]);
        }
    }
    if live.gvk().kind == "APIService" && !is_ours(&["f:spec"]) {
        forget(&mut value["spec"]);
    }
    value
}

/// What a webhook lacks to be served, and what that comes to by what the release says of it. One that would refuse comes
/// first.
async fn unserved(
    object: &Object,
    leased: &Leased<'_>,
) -> Result<Option<(FailurePolicy, String)>, Error> {
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

/// What a configuration says of its webhook of this name: that it refuses, where nothing is said.
fn failure_policy(object: &Object, name: &Value) -> FailurePolicy {
    let mut named = webhooks(object.as_value()).filter(|webhook| webhook["name"] == *name);
    if named.any(|webhook| webhook["failurePolicy"] == "Ignore") {
        FailurePolicy::Ignore
    } else {
        FailurePolicy::Fail
    }
}

/// What a webhook lacks: a certificate authority, or a pod behind its Service.
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
            "nobody has written a certificate authority into `{webhook}`"
        )));
    }
    let is_served = has_endpoint(namespace, name, leased).await?;
    Ok((!is_served).then(|| format!("Service {namespace}/{name} has no ready pod")))
}

async fn has_endpoint(namespace: &str, service: &str, leased: &Leased<'_>) -> Result<bool, Error> {
    let slices = deployer::Gvk::new("discovery.k8s.io/v1", "EndpointSlice");
    let of_service = Selector::label("kubernetes.io/service-name", service);
    let slices = leased
        .cluster
        .list(&slices, Some(namespace), Some(&of_service));
    let ready = |slice: &Object| {
        let endpoints = slice.as_value()["endpoints"].as_array();
        let mut endpoints = endpoints.into_iter().flatten();
        endpoints.any(|endpoint| endpoint["conditions"]["ready"] == true)
    };
    Ok(slices.await?.iter().any(ready))
}

#[cfg(test)]
mod tests {
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
    fn a_certificate_authority_that_others_wrote_is_not_put_back() {
        let live = |manager: &str| {
            let bundle = json!({ "f:clientConfig": { "f:caBundle": {} } });
            let entry = json!({
                "manager": manager,
                "fieldsV1": { "f:webhooks": { "k:{\"name\":\"a\"}": bundle } },
            });
            let mut live = configuration(&[("a", "Fail")]).into_value();
            live["webhooks"][0]["clientConfig"] = json!({ "caBundle": "QQ==" });
            live["metadata"]["managedFields"] = json!([entry]);
            Object::new(live).unwrap()
        };
        let bundle = |manager: &str| {
            let value = without_injected(&live(manager));
            value["webhooks"][0]["clientConfig"]["caBundle"].clone()
        };
        assert_eq!(bundle(v::FIELD_MANAGER), "QQ==");
        assert_eq!(bundle("cert-manager"), Value::Null);
        let others = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" } });
        let others = Object::new(others).unwrap();
        assert_eq!(without_injected(&others), *others.as_value());
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
            error.to_string().contains("would refuse")
        };
        assert!(unserved(FailurePolicy::Fail) && !unserved(FailurePolicy::Ignore));
    }

    #[test]
    fn a_webhook_refuses_nothing_before_it_is_served_unless_it_did_before() {
        let wanted = configuration(&[("a", "Fail"), ("b", "Fail"), ("c", "Ignore")]);
        let first = configuration(&[("a", "Ignore"), ("b", "Ignore"), ("c", "Ignore")]);
        assert_eq!(disarmed(&wanted, None).unwrap(), first);
        let live = configuration(&[("a", "Fail"), ("b", "Ignore")]);
        let then = configuration(&[("a", "Fail"), ("b", "Ignore"), ("c", "Ignore")]);
        assert_eq!(disarmed(&wanted, Some(&live)).unwrap(), then);
    }
}
