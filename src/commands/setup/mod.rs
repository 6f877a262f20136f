//! `solution setup`: asks for the settings that imports need, and stores them. A failed import offers it to a person.

pub(super) mod check;
mod dialog;

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use ::registry::RegistryAddress;
use anyhow::anyhow;
use clap::Args;
use schemas::EnvironmentName;

use self::check::SettingChanges;
use super::import::ImageRegistry;
use crate::args::{ClusterArguments, Output, RegistryArguments, choose};
use crate::disk::{self, Modes, WriteMode};
use crate::failure::{Failure, Outcome, cannot};
use crate::settings::{self, Settings};
use crate::terminal::can_ask;
use crate::trust::{self, Scope};
use crate::{environment, interrupt, render};

/// Configure this machine for imports, by questions at the terminal
#[derive(Args, Debug)]
#[command(after_help = "\
The command asks for the cluster, the registry, its certificate authority, the logins, the keys to trust and the \
environment. It checks each answer with a request and asks again if the check fails. It writes the configuration \
file, the login file and the trust policies at the end, after one more question. A flag sets the value in brackets.

Afterwards, `solution import ARCHIVE -e ENVIRONMENT` needs no other flag.

Examples:
  solution setup
  solution setup --check
  sudo solution setup --system")]
pub(crate) struct Arguments {
    /// Check the current configuration instead. Exit code 1 means that a check failed
    #[arg(long)]
    check: bool,

    /// Write /etc/solution instead of ~/.config/solution, for all users
    #[arg(long)]
    system: bool,

    /// The registry to push the images to
    #[arg(long, value_name = "HOST[/PREFIX]")]
    registry: Option<ImageRegistry>,

    /// The registry that nodes pull from, if they use another name for it
    #[arg(long, value_name = "HOST[/PREFIX]")]
    pull_registry: Option<RegistryAddress>,

    /// The environment that commands use by default
    #[arg(short, long, value_name = "NAME")]
    environment: Option<EnvironmentName>,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    cluster: ClusterArguments,

    /// The command to run afterwards
    #[arg(last = true, hide = true)]
    then: Vec<OsString>,
}

impl Arguments {
    fn scope(&self) -> Scope {
        choose(self.system, Scope::System, Scope::User)
    }
}

pub(super) fn run(mut arguments: Arguments, output: Output) -> Result<Outcome, Failure> {
    let settings = Settings::read().map_err(Failure::usage)?;
    if arguments.check {
        return Ok(check::run(&arguments, &settings, output));
    }
    let file = settings::file(arguments.scope()).ok_or_else(check::no_home)?;
    if !can_ask(output) {
        let path = file.display();
        return Err(Failure::usage("cannot ask for the settings: there is no terminal").hint(
            format!("write the settings to `{path}` (`solution config view` lists them), use `solution registry login` and `solution trust add`, then run `solution setup --check`"),
        ));
    }
    render::note(
        "Enter keeps the value in brackets, `-` leaves it empty, and Ctrl-C quits without changes.",
    );
    let mut changes = SettingChanges::new(file, arguments.scope());
    ask_context(&mut arguments)?;
    dialog::ask_registry(&mut arguments)?;
    if let Some(registry) = &arguments.registry {
        let pushes = dialog::ask_login(&registry.address, &arguments.reach, &mut changes)?;
        dialog::ask_pull_registry(&mut arguments)?;
        dialog::ask_for_nodes(&arguments, &settings, &pushes, &mut changes)?;
    }
    dialog::ask_trust(arguments.system, &settings, &mut changes)?;
    let present = arguments.environment.as_ref().map(ToString::to_string);
    let question = "Environment that commands use by default";
    arguments.environment = dialog::ask_question(question, present.as_deref(), |name| {
        name.parse().map_err(Failure::usage)
    })?;
    changes.take(&arguments, &settings)?;
    write(changes)?;
    carry_on(&arguments.then)
}

