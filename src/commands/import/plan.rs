//! The plan, for people.

use importer::{
    PlanSummary, PlannedBeyond, PlannedChart, PlannedDefault, PlannedField, PlannedHelm,
    PlannedLaterPods, PlannedMigration, PlannedObject, PlannedParameter, PlannedPatch,
    PlannedProof, PlannedRight, PlannedTarget, SiteValue, Unseen,
};
use shelf::PathLayout;

use super::show::flag;
use crate::args::choose;
use crate::render;

/// Fields that are named of an object of a chart: a chart renews the schemas of its definitions and the rules of its alerts by
/// the hundred, and the diff has them all.
const CHART_FIELDS: usize = 5;

/// The plan, for people.
pub(crate) fn show(plan: &PlanSummary) {
    let width = render::width();
    for line in lines(plan) {
        wrapped(&line, width).iter().for_each(render::line);
    }
}

/// The line about a flat layout.
const FLAT: &str = "layout    flat: each image has a repository directly below the prefix";

/// The line about images that are not mirrored.
const NO_MIRRORS: &str = "mirrors   none: nodes find images only by their addresses";

/// The column in which the words of a plan stand.
const INDENT: &str = "          ";
/// The hexadecimal digits of a digest that are shown; the JSON result has all of them.
const SHOWN_DIGITS: usize = 12;

/// Returns a line in as many lines as a terminal of this width takes; as it is where there is no terminal.
fn wrapped(line: &str, width: Option<usize>) -> Vec<String> {
    let width = width.filter(|width| *width > 2 * INDENT.len());
    let Some(width) = width.filter(|width| line.chars().count() > *width) else {
        return vec![line.to_owned()];
    };
    let mut lines = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let last = lines.last_mut().expect("there is a line");
        let is_full = last.chars().count() + word.trim_end().chars().count() > width;
        if is_full && !last.trim().is_empty() {
            lines.push(format!("{INDENT}  {word}"));
        } else {
            last.push_str(word);
        }
    }
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// Returns a text with the first digits alone of each digest.
fn shortened(text: &str) -> String {
    const ALGORITHM: &str = "sha256:";
    let mut parts = text.split(ALGORITHM);
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (digest, rest) = part.split_at(digits);
        short.push_str(ALGORITHM);
        match digest.get(..SHOWN_DIGITS) {
            Some(begin) if digits == 64 => {
                short.push_str(begin);
                short.push('…');
            }
            _ => short.push_str(digest),
        }
        short.push_str(rest);
    }
    short
}

/// The lines of a plan.
pub(crate) fn lines(plan: &PlanSummary) -> Vec<String> {
    let mut lines = Lines::default();
    lines.plan(plan);
    lines.0.iter().map(|line| shortened(line)).collect()
}

/// What an object takes: from existing ones of its kind, though none was found to lose anything, and from somebody else.
pub(crate) fn warnings(object: &PlannedObject) -> Vec<String> {
    let mut lines = Lines::default();
    lines.warnings(object);
    lines.0
}

/// Where images are pushed, and where nodes pull them from; how many, and how many bytes of all are missing there.
pub(crate) fn registry(
    registries: [&str; 2],
    counts: [usize; 2],
    bytes: [u64; 2],
    creates: &[String],
) {
    let mut lines = Lines::default();
    lines.registry(registries, counts, bytes);
    lines.creates(creates);
    lines.0.iter().for_each(render::line);
}

/// What changes in each object.
pub(crate) fn diff(plan: &PlanSummary) {
    let objects = plan.objects();
    objects.filter(|it| !it.diff.is_empty()).for_each(diff_of);
}

/// What changes in an object.
pub(crate) fn diff_of(object: &PlannedObject) {
    render::line!("diff      {} {}", object.action, object.object);
    object.diff.lines().for_each(render::diff_line);
}

/// The kubelet's own login is in the form of the Secret.
fn node_login(
    PlannedLaterPods {
        namespace, secret, ..
    }: &PlannedLaterPods,
) -> [String; 2] {
    [
        "to log in for all pods, put a login into /var/lib/kubelet/config.json (mode 0600) on each node; this command prints the file's content, including the password:".to_owned(),
        format!(
            "kubectl --namespace {namespace} get secret {secret} --output go-template='{{{{index .data \".dockerconfigjson\" | base64decode}}}}'"
        ),
    ]
}

/// The lines on rights that are gained, those that are dangerous marked, and on what is dangerous whoever has rights.
fn gained_lines(target: &PlannedTarget) -> Vec<String> {
    let rights = target.rights_gained.iter().map(right);
    let dangers = target.dangers.iter();
    let dangers = dangers.map(|words| format!("        ! {words}"));
    headed("rights    gained:", rights.chain(dangers))
}

