//! Images under the names by which workloads ask for them, where those are of other registries. The site's registry has
//! each a second time, at `mirror/<host>/<path>` below the prefix, so that what stands before a name is all that a node
//! has to change: containerd can change nothing else. Here are the places, and what nodes must be told of them.

mod format;
mod layout;
mod map;
mod node;

use std::collections::{BTreeMap, BTreeSet};

use deployer::Cluster;
use registry::{ImageLocation, PlainHttp, Reference, RegistryAddress, Repository};
use schemars::JsonSchema;
use schemas::{Digest, ImagePlace, ImageReference, SolutionId, SolutionName, Version};
use serde::Serialize;

pub use self::format::{Format, NodeFile};
pub use self::layout::Layout;
pub(crate) use self::map::main_place;
pub use self::map::{ImageMap, MappedImage};
use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::model::record::{Record, RecordedImage};
use crate::model::state::ClusterState;

/// No Solution id is this component, since each has a version with dots: no reference can name a place of its images.
const BELOW: &str = "mirror";

/// Where the registry has an image under the name that workloads ask for.
pub(crate) fn place(
    registry: &RegistryAddress,
    layout: Layout,
    reference: &ImageReference,
    digest: Digest,
) -> Result<(Repository, Reference), Error> {
    let asked = ImageLocation::of(reference)?;
    let path = match layout.below(asked.registry().host()) {
        Some(below) => format!("{below}/{}", asked.repository()),
        None => asked.repository().to_string(),
    };
    let reference = match asked.reference() {
        Reference::Digest(_) => Reference::Digest(digest),
        tag @ Reference::Tag(_) => tag.clone(),
    };
    Ok((registry.repository(&path)?, reference))
}

/// The registry that a reference names, and what stands before its names where it is mirrored.
pub(crate) fn mirror(
    registry: &RegistryAddress,
    reference: &ImageReference,
) -> Result<(String, Repository), Error> {
    let host = ImageLocation::of(reference)?.registry().host().to_owned();
    let below = Layout::Solution.below(&host).unwrap_or_default();
    Ok((host, registry.repository(&below)?))
}

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

/// Which names of other registries the site's registry has.
#[derive(Clone, Debug, Default)]
pub struct Mirrors {
    /// The images.
    pub images: Vec<MirroredImage>,
    /// For each registry of these names, where nodes find what it is asked for.
    sources: BTreeMap<String, BTreeSet<RegistryAddress>>,
    layout: Layout,
}

impl Mirrors {
    /// What the imported versions brought, all of them if none is named.
    pub async fn imported(
        cluster: &Cluster,
        solution: Option<&SolutionName>,
        version: Option<&Version>,
    ) -> Result<Self, Error> {
        let state = ClusterState::read(cluster).await?;
        let wanted = |record: &&Record| {
            solution.is_none_or(|name| record.name == *name)
                && version.is_none_or(|version| record.version == *version)
        };
        let records: Vec<&Record> = state.records.iter().filter(wanted).collect();
        if let ([], Some(name)) = (records.as_slice(), solution) {
            let missing = match version {
                Some(version) => Obstacle::NotImported(name.clone(), version.clone()),
                None => Obstacle::NothingImported(name.clone()),
            };
            return Err(missing.into());
        }
        let mut mirrors = Self::default();
        for record in records {
            let registry = record.pull_registry()?;
            for image in &record.images {
                mirrors.add(&registry, record.id(), image)?;
            }
        }
        Ok(mirrors)
    }

    /// What importing an archive brings to a registry, as nodes know it.
    pub fn of(
        id: &SolutionId,
        images: &[RecordedImage],
        registry: &RegistryAddress,
        layout: Layout,
    ) -> Result<Self, Error> {
        let map = ImageMap::of(id, images, registry, layout)?;
        if let Some(collision) = map.collisions()?.into_iter().next() {
            return Err(collision.into());
        }
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
        let (repository, reference) = place(registry, self.layout, asked, image.digest)?;
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

    /// What nodes must be told, in the files that their container runtime reads. `ca` is the certificate authority of
    /// the site's registry, PEM.
    pub fn files(
        &self,
        format: Format,
        plain: PlainHttp,
        ca: Option<&str>,
    ) -> Result<Vec<NodeFile>, Obstacle> {
        let nodes = format::Nodes {
            sources: &self.sources,
            layout: self.layout,
            plain,
            ca,
        };
        nodes.files(format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_has_one_place_below_the_prefix_that_no_solution_has() {
        let registry: RegistryAddress = "r.test:5000/apps".parse().unwrap();
        let digest = Digest::new([7; 32]);
        let pinned = format!("quay.io/org/app:1@{}", Digest::new([8; 32]));
        for (reference, expected) in [
            ("quay.io/org/app:1.2", "apps/mirror/quay.io/org/app 1.2"),
            ("app", "apps/mirror/docker.io/library/app latest"),
            (
                "index.docker.io/org/app:1",
                "apps/mirror/docker.io/org/app 1",
            ),
            ("r.other:5000/app:1", "apps/mirror/r.other_5000/app 1"),
            ("shop-1.0.0/web:7", "apps/mirror/shop-1.0.0/web 7"),
            (
                pinned.as_str(),
                &format!("apps/mirror/quay.io/org/app {digest}"),
            ),
        ] {
            let reference = reference.parse().unwrap();
            let (repository, reference) =
                place(&registry, Layout::Solution, &reference, digest).unwrap();
            assert_eq!(format!("{repository} {reference}"), expected);
        }
    }
}
