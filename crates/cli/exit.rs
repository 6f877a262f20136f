//! How a command ends: which exit code, and in which words. Library errors become a user's answer here and nowhere
//! else.

use std::fmt;
use std::process::ExitCode;

/// The exit codes of every verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done, or the answer is yes.
    Yes,
    /// The answer is no; trying again changes nothing.
    No,
    /// The command line is wrong.
    Usage,
    /// Could not find out or finish: disk, registry, cluster. Trying again may help.
    Unknown,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Yes => 0,
            Outcome::No => 1,
            Outcome::Usage => 2,
            Outcome::Unknown => 3,
        })
    }
}

/// Why a command did not do what it was asked, and what to do next.
#[derive(Debug)]
pub(crate) struct Failure {
    outcome: Outcome,
    error: anyhow::Error,
    hints: Vec<String>,
}

impl Failure {
    /// The answer is no.
    pub(crate) fn no(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Outcome::No, error)
    }

    /// The command line asks for something that does not exist.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Outcome::Usage, anyhow::anyhow!("{message}"))
    }

    /// Could not find out.
    pub(crate) fn unknown(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Outcome::Unknown, error)
    }

    /// A refusal or a failure, as the library's error says.
    pub(crate) fn new(outcome: Outcome, error: impl Into<anyhow::Error>) -> Self {
        Self {
            outcome,
            error: error.into(),
            hints: Vec::new(),
        }
    }

    /// Says what was being done.
    pub(crate) fn context(mut self, context: impl fmt::Display + Send + Sync + 'static) -> Self {
        self.error = self.error.context(context);
        self
    }

    /// Adds what to do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What went wrong, in one line.
    pub(crate) fn message(&self) -> String {
        self.error.to_string()
    }

    /// Why, from the nearest cause to the farthest.
    pub(crate) fn causes(&self) -> Vec<String> {
        self.error
            .chain()
            .skip(1)
            .map(ToString::to_string)
            .collect()
    }

    /// What to do next.
    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    /// The exit code.
    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.error)?;
        for cause in self.causes() {
            write!(f, "\n  caused by: {cause}")?;
        }
        for hint in &self.hints {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_its_causes_and_the_next_step() {
        let cause = std::io::Error::other("no space left");
        let failure = Failure::unknown(cause)
            .context("cannot write `a.iso`")
            .hint("free some space and try again");
        let expected = "error: cannot write `a.iso`\n  caused by: no space left\nhint: free some space and try again";
        assert_eq!(failure.to_string(), expected);
        assert_eq!(failure.outcome(), Outcome::Unknown);
    }
}
