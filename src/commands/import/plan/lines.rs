//! The lines of a plan, as they are collected.

use std::time::Duration;

use importer::Request;

/// How much of a plan is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The overview, every change, and every warning.
    Brief,
    /// Also fields, rights and the source of each value.
    Full,
}

/// The limits of the time that a command waits for the cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits {
    /// The limit of one wait.
    pub(super) each: Duration,
    /// The limit of all of it, if there is one.
    pub(super) all: Option<Duration>,
}

impl From<&Request> for Waits {
    fn from(request: &Request) -> Self {
        Self {
            each: request.wait,
            all: request.limit,
        }
    }
}

/// The lines of a plan, as far as they are written.
pub(super) struct Lines {
    pub(super) detail: Detail,
    pub(super) lines: Vec<String>,
}

impl Lines {
    pub(super) fn new(detail: Detail) -> Self {
        Self {
            detail,
            lines: Vec::new(),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.detail == Detail::Full
    }

    pub(super) fn push(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// A line behind its label.
    pub(super) fn row(&mut self, label: &str, text: &str) {
        self.push(format!("{label:<10}{text}"));
    }

    /// A further line of a label.
    pub(super) fn also(&mut self, text: &str) {
        self.row("", text);
    }

    /// A warning about the line above.
    pub(super) fn warning(&mut self, text: &str) {
        self.push(format!("      ! {text}"));
    }

    /// An empty line between two parts, if there is one above.
    pub(super) fn part(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.push("");
        }
    }
}
