//! The content of a plan, and whether another one of the same comes out so. All of it is made anew and compared, so
//! that nobody is shown what whoever wrote a plan likes; but for the parts that no two plans have alike: values that
//! charts make by chance, and the progress of a push.

use serde_json::json;

use crate::plan::summary::{PlanSummary, PlannedChart};

/// A part that a plan shows besides objects, as messages call it.
type Told = (&'static str, fn(&PlanSummary, &PlanSummary) -> bool);

/// The parts that are compared each for itself, so that they can be named.
const TOLD: [Told; 6] = [
    ("the context", |one, other| one.context == other.context),
    ("the server's address", |one, other| {
        one.server == other.server
    }),
    ("the version of Kubernetes", |one, other| {
        one.kubernetes == other.kubernetes
    }),
    ("the notes", |one, other| one.notes == other.notes),
    ("the findings about the archive", |one, other| {
        one.findings == other.findings
    }),
    ("what is to be pushed", |one, other| {
        pushed(one) == pushed(other)
    }),
];

impl PlanSummary {
    /// Whether a plan that was made anew in the same run does what this one shows. Notes decide nothing, and imports that
    /// come before it may add some; one of the same version has recorded it, and perhaps brought its CRDs.
    #[must_use]
    pub fn holds(&self, anew: &Self) -> bool {
        let mut anew = as_shown(self, anew.clone());
        anew.notes.clone_from(&self.notes);
        if anew.recorded {
            anew.recorded = self.recorded;
        }
        for crd in anew.crds.iter_mut().filter(|it| !it.differs()) {
            let mut shown = self.crds.iter();
            if let Some(brought) = shown.find(|it| it.object == crd.object && it.differs()) {
                *crd = brought.clone();
            }
        }
        *self == anew
    }
}

impl PlanSummary {
    /// Returns what it would do, as one text: two plans with the same text do the same, whenever they are made. Notes, the
    /// progress of a push, whether it is accepted, and what charts make by chance are left out.
    #[must_use]
    pub fn essence(&self) -> String {
        let mut same = self.clone();
        same.notes.clear();
        (same.bytes_to_push, same.images_present) = (0, 0);
        let target = same.target.as_mut();
        if let Some(beyond) = target.and_then(|it| it.beyond.as_mut()) {
            (beyond.accepted, beyond.again) = (true, false);
        }
        let releases = same.target.iter_mut().flat_map(|it| &mut it.releases);
        for release in releases {
            let random = &release.random;
            let objects = release.objects.iter_mut();
            let by_chance = objects.filter(|it| random.contains(&kind_and_name(&it.object)));
            by_chance.for_each(|it| it.diff.clear());
        }
        let diffs: Vec<&str> = same.objects().map(|it| it.diff.as_str()).collect();
        json!({ "plan": same, "diffs": diffs }).to_string()
    }
}

/// A plan that was made anew, with what may differ as it was shown.
pub(super) fn as_shown(shown: &PlanSummary, mut anew: PlanSummary) -> PlanSummary {
    // What was pushed since is there.
    if anew.bytes_to_push <= shown.bytes_to_push && anew.images_present >= shown.images_present {
        (anew.bytes_to_push, anew.images_present) = pushed(shown);
    }
    let releases = |it: &PlanSummary| it.target.as_ref().map(|it| it.releases.clone());
    let shown = releases(shown).unwrap_or_default();
    let now = anew.target.iter_mut().flat_map(|it| &mut it.releases);
    for (shown, now) in shown.iter().zip(now) {
        show_random(shown, now);
    }
    anew
}

/// Returns the names of the parts that are told otherwise.
pub(super) fn told_otherwise(shown: &PlanSummary, anew: &PlanSummary) -> Vec<String> {
    let differing = TOLD.iter().filter(|(_, is_same)| !is_same(shown, anew));
    differing.map(|(name, _)| (*name).to_owned()).collect()
}

fn pushed(plan: &PlanSummary) -> (u64, usize) {
    (plan.bytes_to_push, plan.images_present)
}

/// Shows the differences of what a chart makes by chance as before. What decides it is what goes in.
fn show_random(shown: &PlannedChart, now: &mut PlannedChart) {
    for object in &mut now.objects {
        if !now.random.contains(&kind_and_name(&object.object)) {
            continue;
        }
        let mut before = shown.objects.iter();
        let before = before.find(|it| (&it.object, &it.action) == (&object.object, &object.action));
        if let Some(before) = before {
            object.diff.clone_from(&before.diff);
        }
    }
}

/// An object without its namespace, as what a chart makes by chance is named.
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
