//! Takes back what a deployment carries: what could refuse the rest first, then what its workloads have to let go, then
//! the workloads, then what they read.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use deployer::{Cluster, Gvk, Leaving, Object, ObjectRef, Propagation};
use schemas::{Namespace, SetName, SolutionName};

use crate::apply::leased::Leased;
use crate::model::carried::{self, CarriedRecord, RecordedObject};
use crate::model::cleanup::{self, Cleanup, RemoveSets};
use crate::model::error::Error;
use crate::model::inventory::NEEDED;
use crate::model::inventory::custom_resources;
use crate::model::obstacle::{Obstacle, Unfit};
use crate::model::owner::{check_carried, look};
use crate::model::request::Adopt;
use crate::model::stage::{Stage, intercepts};
use crate::model::vocabulary as v;

/// What a deployment carries, as it is taken back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Withdrawal {
    /// What the site has recorded.
    recorded: CarriedRecord,
    /// What is applied before anything goes.
    pub(crate) cleanup: Cleanup,
    /// What is in the way of that.
    pub(crate) obstacles: Vec<Obstacle>,
    /// Those of the objects that are there and go, in their order.
    pub(crate) objects: Vec<RecordedObject>,
    /// What has the name of one of them, and is not what was applied.
    pub(crate) left: Vec<ObjectRef>,
    /// What calls one of its Services whenever something is written, whoever made it.
    pub(crate) callers: Vec<ObjectRef>,
    /// What stays.
    pub(crate) notes: Vec<String>,
}

impl Withdrawal {
    /// What would be taken back of a Solution in a namespace.
    pub(crate) async fn plan(
        cluster: &Cluster,
        solution: &SolutionName,
        namespace: &Namespace,
        sets: RemoveSets,
    ) -> Result<Self, Error> {
        let recorded = CarriedRecord::look(cluster, solution, namespace).await?;
        let mut withdrawal = Self::of(cluster, solution, recorded, |_, _| true).await?;
        withdrawal
            .find_cleanup(cluster, solution, namespace, sets)
            .await?;
        Ok(withdrawal)
    }

    /// What would be taken back of what is recorded, as far as it goes.
    pub(crate) async fn of(
        cluster: &Cluster,
        solution: &SolutionName,
        recorded: CarriedRecord,
        goes: impl Fn(&RecordedObject, &Object) -> bool,
    ) -> Result<Self, Error> {
        let mut withdrawal = Self {
            recorded: recorded.clone(),
            ..Self::default()
        };
        let references: Vec<ObjectRef> = recorded
            .objects
            .iter()
            .map(RecordedObject::reference)
            .collect();
        let wanted: Vec<&ObjectRef> = references.iter().collect();
        let found = cluster.get_each(&wanted).await?;
        for ((object, reference), live) in recorded.objects.into_iter().zip(references).zip(found) {
            let live = match live {
                Err(deployer::Error::NoSuchKind(_)) => None,
                Err(deployer::Error::Forbidden { .. }) => {
                    // It goes as far as can be told; that this user may look is asked with all other rights.
                    withdrawal.objects.push(object);
                    continue;
                }
                other => other?,
            };
            let Some(live) = live.filter(|live| goes(&object, live)) else {
                continue;
            };
            if object.check(&live, solution).is_err() {
                withdrawal.left.push(reference);
                continue;
            }
            match stays(cluster, &object, &live).await? {
                Some(note) => withdrawal.notes.push(note),
                None => withdrawal.objects.push(object),
            }
        }
        withdrawal.objects.sort_by_key(Turn::of);
        let mut callers = withdrawal.find_callers(cluster).await?;
        callers.retain(|caller| !withdrawal.objects.iter().any(|it| it.is(caller)));
        withdrawal.callers = callers;
        let left = withdrawal.left.iter();
        let left = left.filter(|left| !withdrawal.callers.contains(left));
        let left = left.map(|left| format!("{left} stays: it is not what was applied"));
        withdrawal.notes.extend(left);
        Ok(withdrawal)
    }

    /// Whether the site has kept something that is applied before.
    pub(crate) fn cleans_up(&self) -> bool {
        !self.recorded.cleanup.is_empty()
    }

    /// What is applied before anything goes.
    pub(crate) fn applied(&self) -> impl Iterator<Item = ObjectRef> {
        self.cleanup.steps.iter().map(|it| it.recorded.reference())
    }

