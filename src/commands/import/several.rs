//! Multiple archives in one import. All are checked before anything changes. Each is then imported after those that it
//! needs.

use importer::{CheckedArchive, Goal, Plan, PlanSummary, Request};
use schemas::{PlacedVersion, Solution, SolutionId};

use super::arguments::Arguments;
use super::plan_action::PlanAction;
use super::request::{Connections, accept};
use crate::args::Output;
use crate::commands::blocked::ShownBlocker;
use crate::failure::{Failure, Outcome};
use crate::render;

/// Verifies all archives, and returns them in the order of import. None if one is not accepted, which the program has
/// reported.
pub(super) fn accept_all(
    arguments: &Arguments,
    output: Output,
) -> Result<Option<Vec<CheckedArchive>>, Failure> {
    let flag = arguments.of_one();
    if let (Some(flag), true) = (flag, arguments.archives.len() > 1) {
        let message = format!("cannot use {flag} with multiple archives");
        return Err(Failure::usage(message).hint("import that archive separately"));
    }
    let mut found = Vec::new();
    for archive in &arguments.archives {
        let accepted = accept(archive, &arguments.signers, "nothing was imported", output)?;
        let Some(accepted) = accepted else {
            return Ok(None);
        };
        found.push(Some(accepted));
    }
    let manifests = found
        .iter()
        .flatten()
        .map(|archive| archive.accepted.manifest());
    let manifests: Vec<&Solution> = manifests.collect();
    let order = importer::import_order(&manifests).map_err(Failure::no)?;
    let in_order = order.into_iter().filter_map(|at| found[at].take());
    Ok(Some(in_order.collect()))
}

/// Imports one archive after the other, and stops at the first failure.
pub(super) async fn carry_out(
    archives: &[CheckedArchive],
    request: &Request,
    reached: Connections<'_>,
    arguments: &Arguments,
    output: Output,
) -> Result<Outcome, Failure> {
    let choices = arguments.planning.choices();
    let mut request = request.clone();
    for (at, archive) in archives.iter().enumerate() {
        if output == Output::Human {
            render::line!("archive   {} of {}", at + 1, archives.len());
        }
        let one = super::carry_out(archive, request.clone(), reached, choices, None, output);
        let outcome = Box::pin(one).await;
        if !matches!(outcome, Ok(Outcome::Yes)) {
            if output == Output::Human {
                let [done, left] = [&archives[..at], &archives[at..]].map(names);
                render::note!("imported: {done}; not imported: {left}");
            }
            return outcome;
        }
        if let PlanAction::Stop = choices.then {
            // Later plans assume that the earlier archives are deployed, because this run would deploy them first.
            if let Goal::Deployed(target) = &request.goal {
                request.before.insert(PlacedVersion {
                    solution: id(archive).name().clone(),
                    version: id(archive).version().clone(),
                    environment: target.environment.clone(),
                });
            }
        }
    }
    Ok(Outcome::Yes)
}

fn id(archive: &CheckedArchive) -> &SolutionId {
    &archive.accepted.statement().predicate.id
}

fn names(archives: &[CheckedArchive]) -> String {
    let names: Vec<String> = archives
        .iter()
        .map(|archive| id(archive).to_string())
        .collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        names => schemas::list_names(names.to_vec()),
    }
}

/// Returns the plan of an import and its blockers. It writes nothing.
pub(crate) async fn preview(
    archive: &CheckedArchive,
    request: Request,
    reached: Connections<'_>,
) -> Result<(PlanSummary, Vec<ShownBlocker>), Failure> {
    let CheckedArchive { accepted, findings } = archive;
    let Connections { client, cluster } = reached;
    let plan = Plan::make(accepted, findings.clone(), client, cluster, request).await?;
    plan.give_up(client).await;
    let blockers = plan.blockers().into_iter().map(Into::into);
    Ok((plan.summary().clone(), blockers.collect()))
}
