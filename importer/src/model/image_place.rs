//! Where a registry has the images of objects that are carried as they are.

use std::collections::BTreeMap;

use manifests::Address;
use registry::{Reference, RegistryAddress, Repository};
use schemas::{Digest, ImagePlace, SolutionName, Tag, Version};

use crate::model::error::Error;
use crate::model::record::{Record, RecordedImage};

/// Hex digits of a digest in the tag that holds an image.
const HELD: usize = 12;

/// Where an image of carried objects lies: no version is part of the repository, so that an upgrade leaves pods running
/// whose image is the same. The tag holds it there for its version: registries collect what has none. What refers to an
/// image has the tag there that clients look for.
pub(crate) fn image_place(
    registry: &RegistryAddress,
    solution: &SolutionName,
    version: &Version,
    image: &ImagePlace,
    digest: Digest,
) -> Result<(Repository, Reference), Error> {
    let ImagePlace { name, tag } = image;
    let repository = registry.repository(&format!("{solution}/{name}"))?;
    if tag.subject().is_some() {
        return Ok((repository, Reference::Tag(tag.clone())));
    }
    let mut hex = digest.hex();
    hex.truncate(HELD);
    let tag: Tag = format!("{version}-{hex}")
        .parse()
        .expect("a version, which is part of a DNS label, and hex digits are a tag");
    Ok((repository, Reference::Tag(tag)))
}

/// Where nodes pull the images of carried objects from. There is no version in it, so that an upgrade restarts only pods
/// whose image is another one.
pub(crate) fn addresses(record: &Record) -> Result<BTreeMap<ImagePlace, Address>, Error> {
    let registry = record.pull_registry()?;
    let address = |image: &RecordedImage| {
        let RecordedImage { image, digest, .. } = image;
        let (repository, _) =
            image_place(&registry, &record.name, &record.version, image, *digest)?;
        let address = Address {
            registry: registry.host().to_owned(),
            path: repository.to_string(),
            tag: image.tag.to_string(),
            digest: *digest,
        };
        Ok((image.clone(), address))
    };
    record.images.iter().map(address).collect()
}
