//! What `solution registry export` takes.

use std::path::PathBuf;

use clap::Args;
use registry::RegistryAddress;
use schemas::{SolutionId, SolutionName, Version};

use crate::args::{ClusterArguments, RegistryArguments};
use crate::commands::vouched::JudgeArguments;
use crate::failure::Failure;

/// Write the archive of an imported version again, bit for bit, from what the registry has
#[derive(Args, Debug)]
#[command(
    mut_arg("keys", |argument| argument.requires("registry")),
    mut_arg("archive_id", |argument| argument.requires("registry")),
    mut_arg("allow_unsigned", |argument| argument.requires("registry")),
    mut_arg("kubeconfig", |argument| argument.conflicts_with("registry")),
    mut_arg("context", |argument| argument.conflicts_with("registry")),
    after_help = "\
The archive's head, with its signatures as they were when it was imported last, lies beside the images;
the rest are the images' own contents, by digest. Every byte is compared with what was signed before the
file gets its name; if anything is missing or damaged, nothing is written and all of it is named.

Without --registry the cluster's record of the version says where it is, and which archive it is.
With --registry no cluster is asked: the archive's signatures are judged as by `solution validate`, or
--archive-id says which archive it has to be.

Examples:
  solution registry export shop 1.0.0 --out shop-1.0.0.iso
  solution registry export shop 1.0.0 --registry registry.example/apps --key publisher.pub --out shop-1.0.0.iso
  solution registry export shop 1.0.0 --registry registry.example --archive-id sha256:5d0c… --out shop.iso"
)]
pub(crate) struct Arguments {
    /// The Solution's name
    solution: SolutionName,

    /// The version
    version: Version,

    /// The archive to write
    #[arg(long, value_name = "FILE")]
    pub(super) out: PathBuf,

    /// Replace the archive if it exists
    #[arg(long)]
    pub(super) force: bool,

    /// The registry that it was imported to [default: that of the cluster's record]
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
