//! The archives that a configuration lists, each checked as an import checks it. One that is refused is no more than that.

use std::path::Path;
use std::sync::Arc;

use importer::configuration::ListedArchive;
use schemas::SolutionsConfiguration;
use validator::Report;

use super::Arguments;
use crate::args::Output;
use crate::commands::import::{self, Acceptance};
use crate::commands::refusal::InTheWay;
use crate::failure::{Failure, Outcome};

/// An archive that is accepted, and what was found of it all the same.
pub(super) type Archive = Arc<Acceptance>;

/// A listed archive.
pub(super) struct Listed {
    /// Its path, as it is listed.
    path: String,
    pub(super) found: Result<Archive, Refusal>,
}

/// Why something is not done, and what that comes to.
#[derive(Clone)]
pub(super) struct Refusal {
    pub(super) why: Vec<InTheWay>,
    pub(super) outcome: Outcome,
}

/// Opens and checks every archive. Fails only where no archive could be judged.
pub(super) fn open(
    arguments: &Arguments,
    file: &Path,
    configuration: &SolutionsConfiguration,
    output: Output,
) -> Result<Vec<Listed>, Failure> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut listed = Vec::new();
    for path in &configuration.archives {
        let found = match import::judge(&folder.join(path), &arguments.signers, output) {
            Ok(judged) => judged.map(Archive::new).map_err(|it| Refusal::from(&*it)),
            // Whose signatures count is the same question for all.
            Err(failure) if failure.outcome() == Outcome::Usage => return Err(failure),
            Err(failure) => Err(Refusal::from(&failure)),
        };
        listed.push(Listed {
            path: path.clone(),
            found,
        });
    }
    Ok(listed)
}

impl Listed {
    /// The archive by the version that it is of.
    pub(super) fn identified(&self) -> ListedArchive {
        let accepted = self.found.as_ref().ok();
        let id = accepted.map(|it| it.accepted.statement().predicate.id.clone());
        ListedArchive {
            path: self.path.clone(),
            id,
        }
    }
}

impl From<&Report> for Refusal {
    fn from(report: &Report) -> Self {
        Self {
            why: InTheWay::of_report(report),
            outcome: Outcome::No,
        }
    }
}

impl From<&Failure> for Refusal {
    fn from(failure: &Failure) -> Self {
        Self {
            why: vec![failure.into()],
            outcome: failure.outcome(),
        }
    }
}
