//! `solution registry login`: a login that was tried, for everything that reads the files of docker and podman.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use registry::{
    Client, ClientOptions, Credentials, LoginKeeper, RegistryAddress, Secret, Username, limits,
};
use schemars::JsonSchema;
use serde::Serialize;
use zeroize::Zeroizing;

use super::give;
use crate::args::{LoginFileArguments, Output, RegistryArguments};
use crate::failure::{Failure, Outcome};
use crate::terminal::{self, Echo};
use crate::{cluster, disk, logins, registries, render};

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

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let registry = &arguments.registry;
    // Before anybody types anything.
    let mut file = logins::open(&logins::path(arguments.file.authfile.as_deref())?)?;
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
pub(super) fn ask_password(registry: &RegistryAddress) -> Result<Secret, Failure> {
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

/// All of it: some registries take a document as a password.
fn from_stdin() -> Result<Zeroizing<Vec<u8>>, Failure> {
    // Room for one byte too many and the line's end.
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
