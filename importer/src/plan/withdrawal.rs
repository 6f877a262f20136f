//! What goes when a deployment is taken back that carries objects as they are, and when of several: what could refuse the
//! rest first, then what its workloads have to let go, then the workloads, then what they read.

use std::collections::{BTreeMap, BTreeSet};

use change::{Entry, Inventory, Stage, intercepts, named, vocabulary as v};
use deployer::{Cluster, Gvk, Object, ObjectRef};
use schemas::{Namespace, SetName, SolutionName};
use serde_json::{Value, json};

use crate::limits;
use crate::model::cleanup::{self, Cleanup, RemoveSets, check_step};
use crate::model::error::Error;
use crate::model::labelled::{Place, custom_resources};
use crate::model::look::look;
use crate::model::obstacle::{Obstacle, Unfit};
use crate::model::state::ClusterState;
use crate::plan::rights::check_resources;

/// What a deployment carries, as it is taken back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Withdrawal {
    /// What the site has recorded.
    pub(crate) recorded: Inventory,
    /// What is applied before anything goes.
    pub(crate) cleanup: Cleanup,
    /// What is in the way.
    pub(crate) obstacles: Vec<Obstacle>,
    /// Those of the objects that are there and go, in their order.
    pub(crate) objects: Vec<Entry>,
    /// The definitions that others' objects keep, and that cannot be judged once their webhook is gone.
    pub(crate) used: Vec<ObjectRef>,
    /// The uids of what goes, with those of what belongs to it and goes with it.
    pub(crate) uids: BTreeSet<String>,
    /// What has the name of one of them, and is not what was applied.
    pub(crate) left: Vec<ObjectRef>,
    /// What calls one of its Services whenever something is written, whoever made it.
    pub(crate) callers: Vec<Object>,
    /// The namespaces that were there before: they stay, without our marks.
    pub(crate) released: Vec<Entry>,
    /// What stays.
    pub(crate) notes: Vec<String>,
}

impl Withdrawal {
    /// Returns what would be taken back of a Solution that is deployed here.
    pub(crate) async fn plan(
        place: Place<'_>,
        state: &ClusterState,
        sets: RemoveSets,
    ) -> Result<Self, Error> {
        let Place {
            cluster,
            solution,
            namespace,
            ..
        } = place;
        let recorded = place.inventory(true).await?;
        let mut withdrawal = Self::of(cluster, solution, recorded, |_, _| true).await?;
        withdrawal
            .find_cleanup((cluster, state), solution, namespace, sets)
            .await?;
        Ok(withdrawal)
    }

    /// What would be taken back of what is recorded, as far as it goes.
    pub(crate) async fn of(
        cluster: &Cluster,
        solution: &SolutionName,
        recorded: Inventory,
        goes: impl Fn(&Entry, &Object) -> bool,
    ) -> Result<Self, Error> {
        let mut withdrawal = Self {
            recorded: recorded.clone(),
            ..Self::default()
        };
        let references: Vec<ObjectRef> = recorded.entries.iter().map(Entry::reference).collect();
        let wanted: Vec<&ObjectRef> = references.iter().collect();
        let found = cluster.get_each(&wanted).await?;
        let mut definitions = Vec::new();
        for ((object, reference), live) in recorded.entries.into_iter().zip(references).zip(found) {
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
            if let Some(note) = stays(&object, &live) {
                withdrawal.notes.push(note);
                if object.stage == Stage::Space {
                    withdrawal.released.push(object);
                }
                continue;
            }
            withdrawal.uids.extend(live.uid().map(str::to_owned));
            if object.stage == Stage::Definition {
                definitions.push(live);
            }
            withdrawal.objects.push(object);
        }
        withdrawal.objects.sort_by_key(Departure::of);
        withdrawal.judge(cluster, &definitions).await?;
        let mut callers = withdrawal.find_callers(cluster).await?;
        let goes = |caller: &Object| {
            let mut objects = withdrawal.objects.iter();
            objects.any(|it| it.is(caller.reference()))
        };
        callers.retain(|caller| !goes(caller));
        withdrawal.callers = callers;
        let left = withdrawal.left.iter();
        let calls = |left: &ObjectRef| {
            let mut callers = withdrawal.callers.iter();
            callers.any(|caller| caller.reference() == left)
        };
        let left = left.filter(|left| !calls(left));
        let left = left.map(|left| format!("{left} stays: it is not what was applied"));
        withdrawal.notes.extend(left);
        Ok(withdrawal)
    }

