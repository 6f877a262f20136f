//! What `solution registry push` takes.

use std::path::PathBuf;

use clap::Args;
use registry::RegistryAddress;
use shelf::Placement;

use crate::args::{CreationArguments, ProgressArguments, RegistryArguments, SignatureArguments};
use crate::commands::image_map::{LayoutArguments, MapArguments, MirrorArguments};
use crate::commands::import::ImageRegistry;

/// Push an archive's images to a registry without a cluster
#[derive(Args, Debug)]
#[command(after_help = "\
The command verifies the archive and pushes missing images. It contacts no cluster and deploys nothing. A later \
`solution import` to the same registry does not push the images again.

Examples:
  solution registry push images.iso --key publisher.pub --registry registry.site/apps --dry-run
  solution registry push images.iso --key publisher.pub --registry registry.site/apps
  solution registry push images.iso --key publisher.pub --registry registry.site/apps \\
      --image-map kustomize > images.yaml")]
pub(crate) struct Arguments {
    /// The archive (a file or a block device)
    pub(super) archive: PathBuf,

    /// The registry to push the images to. `serve://HOST[/PREFIX]` is a registry that already has them, such as
    /// `solution registry serve`
    #[arg(long, value_name = "HOST[/PREFIX]")]
    pub(super) registry: ImageRegistry,

    /// The registry that nodes pull from, if they use another name for it
    #[arg(long, value_name = "HOST[/PREFIX]")]
    pub(super) pull_registry: Option<RegistryAddress>,

    /// Move tags that refer to other images
    #[arg(long)]
    pub(super) replace: bool,

    #[command(flatten)]
    layout: LayoutArguments,

    #[command(flatten)]
    mirrors: MirrorArguments,

    #[command(flatten)]
    pub(super) creation: CreationArguments,

    #[command(flatten)]
    pub(super) reach: RegistryArguments,

    #[command(flatten)]
    pub(super) map: MapArguments,

    #[command(flatten)]
    pub(super) progress: ProgressArguments,

    /// Show what would change, and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,

    #[command(flatten)]
    pub(super) signatures: SignatureArguments,
}

impl Arguments {
    /// The repositories of the images.
    pub(super) fn placement(&self) -> Placement {
        self.mirrors.choice().over(self.layout.placement())
    }
}
