//! The questions of `solution setup`: registry, certificate authority, logins and trusted keys. Each is repeated until
//! its answer passes a check.

use std::path::{Path, PathBuf};

use registry::{Credentials, RegistryAddress};
use schemas::{KubernetesName, SolutionPattern};

use super::Arguments;
use super::check::{self, NewLogin, SettingChanges};
use crate::args::RegistryArguments;
use crate::commands::import::{self, ImageRegistry};
use crate::commands::registry::login;
use crate::commands::trust::AddArguments;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::{self, Echo};
use crate::trust::{self, Scope, StoredPolicy};
use crate::{environment, interrupt, keys, registries, render};

/// The size limit of an answer.
const ANSWER: usize = 4096;
/// The answer that leaves a value empty.
const NONE: &str = "-";

/// Asks until the check accepts an answer. Enter keeps the current value, and `-` clears it.
pub(super) fn ask_question<T>(
    question: &str,
    present: Option<&str>,
    mut check: impl FnMut(&str) -> Result<T, Failure>,
) -> Result<Option<T>, Failure> {
    let shown = present.map_or_else(String::new, |present| format!(" [{present}]"));
    loop {
        let typed = line(&format!("{question}{shown}: "))?;
        let answer = match (typed.as_str(), present) {
            (NONE, _) | ("", None) => return Ok(None),
            ("", Some(present)) => present,
            (typed, _) => typed,
        };
        match check(answer) {
            Ok(value) => return Ok(Some(value)),
            Err(failure) => again(failure)?,
        }
    }
}

/// Shows why an answer is not accepted, unless the user has asked the program to end.
fn again(failure: Failure) -> Result<(), Failure> {
    if interrupt::cancel().is_asked() {
        return Err(failure);
    }
    failure.lines().for_each(render::note);
    Ok(())
}

/// Asks a yes-or-no question.
pub(super) fn confirm(question: &str, otherwise: bool) -> Result<bool, Failure> {
    let choice = if otherwise { "[Y/n]" } else { "[y/N]" };
    loop {
        match line(&format!("{question} {choice} "))?
            .to_lowercase()
            .as_str()
        {
            "" => return Ok(otherwise),
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => {}
        }
    }
}

/// Asks for a line.
fn line(question: &str) -> Result<String, Failure> {
    let line = terminal::ask(question, Echo::Shown, ANSWER)?;
    let line = line.ok_or_else(|| Failure::usage("cannot ask: there is no terminal"))?;
    Ok(String::from_utf8_lossy(&line).trim().to_owned())
}

/// Returns an absolute path, because a configuration file is read from any working directory.
fn path(typed: &str) -> Result<PathBuf, Failure> {
    let in_home = typed.strip_prefix("~/").zip(environment::home());
    let path = in_home.map_or_else(|| PathBuf::from(typed), |(rest, home)| home.join(rest));
    std::path::absolute(&path).map_err(crate::failure::cannot("find", Path::new(typed)))
}

/// Asks for the registry until it responds.
pub(super) fn ask_registry(arguments: &mut Arguments) -> Result<(), Failure> {
    let present = arguments.registry.as_ref().map(ToString::to_string);
    let reach = &mut arguments.reach;
    let question = "Registry to push images to (HOST[/PREFIX])";
    arguments.registry = ask_question(question, present.as_deref(), |typed| {
        let registry: ImageRegistry = typed.parse().map_err(Failure::usage)?;
        match answers(&registry.address, reach) {
            Err(failure) if needs_authority(&failure, reach) => {
                again(failure)?;
                ask_authority(&registry.address, reach)?;
            }
            other => other?,
        }
        Ok(registry)
    })?;
    Ok(())
}

/// Returns true if the registry answers; it may require a login.
fn answers(address: &RegistryAddress, reach: &RegistryArguments) -> Result<(), Failure> {
    match check::ping(address, reach, Credentials::Anonymous) {
        Err(failure) if failure.is_login() => Ok(()),
        other => other,
    }
}