    /// Finds out which resources of these definitions go with what goes. Others that need the webhook which converts them
    /// are in the way: without it, nobody could read them any more. A definition that has others for any other reason is
    /// found to have them when it is to go.
    async fn judge(&mut self, cluster: &Cluster, definitions: &[Object]) -> Result<(), Error> {
        if check_resources(cluster, definitions.iter(), &mut self.obstacles).await? {
            return Ok(());
        }
        let mut resources = Vec::new();
        for definition in definitions {
            resources.push(custom_resources(cluster, definition).await?);
        }
        for _ in 0..limits::GENERATIONS {
            let all = resources.iter().flatten();
            let belonging = all.filter(|it| belongs(it, &self.uids));
            let uids = belonging.filter_map(Object::uid).map(str::to_owned);
            let uids: Vec<String> = uids.collect();
            self.uids.extend(uids);
        }
        for (definition, resources) in definitions.iter().zip(&resources) {
            let staying = resources.iter().filter(|it| !self.goes(it));
            let staying: Vec<String> = staying.map(|it| it.reference().to_string()).collect();
            if !staying.is_empty() && is_converted(definition) {
                self.used.push(definition.reference().clone());
                let (what, count) = (definition.reference().to_string(), staying.len());
                self.obstacles
                    .push(Unfit::Converted(what, count, named(staying)).into());
            }
        }
        Ok(())
    }

    /// Whether an object is one that goes, or goes with one.
    pub(crate) fn goes(&self, live: &Object) -> bool {
        live.uid().is_some_and(|uid| self.uids.contains(uid))
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
        (cluster, state): (&Cluster, &ClusterState),
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
            let records = (&self.recorded, Some(state));
            let checked = check_step(&object, live.as_ref(), solution, records);
            self.obstacles.extend(checked.err());
        }
        self.cleanup = cleanup;
        Ok(())
    }

    /// Everything that goes, in its order.
    pub(crate) fn references(&self) -> impl Iterator<Item = ObjectRef> {
        let objects = self.objects.iter().map(Entry::reference);
        let callers = self.callers.iter().map(Object::reference);
        callers.cloned().chain(objects)
    }

    /// The objects that go at the same time.
    pub(crate) fn at(&self, departure: Departure) -> BTreeMap<ObjectRef, Entry> {
        let objects = self
            .objects
            .iter()
            .filter(|it| Departure::of(it) == departure);
        objects.map(|it| (it.reference(), it.clone())).collect()
    }

    /// Whether Services of parts go, so that something may call them. An operator's serves its metrics alone.
    pub(crate) fn has_services(&self) -> bool {
        let mut entries = self.recorded.entries.iter();
        entries.any(|it| it.part.is_some() && it.is_service())
    }

    /// What calls one of the Services that go, whoever made it.
    pub(crate) async fn find_callers(&self, cluster: &Cluster) -> Result<Vec<Object>, Error> {
        if !self.has_services() {
            return Ok(Vec::new());
        }
        let mut callers = Vec::new();
        for kind in callers_kinds() {
            let all = match cluster.list(&kind, None, None).await {
                Err(deployer::Error::Forbidden { .. }) => continue,
                other => other?,
            };
            callers.extend(all.into_iter().filter(|live| self.is_called_by(live)));
        }
        Ok(callers)
    }

    /// Whether an object calls one of the Services that go.
    pub(crate) fn is_called_by(&self, live: &Object) -> bool {
        let value = live.as_value();
        let webhooks = value["webhooks"].as_array().into_iter().flatten();
        let services = webhooks.map(|webhook| &webhook["clientConfig"]["service"]);
        let mut called = services.chain([&value["spec"]["service"]]);
        called.any(|service| {
            let mut recorded = self.recorded.entries.iter();
            recorded.any(|object| {
                object.is_service()
                    && service["name"] == object.name.as_str()
                    && object.namespace.as_deref() == service["namespace"].as_str()
            })
        })
    }
}

/// When an object is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Departure {
    /// It could refuse what follows.
    Interceptor,
    /// Its workloads may have to let it go.
    Resource,
    Workload,
    Data,
    Definition,
    Space,
}

