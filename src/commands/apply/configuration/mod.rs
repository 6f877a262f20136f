//! `solution apply -f`: makes the imported and active versions those of a `SolutionsConfiguration`.

mod archives;
mod carry_out;
mod plan;
pub(in crate::commands) mod show;

use std::path::Path;

use importer::{Change, Run};
use schemas::{SolutionsConfiguration, limits};

use self::plan::Plan;
use super::Arguments;
use crate::args::Output;
use crate::commands::change::change;
use crate::commands::question::agreed;
use crate::commands::refusal::{InTheWay, refuse};
use crate::failure::{Failure, Outcome};
use crate::render;

pub(super) fn run(arguments: &Arguments, path: &Path, output: Output) -> Result<Outcome, Failure> {
    let configuration = read(path)?;
    let archives = archives::open(arguments, path, &configuration, output)?;
    change(
        &arguments.cluster,
        &arguments.turn,
        arguments.run(),
        output,
        async |change| {
            let plan = Plan::make(arguments, &configuration, &archives, change, output);
            let plan = Box::pin(plan).await?;
            apply(arguments, plan, change, output).await
        },
    )
}

fn read(path: &Path) -> Result<SolutionsConfiguration, Failure> {
    let bytes = files::read(path, limits::CONFIGURATION_SIZE).map_err(Failure::unknown)?;
    let read = SolutionsConfiguration::from_slice(&bytes);
    read.map_err(|error| {
        let context = format!("cannot use `{}`", path.display());
        Failure::no(error)
            .context(context)
            .hint("correct the file: `solution schema solutions-configuration` prints its schema")
    })
}

/// Shows the plan, asks before anything goes, and carries it out.
async fn apply(
    arguments: &Arguments,
    plan: Plan,
    change: &Change<'_>,
    output: Output,
) -> Result<Outcome, Failure> {
    if output == Output::Human {
        show::plan(&plan.shown);
    }
    if change.run == Run::Dry {
        render::result(output, &plan.shown, |_| render::dry(change.run));
        return Ok(plan.shown.outcome());
    }
    let question = "unimport and deactivate Solutions that the file does not list?";
    if plan.removes() && !arguments.pruning.yes && !agreed(question, output).await? {
        let message = "the removal of Solutions that the file does not list was not confirmed";
        let why = InTheWay::new(message, "review the plan, then confirm it with `--yes`");
        return Ok(refuse(output, &plan.shown, [why]));
    }
    let done = plan.carry_out(change, output).await;
    render::result(output, &done, show::done);
    Ok(done.outcome())
}
