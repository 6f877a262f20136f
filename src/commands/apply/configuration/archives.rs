//! The archives that a configuration lists, each checked as an import checks it. One that is refused is no more than that.

use std::path::Path;
use std::sync::Arc;

use rules::catalogue::Severity;
use schemas::{SolutionId, SolutionsConfiguration};
use validator::{Finding, Report};

use super::Arguments;
use super::show::{Action, Step};
use crate::args::Output;
use crate::commands::import::{self, Acceptance};
use crate::commands::refusal::InTheWay;
use crate::failure::{Failure, Outcome};

/// An archive that is accepted, and what was found of it all the same.
pub(super) type Archive = Arc<Acceptance>;

/// What is listed: the step of each archive, with the archive if it is accepted.
pub(super) type Listed = Vec<(Step, Option<Archive>)>;

/// Opens and checks every archive. Fails only where no archive could be judged.
pub(super) fn open(
    arguments: &Arguments,
    file: &Path,
    configuration: &SolutionsConfiguration,
    output: Output,
) -> Result<Listed, Failure> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut listed = Listed::new();
    for path in &configuration.archives {
        let step = Step {
            archive: Some(path.clone()),
            ..Step::new(Action::Import)
        };
        let signers = &arguments.signers;
        listed.push(match import::judge(&folder.join(path), signers, output) {
            Ok(Ok(accepted)) => once(step, accepted, &listed),
            Ok(Err(report)) => (step.failed(found(&report), Outcome::No), None),
            // Whose signatures count is the same question for all.
            Err(failure) if failure.outcome() == Outcome::Usage => return Err(failure),
            Err(failure) => (step.because(&failure), None),
        });
    }
    Ok(listed)
}

/// The step of an accepted archive, refused if another one is of the same version.
fn once(step: Step, accepted: Acceptance, listed: &Listed) -> (Step, Option<Archive>) {
    let id = id(&accepted);
    let step = Step {
        solution: Some(id.name().clone()),
        version: Some(id.version().clone()),
        ..step
    };
    let mut before = listed.iter().map(|(step, _)| step);
    match before.find(|step| step.is_about(id.name(), id.version())) {
        None => (step, Some(Arc::new(accepted))),
        Some(other) => {
            let other = other.archive.as_deref().unwrap_or_default();
            let message = format!("`{other}` is of the same version");
            let why = InTheWay::new(message, "list one of the two");
            (step.failed(vec![why], Outcome::No), None)
        }
    }
}

/// The Solution and version of an archive.
pub(super) fn id(archive: &Acceptance) -> &SolutionId {
    &archive.accepted.statement().predicate.id
}

/// Why an archive is not accepted.
pub(super) fn found(report: &Report) -> Vec<InTheWay> {
    let findings = report.findings().iter();
    let errors = findings.filter(|finding| finding.severity == Severity::Error);
    let in_the_way = |it: &Finding| {
        let message = format!("[{}] {} {}", it.id, it.place, it.message);
        InTheWay::new(message, it.fix)
    };
    errors.map(in_the_way).collect()
}
