//! The overview at the beginning of a plan.

use std::time::Duration;

use importer::{PlanSummary, PlannedObject, PlannedTarget};

use super::archive::PlannedPush;
use super::lines::{Lines, Waits};
use crate::args::choose;
use crate::render;

/// The line about the cluster.
pub(crate) fn cluster(plan: &PlanSummary) -> String {
    // The file of a plan has no context, and a pod neither.
    let context = plan.context.as_ref();
    let context = context.map_or_else(String::new, |context| format!("{context} at "));
    let (server, kubernetes) = (&plan.server, &plan.kubernetes);
    format!("{context}{server} (Kubernetes {kubernetes})")
}

impl Lines {
    /// What is changed, where, and what it takes. A fleet has one consent id for all its clusters, and shows it itself.
    pub(super) fn overview(
        &mut self,
        plan: &PlanSummary,
        waits: Option<Waits>,
        has_consent_id: bool,
    ) {
        let target = plan.target.as_ref();
        let state = match target.map(|target| &target.running) {
            Some(Some(version)) => format!(", runs {version} now"),
            Some(None) => ", not installed".to_owned(),
            None if plan.recorded => ", already imported".to_owned(),
            None => ", not imported".to_owned(),
        };
        self.solution(&plan.solution, &plan.archive_id, &state);
        self.row("cluster", &cluster(plan));
        let place = target.map_or_else(|| "no environment".to_owned(), place);
        self.row("deploy to", &place);
        self.images(&PlannedPush::from(plan));
        // With details, a line has the image and the architectures.
        if !self.is_full() && target.is_some_and(|target| target.pull_proof.is_some()) {
            self.also("a short-lived pod tests the pull before anything else is deployed");
        }
        if let Some(target) = target {
            self.row("rights", &rights(target));
            self.row("consent", &consent(target, has_consent_id));
        }
        let has_waits = target.is_some() || plan.crds.iter().any(PlannedObject::differs);
        if let Some(waits) = waits.filter(|_| has_waits) {
            let has_charts = target.is_some_and(|target| !target.releases.is_empty());
            self.row("time", &time(waits, has_charts));
        }
    }
}

fn place(target: &PlannedTarget) -> String {
    let (environment, namespace) = (&target.environment, &target.namespace);
    let is_new = |object: &PlannedObject| {
        object.action == "create" && object.object == format!("Namespace {namespace}")
    };
    let new = choose(target.objects.iter().any(is_new), " (new)", "");
    format!("environment {environment}, namespace {namespace}{new}")
}

fn rights(target: &PlannedTarget) -> String {
    let (gained, lost) = (&target.rights_gained, &target.rights_lost);
    let mut words = match (gained.len(), lost.len()) {
        (0, 0) => "no change".to_owned(),
        (gained, lost) => format!("gains {gained}, loses {lost}"),
    };
    let dangerous = gained.iter().filter(|right| right.danger.is_some()).count();
    for (separator, number, singular) in [
        ("; ", dangerous, "dangerous right"),
        ("; ", target.dangers.len(), "dangerous effect"),
    ] {
        if number > 0 {
            words = format!("{words}{separator}{}", render::count(number, singular));
        }
    }
    words
}

fn consent(target: &PlannedTarget, has_id: bool) -> String {
    let Some(beyond) = &target.beyond else {
        return "not needed".to_owned();
    };
    let effects = render::count(beyond.lines.len(), "effect");
    let state = choose(beyond.accepted, "given", "needed");
    let id = if has_id && !beyond.accepted {
        format!(": `--accept {}`", beyond.id)
    } else {
        String::new()
    };
    format!("{state} for {effects} outside the environment{id}")
}

/// The limits alone: how long a push or a rollout takes is not known beforehand.
fn time(waits: Waits, has_charts: bool) -> String {
    match waits.all {
        Some(all) => format!(
            "at most {} for the change to the cluster (`--timeout`)",
            short(all)
        ),
        None => format!(
            "at most {} for each wait for the cluster (`--timeout`){}",
            short(waits.each),
            choose(has_charts, "; charts have their own limits", "")
        ),
    }
}

/// `90s`, `5m`
fn short(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds % 60 == 0 && seconds > 0 => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::lines::Detail;
    use super::super::summary::summary;
    use super::*;

    fn overview(plan: &Value, waits: Option<Waits>, has_consent_id: bool) -> Vec<String> {
        let mut lines = Lines::new(Detail::Brief);
        let plan = summary(plan);
        lines.overview(&plan, waits, has_consent_id);
        lines.lines
    }

    #[test]
    fn the_overview_has_a_row_for_each_question() {
        let target = json!({
            "environment": "prod", "namespace": "shop", "running": "1.0.0",
            "rightsGained": [{ "right": "list pods" }, { "right": "read Secrets", "danger": "read all" }],
            "rightsLost": [{ "right": "patch pods" }],
            "dangers": ["Service shop/web is open"],
            "beyond": { "id": "5d0c", "accepted": false, "lines": [{ "text": "a", "new": true }] },
            "pullProof": { "image": "r.test/a", "architectures": [] },
            "objects": [{ "object": "Namespace shop", "action": "create" }],
        });
        let waits = Waits {
            each: Duration::from_mins(5),
            all: None,
        };
        let mut plan = json!({
            "context": "test", "pullRegistry": "nodes.test", "bytes": 3000, "bytesToPush": 2000, "images": 2,
            "target": target,
        });
        let expected = [
            "solution  a 1.1.0, archive 1, runs 1.0.0 now",
            "cluster   test at https://a.test (Kubernetes v1.36.2)",
            "deploy to environment prod, namespace shop (new)",
            "images    2 images, 2.0 kB of 3.0 kB to push to r.test",
            "          nodes pull from nodes.test",
            "          a short-lived pod tests the pull before anything else is deployed",
            "rights    gains 2, loses 1; 1 dangerous right; 1 dangerous effect",
            "consent   needed for 1 effect outside the environment: `--accept 5d0c`",
            "time      at most 5m for each wait for the cluster (`--timeout`)",
        ];
        assert_eq!(overview(&plan, Some(waits), true), expected);
        // A fleet has another id, and a plan file no limits.
        let shown = overview(&plan, None, false);
        assert_eq!(
            shown.last().unwrap(),
            "consent   needed for 1 effect outside the environment"
        );
        plan["target"]["beyond"]["accepted"] = json!(true);
        let given = "consent   given for 1 effect outside the environment";
        assert!(overview(&plan, None, true).contains(&given.to_owned()));
    }

    #[test]
    fn the_overview_of_an_import_without_a_deployment_is_short() {
        let expected = [
            "solution  a 1.1.0, archive 1, already imported",
            "cluster   https://a.test (Kubernetes v1.36.2)",
            "deploy to no environment",
            "images    0 images, 0 bytes of 0 bytes to push to r.test",
        ];
        let waits = Waits {
            each: Duration::from_secs(90),
            all: None,
        };
        assert_eq!(overview(&json!({}), Some(waits), true), expected);
    }

    #[test]
    fn the_time_is_the_limit_and_no_guess() {
        let waits = |all| Waits {
            each: Duration::from_secs(90),
            all,
        };
        assert_eq!(
            time(waits(Some(Duration::from_mins(10))), true),
            "at most 10m for the change to the cluster (`--timeout`)"
        );
        assert_eq!(
            time(waits(None), true),
            "at most 90s for each wait for the cluster (`--timeout`); charts have their own limits"
        );
    }
}
