//! Asks a person at the terminal. Nobody there means no: the flag that says yes is printed instead.

use std::io::{BufRead as _, IsTerminal as _, Read as _};

use crate::args::Output;
use crate::failure::Failure;
use crate::render;

/// Bytes of an answer that are read.
const ANSWER: u64 = 16;

/// Whether whoever reads what is shown says yes to it.
pub(super) async fn agreed(question: &str, output: Output) -> Result<bool, Failure> {
    let answered = std::io::stdin().is_terminal() && render::is_terminal();
    if output != Output::Human || !answered {
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
