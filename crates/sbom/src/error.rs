//! The errors of creating, reading and matching SBOMs. Errors of a program contain the end of its message.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use files::ReadError;
use process::RunError;
use progress::Cancelled;
use schemas::printable_within;

use crate::limits;

/// The reason why an SBOM could not be created, read or matched.
#[derive(Debug, thiserror::Error)]
pub enum SbomError {
    /// The program does not exist.
    #[error("program `{}` not found", .0.display())]
    Missing(PathBuf),
    /// The program cannot be started.
    #[error("cannot run `{}`", .0.display())]
    Start(PathBuf, #[source] io::Error),
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
    #[error("{0} printed something that cannot be understood")]
    Printed(&'static str, #[source] serde_json::Error),
    /// An input file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The directory with the files of a run cannot be written.
    #[error("cannot write to `{}`", .0.display())]
    Scratch(PathBuf, #[source] io::Error),
    /// A document is not an SBOM of the expected format.
    #[error("it is no SBOM that can be read")]
    Document(#[source] serde_json::Error),
    /// The operation was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Extracts the error message from a program's standard error as one line without the log prefix. Lines before the
/// error are progress messages.
pub(crate) fn error_message(stderr: &[u8]) -> String {
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
        RunError::Start(source) => SbomError::Start(program, source),
        RunError::Failed { said, .. } => SbomError::Failed {
            name,
            said: error_message(&said),
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
        let said = |stderr: &str| error_message(stderr.as_bytes());
        let stderr = "[0000]  WARN old\n[0001] ERROR 2 errors occurred:\n\t* a\u{1b}\n\t* b\n";
        assert_eq!(said(stderr), r"2 errors occurred: * a\u{1b} * b");
        assert_eq!(said("killed\n"), "killed");
        assert_eq!(said(" \n"), "it failed without a message");
    }

    #[test]
    fn the_error_of_a_run_names_the_program() {
        let limits = process::RunLimits {
            time: Duration::from_secs(7),
            farewell: Duration::ZERO,
            memory: 0,
            file: 0,
            output: 42,
        };
        let failed = || RunError::Failed {
            code: Some(1),
            said: b"[0001] ERROR no database\n".to_vec(),
        };
        for (error, expected) in [
            (RunError::Missing, "program `/bin/syft` not found"),
            (
                RunError::Start(io::ErrorKind::PermissionDenied.into()),
                "cannot run `/bin/syft`",
            ),
            (failed(), "syft failed: no database"),
            (RunError::TooLong, "syft did not end within 7 s"),
            (RunError::TooMuch, "syft wrote more than 42 bytes"),
        ] {
            let error = in_full("syft", "/bin/syft".into(), limits, error);
            assert_eq!(error.to_string(), expected);
        }
        for error in [RunError::Killed, RunError::Cancelled(Cancelled)] {
            let error = in_full("syft", "/bin/syft".into(), limits, error);
            assert!(matches!(error, SbomError::Cancelled(_)), "{error}");
        }
    }
}
