//! The inventory: which objects a deployment has, one ConfigMap for each Solution in a namespace. Their kinds are any, so no
//! list of kinds finds them; and whoever may write in a namespace could give any object our labels, so that only what is
//! recorded is ever removed.

use std::collections::{BTreeMap, BTreeSet};

use deployer::{Cluster, Gvk, Leaving, Object, ObjectIdentity, ObjectRef};
use schemas::{Namespace, SetName, SolutionName};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::config_map;
use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::model::owner::{is_that, look};
use crate::model::stage::{Stage, intercepts};
use crate::model::vocabulary as v;

/// The key that a record had in its ConfigMap before it had a format.
const FORMER_KEY: &str = "objects.json";

/// The objects of a deployment, in the order in which they are applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Inventory {
    #[serde(alias = "objects")]
    pub(crate) entries: Vec<Entry>,
    /// The sets that are applied before it is removed; what they come to is kept as [`Cleanup`].
    ///
    /// [`Cleanup`]: crate::model::cleanup::Cleanup
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) cleanup: Vec<SetName>,
    /// That they are done, and a removal has begun.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cleaned: bool,
}

/// An object, as it is found again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    /// The set or the release of a chart that brings it; none for the operator.
    #[serde(alias = "set", default, skip_serializing_if = "Option::is_none")]
    pub(crate) part: Option<SetName>,
    pub(crate) stage: Stage,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    /// The kind as URLs and rules name it.
    pub(crate) resource: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    /// Of what runs once: the digest of what it was made from. It is not made again while that stays, though it may be
    /// gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) inputs: Option<String>,
    /// Which of all the objects that ever have this name it is; none as long as it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) uid: Option<String>,
}

/// The bytes that a uid takes in the record.
const UID: usize = r#","uid":"00000000-0000-0000-0000-000000000000""#.len();

impl Entry {
    pub(crate) fn reference(&self) -> ObjectRef {
        ObjectRef {
            gvk: Gvk::new(&self.api_version, &self.kind),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// Whether it holds what nobody could make anew: it goes only with the whole deployment, if at all.
    pub(crate) fn keeps_data(&self) -> bool {
        self.stage == Stage::Space || self.kind == "PersistentVolumeClaim"
    }

    /// Whether what is there is what was applied, and not another object that somebody made under its name; and whether
    /// it still has the mark by which people see that.
    pub(crate) fn check(&self, live: &Object, solution: &SolutionName) -> Result<(), Obstacle> {
        is_that(live, self.uid.as_deref(), solution)
    }

    /// Whether it is known to have been written. What runs once may have been removed since, by itself.
    pub(crate) fn was_applied(&self) -> bool {
        self.uid.is_some() || self.inputs.is_some()
    }

    /// The very object, to wait until it is gone.
    pub(crate) fn leaving(&self) -> Leaving {
        Leaving {
            object: self.reference(),
            uid: self.uid.clone(),
        }
    }

    /// Whether it has to become something before what needs it is applied.
    pub(crate) fn is_awaited(&self) -> bool {
        matches!(self.stage, Stage::Workload | Stage::Resource)
    }

    /// Whether it goes on running, so that `status` looks how it stands. A Job may have been removed once it was done.
    pub(crate) fn is_running(&self) -> bool {
        self.stage == Stage::Workload && self.inputs.is_none() && !intercepts(&self.reference())
    }

    pub(crate) fn is_service(&self) -> bool {
        (self.api_version.as_str(), self.kind.as_str()) == ("v1", "Service")
    }

    pub(crate) fn is(&self, object: &ObjectRef) -> bool {
        self.identity() == object.identity()
    }

    fn identity(&self) -> ObjectIdentity<'_> {
        let group = self.api_version.split_once('/');
        ObjectIdentity {
            group: group.map_or("", |(group, _)| group),
            kind: &self.kind,
            namespace: self.namespace.as_deref(),
            name: &self.name,
        }
    }
}

impl Inventory {
    /// What is recorded of a Solution in a namespace.
    pub(crate) async fn read(
        cluster: &Cluster,
        solution: &SolutionName,
        namespace: &Namespace,
    ) -> Result<Self, Error> {
        let live = cluster.get(&reference(solution, namespace)).await?;
        Self::parse(live.as_ref())
    }

