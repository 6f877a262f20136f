//! `solution crds`: activates and removes the CRDs of a Solution. CRDs belong to the whole cluster, so they are changed
//! separately from the deployments in environments.

use clap::{Args, Subcommand};
use importer::{AdoptionPolicy, Change, Goal, ImportedVersion, Migrate, Verb};
use schemas::{SolutionName, Version};

use super::blocked::separate_blocked;
use super::change::{UseArguments, undo};
use super::import;
use super::imported_version::ImportedVersionArguments;
use crate::args::{Output, RemovalArguments};
use crate::failure::{Failure, Outcome};
use crate::{cluster, events};

/// Activate or remove the CRDs of a Solution
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Activate(Box<ActivateArguments>),
    Deactivate(Box<DeactivateArguments>),
}

pub(super) fn run(command: Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Activate(arguments) => activate(&arguments, output),
        Command::Deactivate(arguments) => arguments.run(output),
    }
}

/// Activate the CRDs of an imported version without its operator
#[derive(Args, Debug)]
#[command(after_help = "\
CRDs belong to the whole cluster. The command refuses a version that drops a served or stored API version, and a \
version with which a custom resource would lose a field or become invalid.

A deployment does not downgrade CRDs. This command does, if no operator of a newer version is deployed and no \
custom resource loses data. `solution crds deactivate` removes the CRDs.

With --migrate, a CRD may drop a stored API version, because its custom resources are rewritten first. The \
command refuses this while an operator runs that may need the old API version. Afterwards you cannot return to \
versions that need it. If the command is interrupted, run it again.

Examples:
  solution crds activate example
  solution crds activate example 1.0.0 --dry-run
  solution crds activate example --adopt crds
  solution crds activate example 2.0.0 --migrate --dry-run")]
pub(crate) struct ActivateArguments {
    /// The name of the Solution
    solution: SolutionName,

    /// The version [default: the newest imported version]
    version: Option<Version>,

    /// Adopt CRDs that belong to no Solution. They are kept when the Solution is deactivated
    #[arg(long, value_name = "WHAT", value_parser = ["crds"])]
    adopt: Option<String>,

    /// Rewrite custom resources in the new storage version, so that the CRD can drop an old API version
    #[arg(long)]
    migrate: bool,

    #[command(flatten)]
    kept: ImportedVersionArguments,
}

fn activate(arguments: &ActivateArguments, output: Output) -> Result<Outcome, Failure> {
    events::begin(&arguments.kept.progress)?;
    let kept = &arguments.kept;
    let request = |found: &ImportedVersion| {
        let (registry, pull_registry) = (&found.registry, Some(found.pull_registry.clone()));
        let mut request =
            import::goal_request(Goal::Activated, registry, pull_registry, &kept.turn)?;
        request.verb = Verb::Activate;
        if arguments.adopt.is_some() {
            request.allowed.adopt.crds = AdoptionPolicy::Allow;
        }
        if arguments.migrate {
            request.allowed.migrate = Migrate::Allow;
        }
        Ok(request)
    };
    cluster::block_on(async {
        let cluster = cluster::connect(&kept.cluster).await?;
        let (solution, version) = (&arguments.solution, arguments.version.as_ref());
        kept.carry_out(&cluster, solution, version, output, request)
            .await
    })
}

/// Remove the CRDs of a Solution that is not deployed
#[derive(Args, Debug)]
#[command(after_help = "\
The command is refused while custom resources exist, or while workloads in any namespace use images of the \
Solution. It lists them. With --even-if-used, it deletes custom resources with their CRDs.

Examples:
  solution crds deactivate example --dry-run
  solution crds deactivate example --yes
  solution crds deactivate example --even-if-used example")]
pub(crate) struct DeactivateArguments {
    /// The name of the Solution
    solution: SolutionName,

    #[command(flatten)]
    uses: UseArguments,

    #[command(flatten)]
    removal: RemovalArguments,
}

impl DeactivateArguments {
    pub(crate) fn run(&self, output: Output) -> Result<Outcome, Failure> {
        let done = format!("{} is deactivated", self.solution);
        let name = self.solution.as_str();
        let even_if_used = self.uses.choice(name)?;
        let forced =
            format!("to delete custom resources with their CRDs, use `--even-if-used {name}`");
        undo(
            &self.removal,
            output,
            &done,
            &forced,
            &async |change: &Change<'_>| {
                separate_blocked(importer::deactivate(change, &self.solution, even_if_used).await)
            },
        )
    }
}
