//! From what was typed to what is asked for: the accepted archive, the registry's client, the request.

use std::time::Duration;

use anyhow::Context as _;
use importer::{
    Adopt, Allowed, ChangeSigners, ClusterScope, Downgrade, ForgetSigners, Replace, Request, Target,
};
use registry::{Client, Credentials, RegistryAddress};
use schemas::SolutionId;
use validator::Accepted;

use super::Arguments;
use crate::args::Output;
use crate::commands::{support, validate};
use crate::exit::Failure;
use crate::{environment, render};

/// Verifies the archive as far as an import needs: layers are verified while they are pushed.
pub(super) fn accept(arguments: &Arguments, output: Output) -> Result<Option<Accepted>, Failure> {
    let allow: Option<SolutionId> = match &arguments.allow_unsigned {
        Some(text) => Some(parse_id(text)?),
        None => None,
    };
    let signatures = validate::signatures(&arguments.trust, allow)?;
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
        render::note(format!("signatures judged by {judged}"));
    }
    match report.accept() {
        Ok(accepted) => Ok(Some(accepted)),
        Err(report) => {
            render::result(output, &report, |report| {
                validate::show_findings(report);
                let archive = arguments.archive.display();
                render::note(format!(
                    "error: `{archive}` is not accepted, so nothing was imported"
                ));
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
    Client::new(&arguments.registry, options).map_err(support::registry_failure)
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

/// The request, with every choice made.
pub(super) fn request(arguments: &Arguments) -> Result<Request, Failure> {
    let target = arguments.environment.clone().map(|environment| Target {
        namespace: arguments
            .namespace
            .clone()
            .unwrap_or_else(|| importer::default_namespace(&environment)),
        environment,
        pull_secret: arguments.pull_secret.clone(),
    });
    Ok(Request {
        registry: arguments.registry.clone(),
        pull_registry: arguments
            .pull_registry
            .clone()
            .unwrap_or_else(|| arguments.registry.clone()),
        target,
        allowed: Allowed {
            adopt: if arguments.adopt {
                Adopt::Allow
            } else {
                Adopt::Refuse
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
            cluster_scope: if arguments.allow_cluster_scope {
                ClusterScope::Allow
            } else {
                ClusterScope::Refuse
            },
        },
        now: environment::now()?,
        wait: Duration::from_secs(arguments.timeout),
        writer: support::writer(),
    })
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