    /// The same; nothing where this user may not look. That he may is asked with all other rights.
    pub(crate) async fn look(
        cluster: &Cluster,
        solution: &SolutionName,
        namespace: &Namespace,
    ) -> Result<Self, Error> {
        let live = look(cluster, &reference(solution, namespace)).await?;
        Self::parse(live.as_ref())
    }

    pub(crate) fn parse(live: Option<&Object>) -> Result<Self, Error> {
        let parsed = live.map(|live| config_map::read(live, FORMER_KEY));
        Ok(parsed.transpose()?.unwrap_or_default())
    }

    /// Both, what is older last: whatever an interruption leaves is among them. What runs once counts as made of what it
    /// was made of before.
    pub(crate) fn with(&self, older: &Self) -> Self {
        let olds = older.entries.iter().map(|old| (old.identity(), old));
        let olds: BTreeMap<_, _> = olds.collect();
        let unmade = self.entries.iter().map(|new| {
            let made = olds.get(&new.identity());
            Entry {
                inputs: made.and_then(|made| made.inputs.clone()),
                ..new.clone()
            }
        });
        Self {
            entries: unmade.chain(older.beyond(self).cloned()).collect(),
            // It changes with the last write.
            cleanup: older.cleanup.clone(),
            cleaned: older.cleaned,
        }
    }

    /// Whether there is nothing to record.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.cleanup.is_empty()
    }

    /// Whether sets or charts brought any of it.
    pub(crate) fn has_parts(&self) -> bool {
        self.entries.iter().any(|it| it.part.is_some()) || !self.cleanup.is_empty()
    }

    /// The same, where so much is known of which objects they are.
    pub(crate) fn seen(&self, uids: &BTreeMap<ObjectRef, String>) -> Self {
        let mut seen = self.clone();
        for object in &mut seen.entries {
            if let Some(uid) = uids.get(&object.reference()) {
                object.uid = Some(uid.clone());
            }
        }
        seen
    }

    /// What this version brought that the one before did not have: other objects, and what runs once and was made of
    /// something else. But for what keeps data.
    pub(crate) fn brought_after(&self, before: &Self) -> Self {
        let made = before.entries.iter().map(|it| (it.identity(), &it.inputs));
        let made: BTreeMap<_, _> = made.collect();
        let is_new = |new: &&Entry| match made.get(&new.identity()) {
            None => !new.keeps_data(),
            Some(inputs) => **inputs != new.inputs,
        };
        Self {
            entries: self.entries.iter().filter(is_new).cloned().collect(),
            ..Self::default()
        }
    }

    /// Of a deployment that was never complete: what calls Services, and the Services that it calls, as far as it has brought
    /// them. What was there before it is known by `was_there`; of what an attempt before has brought and was cut off, no uid
    /// was recorded.
    pub(crate) fn calls_unfinished(
        &self,
        before: &Self,
        was_there: impl Fn(&ObjectRef) -> bool,
    ) -> Self {
        let brought = |it: &&Entry| {
            let reference = it.reference();
            let is_call = it.is_service() || intercepts(&reference);
            is_call
                && match before.find(&reference) {
                    None => !was_there(&reference),
                    Some(known) => known.uid.is_none(),
                }
        };
        Self {
            entries: self.entries.iter().filter(brought).cloned().collect(),
            ..Self::default()
        }
    }

