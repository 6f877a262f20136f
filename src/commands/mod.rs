//! The commands: one file or folder for each verb, with its arguments, its `run` function and its output. Files without
//! the name of a verb hold what multiple verbs share. This module combines the arguments of the verbs into one command
//! line. It refuses output formats that a verb does not support, and runs the verb.

mod apply;
mod archive;
mod blocked;
mod certificate;
mod change;
mod change_progress;
mod checksums;
mod cluster_events;
mod compare;
mod config;
mod console;
mod crds;
mod delete;
mod deploy;
mod diff;
mod environment;
mod explain;
mod fleet;
mod history;
mod image_map;
mod import;
mod imported_version;
mod init;
mod inspect;
mod keygen;
mod pack;
mod parameters;
mod program;
mod push_progress;
mod receipt;
mod registry;
mod render;
#[cfg(test)]
mod results;
mod setup;
mod sign;
mod site;
mod source_access;
mod status;
mod support_bundle;
mod trust;
mod validate;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{CommandFactory as _, Parser, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::{Format, Output, choose};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Hangup;
use crate::{disk, help};

/// Outputs a result in the requested format. The outcome is positive.
fn give<T: Serialize>(output: Output, value: &T, human: impl FnOnce(&T)) -> Outcome {
    crate::render::result(output, value, human);
    Outcome::Yes
}

/// Runs one command.
pub(crate) fn run(cli: Cli) -> Result<Outcome, Failure> {
    if cli.verbose {
        crate::render::turn_on_verbose();
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
        Command::Compare(arguments) => compare::run(&arguments, output),
        Command::Archive(command) => archive::run(&command, output),
        Command::Config(command) => config::run(&command, output),
        Command::Console(arguments) => console::run(*arguments, output),
        Command::Crds(command) => crds::run(command, output),
        Command::Import(arguments) => setup::offer(import::run(&arguments, output), output),
        Command::Apply(arguments) => apply::run(&arguments, output),
        Command::Explain(arguments) => explain::run(&arguments, output),
        Command::Deploy(arguments) => deploy::run(&arguments, output),
        Command::Rollback(arguments) => deploy::rollback(&arguments, output),
        Command::Diff(arguments) => diff::run(&arguments, output),
        Command::Render(arguments) => render::run(&arguments, output),
        Command::Unimport(arguments) => arguments.run(output),
        Command::Registry(command) => registry::run(command, output),
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
        Command::Postrender(arguments) => program::postrender(&arguments),
    }
}

/// The written files.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Files {
    /// The files that were written.
    files: Vec<PathBuf>,
}

/// The file that was written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CreatedFile<'a> {
    /// The path that was written.
    file: &'a Path,
}

/// Creates a file from a template if it does not exist, and shows the next command.
fn create_from_template(
    path: &Path,
    template: &str,
    next: &str,
    output: Output,
) -> Result<Outcome, Failure> {
    let file = path.display();
    if path.exists() {
        return Err(Failure::no(anyhow!("`{file}` exists")).hint("choose another file name"));
    }
    disk::write_new(path, 0o644, template.as_bytes())?;
    Ok(give(output, &CreatedFile { file: path }, |_| {
        crate::render::line!("created `{file}`");
        crate::render::note!("edit it, then run `solution {next} {file}`");
    }))
}

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
    verbose: bool,

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
    Compare(Box<compare::Arguments>),
    #[command(subcommand)]
    Archive(archive::Command),
    Import(Box<import::Arguments>),
    Deploy(Box<deploy::Arguments>),
    Status(status::Arguments),
    Diff(Box<diff::Arguments>),
    History(history::Arguments),
    Rollback(Box<deploy::RollbackArguments>),
    Undeploy(delete::UndeployArguments),
    Delete(delete::Arguments),
    Setup(Box<setup::Arguments>),
    #[command(subcommand)]
    Site(site::Command),
    #[command(subcommand)]
    Trust(trust::Command),
    #[command(subcommand)]
    Environment(environment::Command),
    #[command(subcommand)]
    Registry(registry::Command),
    #[command(subcommand)]
    Crds(crds::Command),
    #[command(subcommand)]
    Fleet(fleet::Command),
    Apply(Box<apply::Arguments>),
    #[command(subcommand)]
    Config(config::Command),
    Console(Box<console::Arguments>),
    Explain(explain::Arguments),
    Render(Box<render::Arguments>),
    Unimport(Box<delete::UnimportArguments>),
    SupportBundle(support_bundle::Arguments),
    #[command(subcommand)]
    Receipt(receipt::Command),
    #[command(subcommand)]
    Checksums(checksums::Command),
    #[command(flatten)]
    Program(program::Command),
    #[command(hide = true)]
    Postrender(program::PostrenderArguments),
}

