//! `solution delete`: everything of a Solution that an import brought to the cluster, in one step.

mod plan;

use clap::Args;
use deployer::Cluster;
use importer::{Change, Deletion, EvenIfUsed, Registries, Run};
use registry::Client;
use schemas::SolutionName;

use self::plan::{in_the_way, show};
use super::change::{remove, unconfirmed};
use super::question::agreed;
use super::refusal::refuse;
use super::undo::{RemoveSetsArguments, UseArguments};
use super::unimport::COLLECT;
use super::{give, import, undo};
use crate::args::{Output, RegistryArguments, RemovalArguments};
use crate::failure::{Failure, Outcome};
use crate::{environment, render};

/// Remove a Solution from the cluster
#[derive(Args, Debug)]
#[command(after_help = "\
The command undeploys the Solution from all environments, removes its CRDs and unimports all versions, after it \
shows the plan. It is refused while custom resources exist, which it never deletes. It is also refused while \
other workloads use images of the Solution; --even-if-used keeps them.

Environments, namespaces and images in the registry are kept. --images deletes the images, too. If the command \
is interrupted, run it again.

Examples:
  solution delete example --dry-run
  solution delete example
  solution delete example --images --ca-file ca.pem
  solution delete example --even-if-used example
  solution delete example --yes --output json")]
pub(crate) struct Arguments {
    /// The name of the Solution
    solution: SolutionName,

    /// Also delete the images from the registry
    #[arg(long)]
    images: bool,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    uses: UseArguments,

    #[command(flatten)]
    sets: RemoveSetsArguments,

    #[command(flatten)]
    removal: RemovalArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let even_if_used = arguments.uses.choice(arguments.solution.as_str())?;
    remove(&arguments.removal, output, async |change| {
        let change = arguments.sets.accepting(change);
        delete(arguments, even_if_used, &change, output).await
    })
}

async fn delete(
    arguments: &Arguments,
    even_if_used: EvenIfUsed,
    change: &Change<'_>,
    output: Output,
) -> Result<Outcome, Failure> {
    let solution = &arguments.solution;
    let registries = Registries {
        clients: clients(arguments, change.cluster).await?,
        scratch: environment::scratch(),
    };
    let (cluster, sets) = (change.cluster, arguments.sets.choice());
    let plan = Deletion::plan(cluster, solution, even_if_used, sets, registries);
    let mut plan = plan.await?;
    if !plan.freed.is_empty() {
        plan.notes.push(COLLECT.to_owned());
    }
    if output == Output::Human {
        show(&plan);
    }
    if !plan.obstacles.is_empty() {
        return Ok(refuse(output, &plan, in_the_way(&plan)));
    }
    if change.run == Run::Dry {
        return Ok(give(output, &plan, |_| render::dry(change.run)));
    }
    let question = format!("delete {solution} with all these objects?");
    if !arguments.removal.yes && !agreed(&question, output).await? {
        return Ok(refuse(output, &plan, [unconfirmed()]));
    }
    let undone = plan.carry_out(change).await?;
    let done = format!("{solution} is deleted");
    Ok(give(output, &undone, |undone| {
        undo::show(undone, &done, change.run);
    }))
}

/// Those of the registries at which the images are deleted.
async fn clients(arguments: &Arguments, cluster: &Cluster) -> Result<Vec<Client>, Failure> {
    if !arguments.images {
        return Ok(Vec::new());
    }
    let site = importer::site(cluster).await?;
    let registries = importer::registries(cluster, &arguments.solution).await?;
    let client = |registry| import::client(registry, &arguments.reach, &site);
    registries.iter().map(client).collect()
}
