//! The command line, and one file or folder a verb: arguments, one request, one call, one rendering.

mod activate;
mod apply;
mod at_registry;
mod cat;
mod change;
mod completion;
mod deactivate;
mod delete;
mod deploy;
mod diff;
mod done;
mod environment;
mod export;
#[cfg(test)]
mod flags_tests;
mod history;
mod image_map;
mod import;
mod init;
mod inspect;
mod kept;
mod keygen;
mod login;
mod logout;
mod man;
mod mirrors;
mod pack;
mod parameters;
mod postrender;
mod preflight;
mod push;
mod pushing;
mod question;
mod rbac;
mod refusal;
#[cfg(test)]
mod results;
mod rollback;
mod serve;
mod sign;
mod site;
mod status;
mod trust;
mod undeploy;
mod undo;
mod unimport;
mod validate;
mod vouched;
mod watch;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::{Output, choose};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Hangup;
use crate::{render, verbose};

/// Pack, validate and import signed Solution archives: Kubernetes applications for sites without internet.
#[derive(Debug, Parser)]
#[command(
    name = "solution",
    version,
    arg_required_else_help = true,
    after_help = "\
Exit codes: 0 yes or done, 1 the answer is no (trying again changes nothing), 2 wrong command line,
3 could not find out (disk, registry, cluster: trying again may help), 129, 130 or 143 ended by
SIGHUP, Ctrl-C or SIGTERM.

Publish: solution keygen · solution init app · solution pack app -o app.iso --key publisher.key
Check:   solution validate app.iso --key publisher.pub
Install: solution import app.iso --key publisher.pub --registry registry.example --environment prod"
)]
pub(crate) struct Cli {
    /// How results are shown: for people, or as JSON on standard output
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    pub(crate) output: Output,

    /// Show each request to a registry or cluster on standard error: method, URL, status, milliseconds
    #[arg(short, long, global = true)]
    verbose: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Keygen(keygen::Arguments),
    Init(init::Arguments),
    Pack(pack::Arguments),
    Validate(validate::Arguments),
    Sign(sign::Arguments),
    #[command(subcommand)]
    Trust(trust::Command),
    Inspect(inspect::Arguments),
    Cat(cat::Arguments),
    Login(login::Arguments),
    Logout(logout::Arguments),
    Preflight(Box<preflight::Arguments>),
    Import(Box<import::Arguments>),
    Push(Box<push::Arguments>),
    Activate(Box<activate::Arguments>),
    Apply(Box<apply::Arguments>),
    Deploy(Box<deploy::Arguments>),
    Rollback(Box<rollback::Arguments>),
    Diff(Box<diff::Arguments>),
    Unimport(Box<unimport::Arguments>),
    Export(Box<export::Arguments>),
    #[command(subcommand)]
    Registry(at_registry::Command),
    Status(status::Arguments),
    History(history::Arguments),
    Undeploy(undeploy::Arguments),
    Deactivate(deactivate::Arguments),
    Delete(delete::Arguments),
    #[command(subcommand)]
    Environment(environment::Command),
    Rbac(Box<rbac::Arguments>),
    #[command(subcommand)]
    Site(site::Command),
    Mirrors(mirrors::Arguments),
    Serve(Box<serve::Arguments>),
    Completion(completion::Arguments),
    Man(man::Arguments),
    #[command(hide = true)]
    Postrender(postrender::Arguments),
}

impl Command {
    /// What becomes of it when its terminal is closed.
    pub(crate) fn hangup(&self) -> Hangup {
        choose(
            matches!(self, Self::Serve(_)),
            Hangup::Reloads,
            Hangup::Ends,
        )
    }
}

/// Gives a result, as it was asked for; the answer is yes.
fn give<T: Serialize>(output: Output, value: &T, human: impl FnOnce(&T)) -> Outcome {
    render::result(output, value, human);
    Outcome::Yes
}

/// What was written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Files {
    /// The files that were written.
    files: Vec<PathBuf>,
}

/// Runs one command.
pub(crate) fn run(cli: Cli) -> Result<Outcome, Failure> {
    let output = cli.output;
    if cli.verbose {
        verbose::turn_on();
    }
    match cli.command {
        Command::Keygen(arguments) => keygen::run(&arguments, output),
        Command::Init(arguments) => init::run(&arguments, output),
        Command::Pack(arguments) => pack::run(&arguments, output),
        Command::Validate(arguments) => validate::run(&arguments, output),
        Command::Sign(arguments) => sign::run(&arguments, output),
        Command::Trust(command) => trust::run(command, output),
        Command::Inspect(arguments) => inspect::run(&arguments, output),
        Command::Cat(arguments) => cat::run(&arguments, output),
        Command::Login(arguments) => login::run(&arguments, output),
        Command::Logout(arguments) => logout::run(&arguments, output),
        Command::Preflight(arguments) => preflight::run(&arguments, output),
        Command::Import(arguments) => import::run(&arguments, output),
        Command::Push(arguments) => push::run(&arguments, output),
        Command::Activate(arguments) => activate::run(&arguments, output),
        Command::Apply(arguments) => apply::run(&arguments, output),
        Command::Deploy(arguments) => deploy::run(&arguments, output),
        Command::Rollback(arguments) => rollback::run(&arguments, output),
        Command::Diff(arguments) => diff::run(&arguments, output),
        Command::Unimport(arguments) => arguments.run(output),
        Command::Export(arguments) => export::run(&arguments, output),
        Command::Registry(command) => at_registry::run(command, output),
        Command::Status(arguments) => status::run(&arguments, output),
        Command::History(arguments) => history::run(&arguments, output),
        Command::Undeploy(arguments) => arguments.run(output),
        Command::Deactivate(arguments) => arguments.run(output),
        Command::Delete(arguments) => delete::run(&arguments, output),
        Command::Environment(command) => environment::run(command, output),
        Command::Rbac(arguments) => rbac::run(&arguments, output),
        Command::Site(command) => site::run(command, output),
        Command::Mirrors(arguments) => mirrors::run(&arguments, output),
        Command::Serve(arguments) => serve::run(*arguments, output),
        Command::Completion(arguments) => completion::run(&arguments, output),
        Command::Man(arguments) => man::run(&arguments, output),
        Command::Postrender(arguments) => postrender::run(&arguments),
    }
}
