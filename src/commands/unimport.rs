//! `solution unimport`: forgets an imported version, and frees what it has at the registry.

use clap::Args;
use importer::{Change, EvenIfUsed, Hindered, ImageTreatment, Undone};
use schemas::{SolutionName, Version};

use super::hindered::free;
use super::import;
use super::undo::{UseArguments, undo};
use crate::args::{Output, RegistryArguments, RemovalArguments};
use crate::environment;
use crate::failure::{Failure, Outcome};

/// How space at a registry becomes free.
pub(super) const COLLECT: &str = "blobs are deleted by the registry's garbage collection (docker-registry: run `docker-registry garbage-collect CONFIG` while no push is running, then restart it)";
/// What would have deleted the images.
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
pub(crate) struct Arguments {
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

impl Arguments {
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
    ) -> Result<Result<Undone, Box<Hindered>>, Failure> {
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
        let mut undone = free(undone.await)?;
        if let Ok(undone) = &mut undone {
            undone.notes.push(note.to_owned());
        }
        Ok(undone)
    }
}