/// Returns true if another certificate authority can help.
fn needs_authority(failure: &Failure, reach: &RegistryArguments) -> bool {
    failure.is_untrusted() || (!reach.ca_file.is_empty() && registries::options(reach).is_err())
}

/// Asks for the certificate authority until the registry responds with it.
fn ask_authority(address: &RegistryAddress, reach: &mut RegistryArguments) -> Result<(), Failure> {
    let present = reach.ca_file.first().map(|path| path.display().to_string());
    let question = "Certificate authority of the registry (PEM file)";
    let found = ask_question(question, present.as_deref(), |typed| {
        reach.ca_file = vec![path(typed)?];
        answers(address, reach)
    })?;
    if found.is_none() {
        reach.ca_file.clear();
        return answers(address, reach);
    }
    Ok(())
}

/// The answer for nodes that use the same name of the registry as this machine.
const SAME: &str = "the same";

/// Asks for the registry's name on nodes. It is not tested, because this machine may be unable to resolve it.
pub(super) fn ask_pull_registry(arguments: &mut Arguments) -> Result<(), Failure> {
    let present = arguments.pull_registry.as_ref().map(ToString::to_string);
    let present = present.unwrap_or_else(|| SAME.to_owned());
    let reach = &arguments.reach;
    let question = "Registry as nodes know it (HOST[/PREFIX])";
    let found = ask_question(question, Some(&present), |typed| {
        if typed == SAME {
            return Ok(None);
        }
        let address: RegistryAddress = typed.parse().map_err(Failure::usage)?;
        if let Err(failure) = answers(&address, reach) {
            again(failure)?;
            if !confirm("This machine does not reach it. Use it?", true)? {
                return Err(Failure::usage("enter another address"));
            }
        }
        Ok(Some(address))
    })?;
    arguments.pull_registry = found.flatten();
    Ok(())
}

/// Ensures that there is a login that may push, if the registry requires one, and returns it.
pub(super) fn ask_login(
    registry: &RegistryAddress,
    reach: &RegistryArguments,
    changes: &mut SettingChanges,
) -> Result<Credentials, Failure> {
    let found = registries::find_login(registry)?;
    let present = found.as_ref().map(|(_, login)| login.clone());
    let present = present.unwrap_or(Credentials::Anonymous);
    match check::pushes(registry, reach, present.clone()) {
        Ok(()) => {
            let by = found.map(|(path, _)| format!("the login in {} is accepted", path.display()));
            let by = by.unwrap_or_else(|| "no login is required".to_owned());
            render::note!("  {registry}: {by}");
            return Ok(present);
        }
        Err(failure) if found.is_none() && failure.is_login() => {}
        Err(failure) => again(failure)?,
    }
    let file = registries::open(&registries::path(None)?)?;
    let question = format!("User name for {registry} that may push");
    let accepted = ask_question(&question, None, |name| {
        let login = typed_login(registry, name)?;
        check::pushes(registry, reach, login.credentials())?;
        Ok(login)
    })?;
    let Some(accepted) = accepted else {
        return Ok(present);
    };
    let credentials = accepted.credentials();
    changes.logins.push((file, accepted));
    Ok(credentials)
}

