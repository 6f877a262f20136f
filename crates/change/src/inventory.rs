//! The inventory: which objects a deployment has. Their kinds are any, so no list of kinds finds them; and whoever may
//! write in a namespace could give any object our labels, so that only what is recorded is ever removed.

use std::collections::{BTreeMap, BTreeSet};

use deployer::{Gvk, Leaving, Object, ObjectIdentity, ObjectRef};
use schemas::{Namespace, ReleaseName, SetName, SolutionName};
use serde::{Deserialize, Serialize};

use crate::owner::{NotOurs, Recorded, is_that};
use crate::release::ReleaseEntry;
use crate::stage::{Stage, intercepts};

/// The objects of a deployment and its releases of charts, each in the order in which they are brought.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    #[serde(alias = "objects")]
    /// The entries, one for each object.
    pub entries: Vec<Entry>,
    /// The entries of releases, one for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<ReleaseEntry>,
    /// The sets that are applied before it is removed, which the site keeps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleanup: Vec<SetName>,
    /// Whether the sets are done, and a removal has begun.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cleaned: bool,
}

/// An object, as it is found again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The set or the release of a chart that brings it; none for the operator.
    #[serde(alias = "set", default, skip_serializing_if = "Option::is_none")]
    pub part: Option<SetName>,
    /// The stage in which it is brought.
    pub stage: Stage,
    /// The version of its API in which it was applied.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// The kind as URLs and rules name it.
    pub resource: String,
    /// The namespace of the object; none of what belongs to the whole cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
    /// The digest of what an object that runs once was made from. It is not made again while that stays, though it may
    /// be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<String>,
    /// The uid, which tells it from all other objects that ever have this name; none as long as it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// The bytes that a uid takes in the record.
const UID: usize = r#","uid":"00000000-0000-0000-0000-000000000000""#.len();

impl Entry {
    /// Returns the object that it names.
    #[must_use]
    pub fn reference(&self) -> ObjectRef {
        ObjectRef {
            gvk: Gvk::new(&self.api_version, &self.kind),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// Whether it holds what nobody could make anew: it goes only with the whole deployment, if at all.
    #[must_use]
    pub fn keeps_data(&self) -> bool {
        self.stage == Stage::Space || self.kind == "PersistentVolumeClaim"
    }

    /// Whether what is there is what was applied, and not another object that somebody made under its name; and whether
    /// it still has the mark by which people see that.
    pub fn check(&self, live: &Object, solution: &SolutionName) -> Result<(), NotOurs> {
        is_that(live, self.uid.as_deref(), solution)
    }

    /// Whether it is known to have been written. What runs once may have been removed since, by itself.
    #[must_use]
    pub fn was_applied(&self) -> bool {
        self.uid.is_some() || self.inputs.is_some()
    }

    /// The very object, to wait until it is gone.
    #[must_use]
    pub fn leaving(&self) -> Leaving {
        Leaving {
            object: self.reference(),
            uid: self.uid.clone(),
        }
    }

    /// Whether it has to become something before what needs it is applied.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        matches!(self.stage, Stage::Workload | Stage::Resource)
    }

    /// Whether it goes on running, so that `status` looks how it stands. A Job may have been removed once it was done.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.stage == Stage::Workload && self.inputs.is_none() && !intercepts(&self.reference())
    }

    /// Whether it is a Service.
    #[must_use]
    pub fn is_service(&self) -> bool {
        (self.api_version.as_str(), self.kind.as_str()) == ("v1", "Service")
    }

    /// Whether it names an object, in whatever version of its API.
    #[must_use]
    pub fn is(&self, object: &ObjectRef) -> bool {
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

impl<'a> From<Option<&'a Entry>> for Recorded<'a> {
    fn from(entry: Option<&'a Entry>) -> Self {
        match entry.map(|entry| entry.uid.as_deref()) {
            None => Self::Nothing,
            Some(None) => Self::Some,
            Some(Some(uid)) => Self::This(uid),
        }
    }
}

impl Inventory {
    /// Returns both: whatever an interruption leaves is among them. What runs once, and a release, counts as made of what it
    /// was made of before.
    #[must_use]
    pub fn with(&self, older: &Self) -> Self {
        let olds = older.entries.iter().map(|old| (old.identity(), old));
        let olds: BTreeMap<_, _> = olds.collect();
        let unmade = self.entries.iter().map(|new| {
            let made = olds.get(&new.identity());
            Entry {
                inputs: made.and_then(|made| made.inputs.clone()),
                ..new.clone()
            }
        });
        let is_new = |it: &&ReleaseEntry| older.release(&it.namespace, &it.name).is_none();
        let new_releases = self.releases.iter().filter(is_new);
        Self {
            entries: unmade.chain(older.beyond(self).cloned()).collect(),
            releases: older.releases.iter().chain(new_releases).cloned().collect(),
            // It changes with the last write.
            cleanup: older.cleanup.clone(),
            cleaned: older.cleaned,
        }
    }

