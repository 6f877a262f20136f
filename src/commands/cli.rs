//! The command line: every verb with its arguments.

use clap::{Parser, Subcommand};

use super::{
    activate, apply, at_registry, checksums, deactivate, delete, deploy, diff, environment, export,
    fleet, history, import, init, inspect, keygen, login, logout, look, mirrors, pack, postrender,
    preflight, program, push, rbac, receipt, render, rollback, serve, sign, site, status,
    support_bundle, trust, undeploy, unimport, validate, values,
};
use crate::args::{Format, choose};
use crate::interrupt::Hangup;

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
    pub(crate) output: Format,

    /// Show each request to a registry or cluster on standard error: method, URL, status, milliseconds
    #[arg(short, long, global = true)]
    pub(super) verbose: bool,

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
    #[command(flatten)]
    Look(look::Command),
    Values(values::Arguments),
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
    Render(Box<render::Arguments>),
    Unimport(Box<unimport::Arguments>),
    Export(Box<export::Arguments>),
    #[command(subcommand)]
    Registry(at_registry::Command),
    Status(status::Arguments),
    SupportBundle(support_bundle::Arguments),
    History(history::Arguments),
    #[command(subcommand)]
    Receipt(receipt::Command),
    #[command(subcommand)]
    Checksums(checksums::Command),
    Undeploy(undeploy::Arguments),
    Deactivate(deactivate::Arguments),
    Delete(delete::Arguments),
    #[command(subcommand)]
    Environment(environment::Command),
    Rbac(Box<rbac::Arguments>),
    #[command(subcommand)]
    Site(site::Command),
    #[command(subcommand)]
    Fleet(fleet::Command),
    Mirrors(mirrors::Arguments),
    Serve(Box<serve::Arguments>),
    #[command(flatten)]
    Program(program::Command),
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
