//! The plan of one Helm release ([`PlannedRelease`]): its step, its objects, and the state of the release that the step
//! was derived from. It is shown to people and programs as part of the plan of an import.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kubernetes::{Object, ObjectIdentity, ObjectRef};
use planner::{Recovery, ReleaseChange, ReleaseEntry, ReleaseStep};
use schemas::{ChartVersion, Namespace, list_names};
use serde_json::{Map, Value, json};

use crate::choices::redact::HiddenTexts;
use crate::choices::values::ReleaseValues;
use crate::helm_proxy::{LookupTarget, Lookups};
use crate::model::renderings::named_object;
use crate::objects::changes::{PlannedChart, PlannedObject};
use crate::objects::diff;
use crate::objects::effects::Line;
use crate::objects::finish::FinishInputs;
use crate::objects::releases::applied_objects::{
    self, DriftedObject, ReplacedObject, is_hook, is_kept, is_test,
};
use crate::objects::releases::template_reads;

/// A release and its planned step.
#[derive(Debug)]
pub(crate) struct PlannedRelease {
    pub(crate) recorded: ReleaseEntry,
    /// The time that Helm waits in each of its steps.
    pub(crate) timeout: Duration,
    /// The values as Helm receives them, in YAML.
    pub(crate) values: String,
    /// The values that are not the publisher's.
    pub(crate) site: ReleaseValues,
    pub(crate) step: ReleaseStep,
    /// The objects after the change, as Helm would apply them. For a release that is kept, the objects as Helm applied
    /// them.
    pub(crate) objects: Vec<Object>,
    /// The objects that differ between renderings.
    pub(crate) random: Vec<String>,
    /// The requests that its templates made to the cluster, with the answers. The same answers are given when Helm
    /// applies the release.
    pub(crate) lookups: Lookups,
    /// The lines about reads of its templates that this request accepts.
    pub(crate) accepted_reads: BTreeSet<String>,
    /// The objects that Helm deletes before it creates the release's hooks.
    pub(crate) replaced: Vec<ReplacedObject>,
    /// The objects that the API server could not dry-run, because the CRDs of their kinds change first.
    pub(crate) redefined: Vec<ObjectRef>,
    /// The drift of the current objects. It is empty unless correcting the drift is the only change.
    pub(crate) drift: Vec<DriftedObject>,
    /// The current objects, as Helm applied them.
    pub(crate) before: Vec<Object>,
    pub(crate) finish: FinishInputs,
    /// The newest revision in the cluster.
    pub(crate) revision: Option<u32>,
    /// The revision to roll back to; `None` if the release was never deployed successfully.
    pub(crate) back: Option<u32>,
    /// The recorded revision.
    pub(crate) known: Option<u32>,
    /// The version of the chart in the archive.
    pub(crate) offered: ChartVersion,
}

impl PlannedRelease {
    pub(crate) fn changes(&self) -> bool {
        self.step.changes()
    }

    /// Returns the change to the release.
    pub(crate) fn change(&self) -> ReleaseChange {
        let sent: Vec<Cow<'_, Value>> = self.decided().collect();
        ReleaseChange {
            entry: self.recorded.clone(),
            step: self.step,
            revision: self.revision,
            back: self.back,
            sent: diff::digest(&json!(sent)),
        }
    }