/// The lines on rights that are lost.
fn lost_lines(target: &PlannedTarget) -> Vec<String> {
    headed("rights    lost:", target.rights_lost.iter().map(right))
}

/// Returns lines below their heading, and none where there is nothing to show below it.
fn headed(heading: &str, lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines = lines.peekable();
    let heading = lines.peek().map(|_| heading.to_owned());
    heading.into_iter().chain(lines).collect()
}

fn right(right: &PlannedRight) -> String {
    match &right.danger {
        Some(danger) => format!("        ! {}: lets it {danger}", right.right),
        None => format!("          {}", right.right),
    }
}

/// Lines for people, as far as they are written.
#[derive(Default)]
struct Lines(Vec<String>);

impl Lines {
    /// The plan, for people.
    fn plan(&mut self, plan: &PlanSummary) {
        // The file of a plan has none, and a pod neither.
        let context = plan.context.as_ref();
        let context = context.map_or_else(String::new, |it| format!("{it} at "));
        let (server, kubernetes) = (&plan.server, &plan.kubernetes);
        self.0.push(format!(
            "cluster   {context}{server} (Kubernetes {kubernetes})"
        ));
        self.0.push(format!(
            "solution  {}, archive {}",
            plan.solution, plan.archive_id
        ));
        self.registry(
            [&plan.registry, &plan.pull_registry],
            [plan.images, plan.referrers],
            [plan.bytes_to_push, plan.bytes],
        );
        self.creates(&plan.creates);
        if plan.placement.layout == PathLayout::Flat {
            self.0.push(FLAT.to_owned());
        }
        if !plan.placement.has_mirrors() {
            self.0.push(NO_MIRRORS.to_owned());
        }
        for crd in plan.crds.iter().filter(|crd| !crd.is_kept()) {
            self.0
                .push(format!("crd       {} {}", crd.action, crd.object));
            for change in &crd.changes {
                let mark = choose(crd.losses.contains(change), "!", " ");
                self.0.push(format!("        {mark} {change}"));
            }
            self.warnings(crd);
        }
        plan.migrations.iter().for_each(|it| self.migration(it));
        if let Some(target) = &plan.target {
            self.target(target);
        }
        for PlannedDefault { what, value, why } in &plan.defaults {
            self.0
                .push(format!("default   {} {value} ({why})", flag(*what)));
        }
        for note in &plan.notes {
            self.0.push(format!("note      {note}"));
        }
        for Unseen { what, right } in &plan.unseen {
            self.0.push(format!(
                "unseen    {what} (the right to {right} is missing)"
            ));
        }
    }

    /// Where images are pushed, and where nodes pull them from; how many, and how many bytes of all are missing there.
    fn registry(
        &mut self,
        [pushed, pulled]: [&str; 2],
        [images, referrers]: [usize; 2],
        bytes: [u64; 2],
    ) {
        let images = render::images(images, referrers);
        let [missing, all] = bytes.map(render::bytes);
        self.0.push(format!(
            "registry  {pushed}: {images}, {missing} of {all} to push"
        ));
        if pulled != pushed {
            self.0.push(format!("          nodes pull from {pulled}"));
        }
    }

    /// The repositories that are created first.
    fn creates(&mut self, repositories: &[String]) {
        let lines = repositories.iter().map(|it| format!("          {it}"));
        self.0
            .extend(headed("create    repositories that do not exist:", lines));
    }

    /// What is stored anew, what goes, and what that costs.
    fn migration(&mut self, migration: &PlannedMigration) {
        let objects = render::count(migration.objects, "object");
        let (crd, storage, gone) = (
            &migration.crd,
            &migration.storage,
            render::list(&migration.gone),
        );
        self.0.push(format!(
            "migrate   {objects} of {crd} to the storage version {storage}; {gone} is dropped"
        ));
        self.0.push(format!(
            "        ! fields that {storage} does not have are dropped"
        ));
        if !migration.lost.is_empty() {
            let lost = render::list(&migration.lost);
            self.0.push(format!(
                "        ! you cannot return to versions that need {gone}: {lost}"
            ));
        }
        if !migration.unknown.is_empty() {
            let unknown = render::list(&migration.unknown);
            self.0.push(format!(
                "        ! you may be unable to return to {unknown}: the archive cannot be read"
            ));
        }
    }

