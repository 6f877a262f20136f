//! The inventory of a deployment: the record of every object and Helm release that a Solution has in a namespace
//! (decision 0032).
//!
//! Objects can be of any kind, so no list of kinds finds them all. A tenant can put the Solution's labels on any object
//! of a namespace. For both reasons, only objects that the inventory lists are ever removed.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{DeletionTarget, Gvk, Object, ObjectIdentity, ObjectRef};
use schemas::{Namespace, ReleaseName, SetName, SolutionName};
use serde::{Deserialize, Serialize};

use crate::owner::{InventoryRecord, OwnershipConflict, is_that};
use crate::release::ReleaseEntry;
use crate::stage::{Stage, intercepts};

/// The objects and chart releases of a deployment, each in the order of installation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    #[serde(alias = "objects")]
    /// The entries of objects.
    pub entries: Vec<Entry>,
    /// The entries of releases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<ReleaseEntry>,
    /// The sets to apply before the deployment is removed. The site keeps their content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleanup: Vec<SetName>,
    /// True if the cleanup sets have completed and the removal has begun.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cleaned: bool,
}

/// The record of one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The set or chart release that contains the object. `None` for the operator.
    #[serde(alias = "set", default, skip_serializing_if = "Option::is_none")]
    pub part: Option<SetName>,
    /// The stage in which the object is applied.
    pub stage: Stage,
    /// The API version with which the object was applied.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// The plural name of the kind, as in URLs and RBAC rules.
    pub resource: String,
    /// The namespace of the object. `None` for a cluster-scoped object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
    /// The digest of the inputs of an object that runs once, such as a Job. As long as it stays equal, the object is
    /// not created again, even if it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<String>,
    /// The UID, which distinguishes the object from later ones with the same name. `None` until it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// The number of bytes that a UID takes in the serialized record.
const UID: usize = r#","uid":"00000000-0000-0000-0000-000000000000""#.len();

impl Entry {
    /// Returns the reference of the object.
    #[must_use]
    pub fn reference(&self) -> ObjectRef {
        ObjectRef {
            gvk: Gvk::new(&self.api_version, &self.kind),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// Returns true for objects with data that cannot be recreated. They are deleted with the whole deployment only, if
    /// at all.
    #[must_use]
    pub fn keeps_data(&self) -> bool {
        self.stage == Stage::Space || self.kind == "PersistentVolumeClaim"
    }

    /// Checks that a live object is the applied one: it has the recorded UID, if that is known, and still has the
    /// Solution's label.
    pub fn check(&self, live: &Object, solution: &SolutionName) -> Result<(), OwnershipConflict> {
        is_that(live, self.uid.as_deref(), solution)
    }

    /// Returns true if the object is known to have been written. An object that runs once may have been deleted since,
    /// for example by its time to live.
    #[must_use]
    pub fn was_applied(&self) -> bool {
        self.uid.is_some() || self.inputs.is_some()
    }

    /// Returns the object in the form in which its deletion is awaited.
    #[must_use]
    pub fn leaving(&self) -> DeletionTarget {
        DeletionTarget {
            object: self.reference(),
            uid: self.uid.clone(),
        }
    }

    /// Returns true if the object must become ready before dependent parts are applied.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        matches!(self.stage, Stage::Workload | Stage::Resource)
    }

    /// Returns true if the object is expected to run permanently, so that its health is part of the status. Jobs are
    /// excluded: they may be deleted after they complete.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.stage == Stage::Workload && self.inputs.is_none() && !intercepts(&self.reference())
    }

    /// Returns true for a Service.
    #[must_use]
    pub fn is_service(&self) -> bool {
        (self.api_version.as_str(), self.kind.as_str()) == ("v1", "Service")
    }

    /// Checks whether the entry records an object, regardless of the version of its API.
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

impl<'a> From<Option<&'a Entry>> for InventoryRecord<'a> {
    fn from(entry: Option<&'a Entry>) -> Self {
        match entry.map(|entry| entry.uid.as_deref()) {
            None => Self::Nothing,
            Some(None) => Self::Some,
            Some(Some(uid)) => Self::This(uid),
        }
    }
}

impl Inventory {
    /// Returns the union of both inventories, so that it lists every object that an interrupted change may leave.
    /// Objects that run once, and releases, keep the inputs of the older inventory until the change completes.
    #[must_use]
    pub fn with(&self, older: &Self) -> Self {
        let olds: BTreeMap<_, _> = older
            .entries
            .iter()
            .map(|old| (old.identity(), old))
            .collect();
        // Until the change completes, a Job that has run keeps the inputs that it has run with.
        let unmade = self.entries.iter().map(|new| {
            let made = olds.get(&new.identity());
            Entry {
                inputs: made.and_then(|made| made.inputs.clone()),
                ..new.clone()
            }
        });
        let is_new =
            |release: &&ReleaseEntry| older.release(&release.namespace, &release.name).is_none();
        let new_releases = self.releases.iter().filter(is_new);
        Self {
            entries: unmade
                .chain(older.entries_missing_in(self).cloned())
                .collect(),
            releases: older.releases.iter().chain(new_releases).cloned().collect(),
            // The cleanup sets are replaced by the last write of the change only.
            cleanup: older.cleanup.clone(),
            cleaned: older.cleaned,
        }
    }

