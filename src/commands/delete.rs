//! The verbs that remove Solutions: `solution delete` removes everything in one step, `undeploy` an operator in an
//! environment, and `unimport` the record of a version with its content in the registry. All of them show a plan first,
//! and are refused while the removed resources are in use.

use std::fmt::Display;

use clap::{ArgGroup, Args};
use importer::{
    Blocker, Change, Deletion, EvenIfUsed, ImageTreatment, Registries, RemovalBlocked,
    RemovalReport, Undeployment,
};
use kubernetes::Cluster;
use registry::Client;
use schemas::{EnvironmentName, Namespace, SolutionName, Version};

use super::blocked::{ShownBlocker, refuse_plan, separate_blocked};
use super::change::{self, RemoveSetsArguments, UseArguments, remove, unconfirmed, undo};
use super::give;
use super::import;
use super::import::plan::{self, INDENT, Mark, Totals};
use crate::args::{Output, RegistryArguments, RemovalArguments};
use crate::failure::{Failure, Outcome};
use crate::terminal::agreed;
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

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
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
    if !plan.blockers.is_empty() {
        return Ok(refuse_plan(output, &plan, in_the_way(&plan)));
    }
    if change.dry_run {
        return Ok(give(output, &plan, |_| render::dry_run()));
    }
    let question = format!("delete {solution} with all these objects?");
    if !arguments.removal.yes && !agreed(&question, output).await? {
        return Ok(refuse_plan(output, &plan, [unconfirmed()]));
    }
    let undone = plan.carry_out(change).await?;
    let done = format!("{solution} is deleted");
    Ok(give(output, &undone, |undone| {
        change::show(undone, &done);
    }))
}

/// Returns the clients of the registries in which images are deleted.
async fn clients(arguments: &Arguments, cluster: &Cluster) -> Result<Vec<Client>, Failure> {
    if !arguments.images {
        return Ok(Vec::new());
    }
    let site = importer::site(cluster).await?;
    let registries = importer::registries(cluster, &arguments.solution).await?;
    let client = |registry| import::client(registry, &arguments.reach, &site);
    registries.iter().map(client).collect()
}

/// Shows the plan, which begins with the cluster and the Solution.
fn show(plan: &Deletion) {
    let context = plan.context.as_deref().unwrap_or("in-cluster");
    render::line!("cluster   {context} at {}", plan.server);
    render::line!("delete    {}", plan.solution);
    for leaving in &plan.deployments {
        let (environment, namespace) = (&leaving.environment, &leaving.namespace);
        let version = &leaving.version;
        render::line!("undeploy  {version} from environment {environment}, namespace {namespace}");
        for object in &leaving.applied {
            render::line!("{INDENT}first applies {object}");
        }
        removed("", &leaving.objects);
    }
    removed("", &plan.crds);
    if !plan.versions.is_empty() {
        render::line!("forget    {}", render::list(&plan.versions));
    }
    removed("manifest ", &plan.freed);
    render::lines("used by   ", &plan.uses);
    render::lines("note      ", &plan.notes);
    let deployments = plan.deployments.iter();
    let objects = deployments
        .map(|leaving| leaving.objects.len())
        .sum::<usize>();
    render::line(Totals::removing(objects + plan.crds.len()).to_string());
}

fn removed<T: Display>(kind: &str, objects: &[T]) {
    let objects = objects.iter();
    plan::show_lines(objects.map(|object| Mark::Remove.line(format_args!("{kind}{object}"))));
}

/// Returns the blockers. Existing custom resources cannot be overridden: the command never deletes them.
fn in_the_way(plan: &Deletion) -> Vec<ShownBlocker> {
    let forced = format!(
        "to delete it anyway, use `--even-if-used {}`",
        plan.solution
    );
    let in_the_way = |blocker: &Blocker| {
        let can_be_forced = matches!(blocker, Blocker::Used { .. });
        ShownBlocker::of(blocker, can_be_forced, &forced)
    };
    plan.blockers.iter().map(in_the_way).collect()
}

/// Undeploy a Solution from an environment
#[derive(Args, Debug)]
#[command(
    group(ArgGroup::new("place").args(["environment", "namespace"]).multiple(true).required(true)),
    after_help = "\
Custom resources, and the objects that the operator created for them, are kept: delete them first, or delete the \
environment. Sets of manifests with `phase: remove` are applied first. If they fail, nothing is removed.

With --namespace alone, the administrator of a namespace can undeploy without permissions outside it.

