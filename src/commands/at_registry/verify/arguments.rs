//! What `solution registry verify` takes.

use std::path::PathBuf;

use clap::Args;
use registry::RegistryAddress;
use schemas::Version;

use crate::args::{ProgressArguments, RegistryArguments};
use crate::commands::vouched::JudgeArguments;

/// Read back everything that a registry has of an archive, and compare every byte
#[derive(Args, Debug)]
#[command(
    mut_arg("progress", |argument| argument.requires("repair")),
    after_help = "\
The archive is a file, or the name and version of what the registry keeps: then its head, which lies
beside the images, says what there has to be.

Read are all manifests and blobs in each repository that an import pushes to, and the head. --repair
pushes what is missing or damaged from the archive and reads it again. Some registries keep the bytes
that they have, whatever is pushed: then it says what to remove there.

Examples:
  solution registry verify shop.iso --key publisher.pub --registry registry.example/apps
  solution registry verify shop 1.0.0 --key publisher.pub --registry registry.example/apps
  solution registry verify shop.iso --key publisher.pub --registry registry.example/apps --repair"
)]
pub(crate) struct VerifyArguments {
    /// The archive, or the name of a Solution whose archive the registry keeps
    #[arg(value_name = "ARCHIVE|NAME")]
    pub(super) archive: PathBuf,

    /// The version, where a name is given
    pub(super) version: Option<Version>,

    /// The registry
    #[arg(long, value_name = "HOST[/PREFIX]")]
    pub(super) registry: RegistryAddress,

    /// Push what is missing or damaged, and read it again
    #[arg(long)]
    pub(super) repair: bool,

    #[command(flatten)]
    pub(super) progress: ProgressArguments,

    #[command(flatten)]
    pub(super) reach: RegistryArguments,

    #[command(flatten)]
    pub(super) judging: JudgeArguments,
}
