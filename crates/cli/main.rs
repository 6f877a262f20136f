//! The one program `solution`: parse the command line, run one command, say how it ended.
//!
//! This is the only place that prints, reads the environment and the clock, and decides exit codes. It holds no rule
//! about archives, images or clusters.

mod args;
mod commands;
mod environment;
mod exit;
mod passphrase;
mod progress;
mod render;
mod trust;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = cli.output;
    match commands::run(cli) {
        Ok(outcome) => outcome.into(),
        Err(failure) => {
            render::failure(output, &failure);
            failure.outcome().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
