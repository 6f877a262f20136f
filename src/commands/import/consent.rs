//! Asks a person at the terminal for consent to what reaches beyond the environment. Nobody there means no: the flag that
//! gives it is printed instead.

use std::io::{BufRead as _, IsTerminal as _, Read as _};

use importer::Plan;

use crate::args::Output;
use crate::failure::Failure;
use crate::render;

/// Bytes of an answer that are read.
const ANSWER: u64 = 16;

/// Asks, where consent is all that is missing, and whoever reads the plan can answer.
pub(super) async fn ask(plan: &mut Plan<'_>, output: Output) -> Result<(), Failure> {
    let Some(id) = plan.consent_wanted().map(str::to_owned) else {
        return Ok(());
    };
    let answered = std::io::stdin().is_terminal() && render::is_terminal();
    if output != Output::Human || !answered {
        return Ok(());
    }
    render::note("accept what reaches beyond the environment? Type `yes` to continue:");
    // On a thread of its own, so that Ctrl-C ends the waiting.
    let answer = tokio::task::spawn_blocking(answer).await;
    if answer.map_err(Failure::unknown)?? == "yes" {
        plan.accept(id);
    }
    Ok(())
}

fn answer() -> Result<String, Failure> {
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .take(ANSWER)
        .read_line(&mut line)
        .map_err(Failure::unknown)?;
    Ok(line.trim().to_owned())
}
