//! From what was typed to what is asked for: the accepted archive, the registry's client, the request.

use std::collections::BTreeSet;
use std::path::Path;

use deployer::{Cluster, Conflicts};
use importer::{
    Adopt, Adoption, Allowed, Authority, CreateEnvironment, Downgrade, Goal, HeldSite, HelmFrom,
    NamedRegistry, Nodes, PullLogin, PushDestination, Request, Target, Verb, Writer,
};
use registry::{Client, ClientOptions, RegistryAddress};
use schemas::{EnvironmentName, Namespace, SolutionId};
use shelf::{Missing, PlacementChoice, Replace};
use validator::{Accepted, Finding, Report};

use super::arguments::{Adopted, Arguments, ImageRegistry, Place, Registries, SignerArguments};
use super::login;
use crate::args::{
    ArrivalArguments, ChangeArguments, Output, RegistryArguments, TrustArguments, choose,
};
use crate::commands::meant::ImagesAt;
use crate::commands::parameters::ParameterArguments;
use crate::commands::validate::{check, words};
use crate::failure::Failure;
use crate::{cluster, environment, helm, registries, render};

/// An accepted archive.
#[derive(Debug)]
pub(crate) struct Acceptance {
    pub(crate) accepted: Accepted,
    /// What was found of it though it is accepted.
    pub(crate) findings: Vec<Finding>,
}

/// The registry and the cluster that a plan is made for.
#[derive(Clone, Copy)]
pub(crate) struct Reached<'a> {
    pub(crate) client: &'a Client,
    pub(crate) cluster: &'a Cluster,
}

/// Verifies an archive as [`judge`] does. Of one that is not accepted it is said that it is not, and what follows.
pub(crate) fn accept(
    archive: &Path,
    signers: &SignerArguments,
    follows: &str,
    output: Output,
) -> Result<Option<Acceptance>, Failure> {
    let allow = signers.allow_unsigned.clone();
    accept_by(archive, &signers.trust, allow, follows, output)
}

/// The same by these signatures, or by none where the Solution is allowed to have none.
pub(crate) fn accept_by(
    archive: &Path,
    trust: &TrustArguments,
    allow: Option<SolutionId>,
    follows: &str,
    output: Output,
) -> Result<Option<Acceptance>, Failure> {
    let judged = judge_by(archive, trust, allow, output)?;
    judged.map(Some).or_else(|report| {
        words::refuse(&report, &format!(", so {follows}"), output);
        Ok(None)
    })
}

/// Verifies an archive as far as an import needs: layers are verified while they are pushed. The report, if it is not
/// accepted.
pub(crate) fn judge(
    archive: &Path,
    signers: &SignerArguments,
    output: Output,
) -> Result<Result<Acceptance, Box<Report>>, Failure> {
    judge_by(
        archive,
        &signers.trust,
        signers.allow_unsigned.clone(),
        output,
    )
}

fn judge_by(
    archive: &Path,
    trust: &TrustArguments,
    allow: Option<SolutionId>,
    output: Output,
) -> Result<Result<Acceptance, Box<Report>>, Failure> {
    let report = check::documents(archive, trust, allow, output)?;
    let summary = report.summary();
    let judged = summary.judged.as_ref();
    let judged = judged.map(|judged| words::in_words(judged, summary.signers.len()));
    if let (Some(judged), Output::Human) = (judged, output) {
        render::note!("signatures checked by {judged}");
    }
    let findings = report.findings().to_vec();
    let accepted = report.accept();
    Ok(accepted.map(|accepted| {
        words::talk(&findings, output);
        if accepted.signers().is_none() && output == Output::Human {
            render::note(
                "warning: this archive is not signed; it is accepted because `--allow-unsigned` names it",
            );
        }
        Acceptance { accepted, findings }
    }))
}

/// A registry's client, with the site's authority if no other is named, and the login of docker or podman.
pub(crate) fn client(
    registry: &RegistryAddress,
    reach: &RegistryArguments,
    site: &HeldSite,
) -> Result<Client, Failure> {
    registries::client(registry, reach, self::reach(reach, site)?)
}

/// How registries are reached, with the site's authority if no other is named, and without a login.
pub(super) fn reach(reach: &RegistryArguments, site: &HeldSite) -> Result<ClientOptions, Failure> {
    registries::options_with(reach, || site.certificate_authority())
}