    /// Returns true if the inventory records nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.releases.is_empty() && self.cleanup.is_empty()
    }

    /// Returns true if any of the content comes from a set or a chart.
    #[must_use]
    pub fn has_parts(&self) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.part.is_some())
            || !self.releases.is_empty()
            || !self.cleanup.is_empty()
    }

    /// Returns the release with a name in a namespace.
    #[must_use]
    pub fn release(&self, namespace: &Namespace, name: &ReleaseName) -> Option<&ReleaseEntry> {
        let mut releases = self.releases.iter();
        releases.find(|release| release.is(namespace, name))
    }

    /// Returns the inventory with the entries of these releases replaced by their current ones.
    #[must_use]
    pub fn released(mut self, now: &[ReleaseEntry]) -> Self {
        for release in &mut self.releases {
            if let Some(now) = now
                .iter()
                .find(|entry| entry.is(&release.namespace, &release.name))
            {
                release.clone_from(now);
            }
        }
        self
    }

    /// Returns the inventory with the UIDs of these objects filled in.
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

    /// Returns the entries that this version added to the previous one: new objects, and objects that run once with
    /// other inputs. New objects that keep data are left out.
    #[must_use]
    pub(crate) fn brought_after(&self, before: &Self) -> Self {
        let made: BTreeMap<_, _> = before
            .entries
            .iter()
            .map(|entry| (entry.identity(), &entry.inputs))
            .collect();
        let is_new = |new: &&Entry| match made.get(&new.identity()) {
            None => !new.keeps_data(),
            Some(inputs) => **inputs != new.inputs,
        };
        Self {
            entries: self.entries.iter().filter(is_new).cloned().collect(),
            ..Self::default()
        }
    }

    /// Returns the webhook configurations, `APIService` objects and Services that an incomplete first deployment has
    /// created. `was_there` reports objects that existed before it. An entry of `before` without a UID belongs to an
    /// earlier attempt that was interrupted.
    #[must_use]
    pub fn calls_unfinished(&self, before: &Self, was_there: impl Fn(&ObjectRef) -> bool) -> Self {
        let brought = |entry: &&Entry| {
            let reference = entry.reference();
            let is_call = entry.is_service() || intercepts(&reference);
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

    /// Returns the inventory after a newer version was rolled back: this one, with the objects of the newer version
    /// that a rollback keeps.
    #[must_use]
    pub fn after(&self, newer: &Self) -> Self {
        let stays = |new: &&Entry| new.keeps_data() || new.stage == Stage::Definition;
        let kept = newer.entries_missing_in(self).filter(stays);
        Self {
            entries: self.entries.iter().chain(kept).cloned().collect(),
            ..self.clone()
        }
    }

    /// Returns the entries that another inventory does not have.
    pub fn entries_missing_in<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a Entry> {
        let others: BTreeSet<_> = other.entries.iter().map(Entry::identity).collect();
        let objects = self.entries.iter();
        objects.filter(move |entry| !others.contains(&entry.identity()))
    }

    /// Adds entries, except those whose objects are already listed.
    pub fn keep(&mut self, kept: &[Entry]) {
        let own: BTreeSet<_> = self.entries.iter().map(Entry::identity).collect();
        let other: Vec<Entry> = kept
            .iter()
            .filter(|entry| !own.contains(&entry.identity()))
            .cloned()
            .collect();
        self.entries.extend(other);
    }

    /// Returns the entry of an object.
    #[must_use]
    pub fn find(&self, object: &ObjectRef) -> Option<&Entry> {
        self.entries.iter().find(|recorded| recorded.is(object))
    }

    /// Returns the number of bytes that the inventory takes in its `ConfigMap` once all UIDs are known.
    #[must_use]
    pub fn size(&self) -> usize {
        let unknown = self
            .entries
            .iter()
            .filter(|entry| entry.uid.is_none())
            .count();
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
        // An entry written before inventories recorded UIDs.
        assert_eq!(service.check(&live("1", ours.clone()), &shop), Ok(()));
        let uids = [(service.reference(), "1".to_owned())].into();
        let record = Inventory {
            entries: vec![service],
            ..Inventory::default()
        };
        service = record.seen(&uids).entries.remove(0);
        assert_eq!(service.check(&live("1", ours.clone()), &shop), Ok(()));
        let anew = Err(OwnershipConflict::MadeAnew {
            object: "Service s".to_owned(),
        });
        assert_eq!(service.check(&live("2", ours), &shop), anew);
        let unmarked = service.check(&live("1", json!({})), &shop);
        assert!(
            matches!(unmarked, Err(OwnershipConflict::Owned { .. })),
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
        let calls =
            so_far.calls_unfinished(&before, |object| there.contains(&object.name.as_str()));
        let names: Vec<&str> = calls
            .entries
            .iter()
            .map(|entry| entry.name.as_str())
            .collect();
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
                .map(|pair| release(pair.0, Some(pair.1)))
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
            brought.map(|entry| entry.name).collect::<Vec<_>>()
        };
        assert_eq!(brought(["one", "one"]), ["b"]);
        assert_eq!(brought(["one", "two"]), ["setup", "b"]);
        let after = before.after(&new).entries;
        let names: Vec<&str> = after.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["setup", "a", "c"]);
    }
}
