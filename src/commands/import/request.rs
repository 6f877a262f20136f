//! The request of an import, from arguments and the site configuration: the accepted archive, the registry's client,
//! the goal and the exceptions. Other verbs derive their requests from the same functions, with fewer choices.

use std::path::Path;

use importer::{
    Adoption, AdoptionPolicy, CheckedArchive, CreateEnvironment, Downgrade, Exceptions, Goal,
    HeldSite, NamedRegistry, Nodes, PullLogin, PushDestination, Request, RequestContext, Target,
    Writer,
};
use kubernetes::{Cluster, ConflictPolicy};
use registry::{Client, ClientOptions, RegistryAddress};
use schemas::{EnvironmentName, Namespace, SolutionId};
use store::ReplacePolicy;
use validator::Report;

use super::arguments::{
    Adopted, Arguments, ImageRegistry, Registries, SignerArguments, TargetArguments,
};
use super::{ResolvedRegistry, consent};
use crate::args::{
    ArrivalArguments, ChangeArguments, Output, RegistryArguments, TrustArguments, choose,
};
use crate::commands::parameters::ParameterArguments;
use crate::commands::validate::{self, check};
use crate::failure::Failure;
use crate::{cluster, environment, helm, registries, render};

/// The registry and the cluster that a plan is made for.
#[derive(Clone, Copy)]
pub(crate) struct Connections<'a> {
    pub(crate) client: &'a Client,
    pub(crate) cluster: &'a Cluster,
}

/// Verifies the signatures and documents of an archive. If it is not accepted, this reports it, with the consequence.
pub(crate) fn accept(
    archive: &Path,
    signers: &SignerArguments,
    follows: &str,
    output: Output,
) -> Result<Option<CheckedArchive>, Failure> {
    let allow = signers.allow_unsigned.clone();
    accept_by(archive, &signers.trust, allow, follows, output)
}

/// Verifies an archive with these keys or policies. The named Solution may be unsigned.
pub(crate) fn accept_by(
    archive: &Path,
    trust: &TrustArguments,
    allow: Option<SolutionId>,
    follows: &str,
    output: Output,
) -> Result<Option<CheckedArchive>, Failure> {
    let judged = check_archive_by(archive, trust, allow, output)?;
    judged.map(Some).or_else(|report| {
        validate::refuse(&report, &format!(", so {follows}"), output);
        Ok(None)
    })
}

/// Verifies an archive as an import needs it. Layers are verified later, while they are pushed. Returns the report if
/// the archive is not accepted.
pub(crate) fn check_archive(
    archive: &Path,
    signers: &SignerArguments,
    output: Output,
) -> Result<Result<CheckedArchive, Box<Report>>, Failure> {
    check_archive_by(
        archive,
        &signers.trust,
        signers.allow_unsigned.clone(),
        output,
    )
}

fn check_archive_by(
    archive: &Path,
    trust: &TrustArguments,
    allow: Option<SolutionId>,
    output: Output,
) -> Result<Result<CheckedArchive, Box<Report>>, Failure> {
    let report = check::documents(archive, trust, allow, output)?;
    let summary = report.summary();
    let judged = summary.judged.as_ref();
    let judged = judged.map(|judged| validate::in_words(judged, summary.signers.len()));
    if let (Some(judged), Output::Human) = (judged, output) {
        render::note!("signatures checked by {judged}");
    }
    let findings = report.findings().to_vec();
    let accepted = report.accept();
    Ok(accepted.map(|accepted| {
        validate::print_findings(&findings, output);
        if accepted.signers().is_none() && output == Output::Human {
            render::note(
                "warning: this archive is not signed; it is accepted because `--allow-unsigned` names it",
            );
        }
        CheckedArchive { accepted, findings }
    }))
}

/// Returns the client of a registry, with the login of docker or podman. The site's certificate authority applies if
/// the user names none.
pub(crate) fn client(
    registry: &RegistryAddress,
    reach: &RegistryArguments,
    site: &HeldSite,
) -> Result<Client, Failure> {
    registries::client(registry, reach, client_options(reach, site)?)
}

/// Returns the client options for registries, without a login. The site's certificate authority applies if the user
/// names none.
pub(super) fn client_options(
    reach: &RegistryArguments,
    site: &HeldSite,
) -> Result<ClientOptions, Failure> {
    registries::options_with(reach, || site.certificate_authority())
}

/// Returns the request, with all choices from the command line and the site configuration.
pub(super) fn request(arguments: &Arguments, site: &HeldSite) -> Result<Request, Failure> {
    let Arguments {
        registries,
        signers,
        place,
        planning,
        turn,
        included,
        ..
    } = arguments;
    let chosen = destination(registries, site)?;
    let mut request = place_request(place, &chosen.registry, chosen.pull_registry, turn)?;
    request.nodes = node_policy(&arguments.arrival);
    request.missing = chosen.missing;
    request.from_site = chosen.from_site;
    request.allowed.conflicts = planning.conflicts();
    request.use_included_helm = included.use_included_helm;
    Ok(allow(request, registries, signers))
}

/// Returns the policy for nodes that are not ready.
pub(crate) fn node_policy(arrival: &ArrivalArguments) -> Nodes {
    let longest = arrival.longest();
    longest.map_or(Nodes::AsTheyAre, Nodes::Awaited)
}

