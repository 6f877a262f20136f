//! Under which paths images lie, and how their addresses are shown.

use clap::{Args, ValueEnum};
use shelf::{MirrorPolicy, PathLayout, Placement, PlacementChoice};

use crate::args::Output;
use crate::render;

/// Under which paths images lie.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LayoutArguments {
    /// The paths of the images in the registry
    #[arg(long, value_name = "LAYOUT", value_enum, default_value_t)]
    repository_layout: RepositoryLayout,
}

/// Under which paths images lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum RepositoryLayout {
    /// `<name>-<version>/<image>`, and also `mirror/<host of ref>/<path of ref>`
    #[default]
    Solution,
    /// Only `<path of ref>`, without the host
    Ref,
    /// Like `solution`, with each path as one component, such as `shop-1.0.0_app-<digest>`
    Flat,
}

impl LayoutArguments {
    /// The placement of images that are mirrored.
    pub(crate) fn placement(self) -> Placement {
        let layout = match self.repository_layout {
            RepositoryLayout::Solution => PathLayout::Solution,
            RepositoryLayout::Ref => PathLayout::Ref,
            RepositoryLayout::Flat => PathLayout::Flat,
        };
        Placement {
            layout,
            ..Placement::default()
        }
    }
}

/// Whether images are mirrored.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct MirrorArguments {
    /// Do not create repositories `mirror/<host of ref>/<path of ref>`. Nodes then find images only by their
    /// addresses
    #[arg(long, conflicts_with = "mirrors")]
    no_mirrors: bool,

    /// Create the `mirror/` repositories, even if the previous version was imported with --no-mirrors
    #[arg(long)]
    mirrors: bool,
}

impl MirrorArguments {
    /// The choice that was made, if one was.
    pub(crate) fn choice(self) -> PlacementChoice {
        let mirrors = match self {
            Self {
                no_mirrors: true, ..
            } => Some(MirrorPolicy::Skip),
            Self { mirrors: true, .. } => Some(MirrorPolicy::Push),
            _ => None,
        };
        PlacementChoice {
            mirrors,
            ..PlacementChoice::default()
        }
    }
}

/// The repositories that an import gives images.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct PlacementArguments {
    /// The paths of the images in the registry [default: as in the previous version, else `solution`]
    #[arg(long, value_name = "LAYOUT", value_enum)]
    repository_layout: Option<ImportLayout>,

    #[command(flatten)]
    mirrors: MirrorArguments,
}

/// The paths that an import can give images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ImportLayout {
    /// `<name>-<version>/<image>`
    Solution,
    /// The same path as one component, for registries that limit the depth of names; not for operators
    Flat,
}

impl PlacementArguments {
    /// The choices that were made.
    pub(crate) fn choice(self) -> PlacementChoice {
        let layout = self.repository_layout.map(|layout| match layout {
            ImportLayout::Solution => PathLayout::Solution,
            ImportLayout::Flat => PathLayout::Flat,
        });
        PlacementChoice {
            layout,
            ..self.mirrors.choice()
        }
    }
}

/// How the addresses of images are shown.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct MapArguments {
    /// Print only the addresses of the images for nodes, in this format
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) image_map: Option<MapFormat>,
}

/// What reads the addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MapFormat {
    /// The name, `ref` and address of each image
    #[default]
    Table,
    /// hosts.toml for each registry in a `ref`
    Containerd,
    /// Values by image name, for `{{ with index .Values.images "app" }}{{ .registry }}/{{ .repository }}@{{ .digest
    /// }}{{ end }}`
    Helm,
    /// The `images` list of a kustomization.yaml
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