    /// The part of the plan about the environment.
    fn target(&mut self, target: &PlannedTarget) {
        let running = match &target.running {
            Some(version) => format!("runs {version} now"),
            None => "it does not run there".to_owned(),
        };
        let (environment, namespace) = (&target.environment, &target.namespace);
        self.0.push(format!(
            "deploy    to environment {environment}, namespace {namespace} ({running})"
        ));
        let objects = target.objects.iter().chain(&target.removed);
        for object in objects.filter(|object| !object.is_kept()) {
            self.line_of(object, object.changes.len());
            self.warnings(object);
        }
        if let Some(PlannedHelm { version, included }) = &target.helm {
            let whose = choose(
                *included,
                "included in the archive: the publisher's program",
                "this machine's",
            );
            self.0.push(format!("helm      {version}, {whose}"));
        }
        target.releases.iter().for_each(|it| self.release(it));
        if let Some(PlannedProof {
            image,
            architectures,
        }) = &target.pull_proof
        {
            let on = match architectures.as_slice() {
                [] => "a node".to_owned(),
                known => render::list(known),
            };
            self.0
                .push(format!("proof     a pod pulls {image} on {on} first"));
        }
        for SiteValue { field, value, from } in &target.site {
            self.0.push(format!("site      {field} {value} ({from})"));
        }
        for PlannedParameter { name, value, from } in &target.parameters {
            self.0.push(format!("parameter {name} {value} ({from})"));
        }
        for PlannedPatch { object, from } in &target.patches {
            self.0.push(format!("patch     {object} ({from})"));
        }
        if !target.cleanup.is_empty() {
            let cleanup = render::list(&target.cleanup);
            self.0
                .push(format!("cleanup   applied before it is removed: {cleanup}"));
        }
        target.later_pods.iter().for_each(|it| self.later_pods(it));
        self.0.extend(gained_lines(target));
        self.0.extend(lost_lines(target));
        if let Some(beyond) = &target.beyond {
            self.beyond(beyond);
        }
    }

    /// What becomes of an object, with so many of the fields that change.
    fn line_of(&mut self, object: &PlannedObject, most: usize) {
        let (shown, more) = object.changes.split_at(most.min(object.changes.len()));
        let more = match more.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let fields = match shown {
            [] => String::new(),
            shown => format!(" ({}{more})", shown.join(", ")),
        };
        self.0.push(format!(
            "          {} {}{fields}",
            object.action, object.object
        ));
    }

    /// A release of a chart, and what changes in it.
    fn release(&mut self, release: &PlannedChart) {
        let PlannedChart {
            action,
            release: name,
            chart,
            ..
        } = release;
        let revision = release.revision.map(|it| format!(", revision {it} now"));
        self.0.push(format!(
            "chart     {action} {name} ({chart}{})",
            revision.unwrap_or_default()
        ));
        for SiteValue { field, value, from } in &release.values {
            self.0.push(format!("          {field} {value} ({from})"));
        }
        let objects = release.objects.iter().filter(|object| !object.is_kept());
        let (stamped, others): (Vec<_>, Vec<_>) = objects.partition(|it| it.is_stamped());
        for object in others {
            self.line_of(object, CHART_FIELDS);
            self.warnings(object);
        }
        if !stamped.is_empty() {
            let count = render::count(stamped.len(), "object");
            self.0.push(format!(
                "          change {count} only in their version labels"
            ));
        }
        if !release.random.is_empty() {
            let objects = render::list(&release.random);
            self.0.push(format!(
                "          contain random values that differ in each plan: {objects}"
            ));
        }
        if let Some(found) = &release.found {
            self.0.push(format!("        ! {found}"));
        }
    }

    /// Where pods that are made later have no login, and how to give nodes one.
    fn later_pods(&mut self, later: &PlannedLaterPods) {
        let (host, namespaces) = (&later.host, render::list(&later.namespaces));
        self.0.push(format!(
            "login     pods created later outside of {namespaces}, or with their own ServiceAccounts, have no pull secret for {host}"
        ));
        for line in node_login(later) {
            self.0.push(format!("          {line}"));
        }
    }

    /// What an object takes: from existing ones of its kind, though none was found to lose anything, and from somebody else.
    fn warnings(&mut self, object: &PlannedObject) {
        for narrowing in &object.narrowed {
            let looked = "no existing object is affected";
            let looked = choose(
                narrowing.checked,
                looked,
                "existing objects were not checked",
            );
            let (path, api, problem) =
                (&narrowing.path, &narrowing.api_version, &narrowing.problem);
            self.0
                .push(format!("        ! {path} of {api}: {problem} ({looked})"));
        }
        for PlannedField { field, manager } in &object.taken_over {
            self.0
                .push(format!("        ! takes over {field} from {manager}"));
        }
    }