    /// What is to be applied before anything goes.
    async fn find_cleanup(
        &mut self,
        cluster: &Cluster,
        solution: &SolutionName,
        namespace: &Namespace,
        sets: RemoveSets,
    ) -> Result<(), Error> {
        let names: Vec<&str> = self.recorded.cleanup.iter().map(SetName::as_str).collect();
        let names = names.join(", ");
        if names.is_empty() || self.recorded.cleaned {
            return Ok(());
        }
        if sets == RemoveSets::Skip {
            let note = format!("what {solution} applies before it is removed is left out: {names}");
            self.notes.push(note);
            return Ok(());
        }
        let Some(cleanup) = Cleanup::look(cluster, solution, namespace).await? else {
            let kept = cleanup::reference(solution, namespace).to_string();
            self.obstacles.push(Unfit::CleanupLost(kept, names).into());
            return Ok(());
        };
        for object in cleanup.objects()? {
            let live = match look(cluster, object.reference()).await {
                // Its definition comes before it.
                Err(Error::Cluster(deployer::Error::NoSuchKind(_))) => None,
                other => other?,
            };
            let checked = check_carried(&object, live.as_ref(), solution, Adopt::Refuse);
            self.obstacles.extend(checked.err());
        }
        self.cleanup = cleanup;
        Ok(())
    }

    /// Applies what is to be applied before, and counts it to what goes.
    pub(crate) async fn clean_up(
        &mut self,
        leased: &mut Leased<'_>,
        (solution, namespace): (&SolutionName, &Namespace),
        wait: Duration,
    ) -> Result<(), Error> {
        if let Some(obstacle) = self.obstacles.first() {
            return Err(obstacle.clone().into());
        }
        let steps = self.cleanup.steps.iter();
        let steps = CarriedRecord {
            objects: steps.map(|it| it.recorded.clone()).collect(),
            ..CarriedRecord::default()
        };
        if steps.is_empty() {
            return Ok(());
        }
        // Recorded before it is there, so that it is found again whatever happens.
        let recorded = &mut self.recorded;
        let other = |it: &RecordedObject| steps.find(&it.reference()).is_none();
        recorded.objects.retain(other);
        recorded.objects.extend(steps.objects.clone());
        leased.keep(recorded.to_object(solution, namespace)).await?;
        self.cleanup.carry_out(leased, solution, wait).await?;
        // What is removed next may be what it needs, so that it is not done again.
        *recorded = recorded.seen(leased.uids());
        recorded.cleaned = true;
        leased.keep(recorded.to_object(solution, namespace)).await?;
        self.objects.retain(other);
        self.objects.extend(steps.seen(leased.uids()).objects);
        self.objects.sort_by_key(Turn::of);
        Ok(())
    }

    /// Everything that goes, in its order.
    pub(crate) fn references(&self) -> impl Iterator<Item = ObjectRef> {
        let objects = self.objects.iter().map(RecordedObject::reference);
        self.callers.iter().cloned().chain(objects)
    }

    /// Takes it back. The record goes last: as long as it is there, running it again completes what was begun.
    pub(crate) async fn carry_out(
        &mut self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
        namespace: &Namespace,
        wait: Duration,
    ) -> Result<(), Error> {
        self.take(leased, solution, wait).await?;
        if self.recorded.is_empty() {
            return Ok(());
        }
        if !self.recorded.cleanup.is_empty() {
            let kept = cleanup::reference(solution, namespace);
            leased.forget(&kept).await?;
        }
        leased
            .forget(&carried::reference(solution, namespace))
            .await
    }

    /// The same without what is applied before, and without the record.
    pub(crate) async fn take(
        &mut self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
        wait: Duration,
    ) -> Result<(), Error> {
        self.silence(leased).await?;
        let turns: BTreeSet<Turn> = self.objects.iter().map(Turn::of).collect();
        for turn in turns {
            let recorded = self.of_turn(turn);
            let mut objects: Vec<ObjectRef> = recorded.keys().cloned().collect();
            if turn == Turn::Space {
                objects = self.unoccupied(objects, leased.cluster).await?;
            }
            let may = |wanted: &ObjectRef, live: &Object| recorded[wanted].check(live, solution);
            leased.remove_all(&objects, propagation, may).await?;
            let gone = objects.iter().map(|it| recorded[it].leaving());
            let gone: Vec<Leaving> = gone.collect();
            leased.cluster.wait_removed(&gone, wait, &|_| ()).await?;
        }
        // What ran may have made them anew before it went.
        self.silence(leased).await
    }

