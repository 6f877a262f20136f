//! The comparison of plan summaries: [`PlanSummary::differences`], and [`parts_that_differ`] for messages. A plan file
//! could show anything that its author likes, so its whole summary is compared with a newly created one. Parts that
//! differ between any two plans are excluded: random values of charts, and the progress of a push.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::objects::changes::{PlannedChart, PlannedObject};
use crate::plan::file::differing;
use crate::plan::summary::{PlanSummary, PlannedTarget};

/// A part of a plan besides objects: its name in messages, and the comparison of two plans.
type Part = (&'static str, fn(&PlanSummary, &PlanSummary) -> bool);

/// The parts that are compared one by one, so that messages can name them.
const PARTS: [Part; 13] = [
    ("the context", |one, other| one.context == other.context),
    ("the server's address", |one, other| {
        one.server == other.server
    }),
    ("the version of Kubernetes", |one, other| {
        one.kubernetes == other.kubernetes
    }),
    ("the registries", |one, other| {
        (&one.registry, &one.pull_registry, one.placement)
            == (&other.registry, &other.pull_registry, other.placement)
    }),
    ("the notes", |one, other| one.notes == other.notes),
    ("the findings about the archive", |one, other| {
        one.findings == other.findings
    }),
    ("the images to push", |one, other| {
        pushed(one) == pushed(other)
    }),
    ("the default values", |one, other| {
        one.defaults == other.defaults
    }),
    ("the environment", |one, other| {
        let place = |target: &PlannedTarget| (target.environment.clone(), target.namespace.clone());
        one.target.as_ref().map(place) == other.target.as_ref().map(place)
    }),
    ("the running version", |one, other| {
        let running = |plan: &PlanSummary| plan.target.as_ref()?.running.clone();
        running(one) == running(other)
    }),
    ("the rights", |one, other| {
        let rights = |target: &PlannedTarget| {
            let (gained, lost) = (&target.rights_gained, &target.rights_lost);
            (gained.clone(), lost.clone(), target.dangers.clone())
        };
        one.target.as_ref().map(rights) == other.target.as_ref().map(rights)
    }),
    ("the effects outside the environment", |one, other| {
        let beyond = |plan: &PlanSummary| plan.target.as_ref()?.beyond.clone();
        beyond(one) == beyond(other)
    }),
    ("the parameters", |one, other| {
        let parameters = |target: &PlannedTarget| target.parameters.clone();
        one.target.as_ref().map(parameters) == other.target.as_ref().map(parameters)
    }),
];

/// The kinds of objects that let the API server change other objects before it stores them.
const MUTATING: [&str; 3] = [
    "MutatingWebhookConfiguration",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
];

impl PlanSummary {
    /// Returns the parts in which a plan that was created again in the same run differs from this one; empty if it
    /// still makes the changes that this one shows. Changes by the `earlier` plans of the run are no difference if they
    /// came out as those plans show. Notes are ignored: they decide nothing, and earlier plans may add some.
    #[must_use]
    pub fn differences(&self, again: &Self, earlier: &[&Self]) -> Vec<String> {
        let again = self.explained(again.clone(), earlier);
        if *self == again {
            return Vec::new();
        }
        let mut differences = differing(self, &again);
        differences.extend(parts_that_differ(self, &again));
        if differences.is_empty() {
            differences.push("other parts of the plan".to_owned());
        }
        differences
    }

    /// Returns a plan that was created again after these `earlier` plans of the same run. Effects of the earlier plans
    /// are replaced by the content of this plan.
    pub(super) fn explained(&self, again: Self, earlier: &[&Self]) -> Self {
        let sent = again.applied.clone();
        let mut again = as_shown(self, again);
        again.notes.clone_from(&self.notes);
        if again.recorded {
            again.recorded = self.recorded;
        }
        let run = EarlierPlans::new(earlier);
        for object in again.objects_mut() {
            let mut shown = self.objects();
            let Some(shown) = shown.find(|shown| shown.object == object.object) else {
                continue;
            };
            // An object that was shown without a dry run lacks the defaults of the API server, and webhooks of earlier
            // plans may mutate it. In both cases, the change is the same if the same object is applied.
            let [before, now] = [&self.applied, &sent].map(|all| all.get(&object.object));
            let is_sent_alike = before.is_some_and(|before| {
                let may_differ = !before.is_dry_run || run.mutates;
                may_differ && now.is_some_and(|now| now.sent == before.sent)
            });
            if run.explains(shown, object) || is_sent_alike && is_same_change(shown, object) {
                object.clone_from(shown);
            }
        }
        again
    }
}

/// Checks whether an object gets the same action, starting from the same state.
fn is_same_change(shown: &PlannedObject, again: &PlannedObject) -> bool {
    (&shown.action, &shown.live) == (&again.action, &again.live)
}

/// The plans of a run that were applied before another plan of the run.
struct EarlierPlans<'a> {
    /// The objects that they change, with the lines that they show.
    changed: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// Set if they create or change objects that let the API server change further objects.
    mutates: bool,
}