    /// What reaches beyond the environment, under the id that accepts it.
    fn beyond(&mut self, beyond: &PlannedBeyond) {
        let accepted = choose(beyond.accepted, "given", "required");
        self.0.push(format!(
            "consent   {accepted} for effects outside the environment (id {}):",
            beyond.id
        ));
        if beyond.again {
            self.0.push(
                "          the earlier consent did not cover the content of these objects, so it is required again".to_owned(),
            );
        }
        for line in &beyond.lines {
            let (new, danger) = (choose(line.new, "+", " "), choose(line.danger, "!", " "));
            self.0.push(format!("       {new}{danger} {}", line.text));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_line_is_wrapped_at_words_and_each_word_stays() {
        let line = "note      some words of a note that is longer than the terminal is wide";
        assert_eq!(wrapped(line, None), [line]);
        assert_eq!(wrapped(line, Some(200)), [line]);
        let lines = wrapped(line, Some(40));
        let expected = [
            "note      some words of a note that is",
            "            longer than the terminal is",
            "            wide",
        ];
        assert_eq!(lines, expected);
        let long = format!("note      {}", "x".repeat(100));
        assert!(wrapped(&long, Some(40)).concat().contains(&"x".repeat(100)));
    }

    #[test]
    fn digests_are_shortened_and_nothing_else() {
        let digest = "0123456789abcdef".repeat(4);
        let line = format!("proof     a pod pulls r.test/a@sha256:{digest} on sha256:12 first");
        let expected = "proof     a pod pulls r.test/a@sha256:0123456789ab… on sha256:12 first";
        assert_eq!(shortened(&line), expected);
    }

    #[test]
    fn a_plan_for_people_has_no_line_for_an_object_that_stays_as_it_is() {
        let object = |object: &str, action: &str| json!({ "object": object, "action": action });
        let mut moved = object("ConfigMap b", "keep");
        moved["takenOver"] = json!([{ "field": ".data.a", "manager": "kubectl" }]);
        let release = json!({
            "release": "release prod/web", "chart": "web 1.0.0", "action": "keep",
            "objects": [object("Secret d", "keep"), object("Secret e", "remove")],
        });
        let plan = json!({
            "context": null, "server": "https://a.test", "kubernetes": "v1.36.2", "solution": "a-1.0.0",
            "archiveId": "1", "registry": "r.test", "pullRegistry": "r.test", "images": 0, "imagesPresent": 0,
            "bytes": 0, "bytesToPush": 0, "recorded": true,
            "crds": [object("CRD a", "keep"), object("CRD b", "keep version 2.0.0 of")],
            "target": {
                "environment": "prod", "namespace": "prod", "running": null, "rightsGained": [],
                "rightsLost": [], "dangers": [], "beyond": null,
                "objects": [object("Namespace prod", "keep"), object("ConfigMap a", "change"), moved],
                "releases": [release], "removed": [object("ConfigMap c", "remove")],
            },
            "notes": [], "findings": [],
        });
        let lines = lines(&serde_json::from_value(plan).unwrap()).split_off(3);
        let expected = [
            "crd       keep version 2.0.0 of CRD b",
            "deploy    to environment prod, namespace prod (it does not run there)",
            "          change ConfigMap a",
            "          keep ConfigMap b",
            "        ! takes over .data.a from kubectl",
            "          remove ConfigMap c",
            "chart     keep release prod/web (web 1.0.0)",
            "          remove Secret e",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_plan_has_no_heading_without_lines_below_it() {
        let target = |gained: Value, lost: Value, dangers: Value| {
            let target = json!({
                "environment": "prod", "namespace": "prod", "running": null,
                "rightsGained": gained, "rightsLost": lost, "dangers": dangers, "beyond": null,
                "objects": [], "removed": [],
            });
            let target = serde_json::from_value(target).unwrap();
            let mut lines = Lines::default();
            lines.target(&target);
            lines.0.split_off(1)
        };
        let none = || json!([]);
        let right = json!([{ "right": "list pods", "danger": null }]);
        let opened = "Service prod/web is open on a port of every node (NodePort)";
        assert!(target(none(), none(), none()).is_empty());
        assert_eq!(
            target(right.clone(), none(), json!([opened])),
            [
                "rights    gained:".to_owned(),
                "          list pods".to_owned(),
                format!("        ! {opened}")
            ]
        );
        assert_eq!(
            target(none(), right, none()),
            ["rights    lost:", "          list pods"]
        );
    }
}
