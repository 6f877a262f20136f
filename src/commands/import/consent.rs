//! Asks a person at the terminal for consent to what reaches beyond the environment.

use importer::Plan;

use crate::args::Output;
use crate::commands::question::agreed;
use crate::failure::Failure;

/// Asks, where consent is all that is missing, and whoever reads the plan can answer. Returns the id of what is accepted so.
pub(super) async fn ask(plan: &mut Plan<'_>, output: Output) -> Result<Option<String>, Failure> {
    let Some(id) = plan.consent_wanted().map(str::to_owned) else {
        return Ok(None);
    };
    if !agreed("accept these effects outside the environment?", output).await? {
        return Ok(None);
    }
    plan.accept(id.clone());
    Ok(Some(id))
}