/// The request, with every choice that was made here or in the site's file.
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
    let mut request = of_place(place, &chosen.registry, chosen.pull_registry, turn)?;
    request.nodes = nodes(&arguments.arrival);
    request.missing = chosen.missing;
    request.from_site = chosen.from_site;
    request.allowed.conflicts = planning.conflicts();
    request.helm_from = included.helm_from();
    Ok(allow(request, registries, signers))
}

/// Whether nodes are waited for, and each time for how long.
pub(crate) fn nodes(arrival: &ArrivalArguments) -> Nodes {
    let longest = arrival.longest();
    longest.map_or(Nodes::AsTheyAre, Nodes::Awaited)
}

/// Where images go, as it was typed or as the site's file has it.
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

/// The request of one who allows other archives and signers than before, or places images otherwise.
pub(crate) fn allow(
    mut request: Request,
    registries: &Registries,
    signers: &SignerArguments,
) -> Request {
    request.placement = registries.placement.choice();
    let allowed = &mut request.allowed;
    allowed.replace = registries.replace();
    let Allowed {
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

/// The request of one who takes nothing but what was imported.
pub(crate) fn of_place(
    place: &Place,
    registry: &RegistryAddress,
    pull_registry: Option<RegistryAddress>,
    turn: &ChangeArguments,
) -> Result<Request, Failure> {
    let known_as = pull_registry.as_ref().unwrap_or(registry);
    let pull_login = login::pull_login(place, registry, known_as)?;
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
        ..of_goal(goal, registry, pull_registry, turn)?
    })
}

/// The request of one who allows nothing beyond the ordinary.
pub(crate) fn of_goal(
    goal: Goal,
    registry: &RegistryAddress,
    pull_registry: Option<RegistryAddress>,
    turn: &ChangeArguments,
) -> Result<Request, Failure> {
    let writer = cluster::writer(turn)?;
    of_writer(goal, registry, pull_registry, turn, writer)
}

/// The same of a writer that is known: who makes one may be asked for a passphrase.
pub(crate) fn of_writer(
    goal: Goal,
    registry: &RegistryAddress,
    pull_registry: Option<RegistryAddress>,
    turn: &ChangeArguments,
    writer: Writer,
) -> Result<Request, Failure> {
    Ok(Request {
        registry: registry.clone(),
        placement: PlacementChoice::default(),
        missing: Missing::Push,
        pull_registry,
        goal,
        allowed: Allowed::NOTHING,
        accepted: BTreeSet::new(),
        recreate: BTreeSet::new(),
        before: BTreeSet::new(),
        authority: Authority::Cluster,
        verb: Verb::Import,
        wave: None,
        fleet_revision: None,
        fleet_cluster: None,
        from_site: BTreeSet::new(),
        by: environment::person(),
        now: environment::now().map_err(Failure::unknown)?,
        writer,
        nodes: Nodes::AsTheyAre,
        wait: turn.timeout(),
        limit: turn.limit(),
        scratch: environment::scratch(),
        helm: helm::installer(turn.helm.as_deref()),
        helm_from: HelmFrom::Site,
    })
}

/// The environment as it would be deployed to by one who chooses nothing but values.
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

/// What an administrator may allow, which is no reason not to show what something would come to; but whose archive it is.
pub(crate) fn all_but_signers(signers: Allowed) -> Allowed {
    Allowed {
        adopt: Adoption {
            namespace: Adopt::Allow,
            crds: Adopt::Allow,
            objects: Adopt::Allow,
        },
        replace: Replace::Allow,
        downgrade: Downgrade::Allow,
        conflicts: Conflicts::Force,
        ..signers
    }
}

/// The request of one who wants to know and not to do.
pub(crate) fn of_reader(
    target: Target,
    images: ImagesAt,
    signers: Allowed,
) -> Result<Request, Failure> {
    let nobody = ChangeArguments::default();
    let goal = Goal::Deployed(target);
    Ok(Request {
        allowed: all_but_signers(signers),
        ..of_goal(goal, &images.registry, images.pull_registry, &nobody)?
    })
}

fn allowed(place: &Place) -> Allowed {
    let adopt = |what| choose(place.adopt.contains(&what), Adopt::Allow, Adopt::Refuse);
    let create = place.create_environment;
    Allowed {
        adopt: Adoption {
            namespace: adopt(Adopted::Namespace),
            crds: adopt(Adopted::Crds),
            objects: adopt(Adopted::Objects),
        },
        downgrade: choose(place.allow_downgrade, Downgrade::Allow, Downgrade::Refuse),
        unproved: place.proving.unproved(),
        create: choose(create, CreateEnvironment::Allow, CreateEnvironment::Refuse),
        ..Allowed::NOTHING
    }
}
