//! From what was typed to what is asked for: the accepted archive, the registry's client, the request.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use importer::{
    Adopt, Adoption, Allowed, ChangeSigners, CreateEnvironment, Downgrade, ForgetSigners, Login,
    PullLogin, Replace, Request, Target,
};
use registry::{Client, Credentials, RegistryAddress};
use schemas::SolutionId;
use validator::{Accepted, Finding};

use super::{Adopted, Arguments};
use crate::args::Output;
use crate::commands::{support, validate};
use crate::failure::Failure;
use crate::{environment, render};

/// Verifies the archive as far as an import needs: layers are verified while they are pushed. What was found of an
/// archive that is accepted comes with it.
pub(super) fn accept(
    arguments: &Arguments,
    output: Output,
) -> Result<Option<(Accepted, Vec<Finding>)>, Failure> {
    let allow: Option<SolutionId> = match &arguments.allow_unsigned {
        Some(text) => Some(parse_id(text)?),
        None => None,
    };
    let signatures = validate::signatures(&arguments.trust, allow, output)?;
    let report = validate::check(
        &arguments.archive,
        signatures,
        validator::Depth::Documents,
        output,
    )?;
    let summary = report.summary();
    let judged = summary.judged.as_ref();
    let judged = judged.map(|judged| validate::in_words(judged, summary.signers.len()));
    if let (Some(judged), Output::Human) = (judged, output) {
        render::note!("signatures judged by {judged}");
    }
    if output == Output::Human {
        validate::show_findings(&report);
    }
    let findings = report.findings().to_vec();
    match report.accept() {
        Ok(accepted) => {
            if accepted.signers().is_none() && output == Output::Human {
                render::note(
                    "warning: nobody signed this archive; it is taken because --allow-unsigned names it",
                );
            }
            Ok(Some((accepted, findings)))
        }
        Err(report) => {
            render::result(output, &report, |_| {
                let archive = arguments.archive.display();
                render::note!("error: `{archive}` is not accepted, so nothing was imported");
            });
            Ok(None)
        }
    }
}

/// `<name>-<version>`: the version begins after a hyphen that a version follows.
fn parse_id(text: &str) -> Result<SolutionId, Failure> {
    text.match_indices('-')
        .find_map(|(at, _)| {
            let (name, version) = (text[..at].parse().ok()?, text[at + 1..].parse().ok()?);
            SolutionId::new(name, version).ok()
        })
        .ok_or_else(|| {
            Failure::usage(format!(
                "`{text}` is not a Solution id: expected <name>-<version>"
            ))
        })
}

/// The registry's client, with the site's authorities and login.
pub(super) fn client(arguments: &Arguments) -> Result<Client, Failure> {
    let options = registry::Options {
        credentials: credentials(&arguments.registry)?,
        ..support::registry_options(&arguments.reach)?
    };
    Ok(Client::new(&arguments.registry, options)?)
}

/// The login that docker or podman would use: the first file that has one for the registry, in podman's order.
fn credentials(address: &RegistryAddress) -> Result<Credentials, Failure> {
    for path in environment::logins()
        .into_iter()
        .filter(|path| path.exists())
    {
        let config = support::read_text(&path)?;
        let found = Credentials::from_config(config.as_bytes(), address)
            .with_context(|| format!("cannot use the logins in `{}`", path.display()))
            .map_err(Failure::no)?;
        if let Some(credentials) = found {
            return Ok(credentials);
        }
    }
    Ok(Credentials::Anonymous)
}

/// The request, with every choice that was made.
pub(super) fn request(arguments: &Arguments) -> Result<Request, Failure> {
    let login = pull_login(arguments)?;
    let target = arguments.environment.clone().map(|environment| Target {
        environment,
        namespace: arguments.namespace.clone(),
        pull_login: login,
    });
    Ok(Request {
        registry: arguments.registry.clone(),
        pull_registry: arguments.pull_registry.clone(),
        target,
        allowed: allowed(arguments),
        accepted: arguments.accept.iter().cloned().collect(),
        by: environment::person(),
        now: environment::now().map_err(Failure::unknown)?,
        wait: Duration::from_secs(arguments.timeout),
        writer: support::writer(&arguments.turn),
    })
}

fn allowed(arguments: &Arguments) -> Allowed {
    let adopt = |what: Adopted| {
        if arguments.adopt.contains(&what) {
            Adopt::Allow
        } else {
            Adopt::Refuse
        }
    };
    Allowed {
        adopt: Adoption {
            namespace: adopt(Adopted::Namespace),
            crds: adopt(Adopted::Crds),
        },
        replace: if arguments.replace {
            Replace::Allow
        } else {
            Replace::Refuse
        },
        signers: if arguments.change_signers {
            ChangeSigners::Allow
        } else {
            ChangeSigners::Refuse
        },
        forget: if arguments.forget_signers {
            ForgetSigners::Allow
        } else {
            ForgetSigners::Refuse
        },
        downgrade: if arguments.allow_downgrade {
            Downgrade::Allow
        } else {
            Downgrade::Refuse
        },
        create: if arguments.create_environment {
            CreateEnvironment::Allow
        } else {
            CreateEnvironment::Refuse
        },
    }
}

fn pull_login(arguments: &Arguments) -> Result<PullLogin, Failure> {
    if arguments.no_pull_secret {
        return Ok(PullLogin::None);
    }
    if let Some(name) = &arguments.pull_secret {
        return Ok(PullLogin::Secret(name.clone()));
    }
    match &arguments.pull_login {
        Some(path) => Ok(PullLogin::Made(read_pull_login(path, arguments)?)),
        None => Ok(PullLogin::Keep),
    }
}

/// A login for nodes. Every pod of the namespace could read it, so it must not be the one that pushes.
fn read_pull_login(path: &Path, arguments: &Arguments) -> Result<Login, Failure> {
    let address = arguments.pull_registry.as_ref();
    let address = address.unwrap_or(&arguments.registry);
    let text = support::read_text(path)?;
    let context = format!("cannot use the login in `{}`", path.display());
    let found = Credentials::from_config(text.as_bytes(), address)
        .map_err(|error| Failure::no(error).context(context.clone()))?;
    let refused = |reason: String, hint: &str| {
        Failure::no(anyhow::anyhow!(reason))
            .context(context.clone())
            .hint(hint)
    };
    let host = address.host();
    let Some(Credentials::Password { username, password }) = found else {
        return Err(refused(
            format!("it holds no user name and password for {host}"),
            "write one with `podman login --authfile FILE HOST`, with the host as nodes know it",
        ));
    };
    match credentials(&arguments.registry)? {
        Credentials::Password {
            username: pushes, ..
        } if pushes == username => Err(refused(
            format!(
                "`{username}` is the login that pushes, and every pod of the namespace could read it"
            ),
            "have a login made that may only pull",
        )),
        _ => Ok(Login {
            host: host.to_string(),
            username,
            password,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_id;

    #[test]
    fn an_id_is_split_where_the_version_begins() {
        for (text, name, version) in [
            ("shop-1.0.0", "shop", "1.0.0"),
            ("my-shop-2-1.0.0-rc.1", "my-shop-2", "1.0.0-rc.1"),
        ] {
            let id = parse_id(text).unwrap();
            assert_eq!(
                (id.name().as_str(), id.version().to_string().as_str()),
                (name, version)
            );
        }
        assert!(parse_id("shop").is_err());
        assert!(parse_id("-1.0.0").is_err());
    }
}
