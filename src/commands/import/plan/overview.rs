//! The overview of a plan (its archive, images and registry) and its details (sources of values, rights, consent, and
//! checks that were not possible).

use std::time::Duration;

use importer::{
    LeftOpen, PlanSummary, PlannedDefault, PlannedEffects, PlannedHelm, PlannedLaterPods,
    PlannedObject, PlannedParameter, PlannedPatch, PlannedProof, PlannedRight, PlannedTarget,
    SiteValue, TimeLimits, UnreadablePart,
};
use schemas::SolutionId;
use store::{PathLayout, PushSummary};

use super::INDENT;
use super::changes::{Detail, Lines};
use crate::args::choose;
use crate::render;

/// Returns the line about the cluster.
pub(crate) fn cluster_line(plan: &PlanSummary) -> String {
    // A plan file and a connection from within a pod have no context.
    let context = plan.context.as_ref();
    let context = context.map_or_else(String::new, |context| format!("{context} at "));
    let (server, kubernetes) = (&plan.server, &plan.kubernetes);
    format!("{context}{server} (Kubernetes {kubernetes})")
}

impl Lines {
    /// Adds the summary: the version, the cluster, the environment and the requirements. A fleet shows its own consent
    /// id for all its clusters.
    pub(super) fn overview(
        &mut self,
        plan: &PlanSummary,
        limits: Option<TimeLimits>,
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
        self.row("cluster", &cluster_line(plan));
        let place = target.map_or_else(|| "no environment".to_owned(), place);
        self.row("deploy to", &place);
        self.images(&PlannedPush::from(plan));
        // With details, another line names the image and the architectures.
        if !self.is_full() && target.is_some_and(|target| target.pull_proof.is_some()) {
            self.also("a short-lived pod tests the pull before anything else is deployed");
        }
        if let Some(target) = target {
            self.row("rights", &rights(target));
            self.row("consent", &consent(target, has_consent_id));
        }
        let has_waits = target.is_some() || plan.crds.iter().any(PlannedObject::differs);
        if let Some(limits) = limits.filter(|_| has_waits) {
            let has_charts = target.is_some_and(|target| !target.releases.is_empty());
            self.row("time", &time(limits, has_charts));
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
    let Some(found) = &target.external_effects else {
        return "not needed".to_owned();
    };
    let effects = render::count(found.lines.len(), "effect");
    let state = if found.accepted { "given" } else { "needed" };
    let id = if has_id && !found.accepted {
        format!(": `--accept {}`", found.id)
    } else {
        String::new()
    };
    format!("{state} for {effects} outside the environment{id}")
}

/// Returns the time limits, because the duration of a push or a rollout is not known in advance.
fn time(limits: TimeLimits, has_charts: bool) -> String {
    match limits.total {
        Some(total) => format!(
            "at most {} for the change to the cluster (`--timeout`)",
            short(total)
        ),
        None => format!(
            "at most {} for each wait for the cluster (`--timeout`){}",
            short(limits.wait),
            choose(has_charts, "; charts have their own limits", "")
        ),
    }
}

/// Formats a duration, such as `90s` or `5m`.
fn short(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds % 60 == 0 && seconds > 0 => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}

/// The images of an archive, and the registry that they are pushed to.
pub(crate) struct PlannedPush<'a> {
    /// The registry that images are pushed to, and the one that nodes pull from.
    pub(crate) registries: [&'a str; 2],
    /// The numbers of images and of their referrers.
    pub(crate) counts: [usize; 2],
    /// The bytes to push, and those of all images.
    pub(crate) bytes: [u64; 2],
    /// The repositories that are created first.
    pub(crate) creates: &'a [String],
}

impl<'a> From<&'a PlanSummary> for PlannedPush<'a> {
    fn from(plan: &'a PlanSummary) -> Self {
        Self {
            registries: [&plan.registry, &plan.pull_registry],
            counts: [plan.images, plan.referrers],
            bytes: [plan.bytes_to_push, plan.bytes],
            creates: &plan.creates,
        }
    }
}

impl<'a> From<&'a PushSummary> for PlannedPush<'a> {
    fn from(plan: &'a PushSummary) -> Self {
        Self {
            registries: [&plan.registry, &plan.pull_registry],
            counts: [plan.images, plan.referrers],
            bytes: [plan.bytes_to_push, plan.bytes],
            creates: &plan.creates,
        }
    }
}

