//! Several archives in one import: all are checked before anything changes, and each is imported as it would be alone,
//! behind those that it needs.

use importer::{Goal, Request};
use schemas::{PlacedVersion, Solution, SolutionId};

use super::arguments::Arguments;
use super::request::{Acceptance, Reached, accept};
use super::then::Then;
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::render;

/// Verifies all archives, in the order in which they are imported; none if one is not accepted, which is said.
pub(super) fn accept_all(
    arguments: &Arguments,
    output: Output,
) -> Result<Option<Vec<Acceptance>>, Failure> {
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
    let manifests = found.iter().flatten().map(|it| it.accepted.manifest());
    let manifests: Vec<&Solution> = manifests.collect();
    let order = importer::import_order(&manifests).map_err(Failure::no)?;
    let in_order = order.into_iter().filter_map(|at| found[at].take());
    Ok(Some(in_order.collect()))
}

/// Imports one archive after the other, and ends with the first that fails.
pub(super) async fn carry_out(
    archives: &[Acceptance],
    request: &Request,
    reached: Reached<'_>,
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
        if let Then::Stop = choices.then {
            // Otherwise each plan but the first would lack what the one before brings.
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

fn id(archive: &Acceptance) -> &SolutionId {
    &archive.accepted.statement().predicate.id
}

fn names(archives: &[Acceptance]) -> String {
    let names: Vec<String> = archives.iter().map(|it| id(it).to_string()).collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        names => schemas::named(names.to_vec()),
    }
}
