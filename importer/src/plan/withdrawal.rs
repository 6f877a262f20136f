//! The removal of a deployment's packaged objects, with its order ([`Withdrawal`]): first objects that could block the
//! rest, such as webhooks, then objects that workloads must release, then workloads, then the objects that workloads
//! read.

use std::collections::{BTreeMap, BTreeSet};

use change::{Departure, Entry, Inventory, Removal, Stays};
use deployer::{Cluster, Gvk, Object, ObjectRef};
use manifests::is_definition;
use schemas::{Namespace, SetName, SolutionName};
use serde_json::Value;

use crate::limits;
use crate::model::cleanup::{self, Cleanup, RemoveSets, check_step};
use crate::model::error::Error;
use crate::model::labelled::{Place, custom_resources};
use crate::model::look::{live, look};
use crate::model::obstacle::{Obstacle, Unfit};
use crate::model::state::ClusterState;
use crate::plan::rights::ask::check_resources;

/// The planned removal of the packaged objects of a deployment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Withdrawal {
    /// The recorded inventory.
    pub(crate) recorded: Inventory,
    /// The objects that are applied before the removal.
    pub(crate) cleanup: Cleanup,
    /// The blockers.
    pub(crate) obstacles: Vec<Obstacle>,
    /// The existing objects to remove, in order.
    pub(crate) objects: Vec<Entry>,
    /// The CRDs that objects of other owners still need. Those objects could not be converted without the webhook.
    pub(crate) used: Vec<ObjectRef>,
    /// The uids of the objects to remove, and of the objects that the garbage collector removes with them.
    pub(crate) uids: BTreeSet<String>,
    /// The objects with the name of a recorded one that are not the applied ones.
    pub(crate) left: Vec<ObjectRef>,
    /// The objects of any owner that make the API server call one of the removed Services for requests.
    pub(crate) callers: Vec<Object>,
    /// The namespaces that existed before the deployment. They are kept without our labels and annotations.
    pub(crate) released: Vec<Entry>,
    /// The notes on objects that are kept.
    pub(crate) notes: Vec<String>,
}

impl Withdrawal {
    /// Plans the removal of a deployed Solution.
    pub(crate) async fn plan(
        place: Place<'_>,
        state: &ClusterState,
        sets: RemoveSets,
    ) -> Result<Self, Error> {
        let Place {
            cluster,
            solution,
            space,
            ..
        } = place;
        let recorded = place.inventory(true).await?;
        let mut withdrawal = Self::of(cluster, solution, recorded, |_, _| true).await?;
        withdrawal
            .find_cleanup(cluster, state, solution, &space.namespace, sets)
            .await?;
        Ok(withdrawal)
    }

    /// Plans the removal of the recorded objects for which `goes` holds.
    pub(crate) async fn of(
        cluster: &Cluster,
        solution: &SolutionName,
        recorded: Inventory,
        goes: impl Fn(&Entry, &Object) -> bool,
    ) -> Result<Self, Error> {
        let references: Vec<ObjectRef> = recorded.entries.iter().map(Entry::reference).collect();
        let live = live(cluster, &references).await?;
        let removal = recorded.removal(&live, solution, goes);
        Self::found(cluster, recorded, removal).await
    }

    /// Plans the removal of objects that have been read already.
    pub(crate) async fn found(
        cluster: &Cluster,
        recorded: Inventory,
        removal: Removal,
    ) -> Result<Self, Error> {
        let uids = removal.live.iter().filter_map(Object::uid);
        let definitions = removal.live.iter();
        let definitions = definitions.filter(|object| is_definition(object.as_value()));
        let definitions: Vec<Object> = definitions.cloned().collect();
        let released = removal.staying.iter();
        let released = released.filter(|(_, why)| *why == Stays::WasThere);
        let mut withdrawal = Self {
            recorded,
            uids: uids.map(str::to_owned).collect(),
            released: released.map(|(entry, _)| entry.clone()).collect(),
            notes: removal
                .staying
                .iter()
                .map(|(entry, why)| note(entry, *why))
                .collect(),
            objects: removal.going,
            left: removal.left,
            ..Self::default()
        };
        withdrawal.judge(cluster, &definitions).await?;
        let mut callers = withdrawal.find_callers(cluster).await?;
        let goes = |caller: &Object| {
            let mut objects = withdrawal.objects.iter();
            objects.any(|entry| entry.is(caller.reference()))
        };
        callers.retain(|caller| !goes(caller));
        withdrawal.callers = callers;
        let left = withdrawal.left.iter();
        let calls = |left: &ObjectRef| {
            let mut callers = withdrawal.callers.iter();
            callers.any(|caller| caller.reference() == left)
        };
        let left = left.filter(|left| !calls(left));
        let left =
            left.map(|left| format!("{left} is kept: it is not the object that was applied"));
        withdrawal.notes.extend(left);
        Ok(withdrawal)
    }

