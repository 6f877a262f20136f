//! One file a verb: arguments, one request, one call, one rendering.

pub(crate) mod cat;
pub(crate) mod deactivate;
mod done;
pub(crate) mod environment;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod inspect;
pub(crate) mod keygen;
pub(crate) mod pack;
pub(crate) mod sign;
pub(crate) mod status;
mod support;
pub(crate) mod trust;
pub(crate) mod undeploy;
pub(crate) mod unimport;
pub(crate) mod validate;

use crate::args::{Cli, Command};
use crate::failure::{Failure, Outcome};

/// Runs one command.
pub(crate) fn run(cli: Cli) -> Result<Outcome, Failure> {
    let output = cli.output;
    match cli.command {
        Command::Keygen(arguments) => keygen::run(&arguments, output),
        Command::Init(arguments) => init::run(&arguments, output),
        Command::Pack(arguments) => pack::run(&arguments, output),
        Command::Validate(arguments) => validate::run(&arguments, output),
        Command::Sign(arguments) => sign::run(&arguments, output),
        Command::Trust(command) => trust::run(command, output),
        Command::Inspect(arguments) => inspect::run(&arguments, output),
        Command::Cat(arguments) => cat::run(&arguments, output),
        Command::Import(arguments) => import::run(&arguments, output),
        Command::Unimport(arguments) => unimport::run(&arguments, output),
        Command::Status(arguments) => status::run(&arguments, output),
        Command::Undeploy(arguments) => undeploy::run(&arguments, output),
        Command::Deactivate(arguments) => deactivate::run(&arguments, output),
        Command::Environment(command) => environment::run(command, output),
    }
}