    /// Returns the objects that are applied, without replica counts that are taken from the cluster: those may change
    /// until the release is applied, and must not make the plan outdated.
    fn decided(&self) -> impl Iterator<Item = Cow<'_, Value>> {
        self.objects.iter().map(|object| {
            let what = object.reference().to_string();
            if !self.finish.replicas.contains_key(&what) {
                return Cow::Borrowed(object.as_value());
            }
            let mut value = object.as_value().clone();
            value["spec"]["replicas"] = Value::Null;
            Cow::Owned(value)
        })
    }

    /// Returns the revision number after the change.
    pub(crate) fn coming(&self) -> u32 {
        self.step.revision(self.revision)
    }

    /// Returns the plan as output for people and programs.
    pub(crate) fn planned(&self, hidden: &HiddenTexts) -> PlannedChart {
        let action = match (self.step, self.revision) {
            (ReleaseStep::Keep, _) => "keep",
            (ReleaseStep::Leave, _) => "leave",
            (ReleaseStep::Change(_), None) => "install",
            (ReleaseStep::Change(_), Some(_)) => "upgrade",
        };
        PlannedChart {
            release: self.recorded.to_string(),
            chart: format!("{} {}", self.recorded.chart, self.recorded.version),
            action: action.to_owned(),
            revision: self.revision,
            found: self.found(),
            values: self.site.shown(),
            random: self.random.clone(),
            objects: if self.changes() {
                self.changed(hidden)
            } else {
                Vec::new()
            },
        }
    }

    /// Returns a description of changes to the release, by other programs, since it was recorded.
    fn found(&self) -> Option<String> {
        let revision = self.revision?;
        match (self.step, self.known) {
            (ReleaseStep::Change(Recovery::Uninstall), _) => Some(format!(
                "helm was cut off at revision {revision}, which is uninstalled first"
            )),
            (ReleaseStep::Change(Recovery::RollBack(back)), _) => Some(format!(
                "helm was cut off at revision {revision}; it goes back to revision {back} first"
            )),
            (ReleaseStep::Leave, _) if self.offered != self.recorded.version => Some(format!(
                "version {} of the chart is not installed: it was installed once, and is left alone",
                self.offered
            )),
            (_, Some(known)) if known != revision => Some(format!(
                "revision {revision} is not from here; revision {known} was"
            )),
            _ if !self.drift.is_empty() => {
                let drift = self.drift.iter().map(DriftedObject::to_string).collect();
                Some(format!("has drifted: {}", list_names(drift)))
            }
            _ => None,
        }
    }

    /// Returns the lines about the release that need consent in addition to its objects: the objects of other owners
    /// that its hooks replace, and the objects that its templates read outside of its namespace and the environment's.
    pub(crate) fn lines(&self, environment: &Namespace, hidden: &HiddenTexts) -> Vec<Line> {
        let read = self
            .reads(environment, hidden)
            .into_iter()
            .map(|text| Line {
                is_accepted: self.accepted_reads.contains(&text),
                ..Line::new(text)
            });
        let replaced = applied_objects::lines(&self.recorded, &self.replaced);
        replaced.into_iter().map(Line::new).chain(read).collect()
    }

    /// Returns a line for each object that its templates read outside of its namespace and the environment's.
    pub(crate) fn reads(&self, environment: &Namespace, hidden: &HiddenTexts) -> Vec<String> {
        let own = [environment, &self.recorded.namespace].map(Namespace::as_str);
        let looked = self
            .lookups
            .keys()
            .map(|target| LookupTarget::parse(target));
        let outside = looked.filter(|looked| {
            let namespace = looked.namespace.as_deref();
            namespace.is_none_or(|namespace| !own.contains(&namespace))
        });
        let lines =
            outside.map(|looked| template_reads::line(&self.recorded, &hidden.say(&looked.what)));
        lines.collect()
    }

    /// Returns the values of the Secrets that its templates have read.
    pub(super) fn secrets(&self) -> impl Iterator<Item = Value> {
        template_reads::secrets(&self.lookups, &self.values)
    }

    /// Returns `hidden` extended by the values of the Secrets that its templates have read.
    pub(super) fn hidden(&self, hidden: &HiddenTexts) -> HiddenTexts {
        let mut hidden = hidden.clone();
        hidden.extend(self.secrets());
        hidden
    }

    /// Returns the drift of an object.
    pub(super) fn drifted(&self, object: &ObjectRef) -> Option<&DriftedObject> {
        let mut drift = self.drift.iter();
        drift.find(|drifted| drifted.object.is_same_object(object))
    }

    /// Returns the object in its last applied form, if only drift is corrected and the object differs between
    /// renderings. A password must not change because a Service was deleted.
    pub(super) fn as_sent(&self, object: &Object) -> Option<&Object> {
        let is_random = self.random.contains(&named_object(object.as_value()));
        let before = self
            .before
            .iter()
            .find(|sent| sent.reference().is_same_object(object.reference()));
        before.filter(|_| is_random && !self.drift.is_empty())
    }

    /// Returns the object that is deleted before this hook is created.
    fn replaced(&self, hook: &Object) -> Option<&Object> {
        let mut all = self.replaced.iter().map(|replaced| &replaced.live);
        all.find(|live| live.reference().is_same_object(hook.reference()))
    }

    /// Returns the objects that Helm would create, change or remove, compared with those that it last applied.
    pub(crate) fn changed(&self, hidden: &HiddenTexts) -> Vec<PlannedObject> {
        let [before, objects] = [&self.before, &self.objects].map(|objects| without_empty(objects));
        let (known, new) = (by_identity(&before), by_identity(&objects));
        let mut all = Vec::new();
        for object in objects.iter().filter(|object| !is_test(object)) {
            if let Some(drifted) = self.drifted(object.reference()) {
                all.push(drifted.planned(object, hidden));
                continue;
            }
            let before = known.get(&object.reference().identity()).copied();
            let replaced = self.replaced(object);
            let diff = diff::unified(before.or(replaced), Some(object), hidden);
            let action = match (replaced, before) {
                (Some(_), _) => "replace",
                (None, None) => "create",
                (None, Some(_)) if diff.is_empty() => continue,
                (None, Some(_)) => "change",
            };
            let changes =
                before.map_or_else(Vec::new, |before| kubernetes::changes(Some(before), object));
            all.push(PlannedObject {
                changes: changes.into_iter().map(|change| change.path).collect(),
                ..planned_object(object, action, diff)
            });
        }
        let is_gone = |object: &Object| {
            self.drifted(object.reference())
                .is_some_and(DriftedObject::is_gone)
        };
        let goes = |object: &&Object| !is_kept(object) && !is_hook(object) && !is_gone(object);
        for object in before.iter().filter(goes) {
            if !new.contains_key(&object.reference().identity()) {
                let diff = diff::unified(Some(object), None, hidden);
                all.push(planned_object(object, "remove", diff));
            }
        }
        all
    }
}

