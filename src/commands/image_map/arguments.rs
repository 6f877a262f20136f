//! Under which paths images lie, and how their addresses are shown.

use clap::{Args, ValueEnum};
use shelf::PathLayout;

use crate::args::Output;
use crate::render;

/// Under which paths images lie.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Registry")]
pub(crate) struct LayoutArguments {
    /// Under which paths the registry has the images
    #[arg(long, value_name = "LAYOUT", value_enum, default_value_t)]
    repository_layout: RepositoryLayout,
}

/// Under which paths images lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum RepositoryLayout {
    /// `<name>-<version>/<image>`, and a second time `mirror/<host of ref>/<path of ref>`
    #[default]
    Solution,
    /// `<path of ref>`, without the host, and nowhere else
    Ref,
}

impl LayoutArguments {
    pub(crate) fn layout(self) -> PathLayout {
        match self.repository_layout {
            RepositoryLayout::Solution => PathLayout::Solution,
            RepositoryLayout::Ref => PathLayout::Ref,
        }
    }
}

/// How the addresses of images are shown.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Image map")]
pub(crate) struct MapArguments {
    /// Print where nodes find each image, and nothing else, on standard output
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) image_map: Option<MapFormat>,
}

/// What reads the addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MapFormat {
    /// Place in the Solution, `ref` and address of each image
    #[default]
    Table,
    /// hosts.toml for each registry that a `ref` names
    Containerd,
    /// Values by image name: `{{ with index .Values.images "app" }}{{ .registry }}/{{ .repository }}@{{ .digest }}{{ end }}`
    Helm,
    /// The list `images` of a kustomization.yaml
    Kustomize,
}

impl MapArguments {
    /// Keeps standard output for the addresses, if they are asked for on their own.
    pub(crate) fn set_aside(self, output: Output) {
        if self.image_map.is_some() && output == Output::Human {
            render::set_aside();
        }
    }
}
