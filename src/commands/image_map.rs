//! The image map of a site: the address of each image, as a table or in the formats of other tools. Other tools can
//! deploy workloads with these addresses, without rewriting them themselves.

use clap::{Args, ValueEnum};
use importer::PlanSummary;
use registry::{ClientOptions, RegistryAddress};
use schemars::JsonSchema;
use schemas::SolutionId;
use serde::Serialize;
use store::{
    Format, ImageMap, MappedImage, MirrorPolicy, Mirrors, NodeFile, PathLayout, Placement,
    PlacementChoice, RecordedImage,
};
use validator::AcceptedArchive;

use crate::args::Output;
use crate::failure::Failure;
use crate::{registries, render};

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
    /// Returns the placement of mirrored images.
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
    /// Returns the choice of the user, if there is one.
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
    /// Returns the choices of the user.
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
    /// Reserves standard output for the addresses, if another tool reads them.
    pub(crate) fn set_aside(self, output: Output) {
        if self.image_map.is_some() && output == Output::Human {
            render::set_aside();
        }
    }
}

/// The images of an archive, with the format of their addresses.
pub(crate) struct Mapping<'a> {
    pub(crate) id: &'a SolutionId,
    pub(crate) images: Vec<RecordedImage>,
    pub(crate) format: MapFormat,
    pub(crate) reach: &'a ClientOptions,
}

impl<'a> Mapping<'a> {
    /// Returns the mapping of an archive's images.
    pub(crate) fn of(
        accepted: &'a AcceptedArchive,
        map: MapArguments,
        reach: &'a ClientOptions,
    ) -> Self {
        Self {
            id: &accepted.statement().predicate.id,
            images: store::recorded(accepted),
            format: map.image_map.unwrap_or_default(),
            reach,
        }
    }

    /// Returns the addresses in a registry, under the name that nodes use.
    pub(crate) fn at(
        &self,
        registry: &RegistryAddress,
        placement: Placement,
    ) -> Result<ShownMap, Failure> {
        let image_map = ImageMap::new(self.id, &self.images, registry, placement.layout)?;
        let image_map = image_map.without_collisions()?.of_workloads();
        let file = |text| vec![NodeFile { path: None, text }];
        let image_map_files = match self.format {
            MapFormat::Table => Vec::new(),
            MapFormat::Containerd => self.hosts(registry, placement)?,
            MapFormat::Helm => file(image_map.helm()),
            MapFormat::Kustomize => file(image_map.kustomize()?),
        };
        Ok(ShownMap {
            image_map,
            image_map_files,
            format: self.format,
        })
    }

    /// Returns the map with the addresses at the registry of a plan.
    pub(crate) fn named(&self, plan: &PlanSummary) -> Result<ShownMap, Failure> {
        let registry = plan.pull_registry.parse().map_err(Failure::no)?;
        self.at(&registry, plan.placement)
    }

    fn hosts(
        &self,
        registry: &RegistryAddress,
        placement: Placement,
    ) -> Result<Vec<NodeFile>, Failure> {
        let mirrors = Mirrors::new(self.id, &self.images, registry, placement)?;
        if !mirrors.without.is_empty() {
            let words = "cannot write `hosts.toml`: the registry has no mirror repositories of these images";
            return Err(Failure::no(anyhow::anyhow!(words)).hint("create them with `--mirrors`"));
        }
        let ca = registries::authorities(self.reach);
        let files = mirrors.files(Format::Containerd, self.reach.plain_http, ca.as_deref());
        Ok(files.map_err(store::Error::Refused)?)
    }
}

/// Where a site has each image.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownMap {
    /// Where nodes find each image.
    image_map: ImageMap,
    /// The same content in the requested format.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    image_map_files: Vec<NodeFile>,
    #[serde(skip)]
    format: MapFormat,
}

/// A result, and where nodes find the images if that was asked for.
// The schema has the description of the result. It requires the field of the map if `M` is a map and not an option.
#[derive(Serialize, JsonSchema)]
#[schemars(description = "")]
pub(crate) struct Mapped<'a, T, M = Option<&'a ShownMap>> {
    #[serde(flatten)]
    pub(crate) result: &'a T,
    #[serde(flatten)]
    pub(crate) map: M,
}

impl<T> Mapped<'_, T> {
    pub(crate) fn show_map(&self) {
        if let Some(map) = self.map {
            map.show();
        }
    }
}

impl ShownMap {
    /// Shows the addresses to people, or prints them in the format of another tool.
    pub(crate) fn show(&self) {
        if self.format == MapFormat::Table {
            return self.table();
        }
        let lines = self.image_map_files.iter().flat_map(NodeFile::lines);
        lines.for_each(render::result_line);
        let without = self.image_map.images.iter();
        let without = without.filter(|image| image.reference.is_none());
        let without: Vec<String> = without.map(|image| image.image.to_string()).collect();
        if self.format != MapFormat::Helm && !without.is_empty() {
            let images = render::list(without);
            render::note!("warning: {images}: no `ref`, so this format cannot map them");
        }
    }

    fn table(&self) {
        let row = |image: &MappedImage| {
            let asked = image.reference.as_ref();
            let asked = asked.map_or_else(|| "-".to_owned(), ToString::to_string);
            [image.image.to_string(), asked, image.address.clone()]
        };
        let titles = ["IMAGE", "REF", "ADDRESS"].map(str::to_owned);
        let rows = [titles].into_iter();
        let rows: Vec<_> = rows.chain(self.image_map.images.iter().map(row)).collect();
        let lines = render::columns(&rows).into_iter();
        lines.for_each(render::result_line);
    }
}
