//! The status for people: a table of deployments, one of imported versions, incomplete changes, and operators that are
//! not ready. Each problem has the reason and the next step.

use importer::{
    ChangeReceipt, Condition, EnvironmentNamespace, OperatorStatus, Outcome, RunningRelease,
    UnreadablePart, VersionStatus,
};

use super::{Hinted, ShownStatus};
use crate::args::choose;
use crate::commands::history::table::{full_reason, place};
use crate::render::{self, Row};

const DEPLOYED: [&str; 5] = ["ENVIRONMENT", "SOLUTION", "VERSION", "PODS", "STATUS"];
const IMPORTED: [&str; 6] = [
    "SOLUTION", "VERSION", "IMAGES", "CRDS", "EXPIRES", "REGISTRY",
];

/// Shows a status.
pub(super) fn show(status: &ShownStatus) {
    let rows = status.environments.iter();
    let rows: Vec<_> = rows.flat_map(|space| deployed(space, status)).collect();
    if !rows.is_empty() {
        render::table(DEPLOYED, &rows);
    }
    status.incomplete.iter().for_each(show_incomplete);
    if !status.versions.is_empty() {
        let versions: Vec<_> = status.versions.iter().map(imported).collect();
        if !rows.is_empty() || !status.incomplete.is_empty() {
            render::line("");
        }
        render::table(IMPORTED, &versions);
    } else if status.unseen.is_empty() {
        render::line(match (status.is_selection, rows.is_empty()) {
            (false, _) => "no Solution is imported",
            (true, true) => "no Solution and no environment matches",
            (true, false) => "no imported version matches",
        });
    }
    render::lines("note: ", status.notes);
    show_unseen(status.unseen);
}

/// Returns a row for each Solution in a namespace of an environment, or one row if there is none.
fn deployed(space: &EnvironmentNamespace, status: &ShownStatus) -> Vec<Row<5>> {
    let place = place(&space.environment, &space.namespace);
    let operators = status.operators.iter();
    let here = operators.filter(|hinted| hinted.operator.namespace == space.namespace);
    let rows: Vec<_> = here
        .map(|hinted| row(&place, hinted, space.going))
        .collect();
    if !rows.is_empty() {
        return rows;
    }
    let none = || render::cell(None::<String>);
    let state = choose(
        space.going,
        "namespace is being deleted",
        "nothing deployed",
    );
    vec![Row::from([place, none(), none(), none(), state.to_owned()])]
}

fn row(place: &str, Hinted { operator, hint }: &Hinted, is_going: bool) -> Row<5> {
    let (solution, namespace) = (&operator.solution, &operator.namespace);
    let command = || format!("solution status {solution} -n {namespace} -o yaml");
    let why = operator.why.iter();
    let mut below: Vec<_> = why.flat_map(|why| render::reason(why, command)).collect();
    below.extend(operator.releases.iter().map(release));
    below.extend(hint.map(|hint| format!("hint: {hint}")));
    Row {
        cells: [
            place.to_owned(),
            solution.to_string(),
            operator.version.to_string(),
            pods(operator),
            state(operator, is_going),
        ],
        below,
    }
}

fn imported(version: &VersionStatus) -> Row<6> {
    let record = &version.record;
    let images = record.images.iter();
    let images = images.filter(|image| image.image.tag.subject().is_none());
    Row::from([
        record.name.to_string(),
        record.version.to_string(),
        images.count().to_string(),
        render::cell(version.active.then_some("active")),
        render::cell(record.expires),
        record.endpoint.clone(),
    ])
}

/// Shows an incomplete change, with the command that completes it.
fn show_incomplete(receipt: &ChangeReceipt) {
    render::line(headline(receipt));
    let why = why(&receipt.outcome);
    render::lines("  ", render::reason(&why, || full_reason(receipt)));
    render::line!("  hint: {}", way_on(&receipt.outcome));
}

/// Shows the objects that this user may not read.
fn show_unseen(unseen: &[UnreadablePart]) {
    if unseen.is_empty() {
        return;
    }
    render::line("not shown because a right is missing:");
    for UnreadablePart { what, right } in unseen {
        render::line!("  {what} ({right})");
    }
    render::line(
        "  hint: ask the cluster administrator for the roles that `solution site rbac --verb status` prints",
    );
}

