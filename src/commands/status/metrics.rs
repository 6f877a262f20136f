//! The status as metrics, in the text form that Prometheus reads ("Exposition formats", 0.0.4). Values of labels are
//! checked names, in which nothing has to be escaped.

use std::fmt::Write as _;

use importer::{Condition, OperatorStatus, Status};

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
        "Whether a Solution runs in an environment as it should.",
        seen().map(|it| (labels(it), usize::from(it.is_ready()))),
    );
    gauge(
        &mut text,
        "solution_drifted",
        "Whether something of a Solution is gone, changed or of another version.",
        seen().map(|it| (labels(it), usize::from(has_drifted(it.condition)))),
    );
    let all = String::new;
    gauge(
        &mut text,
        "solution_incomplete_changes",
        "Changes of which a part may be there.",
        [(all(), status.incomplete.len())],
    );
    gauge(
        &mut text,
        "solution_unseen",
        "Parts of the status that the account which reads it may not see.",
        [(all(), status.unseen.len())],
    );
    text
}

fn gauge(
    text: &mut String,
    name: &str,
    help: &str,
    samples: impl IntoIterator<Item = (String, usize)>,
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

fn has_drifted(condition: Condition) -> bool {
    match condition {
        Condition::Ready | Condition::NotReady | Condition::Unseen => false,
        Condition::OtherVersion | Condition::Changed | Condition::Gone => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solution_is_a_line_of_each_metric_unless_it_cannot_be_seen() {
        let of = |name: &str, condition| OperatorStatus {
            solution: name.parse().unwrap(),
            version: "1.1.0".parse().unwrap(),
            environment: "prod".parse().unwrap(),
            namespace: "prod-2".parse().unwrap(),
            ready: None,
            condition,
            why: None,
            awaited: None,
        };
        let status = Status {
            versions: Vec::new(),
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
        for (solution, ready, drifted) in [
            ("shop", Some("1"), Some("0")),
            ("late", Some("0"), Some("0")),
            ("gone", Some("0"), Some("1")),
            ("hidden", None, None),
        ] {
            assert_eq!(value("solution_ready", solution), ready, "{text}");
            assert_eq!(value("solution_drifted", solution), drifted, "{text}");
        }
        assert!(text.ends_with("\nsolution_unseen 0\n"), "{text}");
        let help = text.lines().filter(|line| line.starts_with("# HELP"));
        assert_eq!(help.count(), 4);
    }
}
