//! `solution registry login` and `logout`: store and remove a login in the login files of docker and podman. A login is
//! tested before it is stored.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use registry::{
    Client, ClientOptions, Credentials, LoginKeeper, RegistryAddress, Secret, Username, limits,
};
use schemars::JsonSchema;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::args::{LoginFileArguments, Output, RegistryArguments};
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::terminal::{self, Echo};
use crate::{cluster, disk, registries, render};

/// Log in to a registry
#[derive(Args, Debug)]
#[command(after_help = "\
The command tests the credentials and stores them only if the registry accepts them. It writes the file that \
podman or docker uses, or calls the credential helper in this file. podman, skopeo and docker then use the same \
credentials.

Examples:
  solution registry login registry.example
  solution registry login registry.example:5000/team --username robot --password-stdin < password
  solution registry login pull.site:5000 --ca-file site.pem --authfile nodes.json")]
pub(crate) struct Arguments {
    /// The registry as `HOST[:PORT]`, or a path in it as `HOST[:PORT]/PATH`
    #[arg(value_name = "HOST")]
    registry: RegistryAddress,

    /// The user name [default: a prompt]
    #[arg(long, value_name = "NAME")]
    username: Option<Username>,

    /// Read the password from standard input instead of a prompt
    #[arg(long, requires = "username")]
    password_stdin: bool,

    #[command(flatten)]
    file: LoginFileArguments,

    #[command(flatten)]
    reach: RegistryArguments,
}

/// A login that was written.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoggedIn {
    /// The registry, as the file names it.
    registry: String,
    /// The name of the user.
    username: String,
    /// The file that has the login, or that names the helper.
    file: PathBuf,
    /// The credential helper that has the login.
    #[serde(skip_serializing_if = "Option::is_none")]
    helper: Option<String>,
    /// The host that checked the login for the registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_server: Option<String>,
    /// Whether the registry requested the login.
    checked: bool,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let registry = &arguments.registry;
    // Check the file before the user types a password.
    let mut file = registries::open(&registries::path(arguments.file.authfile.as_deref())?)?;
    let username = match &arguments.username {
        Some(username) => username.clone(),
        None => ask_username(registry)?,
    };
    let password = if arguments.password_stdin {
        password(&from_stdin()?)?
    } else {
        ask_password(registry)?
    };
    let client = client(arguments, &username, &password)?;
    let checked = cluster::block_on(async {
        client.ping().await?;
        Ok(client.wants_login().await)
    })?;
    let keeper = file.document.keep(registry, &username, &password)?;
    file.write()?;
    let logged_in = LoggedIn {
        registry: registry.to_string(),
        username: username.as_str().to_owned(),
        file: file.path,
        helper: match keeper {
            LoginKeeper::File => None,
            LoginKeeper::Helper(program) => Some(program),
        },
        token_server: client.token_server(),
        checked,
    };
    Ok(give(output, &logged_in, show))
}

fn show(logged_in: &LoggedIn) {
    let (registry, file) = (&logged_in.registry, logged_in.file.display());
    render::line!("logged in to  {registry} as {}", logged_in.username);
    if let Some(helper) = &logged_in.helper {
        render::line!("kept by       {helper}, as {file} says");
    } else {
        render::line!("kept in       {file}");
    }
    if let Some(server) = &logged_in.token_server {
        render::line!("checked by    {server}, the registry's token server");
    }
    if !logged_in.checked {
        render::note!("{registry} does not require a login, so this one was not checked");
    }
}

fn client(
    arguments: &Arguments,
    username: &Username,
    password: &Secret,
) -> Result<Client, Failure> {
    let options = ClientOptions {
        credentials: Credentials::Password {
            username: username.as_str().to_owned(),
            password: password.clone(),
        },
        ..registries::reached(&arguments.reach, &arguments.registry)?
    };
    Ok(Client::new(&arguments.registry, options)?)
}

fn ask_username(registry: &RegistryAddress) -> Result<Username, Failure> {
    let question = format!("User name for {registry}: ");
    let line = terminal::ask(&question, Echo::Shown, limits::USERNAME)?;
    let line = line.ok_or_else(no_terminal)?;
    let text = str::from_utf8(&line).unwrap_or_default();
    text.parse().map_err(Failure::no)
}

/// Asks for a password, which is not shown.
pub(crate) fn ask_password(registry: &RegistryAddress) -> Result<Secret, Failure> {
    let question = format!("Password for {registry}: ");
    let line = terminal::ask(&question, Echo::Hidden, limits::PASSWORD)?;
    password(&line.ok_or_else(no_terminal)?)
}