/// Returns the lines about an archive and its images.
pub(crate) fn archive(solution: &str, archive_id: &str, push: &PlannedPush<'_>) -> Vec<String> {
    let mut lines = Lines::new(Detail::Full);
    lines.solution(solution, archive_id, "");
    lines.images(push);
    lines.repositories(push.creates);
    lines.lines
}

impl Lines {
    pub(super) fn solution(&mut self, solution: &str, archive_id: &str, state: &str) {
        let id = solution.parse::<SolutionId>();
        let name = id.map_or_else(
            |_| solution.to_owned(),
            |id| format!("{} {}", id.name(), id.version()),
        );
        self.row("solution", &format!("{name}, archive {archive_id}{state}"));
    }

    /// Adds the number of images, the bytes to push, and the registry from which nodes pull.
    pub(super) fn images(&mut self, push: &PlannedPush<'_>) {
        let [pushed, pulled] = push.registries;
        let [missing, all] = push.bytes.map(render::bytes);
        let images = render::images(push.counts[0], push.counts[1]);
        self.row(
            "images",
            &format!("{images}, {missing} of {all} to push to {pushed}"),
        );
        if pulled != pushed {
            self.also(&format!("nodes pull from {pulled}"));
        }
    }
}

impl Lines {
    pub(super) fn details(&mut self, plan: &PlanSummary) {
        if plan.placement.layout == PathLayout::Flat {
            let words = "flat: each image has a repository directly below the prefix";
            self.row("layout", words);
        }
        if !plan.placement.has_mirrors() {
            let words = "none: nodes find images only by their addresses";
            self.row("mirrors", words);
        }
        if let Some(target) = &plan.target {
            self.of_target(target);
        }
        for default in &plan.defaults {
            self.row("default", &default_words(default));
        }
    }

    fn of_target(&mut self, target: &PlannedTarget) {
        if let Some(PlannedHelm { version, included }) = &target.helm {
            let whose = choose(
                *included,
                "included in the archive: the publisher's program",
                "this machine's",
            );
            self.row("helm", &format!("{version}, {whose}"));
        }
        if let Some(PlannedProof {
            image,
            architectures,
        }) = &target.pull_proof
        {
            let on = match architectures.as_slice() {
                [] => "a node".to_owned(),
                known => render::list(known),
            };
            self.row("proof", &format!("a pod pulls {image} on {on} first"));
        }
        for SiteValue { field, value, from } in &target.site {
            self.row("site", &format!("{field} {value} ({from})"));
        }
        for PlannedParameter { name, value, from } in &target.parameters {
            self.row("parameter", &format!("{name} {value} ({from})"));
        }
        for PlannedPatch { object, from } in &target.patches {
            self.row("patch", &format!("{object} ({from})"));
        }
        if !target.cleanup.is_empty() {
            let cleanup = render::list(&target.cleanup);
            self.row(
                "cleanup",
                &format!("applied before it is removed: {cleanup}"),
            );
        }
        if let Some(later) = &target.later_pods {
            self.later_pods(later);
        }
    }

