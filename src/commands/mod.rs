//! The command line, and one file or folder a verb: arguments, one request, one call, one rendering.

mod activate;
mod apply;
mod at_registry;
mod begin;
mod carried;
mod change;
mod checksums;
mod cli;
mod config;
mod crds;
mod deactivate;
mod delete;
mod deploy;
mod diff;
mod done;
mod environment;
mod explain;
mod export;
#[cfg(test)]
mod flags_tests;
mod fleet;
mod formats;
mod hindered;
mod history;
mod image_map;
mod import;
mod init;
mod inspect;
mod kept;
mod keygen;
mod login;
mod logout;
mod look;
mod marks;
mod meant;
mod mirrors;
mod pack;
mod parameters;
mod postrender;
mod preflight;
mod program;
mod push;
mod pushing;
mod question;
mod rbac;
mod receipt;
mod refusal;
mod render;
#[cfg(test)]
mod results;
mod rollback;
mod serve;
mod setup;
mod sign;
mod site;
mod status;
mod support_bundle;
mod trust;
mod undeploy;
mod undo;
mod unimport;
mod validate;
mod values;
mod vouched;
mod watch;
mod written;

use serde::Serialize;

pub(crate) use self::cli::{Cli, Command, command};

pub(crate) use self::written::Files;
use crate::args::{Format, Output};
use crate::failure::{Failure, Outcome};
use crate::verbose;

/// Gives a result, as it was asked for; the answer is yes.
fn give<T: Serialize>(output: Output, value: &T, human: impl FnOnce(&T)) -> Outcome {
    crate::render::result(output, value, human);
    Outcome::Yes
}

/// Runs one command.
pub(crate) fn run(cli: Cli) -> Result<Outcome, Failure> {
    if cli.verbose {
        verbose::turn_on();
    }
    if cli.output == Format::Yaml {
        crate::render::set_yaml();
    }
    cli.make_way()?;
    let output = cli.output.output();
    match cli.command {
        Command::Keygen(arguments) => keygen::run(&arguments, output),
        Command::Init(arguments) => init::run(&arguments, output),
        Command::Pack(arguments) => pack::run(&arguments, output),
        Command::Validate(arguments) => validate::run(&arguments, output),
        Command::Sign(arguments) => sign::run(&arguments, output),
        Command::Trust(command) => trust::run(command, output),
        Command::Inspect(arguments) => inspect::run(&arguments, output),
        Command::Compare(arguments) => look::compare::run(&arguments, output),
        Command::Archive(command) => look::run(&command, output),
        Command::Config(command) => config::run(&command, output),
        Command::Crds(command) => crds::run(command, output),
        Command::Import(arguments) => setup::offer::offer(import::run(&arguments, output), output),
        Command::Apply(arguments) => apply::run(&arguments, output),
        Command::Explain(arguments) => explain::run(&arguments, output),
        Command::Deploy(arguments) => deploy::run(&arguments, output),
        Command::Rollback(arguments) => rollback::run(&arguments, output),
        Command::Diff(arguments) => diff::run(&arguments, output),
        Command::Render(arguments) => render::run(&arguments, output),
        Command::Unimport(arguments) => arguments.run(output),
        Command::Registry(command) => at_registry::run(command, output),
        Command::Status(arguments) => status::run(&arguments, output),
        Command::SupportBundle(arguments) => support_bundle::run(&arguments, output),
        Command::History(arguments) => history::run(&arguments, output),
        Command::Receipt(command) => receipt::run(&command, output),
        Command::Checksums(command) => checksums::run(&command, output),
        Command::Undeploy(arguments) => arguments.run(output),
        Command::Delete(arguments) => delete::run(&arguments, output),
        Command::Environment(command) => environment::run(command, output),
        Command::Setup(arguments) => setup::run(*arguments, output),
        Command::Site(command) => site::run(command, output),
        Command::Fleet(command) => fleet::run(&command, output),
        Command::Program(command) => program::run(&command, output),
        Command::Postrender(arguments) => postrender::run(&arguments),
    }
}