    /// The record once a newer version is taken back: with what stays of it.
    pub(crate) fn after(&self, newer: &Self) -> Self {
        let stays = |new: &&Entry| new.keeps_data() || new.stage == Stage::Definition;
        let kept = newer.beyond(self).filter(stays);
        Self {
            entries: self.entries.iter().chain(kept).cloned().collect(),
            ..self.clone()
        }
    }

    /// The objects that another record does not have.
    pub(crate) fn beyond<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a Entry> {
        let others = other.entries.iter().map(Entry::identity);
        let others: BTreeSet<_> = others.collect();
        let objects = self.entries.iter();
        objects.filter(move |it| !others.contains(&it.identity()))
    }

    /// Counts these to it too, as far as it has no others of their names.
    pub(crate) fn keep(&mut self, kept: &[Entry]) {
        let own: BTreeSet<_> = self.entries.iter().map(Entry::identity).collect();
        let other = kept.iter().filter(|it| !own.contains(&it.identity()));
        let other: Vec<Entry> = other.cloned().collect();
        self.entries.extend(other);
    }

    pub(crate) fn find(&self, object: &ObjectRef) -> Option<&Entry> {
        self.entries.iter().find(|recorded| recorded.is(object))
    }

    /// The bytes that it takes in its `ConfigMap`.
    pub(crate) fn size(&self) -> usize {
        let unknown = self.entries.iter().filter(|it| it.uid.is_none()).count();
        serde_json::to_string(self).map_or(usize::MAX, |text| text.len() + unknown * UID)
    }

    /// The record as its ConfigMap.
    pub(crate) fn to_object(&self, solution: &SolutionName, namespace: &Namespace) -> Value {
        let labels = json!({ v::CARRIED: namespace, v::SOLUTION: solution });
        config_map::record(&name(solution, namespace), labels, self)
    }
}

/// The ConfigMap of what a Solution carries in a namespace.
pub(crate) fn reference(solution: &SolutionName, namespace: &Namespace) -> ObjectRef {
    config_map::reference(&name(solution, namespace))
}

