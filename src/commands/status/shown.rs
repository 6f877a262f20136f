//! A status for people.

use importer::{ChangeReceipt, OperatorStatus, RunningRelease, Unseen};

use super::{Hinted, ShownStatus, incomplete};
use crate::args::choose;
use crate::render;

/// Shows a status.
pub(super) fn show(status: &ShownStatus) {
    if status.versions.is_empty() && status.unseen.is_empty() {
        render::line("no Solution is imported");
    }
    for version in status.versions {
        let active = choose(version.active, ", CRDs active", "");
        let record = &version.record;
        let images = record.images.iter();
        let images = images.filter(|image| image.image.tag.subject().is_none());
        let images = render::count(images.count(), "image");
        let until = record.expires.map(|it| format!(", expires {it}"));
        let until = until.unwrap_or_default();
        let (name, version, endpoint) = (&record.name, &record.version, &record.endpoint);
        render::line!("{name} {version}  {images}{active}{until}  from {endpoint}");
    }
    for space in status.environments {
        let of = if space.namespace.as_str() == space.environment.as_str() {
            String::new()
        } else {
            format!(" (namespace {})", space.namespace)
        };
        let going = choose(space.going, ", is being deleted", "");
        render::line!("environment {}{of}{going}", space.environment);
        let operators = status.operators.iter();
        let here = operators.filter(|it| it.operator.namespace == space.namespace);
        here.for_each(show_operator);
    }
    status.incomplete.iter().for_each(show_incomplete);
    render::lines("note: ", status.notes);
    show_unseen(status.unseen);
}

/// Shows a change that is incomplete, and what completes it.
pub(in crate::commands) fn show_incomplete(receipt: &ChangeReceipt) {
    render::line(incomplete::in_words(receipt));
    render::line!("  hint: {}", incomplete::way_on(&receipt.outcome));
}

/// What this user may not see, all of it together.
fn show_unseen(unseen: &[Unseen]) {
    if unseen.is_empty() {
        return;
    }
    render::line("not shown because a right is missing:");
    for Unseen { what, right } in unseen {
        render::line!("  {what} ({right})");
    }
    render::line(
        "  hint: ask the cluster administrator for the roles that `solution site rbac --verb status` prints",
    );
}

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
    let counted = match (operator.pods, operator.ready) {
        // What an operator of another project makes of its own objects has no pods here.
        (Some([_, 0]), Some([ready, wanted])) if wanted > 0 => {
            Some(format!("{ready}/{wanted} objects ready"))
        }
        (pods, _) => pods.map(|[ready, wanted]| format!("{ready}/{wanted} pods ready")),
    };
    let said: Vec<String> = counted.into_iter().chain(operator.why.clone()).collect();
    let (solution, version) = (&operator.solution, &operator.version);
    let (runs, said) = (runs.unwrap_or_default(), said.join(": "));
    format!("{solution} {version}{runs}  {said}")
}

/// Returns what runs of a release that is installed once, and what was installed if that is another version.
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

#[cfg(test)]
mod tests {
    use importer::Condition;

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
        assert_eq!(in_one_line(&operator), "shop 1.1.0  6/6 pods ready");
        operator.pods = Some([0, 0]);
        assert_eq!(in_one_line(&operator), "shop 1.1.0  2/2 objects ready");
        operator.ready = Some([0, 1]);
        operator.pods = Some([1, 1]);
        operator.runs = Some("1.0.0".parse().unwrap());
        operator.why = Some("its Deployment belongs to version 1.0.0".to_owned());
        assert_eq!(
            in_one_line(&operator),
            "shop 1.1.0 (1.0.0 runs)  1/1 pods ready: its Deployment belongs to version 1.0.0"
        );
        operator.pods = None;
        operator.runs = None;
        operator.why = Some("its Deployment is gone".to_owned());
        assert_eq!(in_one_line(&operator), "shop 1.1.0  its Deployment is gone");
    }
}
