//! What `solution registry prune` takes.

use std::collections::BTreeSet;

use clap::Args;
use registry::RegistryAddress;
use schemas::SolutionId;

use crate::args::{ClusterArguments, DryRunArguments, RegistryArguments};
use crate::failure::Failure;

/// List the versions in a registry and delete unneeded ones
#[derive(Args, Debug)]
#[command(after_help = "\
The command lists the versions in the registry, whether a record in the cluster needs them, and the size that \
only they use. With versions or --all-unneeded, it deletes their images and archives after you confirm. Images that other versions in the registry also use are kept. If the command cannot read the content \
list of any other version, it deletes nothing.

The command does not delete imported versions: run `solution unimport --images` instead. If multiple clusters \
use the registry, name the versions, because --all-unneeded checks only one cluster. With --no-cluster, you must \
name the versions.

Do not import to the registry at the same time. The space becomes free when the registry collects garbage. If \
the command is interrupted, run it again.

Examples:
  solution registry prune --registry registry.example/apps
  solution registry prune shop 1.0.0 --registry registry.example/apps --dry-run
  solution registry prune shop 1.0.0 shop 1.1.0 --registry registry.example/apps
  solution registry prune --all-unneeded --yes --registry registry.example/apps
  solution registry prune shop 1.0.0 --no-cluster --registry registry.example/apps")]
pub(crate) struct PruneArguments {
    /// The versions to delete, as pairs of a name and a version [default: none, only list versions]
    #[arg(value_name = "NAME VERSION")]
    versions: Vec<String>,

    /// The address of the registry
    #[arg(long, value_name = "HOST[/PREFIX]")]
    pub(super) registry: RegistryAddress,

    /// Delete every version that no record in the cluster needs
    #[arg(long, conflicts_with_all = ["versions", "no_cluster"])]
    pub(super) all_unneeded: bool,

    /// Do not contact a cluster; no version counts as needed
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    pub(super) no_cluster: bool,

    /// Skip the confirmation; required without a terminal
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
