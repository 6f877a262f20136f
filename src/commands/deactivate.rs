//! `solution crds deactivate`: removes the CRDs of a Solution.

use clap::Args;
use importer::Change;
use schemas::SolutionName;

use super::hindered::free;
use super::undo::{UseArguments, undo};
use crate::args::{Output, RemovalArguments};
use crate::failure::{Failure, Outcome};

/// Remove the CRDs of a Solution that is not deployed
#[derive(Args, Debug)]
#[command(after_help = "\
The command is refused while custom resources exist, or while workloads in any namespace use images of the \
Solution. It lists them. With --even-if-used, it deletes custom resources with their CRDs.

Examples:
  solution crds deactivate example --dry-run
  solution crds deactivate example --yes
  solution crds deactivate example --even-if-used example")]
pub(crate) struct Arguments {
    /// The name of the Solution
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
