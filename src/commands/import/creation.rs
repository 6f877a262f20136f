//! Asks a person at the terminal whether an environment that does not exist is created.

use importer::{CreateEnvironment, Obstacle, Plan, Request};

use super::then::Then;
use crate::args::Output;
use crate::commands::question::agreed;
use crate::failure::Failure;

/// Asks, if the environment of a plan that would be applied does not exist. After a yes, the request allows to create it.
pub(super) async fn ask(
    plan: &Plan<'_>,
    request: &mut Request,
    then: Then<'_>,
    output: Output,
) -> Result<bool, Failure> {
    let mut obstacles = plan.obstacles().into_iter();
    let unknown = obstacles.find_map(|obstacle| match obstacle {
        Obstacle::UnknownEnvironment { environment, near } => Some((environment, near)),
        _ => None,
    });
    let (Then::Apply, Some((environment, near))) = (then, unknown) else {
        return Ok(false);
    };
    let near = near
        .as_ref()
        .map(|near| format!(" (did you mean `{near}`?)"));
    let near = near.unwrap_or_default();
    let question = format!("environment `{environment}` does not exist{near}; create it?");
    if !agreed(&question, output).await? {
        return Ok(false);
    }
    request.allowed.create = CreateEnvironment::Allow;
    Ok(true)
}