    /// Removes what could refuse something.
    pub(crate) async fn disarm(
        &self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
    ) -> Result<(), Error> {
        self.silence(leased).await?;
        let recorded = self.of_turn(Turn::Interceptor);
        let objects: Vec<ObjectRef> = recorded.keys().cloned().collect();
        let may = |wanted: &ObjectRef, live: &Object| recorded[wanted].check(live, solution);
        leased.remove_all(&objects, propagation, may).await
    }

    /// The objects of a turn.
    fn of_turn(&self, turn: Turn) -> BTreeMap<ObjectRef, RecordedObject> {
        let objects = self.objects.iter().filter(|it| Turn::of(it) == turn);
        objects.map(|it| (it.reference(), it.clone())).collect()
    }

    /// The namespaces that nobody needs; the others stay, and are noted.
    async fn unoccupied(
        &mut self,
        spaces: Vec<ObjectRef>,
        cluster: &Cluster,
    ) -> Result<Vec<ObjectRef>, Error> {
        let mut empty = Vec::new();
        for space in spaces {
            match occupied(cluster, &space.name).await? {
                Some(kind) => {
                    let note = format!("{space} stays: {kind} in it that somebody may need");
                    self.notes.push(note);
                }
                None => empty.push(space),
            }
        }
        Ok(empty)
    }

    /// Removes what calls the Services that go.
    async fn silence(&self, leased: &mut Leased<'_>) -> Result<(), Error> {
        for caller in self.find_callers(leased.cluster).await? {
            leased
                .remove(&caller, |live| self.check_calls(live))
                .await?;
        }
        Ok(())
    }

    fn check_calls(&self, live: &Object) -> Result<(), Obstacle> {
        if self.is_called_by(live) {
            Ok(())
        } else {
            Err(Obstacle::Changed)
        }
    }

    async fn find_callers(&self, cluster: &Cluster) -> Result<Vec<ObjectRef>, Error> {
        if !self.recorded.objects.iter().any(is_service) {
            return Ok(Vec::new());
        }
        let mut callers = Vec::new();
        for kind in callers_kinds() {
            let all = match cluster.list(&kind, None, None).await {
                Err(deployer::Error::Forbidden { .. }) => continue,
                other => other?,
            };
            let calling = all.iter().filter(|live| self.is_called_by(live));
            callers.extend(calling.map(|live| live.reference().clone()));
        }
        Ok(callers)
    }

    /// Whether an object calls one of the Services that go.
    fn is_called_by(&self, live: &Object) -> bool {
        let value = live.as_value();
        let webhooks = value["webhooks"].as_array().into_iter().flatten();
        let services = webhooks.map(|webhook| &webhook["clientConfig"]["service"]);
        let mut called = services.chain([&value["spec"]["service"]]);
        called.any(|service| {
            let mut recorded = self.recorded.objects.iter();
            recorded.any(|object| {
                is_service(object)
                    && service["name"] == object.name.as_str()
                    && object.namespace.as_deref() == service["namespace"].as_str()
            })
        })
    }
}

/// When an object is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// It could refuse what follows.
    Interceptor,
    /// Its workloads may have to let it go.
    Resource,
    Workload,
    Data,
    Definition,
    Space,
}

impl Turn {
    fn of(object: &RecordedObject) -> Self {
        match object.stage {
            _ if intercepts(&object.reference()) => Self::Interceptor,
            Stage::Resource => Self::Resource,
            Stage::Workload => Self::Workload,
            Stage::Data => Self::Data,
            Stage::Definition => Self::Definition,
            Stage::Space => Self::Space,
        }
    }
}

/// What is waited for of what belongs to an object. Nothing belongs to mere data, and the garbage collector, which would
/// have to be waited for, looks at a few dozen objects in a second.
fn propagation(object: &ObjectRef) -> Propagation {
    match (object.gvk.group.as_str(), object.gvk.kind.as_str()) {
        ("", "ConfigMap" | "Secret" | "ServiceAccount") | ("rbac.authorization.k8s.io", _) => {
            Propagation::Background
        }
        _ => Propagation::Foreground,
    }
}

