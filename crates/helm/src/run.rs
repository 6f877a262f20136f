//! One run of the program: its environment, its time, its memory and what it writes.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::time::Duration;

use process::{ProgramRun, RunError, RunLimits};
use watch::Cancel;

use crate::error::HelmError;
use crate::home::Home;
use crate::limits;

/// The exit code of Go's runtime where it cannot go on. Helm itself has no other than 1.
const BROKEN: i32 = 2;

/// The program that most runs are of.
const HELM: &str = "helm";

/// The command that Helm is to run.
#[derive(Debug)]
pub struct HelmRun<'a> {
    /// The directory in which its files lie.
    pub home: &'a Home,
    /// The time that it may take.
    pub time: Duration,
    /// The time that it has to end by itself once it is asked to, before it is killed. None for what leaves nothing
    /// half done: it is killed at once, and was cancelled.
    pub farewell: Duration,
    /// The variables that its environment has besides: nothing of this program's own comes by itself. What stands here
    /// goes before where its files lie, and a later entry before an earlier one.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether what it writes is wanted; its standard error always is.
    pub heard: bool,
    /// The program: Helm; or Helmfile, whose files lie where the user's do.
    program: &'static str,
    verb: &'static str,
    arguments: Vec<OsString>,
}

impl<'a> HelmRun<'a> {
    /// A verb that changes nothing, has an hour, nothing in its environment, and is heard.
    #[must_use]
    pub fn new(home: &'a Home, verb: &'static str) -> Self {
        Self::of(HELM, home, verb)
    }

    /// Returns a run of Helmfile.
    pub(crate) fn of_helmfile(home: &'a Home, verb: &'static str) -> Self {
        Self::of("helmfile", home, verb)
    }

    /// Returns a run of `solution`.
    pub(crate) fn of_solution(home: &'a Home, verb: &'static str) -> Self {
        Self::of("solution", home, verb)
    }

    fn of(program: &'static str, home: &'a Home, verb: &'static str) -> Self {
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

    /// Adds a flag with its value, whatever that begins with.
    pub fn flag(&mut self, name: &str, value: impl AsRef<OsStr>) {
        let mut flag = OsString::from(format!("--{name}="));
        flag.push(value);
        self.arguments.push(flag);
    }
}

/// Runs a program, and returns what it wrote; nothing if that is not wanted.
pub(crate) fn run(
    program: &Path,
    run: &HelmRun<'_>,
    cancel: Cancel<'_>,
) -> Result<Vec<u8>, HelmError> {
    let mut environment = Vec::new();
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

/// Says of which run an error is.
fn in_full(path: &Path, run: &HelmRun<'_>, error: RunError) -> HelmError {
    let (program, verb) = (run.program, run.verb);
    match error {
        RunError::Missing => HelmError::Missing(path.to_owned()),
        RunError::Start(source) => failed(path, source),
        RunError::Failed { code, said } => {
            // Helmfile ends with this code too, where it finds nothing.
            let is_broken = code == Some(BROKEN) && program == HELM;
            let said = if is_broken { broken() } else { words(&said) };
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

/// Returns the error for what the operating system refused.
pub(crate) fn failed(program: &Path, source: io::Error) -> HelmError {
    HelmError::Run {
        program: program.to_owned(),
        source,
    }
}

/// Returns the words for a run that broke: what it wrote then is about its own insides.
fn broken() -> String {
    let most = limits::MEMORY >> 20;
    format!("it was terminated, most likely because it ran out of memory: its limit is {most} MiB")
}

/// Returns what it said went wrong, on one line, without the word that it begins with and its advice about a flag of
/// its own. What stands before are notes on the way, and what hooks wrote.
fn words(stderr: &[u8]) -> String {
    const ADVICE: &str = "Use --debug flag to render out invalid YAML";
    let text = String::from_utf8_lossy(stderr);
    let text = text.trim();
    let error = text.rsplit_once("\nError: ").map(|(_, error)| error);
    let text = error.or(text.strip_prefix("Error: ")).unwrap_or(text);
    let text = text.strip_suffix(ADVICE).unwrap_or(text);
    let lines = text.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
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
        let said = |stderr: &str| words(stderr.as_bytes());
        let stderr = "level=WARN msg=\"upgrade failed\" name=shop\nError: of a hook\nError: UPGRADE FAILED: a\n\n  b\n";
        assert_eq!(said(stderr), "UPGRADE FAILED: a b");
        assert_eq!(said("Error: a Error: b\n"), "a Error: b");
        assert_eq!(said("killed\n"), "killed");
        assert_eq!(said(" \n"), "it failed without a message");
    }
}