/// Shows an operator, with a hint if it does not run as it should.
pub(in crate::commands) fn show_operator(Hinted { operator, hint }: &Hinted) {
    render::line!("  {}", in_one_line(operator));
    render::lines("    ", operator.releases.iter().map(release));
    if let Some(hint) = hint {
        render::line!("    hint: {hint}");
    }
}

/// Returns the state of an operator: its version, its ready pods, and the reason if it does not run as it should.
fn in_one_line(operator: &OperatorStatus) -> String {
    let runs = operator.runs.as_ref();
    let runs = runs.map(|runs| format!(" ({runs} runs)"));
    let counted = counted(operator).map(|(count, what)| format!("{count} {what} ready"));
    let said: Vec<String> = counted.into_iter().chain(operator.why.clone()).collect();
    let (solution, version) = (&operator.solution, &operator.version);
    let (runs, said) = (runs.unwrap_or_default(), said.join(": "));
    format!("{solution} {version}{runs}  {said}")
}

/// Returns the ready and the desired pods of an operator, as a cell of a table.
fn pods(operator: &OperatorStatus) -> String {
    let counted = counted(operator).map(|(count, what)| match what {
        "pods" => count,
        what => format!("{count} {what}"),
    });
    render::cell(counted)
}

/// Returns a count such as `1/2` with the counted kind; none if it is unknown.
fn counted(operator: &OperatorStatus) -> Option<(String, &'static str)> {
    let ([ready, wanted], what) = match (operator.pods, operator.ready) {
        // The pods of an upstream operator's custom resources are not in the status, so the objects are counted
        // instead.
        (Some([_, 0]), Some(ready @ [_, wanted])) if wanted > 0 => (ready, "objects"),
        (pods, _) => (pods?, "pods"),
    };
    Some((format!("{ready}/{wanted}"), what))
}

/// Returns the condition of an operator, and whether its namespace is being deleted.
fn state(operator: &OperatorStatus, is_going: bool) -> String {
    let state = match (operator.condition, &operator.runs) {
        (Condition::Ready, _) => "ready",
        (Condition::NotReady, _) => "not ready",
        (Condition::OtherVersion, Some(runs)) => &format!("other version ({runs})"),
        (Condition::OtherVersion, None) => "other version",
        (Condition::Changed, _) => "drifted",
        (Condition::Gone, _) => "missing",
        (Condition::Unseen, _) => "unknown",
    };
    format!(
        "{state}{}",
        choose(is_going, ", namespace is being deleted", "")
    )
}

/// Returns the running version of a release that is installed once, and the installed version if it differs.
fn release(release: &RunningRelease) -> String {
    let RunningRelease {
        release: name,
        namespace,
        chart,
        version,
        revision,
        installed,
    } = release;
    let installed = choose(
        installed == version,
        String::new(),
        format!(" ({installed} was installed)"),
    );
    format!("release {namespace}/{name}: chart {chart} {version}, revision {revision}{installed}")
}

/// Describes an incomplete change in one line.
pub(in crate::commands) fn in_words(receipt: &ChangeReceipt) -> String {
    format!("{}: {}", headline(receipt), why(&receipt.outcome))
}

/// Describes an incomplete change without the reason.
fn headline(receipt: &ChangeReceipt) -> String {
    let subject = &receipt.subject;
    let solution = subject.solution.as_ref().map(ToString::to_string);
    let version = subject.version.as_ref().map(ToString::to_string);
    let words = [Some(subject.verb.to_string()), solution, version];
    let what: Vec<String> = words.into_iter().flatten().collect();
    let places = subject.places.iter().map(|place| place.namespace.as_str());
    let places: Vec<&str> = places.collect();
    let places = match places.join(", ") {
        none if none.is_empty() => none,
        places => format!(" in {places}"),
    };
    let (revision, what) = (receipt.revision, what.join(" "));
    let (by, at) = (receipt.origin.person(), receipt.at);
    format!("revision {revision} is incomplete: {what}{places}, by {by} at {at}")
}

/// Returns the reason why a change may be incomplete.
fn why(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed(why) | Outcome::RolledBack(why) => format!("it failed: {why}"),
        Outcome::Begun => "it is still running or was interrupted".to_owned(),
        Outcome::Interrupted | Outcome::Done => "it was interrupted".to_owned(),
    }
}