impl<'a> EarlierPlans<'a> {
    fn new(plans: &[&'a PlanSummary]) -> Self {
        let mut changed = BTreeMap::<&str, BTreeSet<&str>>::new();
        let objects = plans.iter().flat_map(|plan| plan.objects());
        for object in objects.filter(|object| object.differs()) {
            let lines = changed.entry(&object.object).or_default();
            lines.extend(added_lines(object));
        }
        let kinds = changed.keys().filter_map(|object| object.split(' ').next());
        let mutates = { kinds }.any(|kind| MUTATING.contains(&kind));
        Self { changed, mutates }
    }

    /// Checks whether an object that these plans change too is planned again in the shown form. Examples are Namespaces
    /// and CRDs that Solutions share. Only lines may be added that this plan or one of the earlier plans shows for the
    /// object.
    fn explains(&self, shown: &PlannedObject, again: &PlannedObject) -> bool {
        let account = shown.object.strip_prefix("ServiceAccount ");
        let namespace = account.and_then(|account| account.strip_suffix("/default"));
        // Kubernetes creates the default `ServiceAccount` with its namespace.
        let namespace = namespace.map(|namespace| format!("Namespace {namespace}"));
        let changed = self
            .changed
            .get(shown.object.as_str())
            .or_else(|| self.changed.get(namespace?.as_str()));
        let Some(lines) = changed else {
            return false;
        };
        let known: BTreeSet<&str> = added_lines(shown).chain(lines.iter().copied()).collect();
        ["keep", "change", shown.action.as_str()].contains(&again.action.as_str())
            && again.action != "remove"
            && added_lines(again).all(|line| known.contains(line))
    }
}

/// Returns the lines that a diff adds, without indentation. A field has a fixed place in its object, so the indentation
/// adds no information.
fn added_lines(object: &PlannedObject) -> impl Iterator<Item = &str> {
    let lines = object
        .diff
        .lines()
        .filter_map(|line| line.strip_prefix('+'));
    lines.map(str::trim)
}

impl PlanSummary {
    /// Returns a text with the changes that the plan would make. Two plans with the same text make the same changes.
    /// The text leaves out notes, the progress of a push, whether consent is given, and random values of charts.
    #[must_use]
    pub fn essence(&self) -> String {
        let mut same = self.clone();
        same.notes.clear();
        (same.bytes_to_push, same.images_present) = (0, 0);
        let target = same.target.as_mut();
        if let Some(beyond) = target.and_then(|target| target.beyond.as_mut()) {
            (beyond.accepted, beyond.again) = (true, false);
        }
        let releases = same
            .target
            .iter_mut()
            .flat_map(|target| &mut target.releases);
        for release in releases {
            let random = &release.random;
            let objects = release.objects.iter_mut();
            let by_chance =
                objects.filter(|object| random.contains(&kind_and_name(&object.object)));
            by_chance.for_each(|object| object.diff.clear());
        }
        let diffs: Vec<&str> = same.objects().map(|object| object.diff.as_str()).collect();
        json!({ "plan": same, "diffs": diffs }).to_string()
    }
}

/// Returns a newly created plan with those parts that may differ replaced by the shown ones.
pub(super) fn as_shown(shown: &PlanSummary, mut anew: PlanSummary) -> PlanSummary {
    anew.applied.clone_from(&shown.applied);
    // Images that were pushed since are present now.
    if anew.bytes_to_push <= shown.bytes_to_push && anew.images_present >= shown.images_present {
        (anew.bytes_to_push, anew.images_present) = pushed(shown);
    }
    let releases = |plan: &PlanSummary| plan.target.as_ref().map(|target| target.releases.clone());
    let shown = releases(shown).unwrap_or_default();
    let now = anew
        .target
        .iter_mut()
        .flat_map(|target| &mut target.releases);
    for (shown, now) in shown.iter().zip(now) {
        show_random(shown, now);
    }
    anew
}

/// Returns the names of the parts, besides objects, in which two plans differ.
pub(super) fn parts_that_differ(shown: &PlanSummary, anew: &PlanSummary) -> Vec<String> {
    let differing = PARTS.iter().filter(|(_, is_same)| !is_same(shown, anew));
    differing.map(|(name, _)| (*name).to_owned()).collect()
}

fn pushed(plan: &PlanSummary) -> (u64, usize) {
    (plan.bytes_to_push, plan.images_present)
}

/// Replaces the diffs of random objects by the shown ones. The inputs of the chart are compared instead.
fn show_random(shown: &PlannedChart, now: &mut PlannedChart) {
    for object in &mut now.objects {
        if !now.random.contains(&kind_and_name(&object.object)) {
            continue;
        }
        let mut before = shown.objects.iter();
        let before = before
            .find(|planned| (&planned.object, &planned.action) == (&object.object, &object.action));
        if let Some(before) = before {
            object.diff.clone_from(&before.diff);
        }
    }
}

/// Returns the name of an object without its namespace. This is the form in which random objects are listed.
fn kind_and_name(object: &str) -> String {
    let (kind, place) = object.split_once(' ').unwrap_or((object, ""));
    let name = place.rsplit('/').next().unwrap_or_default();
    format!("{kind} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_by_chance_is_named_without_its_namespace() {
        assert_eq!(kind_and_name("Secret prod/login"), "Secret login");
        assert_eq!(
            kind_and_name("ClusterRole system:x"),
            "ClusterRole system:x"
        );
    }
}