    /// Finds the custom resources of these CRDs that are removed with the other objects. Adds a blocker for CRDs with
    /// webhook conversion whose other resources remain: no client could read them without the webhook. Resources of
    /// other CRDs are checked when the CRD is removed.
    async fn judge(&mut self, cluster: &Cluster, definitions: &[Object]) -> Result<(), Error> {
        if check_resources(cluster, definitions.iter(), &mut self.obstacles).await? {
            return Ok(());
        }
        let mut resources = Vec::new();
        for definition in definitions {
            resources.push(custom_resources(cluster, definition).await?);
        }
        // Objects that are removed with their owners may own other objects in turn.
        for _ in 0..limits::GENERATIONS {
            let all = resources.iter().flatten();
            let belonging = all.filter(|object| belongs(object, &self.uids));
            let uids = belonging.filter_map(Object::uid).map(str::to_owned);
            let uids: Vec<String> = uids.collect();
            self.uids.extend(uids);
        }
        for (definition, resources) in definitions.iter().zip(&resources) {
            let staying = resources.iter().filter(|object| !self.goes(object));
            let staying: Vec<String> = staying
                .map(|object| object.reference().to_string())
                .collect();
            if !staying.is_empty() && is_converted(definition) {
                self.used.push(definition.reference().clone());
                let needed = Unfit::ConversionNeeded {
                    definition: definition.reference().to_string(),
                    objects: staying,
                };
                self.obstacles.push(needed.into());
            }
        }
        Ok(())
    }

    /// Checks whether an object is removed, directly or with its owner.
    pub(crate) fn goes(&self, live: &Object) -> bool {
        live.uid().is_some_and(|uid| self.uids.contains(uid))
    }

    /// Checks whether the record contains objects to apply before the removal.
    pub(crate) fn cleans_up(&self) -> bool {
        !self.recorded.cleanup.is_empty()
    }

    /// Returns the objects that are applied before the removal.
    pub(crate) fn applied(&self) -> impl Iterator<Item = ObjectRef> {
        self.cleanup
            .steps
            .iter()
            .map(|step| step.recorded.reference())
    }

    /// Finds the objects to apply before the removal, and adds their blockers.
    async fn find_cleanup(
        &mut self,
        cluster: &Cluster,
        state: &ClusterState,
        solution: &SolutionName,
        namespace: &Namespace,
        sets: RemoveSets,
    ) -> Result<(), Error> {
        let names = self.recorded.cleanup.iter().map(SetName::to_string);
        let names: Vec<String> = names.collect();
        if names.is_empty() || self.recorded.cleaned {
            return Ok(());
        }
        if sets == RemoveSets::Skip {
            let names = names.join(", ");
            let note = format!(
                "sets of manifests that {solution} applies before its removal are skipped: {names}"
            );
            self.notes.push(note);
            return Ok(());
        }
        let Some(cleanup) = Cleanup::look(cluster, solution, namespace).await? else {
            let kept = cleanup::reference(solution, namespace).to_string();
            let lost = Unfit::CleanupLost { kept, sets: names };
            self.obstacles.push(lost.into());
            return Ok(());
        };
        for object in cleanup.objects()? {
            let live = match look(cluster, object.reference()).await {
                // An earlier object of the cleanup defines the kind.
                Err(Error::Cluster(deployer::Error::NoSuchKind(_))) => None,
                other => other?,
            };
            let (live, recorded) = (live.as_ref(), &self.recorded);
            let checked = check_step(&object, live, solution, recorded, Some(state));
            self.obstacles.extend(checked.err());
        }
        self.cleanup = cleanup;
        Ok(())
    }

    /// Returns all objects to remove, in order.
    pub(crate) fn references(&self) -> impl Iterator<Item = ObjectRef> {
        let objects = self.objects.iter().map(Entry::reference);
        let callers = self.callers.iter().map(Object::reference);
        callers.cloned().chain(objects)
    }

    /// Returns the objects to remove in this step.
    pub(crate) fn at(&self, departure: Departure) -> BTreeMap<ObjectRef, Entry> {
        let objects = self
            .objects
            .iter()
            .filter(|entry| Departure::of(entry) == departure);
        objects
            .map(|entry| (entry.reference(), entry.clone()))
            .collect()
    }

    /// Checks whether Services of sets or charts are removed, which webhooks may call. An operator's own Service is
    /// only for metrics.
    pub(crate) fn has_services(&self) -> bool {
        let mut entries = self.recorded.entries.iter();
        entries.any(|entry| entry.part.is_some() && entry.is_service())
    }

    /// Returns the objects of any owner that make the API server call one of the removed Services.
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
            callers.extend(
                all.into_iter()
                    .filter(|live| self.recorded.is_called_by(live)),
            );
        }
        Ok(callers)
    }
}

/// Returns the kinds whose objects make the API server call a Service.
pub(crate) fn callers_kinds() -> [Gvk; 3] {
    let admission = "admissionregistration.k8s.io/v1";
    [
        Gvk::new(admission, "ValidatingWebhookConfiguration"),
        Gvk::new(admission, "MutatingWebhookConfiguration"),
        Gvk::new("apiregistration.k8s.io/v1", "APIService"),
    ]
}

/// Checks whether all owners of an object are removed, so that the garbage collector removes it.
fn belongs(object: &Object, going: &BTreeSet<String>) -> bool {
    let owners = object.as_value()["metadata"]["ownerReferences"].as_array();
    let mut owners = owners.into_iter().flatten().peekable();
    let goes = |owner: &Value| owner["uid"].as_str().is_some_and(|uid| going.contains(uid));
    owners.peek().is_some() && owners.all(goes)
}

/// Checks whether a CRD has webhook conversion.
fn is_converted(definition: &Object) -> bool {
    definition.as_value()["spec"]["conversion"]["strategy"] == "Webhook"
}

/// Returns the note on an object that is kept.
pub(crate) fn note(entry: &Entry, why: Stays) -> String {
    let what = entry.reference();
    match why {
        Stays::WasThere => format!("{what} existed before and is kept"),
        Stays::HoldsData => format!("{what} is kept, with its data"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
}