/// Names have no dots, so that no two pairs come to one.
fn name(solution: &SolutionName, namespace: &Namespace) -> String {
    format!("carried.{namespace}.{solution}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(kind: &str, name: &str) -> Entry {
        Entry {
            part: Some("main".parse().unwrap()),
            stage: Stage::Data,
            api_version: "v1".to_owned(),
            kind: kind.to_owned(),
            resource: format!("{}s", kind.to_lowercase()),
            namespace: None,
            name: name.to_owned(),
            inputs: None,
            uid: None,
        }
    }

    #[test]
    fn only_the_very_object_that_was_applied_is_ours() {
        let shop = "shop".parse().unwrap();
        let live = |uid: &str, labels: Value| {
            Object::new(json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": { "name": "s", "uid": uid, "labels": labels },
            }))
            .unwrap()
        };
        let ours = json!({ v::SOLUTION: "shop" });
        let mut service = recorded("Service", "s");
        // As it was recorded before uids were.
        assert_eq!(service.check(&live("1", ours.clone()), &shop), Ok(()));
        let uids = [(service.reference(), "1".to_owned())].into();
        let record = Inventory {
            entries: vec![service],
            ..Inventory::default()
        };
        service = record.seen(&uids).entries.remove(0);
        assert_eq!(service.check(&live("1", ours.clone()), &shop), Ok(()));
        let anew = Err(Obstacle::MadeAnew("Service s".to_owned()));
        assert_eq!(service.check(&live("2", ours), &shop), anew);
        let unmarked = service.check(&live("1", json!({})), &shop);
        assert!(matches!(unmarked, Err(Obstacle::Owned(..))), "{unmarked:?}");
    }

    #[test]
    fn what_calls_a_deployment_that_was_never_complete_is_what_it_has_brought() {
        let webhook = |name: &str| Entry {
            api_version: "admissionregistration.k8s.io/v1".to_owned(),
            ..recorded("ValidatingWebhookConfiguration", name)
        };
        let of = |entries: Vec<Entry>| Inventory {
            entries,
            ..Inventory::default()
        };
        let known = Entry {
            uid: Some("1".to_owned()),
            ..webhook("complete")
        };
        let before = of(vec![known, webhook("cut-off")]);
        let there = ["cut-off", "complete", "of-others"];
        let so_far = of(vec![
            webhook("new"),
            webhook("cut-off"),
            webhook("complete"),
            webhook("of-others"),
            recorded("Service", "asked"),
            recorded("ConfigMap", "config"),
        ]);
        let calls = so_far.calls_unfinished(&before, |it| there.contains(&it.name.as_str()));
        let names: Vec<&str> = calls.entries.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["new", "cut-off", "asked"]);
    }

    #[test]
    fn old_and_new_objects_are_recorded_together() {
        let of = |names: &[&str]| Inventory {
            entries: names.iter().map(|name| recorded("Service", name)).collect(),
            ..Inventory::default()
        };
        let both = of(&["b", "c"]).with(&of(&["a", "b"]));
        assert_eq!(both, of(&["b", "c", "a"]));
        let made_of = |inputs: &str| {
            let mut record = of(&["job"]);
            record.entries[0].inputs = Some(inputs.to_owned());
            record
        };
        assert_eq!(made_of("new").with(&made_of("old")), made_of("old"));
        assert_eq!(made_of("new").with(&of(&[])), of(&["job"]));
    }

    #[test]
    fn of_a_version_that_is_taken_back_only_data_stays() {
        let of = |entries: &[(&str, &str)]| Inventory {
            entries: entries
                .iter()
                .map(|(kind, name)| recorded(kind, name))
                .collect(),
            ..Inventory::default()
        };
        let job = |mut record: Inventory, inputs: &str| {
            record.entries[0].inputs = Some(inputs.to_owned());
            record
        };
        let before = of(&[("Job", "setup"), ("Service", "a")]);
        let new = of(&[
            ("Job", "setup"),
            ("Service", "a"),
            ("Service", "b"),
            ("PersistentVolumeClaim", "c"),
        ]);
        let brought = |made: [&str; 2]| {
            let [old, new] = [job(before.clone(), made[0]), job(new.clone(), made[1])];
            let brought = new.brought_after(&old).entries.into_iter();
            brought.map(|it| it.name).collect::<Vec<_>>()
        };
        assert_eq!(brought(["one", "one"]), ["b"]);
        assert_eq!(brought(["one", "two"]), ["setup", "b"]);
        let after = before.after(&new).entries;
        let names: Vec<&str> = after.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["setup", "a", "c"]);
    }

    #[test]
    fn the_record_comes_back_from_its_config_map() {
        let mut job = recorded("Job", "j");
        job.inputs = Some("x".to_owned());
        job.uid = Some("u".to_owned());
        let record = Inventory {
            entries: vec![recorded("Service", "s"), job],
            cleanup: vec!["last".parse().unwrap()],
            cleaned: true,
        };
        let (solution, namespace) = ("shop".parse().unwrap(), "prod".parse().unwrap());
        let map = Object::new(record.to_object(&solution, &namespace)).unwrap();
        assert_eq!(map.reference(), &reference(&solution, &namespace));
        let parsed = Inventory::parse(Some(&map)).unwrap();
        assert_eq!(parsed, record);
    }

    #[test]
    fn a_record_of_the_time_before_formats_is_read() {
        let service = json!({ "set": "main", "stage": Stage::Data, "apiVersion": "v1", "kind": "Service",
            "resource": "services", "name": "s" });
        let former = json!({ "objects": [service] }).to_string();
        let map = config_map::config_map("a", json!({}), &json!({ FORMER_KEY: former }));
        let parsed = Inventory::parse(Some(&Object::new(map).unwrap())).unwrap();
        assert_eq!(parsed.entries, [recorded("Service", "s")]);
    }
}
