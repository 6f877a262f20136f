//! Questions of `solution setup`, each asked again until its answer passes a check.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::render;
use crate::terminal::{self, Echo};
use crate::{environment, interrupt};

/// Bytes of an answer.
const ANSWER: usize = 4096;
/// The answer that leaves a value empty.
const NONE: &str = "-";

/// Asks until the check accepts an answer: Enter gives the present value, and `-` none.
pub(super) fn ask<T>(
    question: &str,
    present: Option<&str>,
    mut check: impl FnMut(&str) -> Result<T, Failure>,
) -> Result<Option<T>, Failure> {
    let shown = present.map_or_else(String::new, |present| format!(" [{present}]"));
    loop {
        let typed = line(&format!("{question}{shown}: "))?;
        let answer = match (typed.as_str(), present) {
            (NONE, _) | ("", None) => return Ok(None),
            ("", Some(present)) => present,
            (typed, _) => typed,
        };
        match check(answer) {
            Ok(value) => return Ok(Some(value)),
            Err(failure) => again(failure)?,
        }
    }
}

/// Shows why an answer is not accepted, unless the user has asked the program to end.
pub(super) fn again(failure: Failure) -> Result<(), Failure> {
    if interrupt::cancel().is_asked() {
        return Err(failure);
    }
    failure.lines().for_each(render::note);
    Ok(())
}

/// Asks a question whose answer is yes or no.
pub(super) fn confirm(question: &str, otherwise: bool) -> Result<bool, Failure> {
    let choice = if otherwise { "[Y/n]" } else { "[y/N]" };
    loop {
        match line(&format!("{question} {choice} "))?
            .to_lowercase()
            .as_str()
        {
            "" => return Ok(otherwise),
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => {}
        }
    }
}

/// Asks for a line.
pub(super) fn line(question: &str) -> Result<String, Failure> {
    let line = terminal::ask(question, Echo::Shown, ANSWER)?;
    let line = line.ok_or_else(|| Failure::usage("cannot ask: there is no terminal"))?;
    Ok(String::from_utf8_lossy(&line).trim().to_owned())
}

/// Returns a path as a configuration file has it: independent of the working directory.
pub(super) fn path(typed: &str) -> Result<PathBuf, Failure> {
    let in_home = typed.strip_prefix("~/").zip(environment::home());
    let path = in_home.map_or_else(|| PathBuf::from(typed), |(rest, home)| home.join(rest));
    std::path::absolute(&path).map_err(crate::failure::cannot("find", Path::new(typed)))
}
