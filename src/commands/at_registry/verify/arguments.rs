//! What `solution registry verify` takes.

use std::path::PathBuf;

use clap::Args;
use registry::RegistryAddress;
use schemas::Version;

use crate::args::{ProgressArguments, RegistryArguments};
use crate::commands::vouched::JudgeArguments;

/// Verify every byte of an archive's content in a registry
#[derive(Args, Debug)]
#[command(
    mut_arg("progress", |argument| argument.requires("repair")),
    after_help = "\
The command reads all manifests and blobs in the repositories of the version. With a name and a version, the \
content list that the import stored in the registry replaces the archive.

--repair pushes missing or damaged content from the archive. Some registries do not replace damaged content; the \
command then reports what to delete in the registry.

Examples:
  solution registry verify shop.iso --key publisher.pub --registry registry.example/apps
  solution registry verify shop 1.0.0 --key publisher.pub --registry registry.example/apps
  solution registry verify shop.iso --key publisher.pub --registry registry.example/apps --repair"
)]
pub(crate) struct VerifyArguments {
    /// The archive (a file or a block device), or the name of a Solution in the registry
    #[arg(value_name = "ARCHIVE|NAME")]
    pub(super) archive: PathBuf,

    /// The version of the named Solution
    pub(super) version: Option<Version>,

    /// The address of the registry
    #[arg(long, value_name = "HOST[/PREFIX]")]
    pub(super) registry: RegistryAddress,

    /// Push missing or damaged content, and verify it again
    #[arg(long)]
    pub(super) repair: bool,

    #[command(flatten)]
    pub(super) progress: ProgressArguments,

    #[command(flatten)]
    pub(super) reach: RegistryArguments,

    #[command(flatten)]
    pub(super) judging: JudgeArguments,
}
