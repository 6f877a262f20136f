//! `solution registry`: registries and the content of Solutions in them. Each subcommand has its own file.

pub(super) mod check;
pub(super) mod export;
pub(super) mod login;
pub(super) mod mirrors;
pub(super) mod prune;
mod push;
pub(super) mod serve;
pub(super) mod verify;

use clap::Subcommand;

use self::prune::PruneArguments;
use self::verify::VerifyArguments;
use crate::args::Output;
use crate::failure::{Failure, Outcome};

/// Log in to registries and manage the Solutions in them
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Login(login::Arguments),
    Logout(login::LogoutArguments),
    Check(Box<check::Arguments>),
    Push(Box<push::Arguments>),
    Export(Box<export::Arguments>),
    Verify(Box<VerifyArguments>),
    Prune(Box<PruneArguments>),
    Serve(Box<serve::Arguments>),
    Mirrors(mirrors::Arguments),
}

pub(super) fn run(command: Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Login(arguments) => login::run(&arguments, output),
        Command::Logout(arguments) => login::logout(&arguments, output),
        Command::Check(arguments) => check::run(&arguments, output),
        Command::Push(arguments) => push::run(&arguments, output),
        Command::Export(arguments) => export::run(&arguments, output),
        Command::Verify(arguments) => verify::run(&arguments, output),
        Command::Prune(arguments) => prune::run(&arguments, output),
        Command::Serve(arguments) => serve::run(*arguments, output),
        Command::Mirrors(arguments) => mirrors::run(&arguments, output),
    }
}
