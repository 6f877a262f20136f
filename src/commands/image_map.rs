//! Where a site has each image: as a table, or as what other tools read.

use clap::{Args, ValueEnum};
use registry::{ClientOptions, RegistryAddress};
use schemars::JsonSchema;
use schemas::SolutionId;
use serde::Serialize;
use shelf::{Format, ImageMap, Mirrors, NodeFile, PathLayout, RecordedImage};
use validator::Accepted;

use crate::args::Output;
use crate::failure::Failure;
use crate::{registries, render};

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

/// The images of an archive, and how their addresses are shown.
pub(crate) struct Mapping<'a> {
    pub(crate) id: &'a SolutionId,
    pub(crate) images: Vec<RecordedImage>,
    pub(crate) layout: PathLayout,
    pub(crate) format: MapFormat,
    pub(crate) reach: &'a ClientOptions,
}

/// Where a site has each image.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownMap {
    /// Where nodes find each image.
    image_map: ImageMap,
    /// The same as the format asked for has it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    image_map_files: Vec<NodeFile>,
    #[serde(skip)]
    format: MapFormat,
}

/// A result, and where nodes find the images if that was asked for.
// The schema is described as that of the result, and has the map as a field that is always there where `M` is one.
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

impl<'a> Mapping<'a> {
    /// How the addresses of an archive's images are shown.
    pub(crate) fn of(
        accepted: &'a Accepted,
        layout: PathLayout,
        map: MapArguments,
        reach: &'a ClientOptions,
    ) -> Self {
        Self {
            id: &accepted.statement().predicate.id,
            images: shelf::recorded(accepted),
            layout,
            format: map.image_map.unwrap_or_default(),
            reach,
        }
    }

    /// The addresses at a registry, by the name that nodes know.
    pub(crate) fn at(&self, registry: &RegistryAddress) -> Result<ShownMap, Failure> {
        let image_map = ImageMap::of(self.id, &self.images, registry, self.layout)?;
        if let Some(collision) = image_map.collisions()?.into_iter().next() {
            return Err(shelf::Error::Refused(collision).into());
        }
        let image_map = image_map.of_workloads();
        let file = |text| vec![NodeFile { path: None, text }];
        let image_map_files = match self.format {
            MapFormat::Table => Vec::new(),
            MapFormat::Containerd => self.hosts(registry)?,
            MapFormat::Helm => file(image_map.helm()),
            MapFormat::Kustomize => file(image_map.kustomize()?),
        };
        Ok(ShownMap {
            image_map,
            image_map_files,
            format: self.format,
        })
    }

    /// The same, of an address that is a text.
    pub(crate) fn named(&self, registry: &str) -> Result<ShownMap, Failure> {
        self.at(&registry.parse().map_err(Failure::no)?)
    }

    fn hosts(&self, registry: &RegistryAddress) -> Result<Vec<NodeFile>, Failure> {
        let mirrors = Mirrors::of(self.id, &self.images, registry, self.layout)?;
        let ca = registries::authorities(self.reach);
        let files = mirrors.files(Format::Containerd, self.reach.plain_http, ca.as_deref());
        Ok(files.map_err(shelf::Error::Refused)?)
    }
}

impl ShownMap {
    /// The addresses, for people or for what reads them.
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
            render::note!("warning: {images}: no `ref`, so no name by which this can be told");
        }
    }

    fn table(&self) {
        let row = |image: &shelf::MappedImage| {
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