impl Command {
    /// Returns the reaction of the command to the end of its terminal.
    pub(crate) fn hangup(&self) -> Hangup {
        choose(
            matches!(self, Self::Registry(registry::Command::Serve(_))),
            Hangup::Reloads,
            Hangup::Ends,
        )
    }

    /// Returns true if the verb has findings, which a review tool can show.
    fn has_findings(&self) -> bool {
        match self {
            Self::Pack(arguments) => arguments.has_findings(),
            Self::Validate(_) => true,
            _ => false,
        }
    }
}

impl Cli {
    /// Reserves standard output for a review tool or a collector of metrics, if one reads it.
    fn make_way(&self) -> Result<(), Failure> {
        let refused = match self.output {
            Format::Table | Format::Json | Format::Yaml => return Ok(()),
            Format::Sarif | Format::Junit => (!self.command.has_findings()).then_some((
                "cannot use SARIF or JUnit here: these are formats of findings",
                "use `--output json`, or omit it; `solution validate` and `solution pack` report findings",
            )),
            Format::Metrics => (!matches!(self.command, Command::Status(_))).then_some((
                "cannot use metrics here: this is a format of the status",
                "use `--output json`, or omit it; `solution status` reports metrics",
            )),
        };
        if let Some((what, hint)) = refused {
            return Err(Failure::usage(what).hint(hint));
        }
        crate::render::set_aside();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::{Arg, Command};

    /// The form of a flag: its short form and the name of its value.
    #[derive(Debug, PartialEq, Eq)]
    struct Form {
        short: Option<char>,
        value: Option<String>,
    }

    impl Form {
        fn of(argument: &Arg) -> Self {
            let takes_values = argument.get_action().takes_values();
            let names = argument.get_value_names().filter(|_| takes_values);
            Self {
                short: argument.get_short(),
                value: names.and_then(<[_]>::first).map(ToString::to_string),
            }
        }
    }

    /// Returns every flag of every verb, with the verbs that take it.
    fn flags<'a>(
        command: &'a Command,
        above: &str,
        found: &mut BTreeMap<&'a str, Vec<(String, &'a Arg)>>,
    ) {
        for verb in command
            .get_subcommands()
            .filter(|subcommand| !subcommand.is_hide_set())
        {
            let name = format!("{above}{}", verb.get_name());
            for argument in verb.get_arguments() {
                if let Some(flag) = argument.get_long() {
                    let of_flag = found.entry(flag).or_default();
                    of_flag.push((name.clone(), argument));
                }
            }
            flags(verb, &format!("{name} "), found);
        }
    }

    /// A flag has one short form and one kind of value, so that knowledge of one verb applies to all of them.
    #[test]
    fn a_flag_looks_the_same_in_every_verb() {
        let program = super::command();
        let mut found = BTreeMap::new();
        flags(&program, "", &mut found);
        let shared = found.iter().filter(|(_, verbs)| verbs.len() > 1);
        // These flags have two meanings: `--key` is a secret key for signing and a public key for verification; `--to` is a
        // revision for a rollback and a tool for an export; `-o` is the output file of `pack`; `--sbom` selects a format
        // for `pack` and has no value elsewhere; `--cluster` is a name in a fleet file, or a UID if there is no such file.
        let differs =
            |flag: &str| ["cluster", "key", "out", "output", "sbom", "to"].contains(&flag);
        let shared: Vec<_> = shared.filter(|(flag, _)| !differs(flag)).collect();
        assert!(shared.len() > 40, "{}", shared.len());
        for (flag, verbs) in shared {
            let form = Form::of(verbs[0].1);
            for (verb, argument) in verbs {
                let this = Form::of(argument);
                assert!(this == form, "--{flag} of {verb}: {this:?}, {form:?}");
            }
        }
    }
}
