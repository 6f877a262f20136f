//! The program `solution`: it parses the command line, runs one command, and returns its exit code.
//!
//! Only this crate uses the command line and the terminal, reads the environment and the clock, and decides exit codes.
//! It must not contain rules about archives, images or clusters.
//!
//! Read `commands/mod.rs` first, which has one file or folder for each verb. `failure` maps errors to exit codes and
//! hints, and `render` writes all output.

mod args;
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
mod plans;
mod progress_bar;
mod registries;
mod render;
mod review;
mod settings;
mod spelling;
mod terminal;
mod trust;
mod usage;

use std::process::ExitCode;

use crate::args::choose;
use crate::failure::Outcome;
use crate::usage::ParsedCommandLine;

fn main() -> ExitCode {
    let (output, ended) = match usage::read(std::env::args_os()) {
        ParsedCommandLine::Command(cli, verb) => {
            verb.put_in_use();
            let output = cli.output.output();
            let installed = interrupt::install(output, cli.command.hangup());
            (output, installed.and_then(|()| commands::run(*cli)))
        }
        ParsedCommandLine::Wrong(output, failure) => (output, Err(failure)),
        ParsedCommandLine::Help(answer) => {
            render::help(&answer);
            // clap also prints the help in place of a missing command, which is a usage error.
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

/// Returns the exit code of an outcome. It is a failure if the result could not be written completely.
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
