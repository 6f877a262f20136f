//! Mirrors of images for workloads that use the names of other registries ([`Mirrors`]). The site's registry has each
//! image a second time, at `mirror/<host>/<path>` below the prefix. Nodes thus only have to change the beginning of a
//! name, and containerd supports no other change. The module also generates the configuration of the nodes.

use std::collections::{BTreeMap, BTreeSet};

use registry::{ImageLocation, PlainHttp, Reference, RegistryAddress};
use schemars::JsonSchema;
use schemas::{ImagePlace, ImageReference, SolutionId};
use serde::Serialize;

use crate::blocker::RegistryBlocker;
use crate::error::Error;
use crate::image_map::ImageMap;
use crate::layout::{PathLayout, Placement};
use crate::nodes::{Format, MirrorPlace, NodeFile, NodeMirrors};
use crate::place::asked_place;
use crate::record::{Record, RecordedImage};

/// An image that workloads pull by its name at another registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MirroredImage {
    /// The name that workloads use.
    #[serde(rename = "ref")]
    pub reference: ImageReference,
    /// The id of the Solution, `<name>-<version>`.
    pub solution: String,
    /// The image in the Solution, as `NAME:TAG`.
    pub image: ImagePlace,
    /// The address that nodes pull from.
    pub address: String,
}

/// The mirrored names of other registries in the site's registry.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Mirrors {
    /// The images that workloads ask for by a `ref`.
    pub images: Vec<MirroredImage>,
    /// The Solutions whose images have a `ref`, and that were imported without mirrors.
    #[serde(rename = "withoutMirrors", skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// The mirrors by registry, or by repository if the repositories of a registry have no common path.
    #[serde(skip)]
    sources: BTreeMap<String, BTreeSet<MirrorPlace>>,
}

impl Mirrors {
    /// Returns the mirrors of imported versions.
    pub fn of_records<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<Self, Error> {
        let mut mirrors = Self::default();
        for record in records {
            let registry = record.pull_registry()?;
            mirrors.add_all(&registry, &record.id(), &record.images, record.placement)?;
        }
        Ok(mirrors)
    }

    /// Returns the mirrors that importing an archive would create, as nodes know the registry.
    pub fn new(
        id: &SolutionId,
        images: &[RecordedImage],
        registry: &RegistryAddress,
        placement: Placement,
    ) -> Result<Self, Error> {
        ImageMap::new(id, images, registry, placement.layout)?.without_collisions()?;
        let mut mirrors = Self::default();
        mirrors.add_all(registry, &id.to_string(), images, placement)?;
        Ok(mirrors)
    }

    fn add_all(
        &mut self,
        registry: &RegistryAddress,
        solution: &str,
        images: &[RecordedImage],
        placement: Placement,
    ) -> Result<(), Error> {
        if placement.layout != PathLayout::Ref && !placement.has_mirrors() {
            if images.iter().any(|image| image.reference.is_some()) {
                self.without.push(solution.to_owned());
            }
            return Ok(());
        }
        for image in images {
            self.add(registry, placement.layout, solution, image)?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        registry: &RegistryAddress,
        layout: PathLayout,
        solution: &str,
        image: &RecordedImage,
    ) -> Result<(), Error> {
        let Some(asked) = &image.reference else {
            return Ok(());
        };
        let (repository, reference) = asked_place(registry, layout, asked, image.digest)?;
        let separator = match reference {
            Reference::Digest(_) => '@',
            Reference::Tag(_) => ':',
        };
        self.images.push(MirroredImage {
            reference: asked.clone(),
            solution: solution.to_owned(),
            image: image.image.clone(),
            address: format!("{}/{repository}{separator}{reference}", registry.host()),
        });
        let location = ImageLocation::from_image_reference(asked)?;
        let host = location.registry().host();
        // The repositories of a flat layout have no common path per registry.
        let (source, path) = match layout {
            PathLayout::Flat => {
                let source = format!("{host}/{}", location.repository());
                (source, Some(repository.to_string()))
            }
            PathLayout::Solution | PathLayout::Ref => {
                let prefix = registry.prefix().map(ToString::to_string);
                let parts: Vec<_> = prefix.into_iter().chain(layout.below(host)).collect();
                (
                    host.to_owned(),
                    (!parts.is_empty()).then(|| parts.join("/")),
                )
            }
        };
        let place = MirrorPlace {
            registry: registry.clone(),
            path,
        };
        self.sources.entry(source).or_default().insert(place);
        Ok(())
    }

    /// Returns the configuration files for nodes in the format of their container runtime. `ca` is the certificate
    /// authority of the site's registry as PEM.
    pub fn files(
        &self,
        format: Format,
        plain: PlainHttp,
        ca: Option<&str>,
    ) -> Result<Vec<NodeFile>, RegistryBlocker> {
        let nodes = NodeMirrors {
            sources: &self.sources,
            plain,
            ca,
        };
        nodes.files(format)
    }
}

#[cfg(test)]
mod tests {
    use schemas::Digest;

    use super::*;
    use crate::layout::MirrorPolicy;

    #[test]
    fn nodes_are_told_of_no_mirror_that_was_left_out() {
        let image = RecordedImage {
            image: "app:1".parse().unwrap(),
            digest: Digest::new([1; 32]),
            reference: Some("quay.io/org/app:1.2".parse().unwrap()),
        };
        let (id, registry) = (
            "shop-1.0.0".parse().unwrap(),
            "r.test/apps".parse().unwrap(),
        );
        let of = |mirrors| {
            let placement = Placement {
                mirrors,
                ..Placement::default()
            };
            let mirrors = Mirrors::new(&id, std::slice::from_ref(&image), &registry, placement);
            let mirrors = mirrors.unwrap();
            let files = mirrors.files(Format::Crio, PlainHttp::Never, None);
            (mirrors.images.len(), files.unwrap().len(), mirrors.without)
        };
        assert_eq!(of(MirrorPolicy::Push), (1, 1, Vec::new()));
        assert_eq!(
            of(MirrorPolicy::Skip),
            (0, 0, vec!["shop-1.0.0".to_owned()])
        );
    }
}
