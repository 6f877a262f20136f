//! Offers `solution setup` to a person whose import lacks a setting, and runs the import afterwards.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::dialog;
use crate::args::Output;
use crate::commands::question::can_ask;
use crate::environment;
use crate::failure::{Failure, Outcome};
use crate::render;

/// Offers to set up what an import lacks.
pub(crate) fn offer(
    imported: Result<Outcome, Failure>,
    output: Output,
) -> Result<Outcome, Failure> {
    let failure = match imported {
        Err(failure) if failure.is_for_setup() => failure,
        other => return other,
    };
    if !can_ask(output) {
        return Err(failure.hint("configure this machine once with `solution setup`"));
    }
    failure.lines().for_each(render::note);
    if !dialog::confirm("Run `solution setup` now?", true)? {
        return Ok(failure.outcome());
    }
    let typed = environment::arguments();
    let setup = ["setup", "--"].map(OsString::from).into_iter();
    become_command(setup.chain(typed))
}

/// Goes on with the command that lacked the configuration, if there is one.
pub(super) fn carry_on(then: &[OsString]) -> Result<Outcome, Failure> {
    if then.is_empty() {
        return Ok(Outcome::Yes);
    }
    become_command(then.iter().cloned())
}

/// Runs this program with other arguments in the place of this process.
fn become_command(arguments: impl Iterator<Item = OsString>) -> Result<Outcome, Failure> {
    let error = Command::new(environment::own_program())
        .args(arguments)
        .exec();
    Err(Failure::unknown(error).context("cannot run this program again"))
}
