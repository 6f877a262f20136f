//! `solution setup`: asks for what imports need, checks each answer, and stores it once.

mod changes;
pub(super) mod check;
mod dialog;
mod login;
pub(super) mod offer;
mod registry;
mod requests;
mod trust;
mod write;

use std::ffi::OsString;

use ::registry::RegistryAddress;
use clap::Args;
use schemas::EnvironmentName;

use self::changes::Changes;
use super::import::ImageRegistry;
use super::question::can_ask;
use crate::args::{ClusterArguments, Output, RegistryArguments, choose};
use crate::failure::{Failure, Outcome};
use crate::render;
use crate::settings::{self, Settings};
use crate::trust::Scope;

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

pub(crate) fn run(mut arguments: Arguments, output: Output) -> Result<Outcome, Failure> {
    let settings = Settings::read().map_err(Failure::usage)?;
    if arguments.check {
        return Ok(check::run(&arguments, &settings, output));
    }
    let file = settings::file(arguments.scope()).ok_or_else(changes::no_home)?;
    if !can_ask(output) {
        let path = file.display();
        return Err(Failure::usage("cannot ask for the settings: there is no terminal").hint(
            format!("write the settings to `{path}` (`solution config view` lists them), use `solution registry login` and `solution trust add`, then run `solution setup --check`"),
        ));
    }
    render::note(
        "Enter keeps the value in brackets, `-` leaves it empty, and Ctrl-C quits without changes.",
    );
    let mut changes = Changes::new(file, arguments.scope());
    ask_context(&mut arguments)?;
    registry::ask(&mut arguments)?;
    if let Some(registry) = &arguments.registry {
        let pushes = login::ask(&registry.address, &arguments.reach, &mut changes)?;
        registry::ask_pull_registry(&mut arguments)?;
        login::ask_for_nodes(&arguments, &settings, &pushes, &mut changes)?;
    }
    trust::ask(arguments.system, &settings, &mut changes)?;
    let present = arguments.environment.as_ref().map(ToString::to_string);
    let question = "Environment that commands use by default";
    arguments.environment = dialog::ask(question, present.as_deref(), |name| {
        name.parse().map_err(Failure::usage)
    })?;
    changes.take(&arguments, &settings)?;
    write::write(changes)?;
    offer::carry_on(&arguments.then)
}

/// The answer that leaves the choice of the context to the kubeconfig.
const CURRENT: &str = "current";

/// Asks which cluster is used. Without one, nothing is checked.
fn ask_context(arguments: &mut Arguments) -> Result<(), Failure> {
    let access = &mut arguments.cluster;
    let present = access.context.clone().unwrap_or_else(|| CURRENT.to_owned());
    let found = dialog::ask("Kubeconfig context", Some(&present), |name| {
        access.context = Some(name.to_owned()).filter(|name| name != CURRENT);
        let found = requests::cluster(access)?;
        render::note!("  {found}");
        Ok(())
    })?;
    if found.is_none() {
        access.context = None;
    }
    Ok(())
}