    /// Adds the pods that have no pull secret because they are created later, and how to log in on the nodes.
    fn later_pods(&mut self, later: &PlannedLaterPods) {
        let PlannedLaterPods {
            host,
            namespace,
            secret,
            ..
        } = later;
        let namespaces = render::list(&later.namespaces);
        self.row("login", &format!("pods created later outside of {namespaces}, or with their own ServiceAccounts, have no pull secret for {host}"));
        // The kubelet's own login has the same format as the Secret.
        self.also("to log in for all pods, put a login into /var/lib/kubelet/config.json (mode 0600) on each node; this command prints the file's content, including the password:");
        self.also(&format!("kubectl --namespace {namespace} get secret {secret} --output go-template='{{{{index .data \".dockerconfigjson\" | base64decode}}}}'"));
    }
}

/// Describes the source of a default value. The overview already shows the registries and the namespace themselves.
fn default_words(default: &PlannedDefault) -> String {
    let PlannedDefault { what, value, why } = default;
    match what {
        LeftOpen::Registry | LeftOpen::PullRegistry | LeftOpen::Namespace => {
            format!("{}: {why}", flag(*what))
        }
        LeftOpen::PullSecret => format!("{} {value} ({why})", flag(*what)),
    }
}

impl Lines {
    /// Adds the rights. Without details, only dangerous ones are shown.
    pub(super) fn rights(&mut self, target: &PlannedTarget) {
        let is_shown = |right: &&PlannedRight| self.is_full() || right.danger.is_some();
        let gained = target.rights_gained.iter().filter(is_shown).map(right);
        let dangers = target.dangers.iter();
        let dangers = dangers.map(|danger| format!("      ! {danger}"));
        let gained: Vec<String> = gained.chain(dangers).collect();
        let lost = target.rights_lost.iter().filter(|_| self.is_full());
        let lost: Vec<String> = lost.map(right).collect();
        self.headed("rights    gained:", gained);
        self.headed("rights    lost:", lost);
    }

    /// Adds lines below a heading. Without lines, there is no heading either.
    fn headed(&mut self, heading: &str, lines: Vec<String>) {
        if !lines.is_empty() {
            self.push(heading);
            self.lines.extend(lines);
        }
    }

    /// Adds the effects outside the environment.
    pub(super) fn external_effects(&mut self, effects: &PlannedEffects) {
        self.push("consent   effects outside the environment:");
        if effects.again {
            self.push(format!(
                "{INDENT}the earlier consent did not cover the content of these objects, so it is required again"
            ));
        }
        for line in &effects.lines {
            let new = if line.new { "+" } else { " " };
            let danger = if line.danger { "!" } else { " " };
            self.push(format!("    {new}{danger} {}", line.text));
        }
    }

    /// Adds the notes, and the parts of the cluster that could not be read.
    pub(super) fn notes(&mut self, plan: &PlanSummary) {
        for note in &plan.notes {
            self.row("note", note);
        }
        for UnreadablePart { what, right } in &plan.unseen {
            self.row(
                "unseen",
                &format!("{what} (the right to {right} is missing)"),
            );
        }
    }
}

fn right(right: &PlannedRight) -> String {
    match &right.danger {
        Some(danger) => format!("      ! {}: lets it {danger}", right.right),
        None => format!("{INDENT}  {}", right.right),
    }
}