Examples:
  solution undeploy example -e test
  solution undeploy example --namespace shop"
)]
pub(crate) struct UndeployArguments {
    /// The name of the Solution
    solution: SolutionName,

    /// The name of the environment
    #[arg(short, long, value_name = "NAME")]
    environment: Option<EnvironmentName>,

    /// The namespace of the environment [default: all its namespaces]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    #[command(flatten)]
    sets: RemoveSetsArguments,

    #[command(flatten)]
    removal: RemovalArguments,
}

impl UndeployArguments {
    pub(crate) fn run(&self, output: Output) -> Result<Outcome, Failure> {
        let done = format!("{} is undeployed", self.solution);
        let place = (&self.environment, &self.namespace);
        undo(
            &self.removal,
            output,
            &done,
            "",
            &async |change: &Change<'_>| {
                separate_blocked(match place {
                    (Some(environment), namespace) => {
                        let undeployment = Undeployment {
                            solution: &self.solution,
                            environment,
                            namespace: namespace.as_ref(),
                            sets: self.sets.choice(),
                            brought: None,
                        };
                        undeployment.carry_out(&self.sets.accepting(change)).await
                    }
                    (None, Some(namespace)) => {
                        importer::undeploy_alone(change, &self.solution, namespace).await
                    }
                    (None, None) => unreachable!("clap asks for one of both"),
                })
            },
        )
    }
}

/// The note on how a registry frees space.
pub(super) const COLLECT: &str = "blobs are deleted by the registry's garbage collection (docker-registry: run `docker-registry garbage-collect CONFIG` while no push is running, then restart it)";
/// The hint for deleting the images too.
const NOT_FREED: &str = "to delete them there too, use `--images` while the version is imported, or `solution registry prune` later";

/// Remove an unused imported version from the cluster
#[derive(Args, Debug)]
#[command(after_help = "\
The command is refused while the version is deployed or its CRDs are in the cluster: run `solution undeploy` and \
`solution crds deactivate` first, or activate another version. It is also refused while workloads use its images \
or custom resources of its CRDs exist. It lists them, and --even-if-used keeps them.

The images are kept, and the command shows where they are. --images deletes them with the archive in the \
registry, except images of other versions there and tags that were moved. If the command cannot read the content \
list of any other version, it deletes nothing. The space becomes free when the registry collects garbage. If the \
command is interrupted, run it again.

Examples:
  solution unimport example 1.0.0 --dry-run
  solution unimport example 1.0.0
  solution unimport example 1.0.0 --images --ca-file ca.pem
  solution unimport example 1.0.0 --even-if-used example-1.0.0")]
pub(crate) struct UnimportArguments {
    /// The name of the Solution
    solution: SolutionName,

    /// The version
    version: Version,

    /// Also delete the images from the registry
    #[arg(long)]
    images: bool,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    uses: UseArguments,

    #[command(flatten)]
    removal: RemovalArguments,
}

impl UnimportArguments {
    pub(crate) fn run(&self, output: Output) -> Result<Outcome, Failure> {
        let done = format!("{} {} is unimported", self.solution, self.version);
        let id = format!("{}-{}", self.solution, self.version);
        let even_if_used = self.uses.choice(&id)?;
        let forced = format!("to unimport it anyway, use `--even-if-used {id}`");
        undo(
            &self.removal,
            output,
            &done,
            &forced,
            &async |change: &Change<'_>| self.unimport(change, even_if_used).await,
        )
    }

    async fn unimport(
        &self,
        change: &Change<'_>,
        even_if_used: EvenIfUsed,
    ) -> Result<Result<RemovalReport, Box<RemovalBlocked>>, Failure> {
        let (solution, version) = (&self.solution, &self.version);
        let scratch = environment::scratch();
        let client = if self.images {
            let record = importer::imported(change.cluster, solution, Some(version)).await?;
            let site = importer::site(change.cluster).await?;
            Some(import::client(&record.registry()?, &self.reach, &site)?)
        } else {
            None
        };
        let (images, note) = match &client {
            Some(client) => (ImageTreatment::Free(client, &scratch), COLLECT),
            None => (ImageTreatment::Keep, NOT_FREED),
        };
        let undone = importer::unimport(change, solution, version, even_if_used, images);
        let mut undone = separate_blocked(undone.await)?;
        if let Ok(undone) = &mut undone {
            undone.notes.push(note.to_owned());
        }
        Ok(undone)
    }
}
