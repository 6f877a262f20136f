//! `solution crds deactivate`: removes the CRDs of a Solution.

use clap::Args;
use importer::Change;
use schemas::SolutionName;

use super::hindered::free;
use super::undo::{UseArguments, undo};
use crate::args::{Output, RemovalArguments};
use crate::failure::{Failure, Outcome};

/// Remove a Solution's CRDs, once it is deployed nowhere and no custom resource is left
#[derive(Args, Debug)]
#[command(after_help = "\
Refused while custom resources exist, and while anything in any namespace runs with images of the
Solution: all of it is listed. With --even-if-used, custom resources are deleted with their CRDs.

Examples:
  solution crds deactivate example --dry-run
  solution crds deactivate example --yes
  solution crds deactivate example --even-if-used example")]
pub(crate) struct Arguments {
    /// The Solution's name
    solution: SolutionName,

    #[command(flatten)]
    uses: UseArguments,

    #[command(flatten)]
    removal: RemovalArguments,
}

impl Arguments {
    pub(crate) fn run(&self, output: Output) -> Result<Outcome, Failure> {
        let done = format!("{} is deactivated", self.solution);
        let name = self.solution.as_str();
        let even_if_used = self.uses.choice(name)?;
        let forced =
            format!("to delete custom resources with their CRDs, use `--even-if-used {name}`");
        undo(
            &self.removal,
            output,
            &done,
            &forced,
            &async |change: &Change<'_>| {
                free(importer::deactivate(change, &self.solution, even_if_used).await)
            },
        )
    }
}