    /// Whether there is nothing to record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.releases.is_empty() && self.cleanup.is_empty()
    }

    /// Whether sets or charts brought any of it.
    #[must_use]
    pub fn has_parts(&self) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|it| it.part.is_some()) || !self.releases.is_empty() || !self.cleanup.is_empty()
    }

    /// Returns the release of a name in a namespace.
    #[must_use]
    pub fn release(&self, namespace: &Namespace, name: &ReleaseName) -> Option<&ReleaseEntry> {
        let mut releases = self.releases.iter();
        releases.find(|it| it.is(namespace, name))
    }

    /// Returns the same, where these releases are what they are now.
    #[must_use]
    pub fn released(mut self, now: &[ReleaseEntry]) -> Self {
        for release in &mut self.releases {
            if let Some(now) = now
                .iter()
                .find(|it| it.is(&release.namespace, &release.name))
            {
                release.clone_from(now);
            }
        }
        self
    }

    /// Returns the inventory with these uids, where so much is known of which objects they are.
    #[must_use]
    pub fn seen(&self, uids: &BTreeMap<ObjectRef, String>) -> Self {
        let mut seen = self.clone();
        for object in &mut seen.entries {
            if let Some(uid) = uids.get(&object.reference()) {
                object.uid = Some(uid.clone());
            }
        }
        seen
    }

    /// Returns the entries that this version brought and the one before did not have: other objects, and those that run
    /// once and were made of something else. Objects that keep data are left out.
    #[must_use]
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

    /// Returns the entries of a deployment that was never complete that call Services, and the Services that they call,
    /// as far as it has brought them. Objects that were there before it are known by `was_there`; of those that an
    /// attempt before has brought and was cut off, no uid was recorded.
    #[must_use]
    pub fn calls_unfinished(&self, before: &Self, was_there: impl Fn(&ObjectRef) -> bool) -> Self {
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
    #[must_use]
    pub fn after(&self, newer: &Self) -> Self {
        let stays = |new: &&Entry| new.keeps_data() || new.stage == Stage::Definition;
        let kept = newer.beyond(self).filter(stays);
        Self {
            entries: self.entries.iter().chain(kept).cloned().collect(),
            ..self.clone()
        }
    }

    /// The objects that another record does not have.
    pub fn beyond<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a Entry> {
        let others = other.entries.iter().map(Entry::identity);
        let others: BTreeSet<_> = others.collect();
        let objects = self.entries.iter();
        objects.filter(move |it| !others.contains(&it.identity()))
    }

    /// Counts these to it too, as far as it has no others of their names.
    pub fn keep(&mut self, kept: &[Entry]) {
        let own: BTreeSet<_> = self.entries.iter().map(Entry::identity).collect();
        let other = kept.iter().filter(|it| !own.contains(&it.identity()));
        let other: Vec<Entry> = other.cloned().collect();
        self.entries.extend(other);
    }

    /// Returns the entry of an object.
    #[must_use]
    pub fn find(&self, object: &ObjectRef) -> Option<&Entry> {
        self.entries.iter().find(|recorded| recorded.is(object))
    }

    /// The bytes that it takes in its `ConfigMap`.
    #[must_use]
    pub fn size(&self) -> usize {
        let unknown = self.entries.iter().filter(|it| it.uid.is_none()).count();
        serde_json::to_string(self).map_or(usize::MAX, |text| text.len() + unknown * UID)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::release::tests::release;
    use crate::vocabulary as v;

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
        let anew = Err(NotOurs::MadeAnew {
            object: "Service s".to_owned(),
        });
        assert_eq!(service.check(&live("2", ours), &shop), anew);
        let unmarked = service.check(&live("1", json!({})), &shop);
        assert!(
            matches!(unmarked, Err(NotOurs::Owned { .. })),
            "{unmarked:?}"
        );
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
    fn a_release_counts_as_it_was_until_it_is_another_one() {
        let of = |releases: &[(&str, u32)]| Inventory {
            releases: releases
                .iter()
                .map(|it| release(it.0, Some(it.1)))
                .collect(),
            ..Inventory::default()
        };
        let both = of(&[("a", 4), ("b", 1)]).with(&of(&[("c", 2), ("a", 3)]));
        assert_eq!(both, of(&[("c", 2), ("a", 3), ("b", 1)]));
        let now = [release("a", Some(4)), release("of-others", Some(1))];
        assert_eq!(both.released(&now), of(&[("c", 2), ("a", 4), ("b", 1)]));
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
}
