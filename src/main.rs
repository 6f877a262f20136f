//! The one program `solution`: parse the command line, run one command, say how it ended.
//!
//! This is the only place that knows the command line and the terminal, reads the environment and the clock, and
//! decides exit codes. It must not hold any rule about archives, images or clusters.
//!
//! Open `commands/mod.rs` first, which has one file or folder for each verb; `failure` says what errors mean, and `render`
//! is the way to the terminal.

mod approval;
mod args;
mod arrival;
mod cluster;
mod commands;
mod disk;
mod environment;
mod events;
mod failure;
mod helm;
mod help;
mod hints;
mod holder;
mod interrupt;
mod keys;
mod logins;
mod own;
mod passphrase;
mod plans;
mod plugin;
mod progress;
mod registries;
mod render;
mod review;
mod settings;
mod spelling;
mod terminal;
mod trust;
mod usage;
mod verbose;

use std::process::ExitCode;

use crate::args::choose;
use crate::failure::Outcome;
use crate::usage::Typed;

fn main() -> ExitCode {
    let (output, ended) = match usage::read(std::env::args_os()) {
        Typed::Command(cli, verb) => {
            verb.put_in_use();
            let output = cli.output.output();
            let installed = interrupt::install(output, cli.command.hangup());
            (output, installed.and_then(|()| commands::run(*cli)))
        }
        Typed::Wrong(output, failure) => (output, Err(failure)),
        Typed::Help(answer) => {
            render::help(&answer);
            // Not asked for, it stands in the place of a command.
            return delivered(choose(answer.use_stderr(), Outcome::Usage, Outcome::Yes));
        }
    };
    interrupt::take_last_word();
    let outcome = match ended {
        Ok(outcome) => outcome,
        Err(failure) => {
            let failure = interrupt::judge(failure);
            failure.show(output);
            failure.outcome()
        }
    };
    events::flush();
    delivered(outcome)
}

/// The exit code of an outcome, unless whoever reads the result does not have all of it.
fn delivered(outcome: Outcome) -> ExitCode {
    match outcome {
        Outcome::Yes | Outcome::No if !render::is_complete() => Outcome::Unknown,
        outcome => outcome,
    }
    .into()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::commands::command().debug_assert();
    }
}
