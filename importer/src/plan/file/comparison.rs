//! The comparison of plan summaries: [`PlanSummary::differences`]. A plan file could show anything that its author
//! likes, so its whole summary is compared with a newly created one. Parts that differ between any two plans are
//! excluded: random values of charts, and the progress of a push.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::model::differences::PlanDifferences;
use crate::objects::changes::PlannedObject;
use crate::plan::summary::PlanSummary;

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
        let shown = self.without_random();
        let names = shown.compare(&shown.explained(again, earlier)).names();
        match names {
            Some(names) if names.is_empty() => vec!["other parts of the plan".to_owned()],
            names => names.unwrap_or_default(),
        }
    }

    /// Compares a plan that was created again.
    pub(super) fn compare(&self, again: &Self) -> PlanDifferences {
        let mut differences = PlanDifferences::default();
        differences.compare_objects(&self.objects_by_name(), &again.objects_by_name());
        for ((name, shown), (_, now)) in self.named_parts().iter().zip(&again.named_parts()) {
            differences.compare_part(*name, shown, now);
        }
        differences.compare_rest(self, again);
        differences
    }

    fn objects_by_name(&self) -> BTreeMap<String, &PlannedObject> {
        let objects = self.objects();
        objects
            .map(|planned| (planned.object.clone(), planned))
            .collect()
    }

    /// Returns the parts besides objects that messages name.
    fn named_parts(&self) -> [(&'static str, Value); 13] {
        let target = self.target.as_ref();
        let place = target.map(|target| (&target.environment, &target.namespace));
        let rights =
            target.map(|target| (&target.rights_gained, &target.rights_lost, &target.dangers));
        let registries = (&self.registry, &self.pull_registry, self.placement);
        let running = target.map(|target| &target.running);
        let effects = target.map(|target| &target.external_effects);
        let parameters = target.map(|target| &target.parameters);
        [
            ("the context", json!(self.context)),
            ("the server's address", json!(self.server)),
            ("the version of Kubernetes", json!(self.kubernetes)),
            ("the registries", json!(registries)),
            ("the notes", json!(self.notes)),
            ("the findings about the archive", json!(self.findings)),
            ("the images to push", json!(pushed(self))),
            ("the default values", json!(self.defaults)),
            ("the environment", json!(place)),
            ("the running version", json!(running)),
            ("the rights", json!(rights)),
            ("the effects outside the environment", json!(effects)),
            ("the parameters", json!(parameters)),
        ]
    }

    /// Returns a plan that was created again after these `earlier` plans of the same run. Effects of the earlier plans
    /// are replaced by the content of this plan.
    pub(super) fn explained(&self, again: &Self, earlier: &[&Self]) -> Self {
        let sent = &again.applied;
        let mut again = self.as_shown(again);
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
            let [before, now] = [&self.applied, sent].map(|all| all.get(&object.object));
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
        let mut same = self.without_random();
        same.notes.clear();
        (same.bytes_to_push, same.images_present) = (0, 0);
        let target = same.target.as_mut();
        if let Some(external_effects) = target.and_then(|target| target.external_effects.as_mut()) {
            (external_effects.accepted, external_effects.again) = (true, false);
        }
        let diffs: Vec<&str> = same.objects().map(|object| object.diff.as_str()).collect();
        json!({ "plan": same, "diffs": diffs }).to_string()
    }

    /// Returns the plan without the diffs of objects with random values. The inputs of their charts are compared
    /// instead.
    pub(super) fn without_random(&self) -> Self {
        let mut same = self.clone();
        let target = same.target.iter_mut();
        for release in target.flat_map(|target| &mut target.releases) {
            for object in &mut release.objects {
                if release.random.contains(&kind_and_name(&object.object)) {
                    object.diff.clear();
                }
            }
        }
        same
    }

    /// Returns a newly created plan without random values, and with the progress of its push as in this one.
    pub(super) fn as_shown(&self, again: &Self) -> Self {
        let mut again = again.without_random();
        again.applied.clone_from(&self.applied);
        // Images that were pushed since are present now.
        if again.bytes_to_push <= self.bytes_to_push && again.images_present >= self.images_present
        {
            (again.bytes_to_push, again.images_present) = pushed(self);
        }
        again
    }
}

fn pushed(plan: &PlanSummary) -> (u64, usize) {
    (plan.bytes_to_push, plan.images_present)
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
