//! From what was typed to what is asked for: the accepted archive, the registry's client, the request.

use std::collections::BTreeSet;
use std::time::Duration;

use importer::{
    Adopt, Adoption, Allowed, ChangeSigners, CreateEnvironment, Downgrade, ForgetSigners, Goal,
    Replace, Request, Target,
};
use registry::{Client, RegistryAddress};
use validator::{Accepted, Depth, Finding};

use super::arguments::{Adopted, Arguments, Place};
use super::login;
use crate::args::{Output, RegistryArguments, WaitArguments, choose};
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

/// A registry's client, with the site's authorities and login.
pub(crate) fn client(
    registry: &RegistryAddress,
    reach: &RegistryArguments,
) -> Result<Client, Failure> {
    let options = registry::Options {
        credentials: registries::login(registry)?,
        ..registries::options(reach)?
    };
    Ok(Client::new(registry, options)?)
}

/// The request, with every choice that was made.
pub(super) fn request(arguments: &Arguments) -> Result<Request, Failure> {
    let Arguments {
        registries,
        signers,
        place,
        turn,
        ..
    } = arguments;
    let pull_registry = registries.pull_registry.clone();
    let mut request = of_place(place, &registries.registry, pull_registry, turn)?;
    let allowed = &mut request.allowed;
    allowed.replace = choose(registries.replace, Replace::Allow, Replace::Refuse);
    allowed.signers = choose(
        signers.change_signers,
        ChangeSigners::Allow,
        ChangeSigners::Refuse,
    );
    allowed.forget = choose(
        signers.forget_signers,
        ForgetSigners::Allow,
        ForgetSigners::Refuse,
    );
    Ok(request)
}

/// The request of one who takes nothing but what was imported.
pub(crate) fn of_place(
    place: &Place,
    registry: &RegistryAddress,
    pull_registry: Option<RegistryAddress>,
    turn: &WaitArguments,
) -> Result<Request, Failure> {
    let known_as = pull_registry.as_ref().unwrap_or(registry);
    let pull_login = login::pull_login(place, registry, known_as)?;
    let target = |environment| Target {
        environment,
        namespace: place.namespace.clone(),
        pull_login,
        wait: Duration::from_secs(place.timeout),
    };
    let target = place.environment.clone().map(target);
    let goal = target.map_or(Goal::Available, Goal::Deployed);
    Ok(Request {
        allowed: allowed(place),
        accepted: place.accept.iter().cloned().collect(),
        ..of_goal(goal, registry, pull_registry, turn)?
    })
}

/// The request of one who allows nothing beyond the ordinary.
pub(crate) fn of_goal(
    goal: Goal,
    registry: &RegistryAddress,
    pull_registry: Option<RegistryAddress>,
    turn: &WaitArguments,
) -> Result<Request, Failure> {
    Ok(Request {
        registry: registry.clone(),
        pull_registry,
        goal,
        allowed: Allowed::NOTHING,
        accepted: BTreeSet::new(),
        by: environment::person(),
        now: environment::now().map_err(Failure::unknown)?,
        writer: cluster::writer(turn),
    })
}

fn allowed(place: &Place) -> Allowed {
    let adopt = |what| choose(place.adopt.contains(&what), Adopt::Allow, Adopt::Refuse);
    let create = place.create_environment;
    Allowed {
        adopt: Adoption {
            namespace: adopt(Adopted::Namespace),
            crds: adopt(Adopted::Crds),
        },
        downgrade: choose(place.allow_downgrade, Downgrade::Allow, Downgrade::Refuse),
        create: choose(create, CreateEnvironment::Allow, CreateEnvironment::Refuse),
        ..Allowed::NOTHING
    }
}
