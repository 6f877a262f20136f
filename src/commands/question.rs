//! Asks a person at the terminal. Nobody there means no: the flag that says yes is printed instead.

use std::io::{BufRead as _, IsTerminal as _, Read as _};

use crate::args::Output;
use crate::failure::Failure;
use crate::render;

/// Bytes of an answer that are read.
const ANSWER: u64 = 16;

/// Returns whether a person reads what is shown and can answer.
pub(super) fn can_ask(output: Output) -> bool {
    output == Output::Human && std::io::stdin().is_terminal() && render::is_terminal()
}

/// Whether whoever reads what is shown says yes to it.
pub(super) async fn agreed(question: &str, output: Output) -> Result<bool, Failure> {
    if !can_ask(output) {
        return Ok(false);
    }
    render::note!("{question} Type `yes` to continue:");
    // On a thread of its own, so that Ctrl-C ends the waiting.
    let answer = tokio::task::spawn_blocking(answer).await;
    Ok(answer.map_err(Failure::unknown)?? == "yes")
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
