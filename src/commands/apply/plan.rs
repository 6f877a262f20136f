//! `solution apply --plan`: who approved the plan, the archive that it is for, and what was asked for then.

use std::path::Path;

use deployer::Cluster;
use importer::{PlanFile, Request};
use registry::Client;

use super::Arguments;
use crate::approval::check_approval;
use crate::args::Output;
use crate::commands::import::{self, Acceptance, Choices, Reached, Then};
use crate::commands::kept::kept;
use crate::failure::{self, Failure, Outcome};
use crate::plans;
use crate::{cluster, environment, helm};

pub(super) fn run(arguments: &Arguments, path: &Path, output: Output) -> Result<Outcome, Failure> {
    let plan = plans::read(path)?;
    check_approval(path, &plan.envelope, &arguments.approval, output)?;
    let given = match &arguments.archive {
        None => None,
        Some(path) => {
            let follows = "the plan was not applied";
            let accepted = import::accept(path, &arguments.signers, follows, output)?;
            let Some(accepted) = accepted else {
                return Ok(Outcome::No);
            };
            Some(accepted)
        }
    };
    let now = environment::now().map_err(Failure::unknown)?;
    let writer = cluster::writer(&arguments.turn)?;
    let helm = helm::installer(arguments.turn.helm.as_deref());
    let (by, scratch) = (environment::person(), environment::scratch());
    let mut request = plan.file.request(by, now, writer, scratch, helm);
    request.helm_from = arguments.included.helm_from();
    cluster::block_on(async {
        let cluster = cluster::connect(&arguments.cluster).await?;
        let found = archive(arguments, &plan.file, &request, given, &cluster, output).await?;
        let Some((archive, client)) = found else {
            return Ok(Outcome::No);
        };
        check_place(&plan.file, &archive, &cluster).await?;
        let choices = Choices {
            then: Then::Follow(&plan.file, arguments.run()),
            shown: arguments.details.shown(),
            missing_rights: None,
        };
        let reached = Reached {
            client: &client,
            cluster: &cluster,
        };
        import::carry_out(&archive, request, reached, choices, None, output).await
    })
}

/// The archive, and the registry for its images. None if it is not accepted, which is said.
async fn archive(
    arguments: &Arguments,
    plan: &PlanFile,
    request: &Request,
    given: Option<Acceptance>,
    cluster: &Cluster,
    output: Output,
) -> Result<Option<(Acceptance, Client)>, Failure> {
    if let Some(given) = given {
        let site = importer::site(cluster).await?;
        let client = import::client(&request.registry, &arguments.registries.reach, &site)?;
        return Ok(Some((given, client)));
    }
    let (solution, version) = (plan.solution.name(), Some(plan.solution.version()));
    let reach = &arguments.registries.reach;
    let kept = kept(cluster, solution, version, reach, output).await;
    let kept = kept
        .map_err(|failure| failure.hint("add the path of the archive: it is not imported yet"))?;
    Ok(kept.map(|kept| (kept.archive, kept.client)))
}

/// The plan is for this archive and this cluster.
async fn check_place(
    plan: &PlanFile,
    archive: &Acceptance,
    cluster: &Cluster,
) -> Result<(), Failure> {
    let elsewhere = plan
        .elsewhere(archive.accepted.archive_id(), cluster)
        .await?;
    let Some(first) = elsewhere.first() else {
        return Ok(());
    };
    let failure = Failure::no(first.clone()).hint(failure::replan(first));
    let others = elsewhere.iter().skip(1);
    Err(others.fold(failure, |failure, moved| {
        failure
            .because(moved.to_string())
            .hint(failure::replan(moved))
    }))
}