fn is_service(object: &RecordedObject) -> bool {
    (object.api_version.as_str(), object.kind.as_str()) == ("v1", "Service")
}

/// The kinds whose objects have the API server call a Service.
pub(crate) fn callers_kinds() -> [Gvk; 3] {
    let admission = "admissionregistration.k8s.io/v1";
    [
        Gvk::new(admission, "ValidatingWebhookConfiguration"),
        Gvk::new(admission, "MutatingWebhookConfiguration"),
        Gvk::new("apiregistration.k8s.io/v1", "APIService"),
    ]
}

/// Why an object stays, if it does.
async fn stays(
    cluster: &Cluster,
    object: &RecordedObject,
    live: &Object,
) -> Result<Option<String>, Error> {
    let what = live.reference();
    Ok(match object.stage {
        Stage::Space if !live.annotations().contains_key(v::CREATED) => {
            Some(format!("{what} was there before, and stays"))
        }
        Stage::Definition if !custom_resources(cluster, live).await?.is_empty() => {
            Some(format!("{what} stays, since objects of it exist"))
        }
        Stage::Data if object.kind == "PersistentVolumeClaim" => {
            Some(format!("{what} stays, with its data"))
        }
        _ => None,
    })
}

/// What a namespace has that somebody could need, or may have: this user may not look. Every namespace has the cluster's
/// certificate authority.
async fn occupied(cluster: &Cluster, namespace: &str) -> Result<Option<String>, Error> {
    for kind in NEEDED {
        let kind = Gvk::new("v1", kind);
        let found = match cluster.list(&kind, Some(namespace), None).await {
            Err(deployer::Error::Forbidden { .. }) => {
                return Ok(Some(format!("there may be a {}", kind.kind)));
            }
            found => found?,
        };
        let needed = |it: &&Object| it.name() != "kube-root-ca.crt" && !it.is_being_deleted();
        if let Some(found) = found.iter().find(needed) {
            return Ok(Some(format!("there is {}", found.reference())));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn recorded(stage: Stage, api_version: &str, kind: &str, name: &str) -> RecordedObject {
        RecordedObject {
            set: "main".parse().unwrap(),
            stage,
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            resource: String::new(),
            namespace: Some("own".to_owned()),
            name: name.to_owned(),
            inputs: None,
            uid: None,
        }
    }

    #[test]
    fn what_could_refuse_goes_first_and_namespaces_last() {
        let webhook = "admissionregistration.k8s.io/v1";
        let mut objects = [
            recorded(Stage::Space, "v1", "Namespace", "a"),
            recorded(
                Stage::Definition,
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                "b",
            ),
            recorded(Stage::Data, "v1", "Service", "c"),
            recorded(Stage::Workload, "apps/v1", "Deployment", "d"),
            recorded(
                Stage::Workload,
                webhook,
                "ValidatingWebhookConfiguration",
                "e",
            ),
            recorded(Stage::Resource, "shop.test/v1", "Cart", "f"),
        ];
        objects.sort_by_key(Turn::of);
        let names: Vec<&str> = objects.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["e", "f", "d", "c", "b", "a"]);
    }

    #[test]
    fn whoever_made_it_what_calls_a_service_that_goes_is_found() {
        let withdrawal = Withdrawal {
            recorded: CarriedRecord {
                objects: vec![recorded(Stage::Data, "v1", "Service", "web")],
                ..CarriedRecord::default()
            },
            ..Withdrawal::default()
        };
        let called = |value: serde_json::Value| {
            let mut object =
                json!({ "apiVersion": "v1", "kind": "K", "metadata": { "name": "x" } });
            object
                .as_object_mut()
                .unwrap()
                .extend(value.as_object().unwrap().clone());
            withdrawal.is_called_by(&Object::new(object).unwrap())
        };
        let webhook = |namespace: &str, name: &str| {
            let service = json!({ "namespace": namespace, "name": name });
            json!({ "webhooks": [{}, { "clientConfig": { "service": service } }] })
        };
        assert!(called(webhook("own", "web")));
        assert!(called(
            json!({ "spec": { "service": { "namespace": "own", "name": "web" } } })
        ));
        assert!(!called(webhook("own", "other")));
        assert!(!called(webhook("other", "web")));
        assert!(!called(json!({ "spec": { "service": null } })));
    }
}
