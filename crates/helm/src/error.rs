//! Errors for which Helm did not do what it was asked to.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use schemas::Digest;
use watch::Cancelled;

/// The words of Helm before those on the values that the schemas of charts refuse.
const REFUSED_VALUES: &str =
    "values don't meet the specifications of the schema(s) in the following chart(s):";

/// The words that Helm puts before those, where it would upgrade a release.
const UPGRADING: &str = "UPGRADE FAILED: ";

/// The error of a run of Helm.
#[derive(Debug, thiserror::Error)]
pub enum HelmError {
    /// The program does not exist.
    #[error("program `{}` not found", .0.display())]
    Missing(PathBuf),
    /// The program cannot be started, or what it is given cannot be written.
    #[error("cannot run `{}`", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The program says of itself that it is something else, or another version.
    #[error("`{}` is not Helm 4: it says `{said}`", program.display())]
    NotHelm4 {
        /// The program.
        program: PathBuf,
        /// The words that it has for its version, shortened.
        said: String,
    },
    /// The program says of itself that it is something else than `solution`: its words, shortened.
    #[error("the program is not `solution`: it says `{0}`")]
    NotSolution(String),
    /// The bytes that were given as a program are not those that were signed.
    #[error(
        "the included program has the digest {found}, not the signed {expected}: damaged or altered"
    )]
    Altered {
        /// The digest that was signed.
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
        /// The last that it said.
        said: String,
    },
    /// The program did what it was asked to, and what it says of that cannot be read.
    #[error("helm {verb} did not print a release")]
    Printed {
        /// The verb of the command.
        verb: &'static str,
        /// The problem with the output.
        source: serde_json::Error,
    },
    /// The program did not end in time.
    #[error("{program} {verb} did not end within {} s", limit.as_secs())]
    TooLong {
        /// The program: Helm or Helmfile.
        program: &'static str,
        /// The verb of the command.
        verb: &'static str,
        /// The time that it may take.
        limit: Duration,
    },
    /// The program wrote more than is read.
    #[error("{program} {verb} wrote more than {limit} bytes")]
    TooMuch {
        /// The program: Helm or Helmfile.
        program: &'static str,
        /// The verb of the command.
        verb: &'static str,
        /// Bytes that it may write.
        limit: u64,
    },
    /// The program was asked to end, did not in its time, and was killed. A release that it was changing is half done.
    #[error("{program} {verb} was killed: it had not ended by itself")]
    Killed {
        /// The program: Helm or Helmfile.
        program: &'static str,
        /// The verb of the command.
        verb: &'static str,
    },
    /// The work was ended before it was done.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl HelmError {
    /// Returns what Helm says of values that the schema of their chart refuses; none if that is not what it failed over.
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
