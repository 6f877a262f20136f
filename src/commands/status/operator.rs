//! The state of an operator, for people.

use importer::{Condition, OperatorStatus, RunningRelease};

use super::Hinted;
use crate::args::choose;
use crate::render;

/// Shows an operator, and what to do where it does not run as it should.
pub(in crate::commands) fn show_operator(Hinted { operator, hint }: &Hinted) {
    render::line!("  {}", in_one_line(operator));
    render::lines("    ", operator.releases.iter().map(release));
    if let Some(hint) = hint {
        render::line!("    hint: {hint}");
    }
}

/// Returns the state of an operator: its version, its ready pods, and why it does not run as it should.
fn in_one_line(operator: &OperatorStatus) -> String {
    let runs = operator.runs.as_ref();
    let runs = runs.map(|runs| format!(" ({runs} runs)"));
    let counted = counted(operator).map(|(count, what)| format!("{count} {what} ready"));
    let said: Vec<String> = counted.into_iter().chain(operator.why.clone()).collect();
    let (solution, version) = (&operator.solution, &operator.version);
    let (runs, said) = (runs.unwrap_or_default(), said.join(": "));
    format!("{solution} {version}{runs}  {said}")
}

/// Returns how many pods of an operator are ready of how many that it wants, as a cell of a table.
pub(super) fn pods(operator: &OperatorStatus) -> String {
    let counted = counted(operator).map(|(count, what)| match what {
        "pods" => count,
        what => format!("{count} {what}"),
    });
    render::cell(counted)
}

/// Returns `1/2`, and of which objects; none if they are not known.
fn counted(operator: &OperatorStatus) -> Option<(String, &'static str)> {
    let ([ready, wanted], what) = match (operator.pods, operator.ready) {
        // What an operator of another project makes of its own objects has no pods here.
        (Some([_, 0]), Some(ready @ [_, wanted])) if wanted > 0 => (ready, "objects"),
        (pods, _) => (pods?, "pods"),
    };
    Some((format!("{ready}/{wanted}"), what))
}

/// Returns the condition of an operator in a namespace that may be being deleted.
pub(super) fn state(operator: &OperatorStatus, is_going: bool) -> String {
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

/// Returns what runs of a release that is installed once, and what was installed if that is another version.
pub(super) fn release(release: &RunningRelease) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

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
