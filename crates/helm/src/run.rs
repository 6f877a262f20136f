//! One run of Helm, Helmfile or `solution`: [`HelmRun`] describes it, `run` executes it within the limits. The module
//! also reduces the standard error of a failed run to the message that users need.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::time::Duration;

use process::{ProgramRun, RunError, RunLimits};
use progress::Cancel;

use crate::error::HelmError;
use crate::helm_home::HelmHome;
use crate::limits;

/// The exit code of Go's runtime after a fatal error. Helm itself fails only with 1.
const BROKEN: i32 = 2;

/// The name of Helm, which most runs execute.
const HELM: &str = "helm";

/// A command of a program.
#[derive(Debug)]
pub struct HelmRun<'a> {
    /// The directory with its files.
    pub home: &'a HelmHome,
    /// The time limit.
    pub time: Duration,
    /// The time between the request to end and the kill. Zero for programs that leave no incomplete work: they are
    /// killed at once, which counts as cancelled.
    pub farewell: Duration,
    /// Additional environment variables. Nothing is inherited from this process. They override the locations of Helm's
    /// files, and a later entry overrides an earlier one.
    pub environment: Vec<(OsString, OsString)>,
    /// Captures the standard output. The standard error is always captured.
    pub heard: bool,
    /// The program: Helm, `solution`, or Helmfile, which uses the user's files instead of `home`.
    program: &'static str,
    verb: &'static str,
    arguments: Vec<OsString>,
}

impl<'a> HelmRun<'a> {
    /// Creates a run of Helm that changes nothing. It has a time limit of an hour and no variables, and its output is
    /// captured.
    #[must_use]
    pub fn new(home: &'a HelmHome, verb: &'static str) -> Self {
        Self::for_program(HELM, home, verb)
    }

    /// Creates a run of Helmfile.
    pub(crate) fn of_helmfile(home: &'a HelmHome, verb: &'static str) -> Self {
        Self::for_program("helmfile", home, verb)
    }

    /// Creates a run of `solution`.
    pub(crate) fn of_solution(home: &'a HelmHome, verb: &'static str) -> Self {
        Self::for_program("solution", home, verb)
    }

    fn for_program(program: &'static str, home: &'a HelmHome, verb: &'static str) -> Self {
        Self {
            home,
            time: Duration::from_hours(1),
            farewell: Duration::ZERO,
            environment: Vec::new(),
            heard: true,
            program,
            verb,
            arguments: vec![verb.into()],
        }
    }

    /// Adds arguments, which must not begin with `-`.
    pub fn arguments(&mut self, arguments: impl IntoIterator<Item = OsString>) {
        self.arguments.extend(arguments);
    }

    /// Adds a flag with its value in one argument, so that the value may begin with `-`.
    pub fn flag(&mut self, name: &str, value: impl AsRef<OsStr>) {
        let mut flag = OsString::from(format!("--{name}="));
        flag.push(value);
        self.arguments.push(flag);
    }
}

/// Runs a program and returns its standard output; no bytes if it is not captured.
pub(crate) fn run(
    program: &Path,
    run: &HelmRun<'_>,
    cancel: Cancel<'_>,
) -> Result<Vec<u8>, HelmError> {
    let mut environment = Vec::new();
    // Helmfile uses the user's files, and `solution` needs none to report its version.
    if run.program == HELM {
        let variables = run.home.variables();
        environment.extend(variables.map(|(name, path)| (name.to_owned(), path.into())));
    }
    environment.extend_from_slice(&run.environment);
    let started = ProgramRun {
        program,
        arguments: &run.arguments,
        environment,
        directory: None,
        heard: run.heard,
        limits: RunLimits {
            time: run.time,
            farewell: run.farewell,
            memory: limits::MEMORY,
            file: limits::FILE,
            output: limits::OUTPUT,
        },
    };
    started
        .run(cancel)
        .map_err(|error| in_full(program, run, error))
}

/// Adds the program and its verb to the error of a run.
fn in_full(path: &Path, run: &HelmRun<'_>, error: RunError) -> HelmError {
    let (program, verb) = (run.program, run.verb);
    match error {
        RunError::Missing => HelmError::Missing(path.to_owned()),
        RunError::Start(source) => failed(path, source),
        RunError::Failed { code, said } => {
            // Helmfile uses this exit code too, if it finds no releases.
            let is_broken = code == Some(BROKEN) && program == HELM;
            let said = if is_broken {
                crash_message()
            } else {
                error_message(&said)
            };
            HelmError::Failed {
                program,
                verb,
                said,
            }
        }
        RunError::TooLong => HelmError::TooLong {
            program,
            verb,
            limit: run.time,
        },
        RunError::TooMuch => HelmError::TooMuch {
            program,
            verb,
            limit: limits::OUTPUT,
        },
        RunError::Killed => HelmError::Killed { program, verb },
        RunError::Cancelled(cancelled) => cancelled.into(),
    }
}

/// Creates the error for a failed operation of the operating system.
pub(crate) fn failed(program: &Path, source: io::Error) -> HelmError {
    HelmError::Run(program.to_owned(), source)
}

/// Returns the message for a crashed run. Its own output is a stack trace, which does not help users.
fn crash_message() -> String {
    let most = limits::MEMORY >> 20;
    format!("it was terminated, most likely because it ran out of memory: its limit is {most} MiB")
}

/// Extracts the error message from a program's standard error as one line, without the prefix `Error: ` and without the
/// advice to use a flag of Helm. Lines before the error are progress messages and output of hooks.
fn error_message(stderr: &[u8]) -> String {
    const ADVICE: &str = "Use --debug flag to render out invalid YAML";
    let text = String::from_utf8_lossy(stderr);
    let text = text.trim();
    let error = text.rsplit_once("\nError: ").map(|(_, error)| error);
    let text = error.or(text.strip_prefix("Error: ")).unwrap_or(text);
    let text = text.strip_suffix(ADVICE).unwrap_or(text);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    match lines[..] {
        [] => "it failed without a message".to_owned(),
        _ => lines.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_is_told_without_what_was_said_before() {
        let said = |stderr: &str| error_message(stderr.as_bytes());
        let stderr = "level=WARN msg=\"upgrade failed\" name=shop\nError: of a hook\nError: UPGRADE FAILED: a\n\n  b\n";
        assert_eq!(said(stderr), "UPGRADE FAILED: a b");
        assert_eq!(said("Error: a Error: b\n"), "a Error: b");
        assert_eq!(said("killed\n"), "killed");
        assert_eq!(said(" \n"), "it failed without a message");
    }
}
