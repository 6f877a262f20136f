//! Images under the names by which workloads ask for them, where those are of other registries. The site's registry has
//! each a second time, at `mirror/<host>/<path>` below the prefix, so that what stands before a name is all that a node
//! has to change: containerd can change nothing else. Here is what nodes must be told of these places.

use std::collections::{BTreeMap, BTreeSet};

use registry::{ImageLocation, PlainHttp, Reference, RegistryAddress};
use schemars::JsonSchema;
use schemas::{ImagePlace, ImageReference, SolutionId};
use serde::Serialize;

use crate::error::Error;
use crate::image_map::ImageMap;
use crate::layout::PathLayout;
use crate::nodes::{Format, NodeFile, NodeMirrors};
use crate::obstacle::RegistryObstacle;
use crate::place::asked_place;
use crate::record::{Record, RecordedImage};

/// An image that workloads ask for by a name of another registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MirroredImage {
    /// The name that workloads ask for.
    #[serde(rename = "ref")]
    pub reference: ImageReference,
    /// The id of the Solution, `<name>-<version>`.
    pub solution: String,
    /// Its place in the Solution, NAME:TAG.
    pub image: ImagePlace,
    /// Where nodes find it.
    pub address: String,
}

/// The names of other registries that the site's registry has.
#[derive(Clone, Debug, Default)]
pub struct Mirrors {
    /// The images.
    pub images: Vec<MirroredImage>,
    /// The addresses where nodes find what is asked of each registry of these names.
    sources: BTreeMap<String, BTreeSet<RegistryAddress>>,
    layout: PathLayout,
}

impl Mirrors {
    /// Returns the names that imported versions brought.
    pub fn of_records<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<Self, Error> {
        let mut mirrors = Self::default();
        for record in records {
            let registry = record.pull_registry()?;
            for image in &record.images {
                mirrors.add(&registry, record.id(), image)?;
            }
        }
        Ok(mirrors)
    }

    /// Returns the names that importing an archive brings to a registry, as nodes know it.
    pub fn of(
        id: &SolutionId,
        images: &[RecordedImage],
        registry: &RegistryAddress,
        layout: PathLayout,
    ) -> Result<Self, Error> {
        ImageMap::of(id, images, registry, layout)?.without_collisions()?;
        let mut mirrors = Self {
            layout,
            ..Self::default()
        };
        for image in images {
            mirrors.add(registry, id.to_string(), image)?;
        }
        Ok(mirrors)
    }

    fn add(
        &mut self,
        registry: &RegistryAddress,
        solution: String,
        image: &RecordedImage,
    ) -> Result<(), Error> {
        let Some(asked) = &image.reference else {
            return Ok(());
        };
        let (repository, reference) = asked_place(registry, self.layout, asked, image.digest)?;
        let separator = match reference {
            Reference::Digest(_) => '@',
            Reference::Tag(_) => ':',
        };
        self.images.push(MirroredImage {
            reference: asked.clone(),
            solution,
            image: image.image.clone(),
            address: format!("{}/{repository}{separator}{reference}", registry.host()),
        });
        let host = ImageLocation::of(asked)?.registry().host().to_owned();
        self.sources
            .entry(host)
            .or_default()
            .insert(registry.clone());
        Ok(())
    }

    /// Returns the files that tell nodes of the mirrors, as their container runtime reads them. `ca` is the certificate
    /// authority of the site's registry, PEM.
    pub fn files(
        &self,
        format: Format,
        plain: PlainHttp,
        ca: Option<&str>,
    ) -> Result<Vec<NodeFile>, RegistryObstacle> {
        let nodes = NodeMirrors {
            sources: &self.sources,
            layout: self.layout,
            plain,
            ca,
        };
        nodes.files(format)
    }
}
