//! A release, what is to be done about it, and what that changes, for people and programs.

use std::collections::BTreeMap;
use std::time::Duration;

use deployer::{Object, ObjectIdentity};
use schemas::ChartVersion;

use super::sent::{is_hook, is_kept, is_test};
use super::step::{Mend, Step};
use crate::model::release::RecordedRelease;
use crate::plan::diff;
use crate::plan::finish::FinishInputs;
use crate::plan::hidden::Hidden;
use crate::plan::summary::{PlannedChart, PlannedObject};

/// A release, and what is to be done about it.
#[derive(Debug)]
pub(crate) struct PlannedRelease {
    pub(crate) recorded: RecordedRelease,
    /// How long Helm waits for each of its steps.
    pub(crate) timeout: Duration,
    /// The values as Helm gets them, in YAML.
    pub(crate) values: String,
    pub(crate) step: Step,
    /// The objects that it has then, as Helm would send them; for a release that stays, as it sent them.
    pub(crate) objects: Vec<Object>,
    /// Those that are others with each rendering.
    pub(crate) random: Vec<String>,
    /// Those that it has now, as they were sent.
    pub(crate) before: Vec<Object>,
    pub(crate) finish: FinishInputs,
    /// Helm's newest revision of it.
    pub(crate) revision: Option<u32>,
    /// The revision to go back to; none of one that never came up.
    pub(crate) back: Option<u32>,
    /// The revision that is recorded of it.
    pub(crate) known: Option<u32>,
    /// The chart's version in the archive.
    pub(crate) offered: ChartVersion,
}

impl PartialEq for PlannedRelease {
    fn eq(&self, other: &Self) -> bool {
        (&self.recorded, self.step, self.revision) == (&other.recorded, other.step, other.revision)
    }
}

impl PlannedRelease {
    pub(crate) fn changes(&self) -> bool {
        matches!(self.step, Step::Change(_))
    }

    /// The same for people and programs.
    pub(crate) fn planned(&self, hidden: &Hidden) -> PlannedChart {
        let action = match (self.step, self.revision) {
            (Step::Keep, _) => "keep",
            (Step::Leave, _) => "leave",
            (Step::Change(_), None) => "install",
            (Step::Change(_), Some(_)) => "upgrade",
        };
        PlannedChart {
            release: self.recorded.to_string(),
            chart: format!("{} {}", self.recorded.chart, self.recorded.version),
            action: action.to_owned(),
            revision: self.revision,
            found: self.found(),
            random: self.random.clone(),
            objects: if self.changes() {
                self.changed(hidden)
            } else {
                Vec::new()
            },
        }
    }

    /// What others did to it since.
    fn found(&self) -> Option<String> {
        let revision = self.revision?;
        match (self.step, self.known) {
            (Step::Change(Mend::Uninstall), _) => Some(format!(
                "helm was cut off at revision {revision}, which is uninstalled first"
            )),
            (Step::Change(Mend::RollBack(back)), _) => Some(format!(
                "helm was cut off at revision {revision}; it goes back to revision {back} first"
            )),
            (Step::Leave, _) if self.offered != self.recorded.version => Some(format!(
                "version {} of the chart is not installed: it was installed once, and is left alone",
                self.offered
            )),
            (_, Some(known)) if known != revision => Some(format!(
                "revision {revision} is not from here; revision {known} was"
            )),
            _ => None,
        }
    }

    /// The objects that Helm would make, change or remove, compared with what it sent last.
    pub(crate) fn changed(&self, hidden: &Hidden) -> Vec<PlannedObject> {
        let (known, new) = (by_identity(&self.before), by_identity(&self.objects));
        let mut all = Vec::new();
        for object in self.objects.iter().filter(|it| !is_test(it)) {
            let before = known.get(&object.reference().identity()).copied();
            let diff = diff::unified(before, Some(object), hidden);
            let action = match before {
                None => "create",
                Some(_) if diff.is_empty() => continue,
                Some(_) => "change",
            };
            let changes = before.map_or_else(Vec::new, |it| deployer::changes(Some(it), object));
            all.push(PlannedObject {
                changes: changes.into_iter().map(|it| it.path).collect(),
                ..planned_object(object, action, diff)
            });
        }
        let goes = |it: &&Object| !is_kept(it) && !is_hook(it);
        for object in self.before.iter().filter(goes) {
            if !new.contains_key(&object.reference().identity()) {
                let diff = diff::unified(Some(object), None, hidden);
                all.push(planned_object(object, "remove", diff));
            }
        }
        all
    }
}

pub(super) fn by_identity(objects: &[Object]) -> BTreeMap<ObjectIdentity<'_>, &Object> {
    objects
        .iter()
        .map(|it| (it.reference().identity(), it))
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
