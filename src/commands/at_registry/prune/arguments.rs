//! What `solution registry prune` takes.

use std::collections::BTreeSet;

use clap::Args;
use registry::RegistryAddress;
use schemas::SolutionId;

use crate::args::{ClusterArguments, DryRunArguments, RegistryArguments};
use crate::failure::Failure;

/// List what a registry keeps of versions, and delete those that nobody needs any more
#[derive(Args, Debug)]
#[command(after_help = "\
Without names it only lists: each version whose head the registry keeps, whether a record of the
cluster needs it, and how many bytes no other version there has. Versions that are named are
deleted, after the list was shown and somebody said yes: their images and heads, but for every
image that a version which stays has too. Nothing is deleted as long as the head of any version
there cannot be read.

A version that is imported is never deleted: `solution unimport --images` forgets it first. Only
one cluster is asked. Where several use the registry, name the versions: --all-unneeded takes
those, too, that only another cluster needs. With --no-cluster nothing counts as needed, and what
goes has to be named.

Space becomes free when the registry collects its garbage. If it is interrupted, running it again
completes it. Nobody should import to the registry meanwhile.

Examples:
  solution registry prune --registry registry.example/apps
  solution registry prune shop 1.0.0 --registry registry.example/apps --dry-run
  solution registry prune shop 1.0.0 shop 1.1.0 --registry registry.example/apps
  solution registry prune --all-unneeded --yes --registry registry.example/apps
  solution registry prune shop 1.0.0 --no-cluster --registry registry.example/apps")]
pub(crate) struct PruneArguments {
    /// The versions to delete, each by its name and version; if there are none, nothing is deleted
    #[arg(value_name = "NAME VERSION")]
    versions: Vec<String>,

    /// The registry
    #[arg(long, value_name = "HOST[/PREFIX]")]
    pub(super) registry: RegistryAddress,

    /// Delete every version that no record of the cluster needs
    #[arg(long, conflicts_with_all = ["versions", "no_cluster"])]
    pub(super) all_unneeded: bool,

    /// Ask no cluster: no version counts as needed
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    pub(super) no_cluster: bool,

    /// Do not ask; needed where nobody can be asked
    #[arg(long)]
    pub(super) yes: bool,

    #[command(flatten)]
    pub(super) dry_run: DryRunArguments,

    #[command(flatten)]
    pub(super) reach: RegistryArguments,

    #[command(flatten)]
    pub(super) cluster: ClusterArguments,
}

impl PruneArguments {
    /// The versions that were named.
    pub(super) fn named(&self) -> Result<BTreeSet<SolutionId>, Failure> {
        let pairs = self.versions.chunks(2).map(|pair| match pair {
            [name, version] => {
                let name = name.parse().map_err(Failure::usage)?;
                let version = version.parse().map_err(Failure::usage)?;
                SolutionId::new(name, version).map_err(Failure::usage)
            }
            _ => Err(Failure::usage(format!(
                "`{}` has no version: name each version as NAME VERSION",
                pair.concat()
            ))),
        });
        pairs.collect()
    }
}
