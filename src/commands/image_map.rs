//! Where a site has each image: as a table, or as what other tools read.

mod arguments;

use importer::PlanSummary;
use registry::{ClientOptions, RegistryAddress};
use schemars::JsonSchema;
use schemas::SolutionId;
use serde::Serialize;
use shelf::{Format, ImageMap, MappedImage, Mirrors, NodeFile, Placement, RecordedImage};
use validator::Accepted;

use self::arguments::MapFormat;
pub(crate) use self::arguments::{
    LayoutArguments, MapArguments, MirrorArguments, PlacementArguments,
};
use crate::failure::Failure;
use crate::{registries, render};

/// The images of an archive, and how their addresses are shown.
pub(crate) struct Mapping<'a> {
    pub(crate) id: &'a SolutionId,
    pub(crate) images: Vec<RecordedImage>,
    pub(crate) format: MapFormat,
    pub(crate) reach: &'a ClientOptions,
}

impl<'a> Mapping<'a> {
    /// How the addresses of an archive's images are shown.
    pub(crate) fn of(accepted: &'a Accepted, map: MapArguments, reach: &'a ClientOptions) -> Self {
        Self {
            id: &accepted.statement().predicate.id,
            images: shelf::recorded(accepted),
            format: map.image_map.unwrap_or_default(),
            reach,
        }
    }

    /// The addresses at a registry, by the name that nodes know.
    pub(crate) fn at(
        &self,
        registry: &RegistryAddress,
        placement: Placement,
    ) -> Result<ShownMap, Failure> {
        let image_map = ImageMap::of(self.id, &self.images, registry, placement.layout)?;
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

    /// The same, at the registry of a plan.
    pub(crate) fn named(&self, plan: &PlanSummary) -> Result<ShownMap, Failure> {
        let registry = plan.pull_registry.parse().map_err(Failure::no)?;
        self.at(&registry, plan.placement)
    }

    fn hosts(
        &self,
        registry: &RegistryAddress,
        placement: Placement,
    ) -> Result<Vec<NodeFile>, Failure> {
        let mirrors = Mirrors::of(self.id, &self.images, registry, placement)?;
        if !mirrors.without.is_empty() {
            let words = "cannot write `hosts.toml`: the registry has no mirror repositories of these images";
            return Err(Failure::no(anyhow::anyhow!(words)).hint("create them with `--mirrors`"));
        }
        let ca = registries::authorities(self.reach);
        let files = mirrors.files(Format::Containerd, self.reach.plain_http, ca.as_deref());
        Ok(files.map_err(shelf::Error::Refused)?)
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
