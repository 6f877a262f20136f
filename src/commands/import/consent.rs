//! Asks a person at the terminal for consent to what reaches beyond the environment.

use importer::Plan;

use crate::args::Output;
use crate::commands::question::agreed;
use crate::failure::Failure;

/// Asks, where consent is all that is missing, and whoever reads the plan can answer.
pub(super) async fn ask(plan: &mut Plan<'_>, output: Output) -> Result<(), Failure> {
    let Some(id) = plan.consent_wanted().map(str::to_owned) else {
        return Ok(());
    };
    if agreed("accept what reaches beyond the environment?", output).await? {
        plan.accept(id);
    }
    Ok(())
}
