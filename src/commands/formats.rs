//! Which verbs show their results to which other programs.

use super::cli::{Cli, Command};
use crate::args::Format;
use crate::failure::Failure;
use crate::render;

impl Cli {
    /// Leaves standard output to a review tool or what collects metrics, if one is to read it.
    pub(super) fn make_way(&self) -> Result<(), Failure> {
        let refused = match self.output {
            Format::Table | Format::Json | Format::Yaml => return Ok(()),
            Format::Sarif | Format::Junit => (!self.command.has_findings()).then_some((
                "cannot use SARIF or JUnit here: these are formats of findings",
                "use `--output json`, or omit it; `solution validate` and `solution pack` report findings",
            )),
            Format::Metrics => (!matches!(self.command, Command::Status(_))).then_some((
                "cannot use metrics here: this is a format of the status",
                "use `--output json`, or omit it; `solution status` reports metrics",
            )),
        };
        if let Some((what, hint)) = refused {
            return Err(Failure::usage(what).hint(hint));
        }
        render::set_aside();
        Ok(())
    }
}

impl Command {
    /// Whether it finds something that can be shown to a review tool.
    pub(super) fn has_findings(&self) -> bool {
        match self {
            Self::Pack(arguments) => arguments.has_findings(),
            Self::Validate(_) => true,
            _ => false,
        }
    }
}
