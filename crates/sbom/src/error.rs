//! The errors of creating, reading and matching SBOMs. Errors of a program contain the end of its message.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use files::ReadError;
use process::RunError;
use schemas::printable_within;
use watch::Cancelled;

use crate::limits;

/// The reason why an SBOM could not be created, read or matched.
#[derive(Debug, thiserror::Error)]
pub enum SbomError {
    /// The program does not exist.
    #[error("program `{}` not found", .0.display())]
    Missing(PathBuf),
    /// The program cannot be started.
    #[error("cannot run `{}`", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The program identifies itself as another program, or not at all.
    #[error("`{}` is not {name}", program.display())]
    OtherProgram {
        /// The program.
        program: PathBuf,
        /// The expected name.
        name: &'static str,
    },
    /// The program failed.
    #[error("{name} failed: {said}")]
    Failed {
        /// The program.
        name: &'static str,
        /// The end of its standard error.
        said: String,
    },
    /// The program exceeded its time limit.
    #[error("{name} did not end within {} s", limit.as_secs())]
    TooLong {
        /// The program.
        name: &'static str,
        /// The time limit.
        limit: Duration,
    },
    /// The program exceeded its output limit.
    #[error("{name} wrote more than {limit} bytes")]
    TooMuch {
        /// The program.
        name: &'static str,
        /// The limit in bytes.
        limit: u64,
    },
    /// The program succeeded, but its output cannot be parsed.
    #[error("{name} printed something that cannot be understood")]
    Printed {
        /// The program.
        name: &'static str,
        /// The problem with the output.
        source: serde_json::Error,
    },
    /// An input file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The directory with the files of a run cannot be written.
    #[error("cannot write to `{}`", directory.display())]
    Scratch {
        /// The directory.
        directory: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A document is not an SBOM of the expected format.
    #[error("it is no SBOM that can be read")]
    Document(#[source] serde_json::Error),
    /// The operation was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Extracts the error message from a program's standard error as one line without the log prefix. Lines before the
/// error are progress messages.
pub(crate) fn words(stderr: &[u8]) -> String {
    const MARK: &str = " ERROR ";
    let text = String::from_utf8_lossy(stderr);
    let error = text.rsplit_once(MARK).map_or(&*text, |(_, error)| error);
    let words: Vec<&str> = error.split_whitespace().collect();
    match words[..] {
        [] => "it failed without a message".to_owned(),
        _ => printable_within(&words.join(" "), limits::TEXT),
    }
}

/// Adds the program to the error of a run.
pub(crate) fn in_full(
    name: &'static str,
    program: PathBuf,
    limits: process::RunLimits,
    error: RunError,
) -> SbomError {
    match error {
        RunError::Missing => SbomError::Missing(program),
        RunError::Start(source) => SbomError::Start { program, source },
        RunError::Failed { said, .. } => SbomError::Failed {
            name,
            said: words(&said),
        },
        RunError::TooLong => SbomError::TooLong {
            name,
            limit: limits.time,
        },
        RunError::TooMuch => SbomError::TooMuch {
            name,
            limit: limits.output,
        },
        // The run has no time to end by itself, so it is only killed after a cancellation.
        RunError::Killed => SbomError::Cancelled(Cancelled),
        RunError::Cancelled(cancelled) => cancelled.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_is_told_without_what_was_said_before() {
        let said = |stderr: &str| words(stderr.as_bytes());
        let stderr = "[0000]  WARN old\n[0001] ERROR 2 errors occurred:\n\t* a\u{1b}\n\t* b\n";
        assert_eq!(said(stderr), r"2 errors occurred: * a\u{1b} * b");
        assert_eq!(said("killed\n"), "killed");
        assert_eq!(said(" \n"), "it failed without a message");
    }
}
