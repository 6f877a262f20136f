//! The command line: every verb with its arguments.

use clap::{CommandFactory as _, Parser, Subcommand};

use super::{
    apply, at_registry, checksums, config, crds, delete, deploy, diff, environment, explain, fleet,
    history, import, init, inspect, keygen, look, pack, postrender, program, receipt, render,
    rollback, setup, sign, site, status, support_bundle, trust, undeploy, unimport, validate,
};
use crate::args::{Format, choose};
use crate::help;
use crate::interrupt::Hangup;

/// Pack, verify and deploy Kubernetes applications at air-gapped sites.
#[derive(Debug, Parser)]
#[command(
    name = "solution",
    version,
    arg_required_else_help = true,
    after_help = "\
Exit codes: 0 yes or done, 1 no (trying again does not help), 2 wrong command line, 3 unknown (an error of the \
disk, registry or cluster; trying again may help), 129, 130 or 143 ended by SIGHUP, Ctrl-C or SIGTERM.

Publish: solution keygen publisher · solution pack app-1.0.0.tgz -o app.iso --key publisher.key
Check:   solution validate app.iso --key publisher.pub
Install: solution import app.iso --key publisher.pub --registry registry.example -e prod"
)]
pub(crate) struct Cli {
    /// The format of results on standard output
    #[arg(
        short,
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        display_order = 998
    )]
    pub(crate) output: Format,

    /// Log each request to a registry or cluster on standard error, with its method, URL, status and milliseconds
    #[arg(
        short,
        long,
        global = true,
        hide_short_help = true,
        display_order = 999
    )]
    pub(super) verbose: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The command line with its help laid out.
pub(crate) fn command() -> clap::Command {
    help::lay_out(Cli::command())
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::Arguments),
    Pack(Box<pack::Arguments>),
    Sign(sign::Arguments),
    Keygen(keygen::Arguments),
    Validate(validate::Arguments),
    Inspect(inspect::Arguments),
    Compare(Box<look::compare::Arguments>),
    #[command(subcommand)]
    Archive(look::Command),
    Import(Box<import::Arguments>),
    Deploy(Box<deploy::Arguments>),
    Status(status::Arguments),
    Diff(Box<diff::Arguments>),
    History(history::Arguments),
    Rollback(Box<rollback::Arguments>),
    Undeploy(undeploy::Arguments),
    Delete(delete::Arguments),
    Setup(Box<setup::Arguments>),
    #[command(subcommand)]
    Site(site::Command),
    #[command(subcommand)]
    Trust(trust::Command),
    #[command(subcommand)]
    Environment(environment::Command),
    #[command(subcommand)]
    Registry(at_registry::Command),
    #[command(subcommand)]
    Crds(crds::Command),
    #[command(subcommand)]
    Fleet(fleet::Command),
    Apply(Box<apply::Arguments>),
    #[command(subcommand)]
    Config(config::Command),
    Explain(explain::Arguments),
    Render(Box<render::Arguments>),
    Unimport(Box<unimport::Arguments>),
    SupportBundle(support_bundle::Arguments),
    #[command(subcommand)]
    Receipt(receipt::Command),
    #[command(subcommand)]
    Checksums(checksums::Command),
    #[command(flatten)]
    Program(program::Command),
    #[command(hide = true)]
    Postrender(postrender::Arguments),
}

impl Command {
    /// What becomes of it when its terminal is closed.
    pub(crate) fn hangup(&self) -> Hangup {
        choose(
            matches!(self, Self::Registry(at_registry::Command::Serve(_))),
            Hangup::Reloads,
            Hangup::Ends,
        )
    }
}
