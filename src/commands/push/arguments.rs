//! What `solution registry push` takes.

use std::path::PathBuf;

use clap::Args;
use registry::RegistryAddress;
use shelf::Placement;

use crate::args::{CreationArguments, ProgressArguments, RegistryArguments, SignatureArguments};
use crate::commands::image_map::{LayoutArguments, MapArguments, MirrorArguments};
use crate::commands::import::ImageRegistry;

/// Push an archive's images to a registry, without a cluster
#[derive(Args, Debug)]
#[command(after_help = "\
The archive is verified as by an import, and what the registry lacks is pushed; every image is
verified while it is sent. No cluster is asked, nothing is recorded and nothing is deployed: an
operator or objects are deployed by `solution import` with the same registry, which pushes nothing
twice.

Examples:
  solution registry push images.iso --key publisher.pub --registry registry.site/apps --dry-run
  solution registry push images.iso --key publisher.pub --registry registry.site/apps
  solution registry push images.iso --key publisher.pub --registry registry.site/apps --image-map kustomize \\
      > images.yaml")]
pub(crate) struct Arguments {
    /// The archive: a file, or the device of a disc
    pub(super) archive: PathBuf,

    /// Where images are pushed; `serve://HOST[/PREFIX]` is a registry that has them already, as `solution registry serve` does:
    /// nothing is pushed, and every image must be there
    #[arg(long, value_name = "HOST[/PREFIX]")]
    pub(super) registry: ImageRegistry,

    /// Where nodes pull them from, if nodes know the registry by another name
    #[arg(long, value_name = "HOST[/PREFIX]")]
    pub(super) pull_registry: Option<RegistryAddress>,

    /// Move tags that name something else
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

    /// Stop after the plan and show it
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
