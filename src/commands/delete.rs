//! `solution delete`: everything of a Solution that an import brought to the cluster, in one step.

use clap::Args;
use importer::{Change, Deletion, Run};
use schemas::SolutionName;

use super::change::change;
use super::question::agreed;
use super::refusal::{InTheWay, refuse};
use super::{give, undo};
use crate::args::{Output, RemovalArguments};
use crate::failure::{Failure, Outcome};
use crate::render;

/// Remove a Solution from the cluster: its operators, its CRDs and all imported versions
#[derive(Args, Debug)]
#[command(after_help = "\
The same as undeploy in every environment, deactivate, and unimport of every version. The plan is
shown first. Refused while custom resources exist: they are never deleted by it. Environments and
their namespaces stay (`solution environment delete`), and so do the images in the registry; the
command says where. If it is interrupted, running it again completes it.

Examples:
  solution delete example --dry-run
  solution delete example
  solution delete example --yes --output json")]
pub(crate) struct Arguments {
    /// The Solution's name
    solution: SolutionName,

    /// Do not ask; needed where nobody can be asked
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    removal: RemovalArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let removal = &arguments.removal;
    let place = (&removal.cluster, &removal.wait);
    let run = removal.dry_run.run();
    change(place, run, output, async |change| {
        delete(arguments, change, output).await
    })
}

async fn delete(
    arguments: &Arguments,
    change: &Change<'_>,
    output: Output,
) -> Result<Outcome, Failure> {
    let solution = &arguments.solution;
    let plan = Deletion::plan(change.cluster, solution).await?;
    if output == Output::Human {
        show(&plan);
    }
    if !plan.obstacles.is_empty() {
        return Ok(refuse(output, &plan, &plan.obstacles));
    }
    if change.run == Run::Dry {
        return Ok(give(output, &plan, |_| render::dry(change.run)));
    }
    let question = format!("delete all of this of {solution}?");
    if !arguments.yes && !agreed(&question, output).await? {
        return Ok(refuse(output, &plan, [unconfirmed(solution)]));
    }
    let undone = plan.carry_out(change).await?;
    let done = format!("{solution} is deleted");
    Ok(give(output, &undone, |undone| {
        undo::show(undone, &done, change.run);
    }))
}

fn unconfirmed(solution: &SolutionName) -> InTheWay {
    InTheWay {
        message: format!("nobody confirmed that {solution} is to be deleted"),
        fix: "read the plan; `--yes` confirms it".to_owned(),
    }
}

/// The plan, for people.
fn show(plan: &Deletion) {
    let context = plan.context.as_deref().unwrap_or("in-cluster");
    render::line!("cluster   {context} at {}", plan.server);
    render::line!("delete    {}", plan.solution);
    for leaving in &plan.deployments {
        let (environment, namespace) = (&leaving.environment, &leaving.namespace);
        let version = &leaving.version;
        render::line!("undeploy  {version} from environment {environment}, namespace {namespace}");
        for object in &leaving.objects {
            render::line!("          {object}");
        }
    }
    for crd in &plan.crds {
        render::line!("crd       {crd}");
    }
    if !plan.versions.is_empty() {
        render::line!("forget    {}", render::list(&plan.versions));
    }
    for note in &plan.notes {
        render::line!("note      {note}");
    }
}