/// Returns the registry for images from the arguments or the site configuration.
pub(crate) fn destination(
    registries: &Registries,
    site: &HeldSite,
) -> Result<PushDestination, Failure> {
    let named = registries.registry.as_ref();
    let named = named.map(|ImageRegistry { address, missing }| NamedRegistry {
        address: address.clone(),
        missing: *missing,
    });
    let pull_registry = registries.pull_registry.clone();
    PushDestination::of(named, pull_registry, site).ok_or_else(no_registry)
}

/// Adds to a request the exceptions for signers and older archives, and the placement of images.
pub(crate) fn allow(
    mut request: Request,
    registries: &Registries,
    signers: &SignerArguments,
) -> Request {
    request.placement = registries.placement.choice();
    let allowed = &mut request.allowed;
    allowed.replace = registries.replace();
    let Exceptions {
        signers, forget, ..
    } = signers.allowed();
    (allowed.signers, allowed.forget) = (signers, forget);
    request
}

fn no_registry() -> Failure {
    Failure::usage("no registry is set, neither with `--registry` nor in the site configuration")
        .for_setup()
        .hint("set one with `--registry HOST[/PREFIX]`, or for the whole cluster with `solution site set`")
}

/// Returns the request to deploy an imported version, without exceptions for archives and signers.
pub(crate) fn place_request(
    place: &TargetArguments,
    registry: &RegistryAddress,
    pull_registry: Option<RegistryAddress>,
    turn: &ChangeArguments,
) -> Result<Request, Failure> {
    let known_as = pull_registry.as_ref().unwrap_or(registry);
    let pull_login = consent::pull_login(place, registry, known_as)?;
    let parameters = Box::new(place.parameters.asked()?);
    let target = |environment| Target {
        environment,
        namespace: place.namespace.clone(),
        pull_login,
        parameters,
        fleet: None,
    };
    let target = place.environment.clone().map(target);
    let goal = target.map_or(Goal::Available, Goal::Deployed);
    Ok(Request {
        allowed: allowed(place),
        accepted: place.accept.iter().cloned().collect(),
        recreate: place.recreate.iter().cloned().collect(),
        ..goal_request(goal, registry, pull_registry, turn)?
    })
}

/// Returns the request for a goal, without any exceptions.
pub(crate) fn goal_request(
    goal: Goal,
    registry: &RegistryAddress,
    pull_registry: Option<RegistryAddress>,
    turn: &ChangeArguments,
) -> Result<Request, Failure> {
    let writer = cluster::writer(turn)?;
    writer_request(goal, registry, pull_registry, turn, writer)
}

/// Returns the context of a request by this user, with a known writer.
pub(crate) fn context(turn: &ChangeArguments, writer: Writer) -> Result<RequestContext, Failure> {
    Ok(RequestContext {
        now: environment::now().map_err(Failure::unknown)?,
        writer,
        scratch: environment::scratch(),
        helm: helm::installer(turn.helm.as_deref()),
    })
}

/// Returns the request for a known writer. Creating a writer may ask for a passphrase.
pub(crate) fn writer_request(
    goal: Goal,
    registry: &RegistryAddress,
    pull_registry: Option<RegistryAddress>,
    turn: &ChangeArguments,
    writer: Writer,
) -> Result<Request, Failure> {
    let context = context(turn, writer)?;
    Ok(Request {
        pull_registry,
        ..Request::new(registry.clone(), goal, turn.limits(), context)
    })
}

/// Returns the target in which only values are set.
pub(crate) fn target(
    environment: &EnvironmentName,
    namespace: Option<Namespace>,
    parameters: &ParameterArguments,
) -> Result<Target, Failure> {
    Ok(Target {
        environment: environment.clone(),
        namespace,
        pull_login: PullLogin::Keep,
        parameters: Box::new(parameters.asked()?),
        fleet: None,
    })
}

/// Allows everything that an administrator may allow, so that a plan can be shown. Only exceptions for signers remain
/// as given.
pub(crate) fn all_but_signers(signers: Exceptions) -> Exceptions {
    Exceptions {
        adopt: Adoption {
            namespace: AdoptionPolicy::Allow,
            crds: AdoptionPolicy::Allow,
            objects: AdoptionPolicy::Allow,
        },
        replace: ReplacePolicy::Allow,
        downgrade: Downgrade::Allow,
        conflicts: ConflictPolicy::Force,
        ..signers
    }
}

/// Returns the request of a user who only reads.
pub(crate) fn reader_request(
    target: Target,
    images: ResolvedRegistry,
    signers: Exceptions,
) -> Result<Request, Failure> {
    let nobody = ChangeArguments::default();
    let goal = Goal::Deployed(target);
    Ok(Request {
        allowed: all_but_signers(signers),
        ..goal_request(goal, &images.registry, images.pull_registry, &nobody)?
    })
}

fn allowed(place: &TargetArguments) -> Exceptions {
    let adopt = |what| {
        choose(
            place.adopt.contains(&what),
            AdoptionPolicy::Allow,
            AdoptionPolicy::Refuse,
        )
    };
    let create = place.create_environment;
    Exceptions {
        adopt: Adoption {
            namespace: adopt(Adopted::Namespace),
            crds: adopt(Adopted::Crds),
            objects: adopt(Adopted::Objects),
        },
        downgrade: choose(place.allow_downgrade, Downgrade::Allow, Downgrade::Refuse),
        unproved: place.proving.unproved(),
        create: choose(create, CreateEnvironment::Allow, CreateEnvironment::Refuse),
        ..Exceptions::default()
    }
}