impl Departure {
    pub(crate) fn of(object: &Entry) -> Self {
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

/// The kinds whose objects have the API server call a Service.
pub(crate) fn callers_kinds() -> [Gvk; 3] {
    let admission = "admissionregistration.k8s.io/v1";
    [
        Gvk::new(admission, "ValidatingWebhookConfiguration"),
        Gvk::new(admission, "MutatingWebhookConfiguration"),
        Gvk::new("apiregistration.k8s.io/v1", "APIService"),
    ]
}

/// Whether all that an object belongs to goes, so that the garbage collector takes it as well.
fn belongs(object: &Object, going: &BTreeSet<String>) -> bool {
    let owners = object.as_value()["metadata"]["ownerReferences"].as_array();
    let mut owners = owners.into_iter().flatten().peekable();
    let goes = |owner: &Value| owner["uid"].as_str().is_some_and(|uid| going.contains(uid));
    owners.peek().is_some() && owners.all(goes)
}

/// Whether a webhook converts the objects of a definition.
fn is_converted(definition: &Object) -> bool {
    definition.as_value()["spec"]["conversion"]["strategy"] == "Webhook"
}

/// Why an object stays, if that is known before anything goes.
pub(crate) fn stays(object: &Entry, live: &Object) -> Option<String> {
    let what = live.reference();
    match object.stage {
        Stage::Space if !live.annotations().contains_key(v::CREATED) => {
            Some(format!("{what} was there before, and stays"))
        }
        Stage::Data if object.kind == "PersistentVolumeClaim" => {
            Some(format!("{what} stays, with its data"))
        }
        _ => None,
    }
}

/// A namespace as it stays behind: what was there before loses all of our marks. One that was made here keeps those by
/// which the same Solution knows it again, but no longer says that it is an environment's.
pub(crate) fn without_marks(live: &Object) -> Value {
    let mut metadata = json!({ "name": live.name() });
    if live.annotations().contains_key(v::CREATED) {
        metadata["annotations"] = json!({ v::CREATED: "true" });
        let labels = live.labels().into_iter();
        let known = labels.filter(|(name, _)| [v::SOLUTION, v::NAMESPACE].contains(name));
        metadata["labels"] = json!(known.collect::<BTreeMap<_, _>>());
    }
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(stage: Stage, api_version: &str, kind: &str, name: &str) -> Entry {
        Entry {
            part: Some("main".parse().unwrap()),
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
        objects.sort_by_key(Departure::of);
        let names: Vec<&str> = objects.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["e", "f", "d", "c", "b", "a"]);
    }

    #[test]
    fn a_namespace_that_stays_says_no_more_that_it_is_an_environments() {
        let live = |annotations: Value| {
            Object::new(
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": {
                "name": "own", "annotations": annotations, "labels": {
                    v::SOLUTION: "shop", v::NAMESPACE: "prod", v::ENVIRONMENT: "prod", "a": "b",
                },
            } }),
            )
            .unwrap()
        };
        let there_before = without_marks(&live(json!({})));
        assert_eq!(there_before["metadata"], json!({ "name": "own" }));
        let made = without_marks(&live(json!({ v::CREATED: "true" })));
        let labels = json!({ v::SOLUTION: "shop", v::NAMESPACE: "prod" });
        assert_eq!(made["metadata"]["labels"], labels);
        assert_eq!(
            made["metadata"]["annotations"],
            json!({ v::CREATED: "true" })
        );
    }

    #[test]
    fn what_belongs_to_what_goes_goes_with_it() {
        let owned_by = |owners: &[&str]| {
            let owners: Vec<Value> = owners.iter().map(|uid| json!({ "uid": uid })).collect();
            let object = json!({
                "apiVersion": "shop.test/v1", "kind": "Cart",
                "metadata": { "name": "c", "ownerReferences": owners },
            });
            Object::new(object).unwrap()
        };
        let going = ["a".to_owned(), "b".to_owned()].into();
        assert!(belongs(&owned_by(&["a"]), &going));
        assert!(belongs(&owned_by(&["a", "b"]), &going));
        assert!(!belongs(&owned_by(&["a", "c"]), &going), "it stays for c");
        assert!(!belongs(&owned_by(&[]), &going));
    }

    #[test]
    fn whoever_made_it_what_calls_a_service_that_goes_is_found() {
        let withdrawal = Withdrawal {
            recorded: Inventory {
                entries: vec![recorded(Stage::Data, "v1", "Service", "web")],
                ..Inventory::default()
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
