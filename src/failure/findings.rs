//! What it comes to when findings cannot be judged as somebody asks.

use std::path::Path;

use validator::{JudgingFault, UnusablePolicy};

use super::{Failure, Outcome};

const WARNINGS: &str = "choose the id of a warning that the check reports (`solution explain ID` describes it), and none of the groups signature, integrity and container";

/// A flag asks for what there is not, or for what nothing may judge.
pub(crate) fn misjudged(flag: &'static str) -> impl FnOnce(JudgingFault) -> Failure {
    move |fault| Failure::usage(format_args!("{flag}: {fault}")).hint(WARNINGS)
}

/// A policy for findings cannot be used.
pub(crate) fn findings_policy(path: &Path, error: UnusablePolicy) -> Failure {
    let problems: Vec<String> = match &error {
        UnusablePolicy::Faults(problems) => problems.iter().map(ToString::to_string).collect(),
        UnusablePolicy::Document(_) | UnusablePolicy::Lines(_) => Vec::new(),
    };
    let failure = Failure::new(Outcome::Usage, error).context(format!(
        "cannot use the findings policy `{}`",
        path.display()
    ));
    let hint = if problems.is_empty() {
        "correct the file: `solution schema findings-policy` prints its schema"
    } else {
        WARNINGS
    };
    problems
        .into_iter()
        .fold(failure, Failure::because)
        .hint(hint)
}