/// The answer that selects the current context of the kubeconfig.
const CURRENT: &str = "current";

/// Asks for the cluster. Without one, nothing is checked.
fn ask_context(arguments: &mut Arguments) -> Result<(), Failure> {
    let access = &mut arguments.cluster;
    let present = access.context.clone().unwrap_or_else(|| CURRENT.to_owned());
    let found = dialog::ask_question("Kubeconfig context", Some(&present), |name| {
        access.context = Some(name.to_owned()).filter(|name| name != CURRENT);
        let found = check::cluster(access)?;
        render::note!("  {found}");
        Ok(())
    })?;
    if found.is_none() {
        access.context = None;
    }
    Ok(())
}

/// Offers the setup to a person if an import fails because of a missing setting.
pub(super) fn offer(
    imported: Result<Outcome, Failure>,
    output: Output,
) -> Result<Outcome, Failure> {
    let failure = match imported {
        Err(failure) if failure.is_for_setup() => failure,
        other => return other,
    };
    if !can_ask(output) {
        return Err(failure.hint("configure this machine once with `solution setup`"));
    }
    failure.lines().for_each(render::note);
    if !dialog::confirm("Run `solution setup` now?", true)? {
        return Ok(failure.outcome());
    }
    let typed = environment::arguments();
    let setup = ["setup", "--"].map(OsString::from).into_iter();
    become_command(setup.chain(typed))
}

/// Runs the failed command again, if the setup was started by one.
fn carry_on(then: &[OsString]) -> Result<Outcome, Failure> {
    if then.is_empty() {
        return Ok(Outcome::Yes);
    }
    become_command(then.iter().cloned())
}

/// Replaces this process with this program and other arguments.
fn become_command(arguments: impl Iterator<Item = OsString>) -> Result<Outcome, Failure> {
    let error = Command::new(environment::own_program())
        .args(arguments)
        .exec();
    Err(Failure::unknown(error).context("cannot run this program again"))
}

/// Shows the changes, asks once, and writes them.
fn write(changes: SettingChanges) -> Result<(), Failure> {
    let file = changes.file.display();
    for (name, value) in &changes.settings {
        let value = value.as_deref().unwrap_or("(none)");
        render::line!("write     {name}: {value} in {file}");
    }
    for (file, login) in &changes.logins {
        let (registry, user) = (&login.registry, login.username.as_str());
        render::line!(
            "write     the login of {user} at {registry} in {}",
            file.path.display()
        );
    }
    for (stored, _) in &changes.policies {
        let (path, solutions) = (
            stored.path.display(),
            render::list(stored.policy.solutions()),
        );
        render::line!("write     the trust policy for {solutions} in {path}");
    }
    if changes.settings.is_empty() && changes.logins.is_empty() && changes.policies.is_empty() {
        render::line("nothing changes: the configuration is up to date");
        return Ok(());
    }
    if !dialog::confirm("Write this?", true)? {
        return Err(Failure::no(anyhow!("nothing was written")));
    }
    interrupt::note(
        "interrupted: run `solution setup` again to complete the configuration".to_owned(),
    );
    for (mut file, login) in changes.logins {
        file.document
            .keep(&login.registry, &login.username, &login.password)?;
        file.write()?;
    }
    for (stored, write) in &changes.policies {
        trust::write(&stored.path, &stored.document, *write)?;
    }
    if let Some(text) = &changes.text {
        write_file(&changes.file, text, changes.scope)?;
    }
    Ok(())
}

fn write_file(path: &Path, text: &str, scope: Scope) -> Result<(), Failure> {
    let modes = match scope {
        Scope::User => Modes {
            file: 0o600,
            folder: 0o700,
        },
        Scope::System => Modes {
            file: 0o644,
            folder: 0o755,
        },
    };
    disk::write_atomically(path, text.as_bytes(), modes, WriteMode::Replace)
        .map_err(cannot("write", path))
}
