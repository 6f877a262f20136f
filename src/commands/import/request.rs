//! From what was typed to what is asked for: the accepted archive, the registry's client, the request.

use std::time::Duration;

use importer::{
    Adopt, Adoption, Allowed, ChangeSigners, CreateEnvironment, Downgrade, ForgetSigners, Replace,
    Request, Target,
};
use registry::Client;
use validator::{Accepted, Depth, Finding};

use super::arguments::{Adopted, Arguments};
use super::login;
use crate::args::{Output, choose};
use crate::commands::validate::{check, words};
use crate::failure::Failure;
use crate::{cluster, environment, registries, render};

/// Verifies the archive as far as an import needs: layers are verified while they are pushed. What was found of an
/// archive that is accepted comes with it.
pub(super) fn accept(
    arguments: &Arguments,
    output: Output,
) -> Result<Option<(Accepted, Vec<Finding>)>, Failure> {
    let allow = arguments.signers.allow_unsigned.clone();
    let (signatures, _) = check::whose(&arguments.signers.trust, allow, output)?;
    let report = check::check(&arguments.archive, signatures, Depth::Documents, output)?;
    let summary = report.summary();
    let judged = summary.judged.as_ref();
    let judged = judged.map(|judged| words::in_words(judged, summary.signers.len()));
    if let (Some(judged), Output::Human) = (judged, output) {
        render::note!("signatures judged by {judged}");
    }
    words::talk_of(&report, output);
    let findings = report.findings().to_vec();
    match report.accept() {
        Ok(accepted) => {
            if accepted.signers().is_none() && output == Output::Human {
                render::note(
                    "warning: nobody signed this archive; it is accepted because `--allow-unsigned` names it",
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

/// The registry's client, with the site's authorities and login.
pub(super) fn client(arguments: &Arguments) -> Result<Client, Failure> {
    let options = registry::Options {
        credentials: registries::login(&arguments.registries.registry)?,
        ..registries::options(&arguments.registries.reach)?
    };
    Ok(Client::new(&arguments.registries.registry, options)?)
}

/// The request, with every choice that was made.
pub(super) fn request(arguments: &Arguments) -> Result<Request, Failure> {
    let pull_login = login::pull_login(arguments)?;
    let Arguments {
        place, registries, ..
    } = arguments;
    let target = |environment| Target {
        environment,
        namespace: place.namespace.clone(),
        pull_login,
    };
    Ok(Request {
        registry: registries.registry.clone(),
        pull_registry: registries.pull_registry.clone(),
        target: place.environment.clone().map(target),
        allowed: allowed(arguments),
        accepted: place.accept.iter().cloned().collect(),
        by: environment::person(),
        now: environment::now().map_err(Failure::unknown)?,
        wait: Duration::from_secs(place.timeout),
        writer: cluster::writer(&arguments.turn),
    })
}

fn allowed(arguments: &Arguments) -> Allowed {
    let Arguments { signers, place, .. } = arguments;
    let adopt = |what| choose(place.adopt.contains(&what), Adopt::Allow, Adopt::Refuse);
    let create = place.create_environment;
    Allowed {
        adopt: Adoption {
            namespace: adopt(Adopted::Namespace),
            crds: adopt(Adopted::Crds),
        },
        replace: choose(place.replace, Replace::Allow, Replace::Refuse),
        signers: choose(
            signers.change_signers,
            ChangeSigners::Allow,
            ChangeSigners::Refuse,
        ),
        forget: choose(
            signers.forget_signers,
            ForgetSigners::Allow,
            ForgetSigners::Refuse,
        ),
        downgrade: choose(place.allow_downgrade, Downgrade::Allow, Downgrade::Refuse),
        create: choose(create, CreateEnvironment::Allow, CreateEnvironment::Refuse),
    }
}
