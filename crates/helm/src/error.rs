//! Why Helm did not do what it was asked to.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use schemas::Digest;
use watch::Cancelled;

/// What went wrong with a run of Helm.
#[derive(Debug, thiserror::Error)]
pub enum HelmError {
    /// There is no such program.
    #[error("there is no program `{}`", .0.display())]
    Missing(PathBuf),
    /// It cannot be started, or what it is given cannot be written.
    #[error("cannot run `{}`", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// It says of itself that it is something else, or another version.
    #[error("`{}` is not Helm 4: it says `{said}`", program.display())]
    NotHelm4 {
        /// The program.
        program: PathBuf,
        /// What it says of its version, shortened.
        said: String,
    },
    /// The bytes that were given as a program are not those that were signed.
    #[error(
        "the included program has the digest {found}, not the signed {expected}: damaged or altered"
    )]
    Altered {
        /// The digest that was signed.
        expected: Box<Digest>,
        /// That of its bytes.
        found: Box<Digest>,
    },
    /// It failed.
    #[error("{program} {verb}: {said}")]
    Failed {
        /// Helm, or Helmfile.
        program: &'static str,
        /// What it was asked to do.
        verb: &'static str,
        /// The last that it said.
        said: String,
    },
    /// It did what it was asked to, and what it says of that cannot be read.
    #[error("helm {verb} printed something else than a release")]
    Printed {
        /// What it was asked to do.
        verb: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// It did not end in time.
    #[error("{program} {verb} did not end within {} s", limit.as_secs())]
    TooLong {
        /// Helm, or Helmfile.
        program: &'static str,
        /// What it was asked to do.
        verb: &'static str,
        /// How long it may take.
        limit: Duration,
    },
    /// It wrote more than is read.
    #[error("{program} {verb} wrote more than {limit} bytes")]
    TooMuch {
        /// Helm, or Helmfile.
        program: &'static str,
        /// What it was asked to do.
        verb: &'static str,
        /// Bytes that it may write.
        limit: u64,
    },
    /// It was asked to end, did not in its time, and was killed. A release that it was changing is half done.
    #[error("{program} {verb} was killed: it had not ended by itself")]
    Killed {
        /// Helm, or Helmfile.
        program: &'static str,
        /// What it was asked to do.
        verb: &'static str,
    },
    /// The work was ended before it was done.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}
