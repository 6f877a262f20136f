//! Asks a person at the terminal for consent to what reaches beyond the environment. Nobody there means no: the flag that
//! gives it is printed instead.

use std::io::{BufRead as _, IsTerminal as _};

use importer::Plan;

use crate::args::Output;
use crate::exit::Failure;
use crate::render;

/// Letters of an answer that are read.
const ANSWER: u64 = 16;

/// Asks, where consent is all that is missing and somebody can answer.
pub(super) fn ask(plan: &mut Plan<'_>, output: Output) -> Result<(), Failure> {
    let Some(id) = plan.consent_wanted().map(str::to_owned) else {
        return Ok(());
    };
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if output != Output::Human || !terminal {
        return Ok(());
    }
    render::note("accept what reaches beyond the environment? Type `yes` to go on:");
    let mut answer = String::new();
    std::io::Read::take(std::io::stdin().lock(), ANSWER)
        .read_line(&mut answer)
        .map_err(Failure::unknown)?;
    if answer.trim() == "yes" {
        plan.accept(id);
    }
    Ok(())
}