pub(crate) fn flag(chosen: LeftOpen) -> &'static str {
    match chosen {
        LeftOpen::Registry => "--registry",
        LeftOpen::PullRegistry => "--pull-registry",
        LeftOpen::Namespace => "--namespace",
        LeftOpen::PullSecret => "--pull-secret",
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::{Value, json};

    use super::*;
    use crate::commands::import::plan::changes::Detail;
    use crate::commands::import::plan::summary::{summary, target};

    #[test]
    fn a_default_does_not_repeat_a_value_of_the_overview() {
        let default = |what, value: &str, why| PlannedDefault {
            what,
            value: value.to_owned(),
            why: Cow::Borrowed(why),
        };
        let mut plan = summary(&json!({}));
        plan.defaults = vec![
            default(
                LeftOpen::Namespace,
                "prod",
                "the namespace of the environment",
            ),
            default(LeftOpen::PullSecret, "login", "unchanged"),
        ];
        let mut lines = Lines::new(Detail::Full);
        lines.details(&plan);
        let expected = [
            "default   --namespace: the namespace of the environment",
            "default   --pull-secret login (unchanged)",
        ];
        assert_eq!(lines.lines, expected);
    }

    fn rights(detail: Detail, gained: &Value, lost: &Value, dangers: &Value) -> Vec<String> {
        let target = json!({ "rightsGained": gained, "rightsLost": lost, "dangers": dangers });
        let mut lines = Lines::new(detail);
        lines.rights(&target_of(&target));
        lines.lines
    }

    fn target_of(value: &Value) -> PlannedTarget {
        serde_json::from_value(target(value)).unwrap()
    }

    #[test]
    fn harmless_rights_are_details_and_dangers_are_not() {
        let right = json!([
            { "right": "list pods" },
            { "right": "read Secrets", "danger": "read every password" },
        ]);
        let opened = json!(["Service prod/web is open on a port of every node (NodePort)"]);
        let dangers = [
            "      ! read Secrets: lets it read every password",
            "      ! Service prod/web is open on a port of every node (NodePort)",
        ];
        let gained = "rights    gained:";
        assert_eq!(
            rights(Detail::Brief, &right, &right, &opened),
            [gained, dangers[0], dangers[1]]
        );
        assert_eq!(
            rights(Detail::Full, &right, &json!([]), &opened),
            [gained, "        list pods", dangers[0], dangers[1]]
        );
        let harmless = json!([{ "right": "list pods" }]);
        assert_eq!(
            rights(Detail::Full, &json!([]), &harmless, &json!([])),
            ["rights    lost:", "        list pods"]
        );
    }

    #[test]
    fn a_plan_has_no_heading_without_lines_below_it() {
        let (none, harmless) = (json!([]), json!([{ "right": "list pods" }]));
        assert!(rights(Detail::Full, &none, &none, &none).is_empty());
        assert!(rights(Detail::Brief, &harmless, &harmless, &none).is_empty());
    }

    #[test]
    fn every_effect_that_needs_consent_is_shown() {
        let effects = json!({
            "id": "5d0c", "accepted": false, "again": true,
            "lines": [
                { "text": "reads all Secrets", "new": true, "danger": true },
                { "text": "ClusterRole a is made", "new": false },
            ],
        });
        let mut lines = Lines::new(Detail::Brief);
        lines.external_effects(&serde_json::from_value(effects).unwrap());
        let expected = [
            "consent   effects outside the environment:",
            "      the earlier consent did not cover the content of these objects, so it is required again",
            "    +! reads all Secrets",
            "       ClusterRole a is made",
        ];
        assert_eq!(lines.lines, expected);
    }

    fn overview(plan: &Value, limits: Option<TimeLimits>, has_consent_id: bool) -> Vec<String> {
        let mut lines = Lines::new(Detail::Brief);
        let plan = summary(plan);
        lines.overview(&plan, limits, has_consent_id);
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
        let limits = TimeLimits {
            wait: Duration::from_mins(5),
            total: None,
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
        assert_eq!(overview(&plan, Some(limits), true), expected);
        // A fleet has its own consent id, and a plan file has no time limits.
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
        let limits = TimeLimits {
            wait: Duration::from_secs(90),
            total: None,
        };
        assert_eq!(overview(&json!({}), Some(limits), true), expected);
    }

    #[test]
    fn the_time_is_the_limit_and_no_guess() {
        let limits = |total| TimeLimits {
            wait: Duration::from_secs(90),
            total,
        };
        assert_eq!(
            time(limits(Some(Duration::from_mins(10))), true),
            "at most 10m for the change to the cluster (`--timeout`)"
        );
        assert_eq!(
            time(limits(None), true),
            "at most 90s for each wait for the cluster (`--timeout`); charts have their own limits"
        );
    }
}
