//! The errors of running Helm, Helmfile or `solution`: [`HelmError`]. Messages of the programs are part of the errors,
//! because they are the only explanation of a failure.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use progress::Cancelled;
use schemas::Digest;

/// Helm's message before the list of values that the schemas of charts refuse.
const REFUSED_VALUES: &str =
    "values don't meet the specifications of the schema(s) in the following chart(s):";

/// Helm's prefix of that message when it upgrades a release.
const UPGRADING: &str = "UPGRADE FAILED: ";

/// The error of a run of Helm.
#[derive(Debug, thiserror::Error)]
pub enum HelmError {
    /// The program does not exist.
    #[error("program `{}` not found", .0.display())]
    Missing(PathBuf),
    /// The program cannot be started, or its input files cannot be written.
    #[error("cannot run `{}`", .0.display())]
    Run(PathBuf, #[source] io::Error),
    /// The program identifies itself as another program, or as another version of Helm.
    #[error("`{}` is not Helm 4: it says `{said}`", program.display())]
    NotHelm4 {
        /// The program.
        program: PathBuf,
        /// The beginning of its output.
        said: String,
    },
    /// The program does not identify itself as `solution`. The text is the beginning of its output.
    #[error("the program is not `solution`: it says `{0}`")]
    NotSolution(String),
    /// The bytes of a program do not have the signed digest.
    #[error(
        "the included program has the digest {found}, not the signed {expected}: damaged or altered"
    )]
    Altered {
        /// The signed digest.
        expected: Box<Digest>,
        /// The digest of the program's bytes.
        found: Box<Digest>,
    },
    /// The program failed.
    #[error("{program} {verb}: {said}")]
    Failed {
        /// The program: Helm or Helmfile.
        program: &'static str,
        /// The verb of the command.
        verb: &'static str,
        /// The end of its standard error.
        said: String,
    },
    /// The program succeeded, but its output cannot be parsed.
    #[error("helm {0} did not print a release")]
    Printed(&'static str, #[source] serde_json::Error),
    /// The program exceeded its time limit.
    #[error("{program} {verb} did not end within {} s", limit.as_secs())]
    TooLong {
        /// The program: Helm or Helmfile.
        program: &'static str,
        /// The verb of the command.
        verb: &'static str,
        /// The time limit.
        limit: Duration,
    },
    /// The program exceeded its output limit.
    #[error("{program} {verb} wrote more than {limit} bytes")]
    TooMuch {
        /// The program: Helm or Helmfile.
        program: &'static str,
        /// The verb of the command.
        verb: &'static str,
        /// The limit in bytes.
        limit: u64,
    },
    /// The program did not end in time after it was asked to, and was killed. A release that it was changing is
    /// incomplete.
    #[error("{program} {verb} was killed: it had not ended by itself")]
    Killed {
        /// The program: Helm or Helmfile.
        program: &'static str,
        /// The verb of the command.
        verb: &'static str,
    },
    /// The operation was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl HelmError {
    /// Returns Helm's message about values that the chart's schema refuses; none if Helm failed for another reason.
    #[must_use]
    pub fn refused_values(&self) -> Option<&str> {
        match self {
            Self::Failed { said, .. } => {
                let said = said.strip_prefix(UPGRADING).unwrap_or(said);
                said.strip_prefix(REFUSED_VALUES).map(str::trim)
            }
            _ => None,
        }
    }
}