fn password(bytes: &[u8]) -> Result<Secret, Failure> {
    let most = limits::PASSWORD;
    match str::from_utf8(bytes) {
        Ok(text) if (1..=most).contains(&text.len()) => Ok(Secret::new(text.to_owned())),
        _ => Err(Failure::no(anyhow!(
            "a password must have 1 to {most} bytes of text"
        ))),
    }
}

/// Reads all of standard input: some registries accept a document as a password.
fn from_stdin() -> Result<Zeroizing<Vec<u8>>, Failure> {
    // The limit includes one excess byte, to detect a longer password, and the end of the line.
    let bytes = disk::read_erased(std::io::stdin().lock(), limits::PASSWORD + 3, None)
        .map_err(|error| Failure::unknown(error).context("cannot read the password"))?;
    let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    Ok(Zeroizing::new(text.to_vec()))
}

fn no_terminal() -> Failure {
    Failure::usage("cannot ask for the login: there is no terminal")
        .hint("pass it with `--username NAME --password-stdin`")
}

/// Log out of a registry
#[derive(Args, Debug)]
#[command(after_help = "\
The command removes the credentials from the first file of podman or docker that has them, or from the \
credential helper in this file. It does not contact the registry. Exit code 1 means that no credentials were \
found.

Examples:
  solution registry logout registry.example
  solution registry logout --all --authfile nodes.json")]
pub(crate) struct LogoutArguments {
    /// The registry as `HOST[:PORT]`, or a path in it as `HOST[:PORT]/PATH`
    #[arg(value_name = "HOST", required_unless_present = "all")]
    registry: Option<RegistryAddress>,

    /// Remove all credentials from the file
    #[arg(long, conflicts_with = "registry")]
    all: bool,

    #[command(flatten)]
    file: LoginFileArguments,
}

/// Logins that were removed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoggedOut {
    /// The registries, as the file names them.
    registries: Vec<String>,
    /// The file that had the logins, or that names the helper.
    file: PathBuf,
    /// The credential helper that had them.
    #[serde(skip_serializing_if = "Option::is_none")]
    helper: Option<String>,
    /// Other files that have a login, which is used from now on.
    also_in: Vec<PathBuf>,
}

pub(super) fn logout(arguments: &LogoutArguments, output: Output) -> Result<Outcome, Failure> {
    let logged_out = match &arguments.registry {
        Some(registry) => of_one(arguments, registry)?,
        None => of_all(arguments)?,
    };
    Ok(give(output, &logged_out, show_logged_out))
}

fn of_one(arguments: &LogoutArguments, registry: &RegistryAddress) -> Result<LoggedOut, Failure> {
    let paths = registries::paths(arguments.file.authfile.as_deref());
    for path in paths.iter().filter(|path| path.exists()) {
        let mut file = registries::open(path)?;
        let Some(keeper) = file.document.forget(registry)? else {
            continue;
        };
        file.write()?;
        let also_in =
            registries::also_in(&paths, path, |document| document.contains_login(registry));
        return Ok(LoggedOut {
            registries: vec![registry.to_string()],
            file: file.path,
            helper: match keeper {
                LoginKeeper::File => None,
                LoginKeeper::Helper(program) => Some(program),
            },
            also_in,
        });
    }
    let none = anyhow!("there is no login for `{registry}`");
    let looked = paths.iter().map(|path| path.display());
    Err(Failure::no(none)
        .because(format!("searched {}", render::list(looked)))
        .hint("name another file with `--authfile`"))
}

fn of_all(arguments: &LogoutArguments) -> Result<LoggedOut, Failure> {
    let named = arguments.file.authfile.as_deref();
    let mut file = registries::open(&registries::path(named)?)?;
    let registries = file.document.forget_all()?;
    if !registries.is_empty() {
        file.write()?;
    }
    let also_in = registries::also_in(&registries::paths(named), &file.path, |document| {
        document.holds_any()
    });
    Ok(LoggedOut {
        registries,
        file: file.path,
        helper: None,
        also_in,
    })
}

fn show_logged_out(logged_out: &LoggedOut) {
    let file = logged_out.file.display();
    render::lines("logged out of  ", &logged_out.registries);
    match &logged_out.helper {
        _ if logged_out.registries.is_empty() => render::line!("no login       in {file}"),
        Some(helper) => render::line!("removed from   {helper}, as {file} says"),
        None => render::line!("removed from   {file}"),
    }
    for path in &logged_out.also_in {
        render::note!(
            "{0} also has a login, which is used now: remove it with `--authfile {0}`",
            path.display()
        );
    }
}
