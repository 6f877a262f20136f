//! What `solution registry export` takes.

use std::path::PathBuf;

use clap::Args;
use registry::RegistryAddress;
use schemas::{SolutionId, SolutionName, Version};

use crate::args::{ClusterArguments, RegistryArguments};
use crate::commands::vouched::JudgeArguments;
use crate::failure::Failure;

/// Restore the archive of an imported version from a registry
#[derive(Args, Debug)]
#[command(
    mut_arg("keys", |argument| argument.requires("registry")),
    mut_arg("archive_id", |argument| argument.requires("registry")),
    mut_arg("allow_unsigned", |argument| argument.requires("registry")),
    mut_arg("kubeconfig", |argument| argument.conflicts_with("registry")),
    mut_arg("context", |argument| argument.conflicts_with("registry")),
    after_help = "\
The command restores the archive from the images and the content list in the registry, with the signatures of \
the last import. It compares every byte with the signed digests. If content is missing or damaged, it lists the \
content and writes no file.

Without --registry, the record in the cluster identifies the registry and the archive. With --registry, the \
command does not contact the cluster: --key verifies the signatures of the archive, or --archive-id identifies \
it.

Examples:
  solution registry export shop 1.0.0 --out shop-1.0.0.iso
  solution registry export shop 1.0.0 --registry registry.example/apps --key publisher.pub \\
      --out shop-1.0.0.iso
  solution registry export shop 1.0.0 --registry registry.example --archive-id sha256:5d0c… \\
      --out shop.iso"
)]
pub(crate) struct Arguments {
    /// The name of the Solution
    solution: SolutionName,

    /// The version
    version: Version,

    /// The archive to write
    #[arg(long, value_name = "FILE")]
    pub(super) out: PathBuf,

    /// Replace the archive if it exists
    #[arg(long)]
    pub(super) force: bool,

    /// The registry of the imported version [default: from the record in the cluster]
    #[arg(long, value_name = "HOST[/PREFIX]")]
    pub(super) registry: Option<RegistryAddress>,

    #[command(flatten)]
    pub(super) reach: RegistryArguments,

    #[command(flatten)]
    pub(super) judging: JudgeArguments,

    #[command(flatten)]
    pub(super) cluster: ClusterArguments,
}

impl Arguments {
    /// Which version.
    pub(super) fn id(&self) -> Result<SolutionId, Failure> {
        let id = SolutionId::new(self.solution.clone(), self.version.clone());
        id.map_err(Failure::usage)
    }
}