/// Returns the command that completes an incomplete change.
pub(in crate::commands) fn way_on(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Begun => "if it is no longer running, run the same command again to complete it",
        Outcome::Interrupted | Outcome::Done => "run the same command again to complete it",
        Outcome::Failed(_) | Outcome::RolledBack(_) => {
            "fix the cause, then run the same command again to complete it"
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_that_is_incomplete_is_one_line() {
        let receipt = |places: serde_json::Value, outcome: serde_json::Value| -> ChangeReceipt {
            let mut receipt = json!({
                "schemaVersion": 1, "revision": 7, "at": "2026-01-02T03:04:05Z", "by": "me@here",
                "verb": "deploy", "solution": "shop", "version": "1.1.0", "places": places,
                "written": [], "removed": [],
            });
            let fields = receipt.as_object_mut().unwrap();
            fields.extend(outcome.as_object().unwrap().clone());
            serde_json::from_value(receipt).unwrap()
        };
        let place = |namespace: &str| json!({"environment": "prod", "namespace": namespace});
        let by = "by unknown user (me@here) at 2026-01-02T03:04:05Z";
        let begun = receipt(
            json!([place("prod"), place("shop")]),
            json!({"outcome": "begun"}),
        );
        assert_eq!(
            in_words(&begun),
            format!(
                "revision 7 is incomplete: deploy shop 1.1.0 in prod, shop, {by}: it is still running or was interrupted"
            )
        );
        let failed = receipt(json!([]), json!({"outcome": "failed", "reason": "no"}));
        let again = "run the same command again to complete it";
        assert_eq!(way_on(&Outcome::Interrupted), again);
        for (outcome, first) in [
            (&begun.outcome, "if it is no longer running,"),
            (&failed.outcome, "fix the cause, then"),
        ] {
            assert_eq!(way_on(outcome), format!("{first} {again}"));
        }
        assert_eq!(
            in_words(&failed),
            format!("revision 7 is incomplete: deploy shop 1.1.0, {by}: it failed: no")
        );
    }

    #[test]
    fn a_release_that_the_site_upgraded_is_shown_with_both_versions() {
        let mut found = RunningRelease {
            release: "cni".parse().unwrap(),
            namespace: "kube-system".parse().unwrap(),
            chart: "cilium".to_owned(),
            version: "1.17.0".to_owned(),
            revision: 1,
            installed: "1.17.0".to_owned(),
        };
        let words = "release kube-system/cni: chart cilium 1.17.0, revision 1";
        assert_eq!(release(&found), words);
        found.version = "1.18.1".to_owned();
        found.revision = 4;
        assert_eq!(
            release(&found),
            "release kube-system/cni: chart cilium 1.18.1, revision 4 (1.17.0 was installed)"
        );
    }

    #[test]
    fn an_operator_is_shown_with_the_version_that_runs_and_its_pods() {
        let mut operator = OperatorStatus {
            solution: "shop".parse().unwrap(),
            version: "1.1.0".parse().unwrap(),
            environment: "prod".parse().unwrap(),
            namespace: "prod".parse().unwrap(),
            runs: None,
            ready: Some([2, 2]),
            pods: Some([6, 6]),
            condition: Condition::Ready,
            why: None,
            releases: Vec::new(),
            awaited: None,
        };
        let shown = |operator: &OperatorStatus, line: &str, cells: [&str; 2]| {
            assert_eq!(in_one_line(operator), line);
            assert_eq!([pods(operator), state(operator, false)], cells);
        };
        shown(&operator, "shop 1.1.0  6/6 pods ready", ["6/6", "ready"]);
        let going = "ready, namespace is being deleted";
        assert_eq!(state(&operator, true), going);
        operator.pods = Some([0, 0]);
        let cells = ["2/2 objects", "ready"];
        shown(&operator, "shop 1.1.0  2/2 objects ready", cells);
        operator.ready = Some([0, 1]);
        operator.pods = Some([1, 1]);
        operator.condition = Condition::OtherVersion;
        operator.runs = Some("1.0.0".parse().unwrap());
        operator.why = Some("its Deployment belongs to version 1.0.0".to_owned());
        let line =
            "shop 1.1.0 (1.0.0 runs)  1/1 pods ready: its Deployment belongs to version 1.0.0";
        shown(&operator, line, ["1/1", "other version (1.0.0)"]);
        operator.pods = None;
        operator.runs = None;
        operator.condition = Condition::Gone;
        operator.why = Some("its Deployment is gone".to_owned());
        let line = "shop 1.1.0  its Deployment is gone";
        shown(&operator, line, ["-", "missing"]);
    }
}