/// Returns the objects without empty labels and annotations. Charts write these in several ways.
fn without_empty(objects: &[Object]) -> Vec<Object> {
    let without = |object: &Object| {
        let mut value = object.as_value().clone();
        let metadata = value["metadata"].as_object_mut()?;
        for field in ["labels", "annotations"] {
            let said = metadata.get(field).and_then(Value::as_object);
            if said.is_none_or(Map::is_empty) {
                metadata.remove(field);
            }
        }
        Object::new(value).ok()
    };
    let objects = objects.iter();
    objects
        .map(|object| without(object).unwrap_or_else(|| object.clone()))
        .collect()
}

pub(super) fn by_identity(objects: &[Object]) -> BTreeMap<ObjectIdentity<'_>, &Object> {
    objects
        .iter()
        .map(|object| (object.reference().identity(), object))
        .collect()
}

fn planned_object(object: &Object, action: &str, diff: String) -> PlannedObject {
    PlannedObject {
        object: object.reference().to_string(),
        action: action.to_owned(),
        diff,
        ..PlannedObject::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::inventory::tests::release;
    use crate::records::record::tests::record;
    use kubernetes::Drift;

    fn object(kind: &str, password: &str) -> Object {
        let metadata = json!({ "name": "web", "namespace": "prod" });
        let object = json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata, "data": { "p": password } });
        Object::new(object).unwrap()
    }

    /// Returns a release with this drift, whose Secret differs between renderings.
    fn planned(drift: Vec<DriftedObject>) -> PlannedRelease {
        let recorded = release("web", Some(3));
        PlannedRelease {
            timeout: Duration::ZERO,
            values: String::new(),
            site: ReleaseValues::default(),
            step: if drift.is_empty() {
                ReleaseStep::Keep
            } else {
                ReleaseStep::Keep.mending()
            },
            objects: vec![object("Service", "new"), object("ConfigMap", "new")],
            random: vec!["Secret web".to_owned()],
            lookups: Lookups::new(),
            accepted_reads: BTreeSet::new(),
            replaced: Vec::new(),
            redefined: Vec::new(),
            drift,
            before: ["Service", "ConfigMap", "Secret"]
                .map(|kind| object(kind, "old"))
                .into(),
            finish: FinishInputs {
                record: record("1.0.0"),
                logins: BTreeMap::new(),
                release: recorded.name.clone(),
                namespace: recorded.namespace.clone(),
                wide: BTreeSet::new(),
                replicas: BTreeMap::new(),
                choices: crate::records::site::PartChoices::default(),
                patches: Vec::new(),
                jobs: BTreeMap::new(),
            },
            revision: Some(3),
            back: Some(3),
            known: Some(3),
            offered: recorded.version.clone(),
            recorded,
        }
    }

    fn gone(kind: &str) -> DriftedObject {
        DriftedObject {
            object: object(kind, "").reference().clone(),
            drift: Drift::deleted(),
        }
    }

    #[test]
    fn what_has_drifted_is_shown_as_it_is_and_not_as_it_was_sent() {
        let shown = |drift: Vec<DriftedObject>| {
            let planned = planned(drift).planned(&HiddenTexts::default());
            let objects = planned
                .objects
                .iter()
                .map(|planned| format!("{} {}", planned.action, planned.object));
            (planned.action, planned.found, objects.collect::<Vec<_>>())
        };
        let (action, found, objects) = shown(vec![gone("Service"), gone("Secret")]);
        assert_eq!(action, "upgrade");
        let words = "has drifted: Service prod/web is gone, Secret prod/web is gone";
        assert_eq!(found.as_deref(), Some(words));
        // An object that was deleted, and that the rendering no longer contains, needs no removal.
        let expected = ["create Service prod/web", "change ConfigMap prod/web"];
        assert_eq!(objects, expected);
        let (action, found, objects) = shown(Vec::new());
        assert_eq!((action.as_str(), found), ("keep", None));
        assert_eq!(objects, [""; 0]);
    }

    #[test]
    fn what_is_random_is_sent_as_it_was_only_to_mend_what_others_did() {
        let sent = |planned: &PlannedRelease, kind: &str| {
            let sent = planned.as_sent(&object(kind, "new"));
            sent.map(|object| object.as_value()["data"]["p"].clone())
        };
        let mended = planned(vec![gone("Service")]);
        assert_eq!(sent(&mended, "Secret"), Some(json!("old")));
        assert_eq!(sent(&mended, "ConfigMap"), None);
        assert_eq!(sent(&planned(Vec::new()), "Secret"), None);
    }

    #[test]
    fn labels_and_annotations_that_say_nothing_are_no_change() {
        let map = |metadata: Value| {
            let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
            Object::new(map).unwrap()
        };
        let written = without_empty(&[
            map(json!({ "name": "m", "annotations": null, "labels": {} })),
            map(json!({ "name": "m", "annotations": {} })),
            map(json!({ "name": "m" })),
            map(json!({ "name": "m", "labels": { "a": "b" } })),
        ]);
        let alike = |one: &Object, other: &Object| one.as_value() == other.as_value();
        assert!(alike(&written[0], &written[2]) && alike(&written[1], &written[2]));
        assert_eq!(
            written[3].as_value()["metadata"]["labels"],
            json!({ "a": "b" })
        );
    }
}