/// Asks for the login with which nodes pull, if the registry requires one.
pub(super) fn ask_for_nodes(
    arguments: &Arguments,
    settings: &Settings,
    pushes: &Credentials,
    changes: &mut SettingChanges,
) -> Result<(), Failure> {
    let Some(registry) = arguments
        .registry
        .as_ref()
        .map(|registry| &registry.address)
    else {
        return Ok(());
    };
    let pulled = arguments.pull_registry.as_ref().unwrap_or(registry);
    let reach = &arguments.reach;
    let is_open = check::ping(registry, reach, Credentials::Anonymous).is_ok();
    // A file that only root can read would not be available to other users.
    if is_open || changes.scope == Scope::System {
        return Ok(());
    }
    if let Some(path) = settings.pull_login() {
        match check::of_nodes(&path, registry, pulled, reach) {
            Ok(user) => {
                render::note!(
                    "  nodes pull as {user}, with the login in {}",
                    path.display()
                );
                return Ok(());
            }
            Err(failure) => again(failure)?,
        }
    }
    let path = settings
        .pull_login()
        .unwrap_or_else(|| changes.beside("nodes.json"));
    let file = registries::open(&path)?;
    let host: RegistryAddress = pulled.host().parse().map_err(Failure::usage)?;
    let question =
        format!("User name for {host} that may only pull, for nodes, or the path of a login file");
    let check = |path: &Path, login: Option<Credentials>| {
        import::consent::node_login(path, login.clone(), pushes, pulled)?;
        check::ping(registry, reach, login.unwrap_or(Credentials::Anonymous))
    };
    let accepted = ask_question(&question, None, |typed| {
        let existing = self::path(typed)?;
        if existing.is_file() {
            check(&existing, import::consent::read_login(&existing, pulled)?)?;
            return Ok((existing, None));
        }
        let login = typed_login(&host, typed)?;
        check(&path, Some(login.credentials()))?;
        Ok((path.clone(), Some(login)))
    })?;
    if let Some((path, login)) = accepted {
        changes.pull_login = Some(path);
        changes.logins.extend(login.map(|login| (file, login)));
    }
    Ok(())
}

/// Asks for the password of a user name.
fn typed_login(registry: &RegistryAddress, name: &str) -> Result<NewLogin, Failure> {
    Ok(NewLogin {
        registry: registry.clone(),
        username: name.parse().map_err(Failure::no)?,
        password: login::ask_password(registry)?,
    })
}

/// Asks for the trusted keys, each with the Solutions that it signs.
pub(super) fn ask_trust(
    system: bool,
    settings: &Settings,
    changes: &mut SettingChanges,
) -> Result<(), Failure> {
    let (policies, _) = trust::stored()?;
    for stored in &policies {
        let solutions = render::list(stored.policy.solutions());
        for (id, _) in stored.keys() {
            render::note!(
                "  trusted: {id} for {solutions} (policy {})",
                stored.policy.name()
            );
        }
    }
    if let Some((keys, _)) = settings.value("key") {
        let keys = render::list(keys);
        render::note!("  the setting `key` ({keys}) takes precedence over trust policies");
    }
    let mut question = "Public key of a publisher to trust (PEM file)";
    while let Some(policy) =
        ask_question(question, None, |typed| ask_policy(typed, system, changes))?
    {
        changes.policies.extend(policy);
        question = "Another public key";
    }
    Ok(())
}

/// Asks about a key. None if its id is not the one that the publisher has stated.
fn ask_policy(
    typed: &str,
    system: bool,
    changes: &SettingChanges,
) -> Result<Option<(StoredPolicy, crate::disk::WriteMode)>, Failure> {
    let path = path(typed)?;
    render::note!("  key id: {}", keys::public(&path)?.id());
    render::note(
        "  Compare it with the id that the publisher gives you through another channel than the archives.",
    );
    if !confirm("Is it the same?", false)? {
        render::note("  The key is not trusted.");
        return Ok(None);
    }
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let name: Option<KubernetesName> = stem.and_then(|stem| stem.parse().ok());
    let pending: Vec<StoredPolicy> = changes
        .policies
        .iter()
        .map(|(stored, _)| stored.clone())
        .collect();
    let question = "Solutions that it signs (names, `PREFIX-*` or `*`)";
    ask_question(question, Some("*"), |patterns| {
        let patterns = patterns
            .split([',', ' '])
            .filter(|pattern| !pattern.is_empty());
        let patterns = patterns.map(|pattern| pattern.parse().map_err(Failure::usage));
        let solutions = patterns.collect::<Result<Vec<SolutionPattern>, _>>()?;
        let shown = name.as_ref().map(ToString::to_string);
        ask_question("Name of the policy", shown.as_deref(), |name| {
            let add = AddArguments {
                name: name.parse().map_err(Failure::usage)?,
                keys: vec![path.clone()],
                threshold: None,
                solutions: solutions.clone(),
                comment: None,
                extend: false,
                system,
            };
            add.policy(&pending)
        })
    })
    .map(Option::flatten)
}
