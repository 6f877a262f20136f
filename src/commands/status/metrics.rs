//! The status as metrics, in the text form that Prometheus reads ("Exposition formats", 0.0.4). Values of labels are
//! checked names, in which nothing has to be escaped.

use std::fmt::{Display, Write as _};

use importer::{Condition, OperatorStatus, Status};
use schemas::StatementTime;

/// The media type.
pub(super) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns the metrics of a status. Of a Solution that this user may not see nothing is said.
pub(super) fn text(status: &Status) -> String {
    let mut text = String::new();
    let seen = || {
        let operators = status.operators.iter();
        operators.filter(|it| it.condition != Condition::Unseen)
    };
    gauge(
        &mut text,
        "solution_ready",
        "Whether a Solution is ready in an environment.",
        seen().map(|it| (labels(it), u8::from(it.is_ready()))),
    );
    gauge(
        &mut text,
        "solution_drifted",
        "Whether objects of a Solution are missing, changed or of another version.",
        seen().map(|it| (labels(it), u8::from(has_drifted(it.condition)))),
    );
    gauge(
        &mut text,
        "solution_expires_timestamp_seconds",
        "When the version of a Solution expires, as its publisher set it.",
        seen().filter_map(|it| Some((labels(it), expires(status, it)?.unix()))),
    );
    let all = String::new;
    gauge(
        &mut text,
        "solution_incomplete_changes",
        "Changes that are incomplete.",
        [(all(), status.incomplete.len())],
    );
    gauge(
        &mut text,
        "solution_unseen",
        "Parts of the status that the account may not read.",
        [(all(), status.unseen.len())],
    );
    text
}

fn gauge<V: Display>(
    text: &mut String,
    name: &str,
    help: &str,
    samples: impl IntoIterator<Item = (String, V)>,
) {
    let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n");
    for (labels, value) in samples {
        let _ = writeln!(text, "{name}{labels} {value}");
    }
}

fn labels(operator: &OperatorStatus) -> String {
    let OperatorStatus {
        solution,
        version,
        environment,
        namespace,
        ..
    } = operator;
    format!(
        "{{solution=\"{solution}\",version=\"{version}\",environment=\"{environment}\",namespace=\"{namespace}\"}}"
    )
}

/// Returns when the version that runs expires, if its publisher said so and it is imported.
fn expires(status: &Status, operator: &OperatorStatus) -> Option<StatementTime> {
    let mut records = status.versions.iter().map(|it| &it.record);
    let record =
        records.find(|it| it.name == operator.solution && it.version == operator.version)?;
    record.expires
}

fn has_drifted(condition: Condition) -> bool {
    match condition {
        Condition::Ready | Condition::NotReady | Condition::Unseen => false,
        Condition::OtherVersion | Condition::Changed | Condition::Gone => true,
    }
}

#[cfg(test)]
mod tests {
    use importer::VersionStatus;
    use serde_json::json;

    use super::*;

    /// Version 1.1.0 of a Solution as imported.
    fn imported(solution: &str, expires: Option<&str>) -> VersionStatus {
        let digest = "0".repeat(64);
        let manifest = json!({
            "apiVersion": "solutions.metalk8s.scality.com/v1alpha1",
            "kind": "Solution",
            "metadata": {"name": solution},
            "spec": {"version": "1.1.0", "images": []},
        });
        let record = json!({
            "name": solution, "version": "1.1.0",
            "archiveId": format!("sha256:{digest}"), "signers": [],
            "pushedTo": "r.test/s-1.1.0", "endpoint": "r.test/s-1.1.0", "images": [],
            "imported": "2026-01-01T00:00:00Z", "expires": expires, "manifest": manifest,
        });
        VersionStatus {
            record: serde_json::from_value(record).unwrap(),
            active: true,
            environments: Vec::new(),
        }
    }

    #[test]
    fn a_solution_is_a_line_of_each_metric_unless_it_cannot_be_seen() {
        let of = |name: &str, condition| OperatorStatus {
            solution: name.parse().unwrap(),
            version: "1.1.0".parse().unwrap(),
            environment: "prod".parse().unwrap(),
            namespace: "prod-2".parse().unwrap(),
            runs: None,
            ready: None,
            pods: None,
            condition,
            why: None,
            releases: Vec::new(),
            awaited: None,
        };
        let status = Status {
            versions: vec![
                imported("shop", Some("2026-12-31T00:00:00Z")),
                imported("gone", None),
            ],
            environments: Vec::new(),
            operators: vec![
                of("shop", Condition::Ready),
                of("late", Condition::NotReady),
                of("gone", Condition::Gone),
                of("hidden", Condition::Unseen),
            ],
            incomplete: Vec::new(),
            notes: Vec::new(),
            unseen: Vec::new(),
        };
        let text = text(&status);
        let value = |metric: &str, solution: &str| {
            let begin = format!(
                "{metric}{{solution=\"{solution}\",version=\"1.1.0\",environment=\"prod\",namespace=\"prod-2\"}} "
            );
            let mut lines = text.lines();
            lines.find_map(|line| line.strip_prefix(&begin))
        };
        for (solution, ready, drifted, expires) in [
            ("shop", Some("1"), Some("0"), Some("1798675200")),
            ("late", Some("0"), Some("0"), None),
            ("gone", Some("0"), Some("1"), None),
            ("hidden", None, None, None),
        ] {
            assert_eq!(value("solution_ready", solution), ready, "{text}");
            assert_eq!(value("solution_drifted", solution), drifted, "{text}");
            let at = value("solution_expires_timestamp_seconds", solution);
            assert_eq!(at, expires, "{text}");
        }
        assert!(text.ends_with("\nsolution_unseen 0\n"), "{text}");
        let help = text.lines().filter(|line| line.starts_with("# HELP"));
        assert_eq!(help.count(), 5);
    }
}
