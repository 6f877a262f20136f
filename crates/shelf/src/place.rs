//! The repositories and tags of a version's images in a registry, also for objects that are applied without an
//! operator.

use registry::{AddressError, ImageLocation, Reference, RegistryAddress, RepositoryPath};
use schemas::{
    Digest, ImageName, ImagePlace, ImageReference, SolutionId, SolutionName, Tag, Version,
};

use crate::error::Error;
use crate::layout::PathLayout;
use crate::record::{Record, RecordedImage};

/// The number of hex digits of the digest in the tag of an image.
const HELD: usize = 12;

/// Returns the place of an image of objects without an operator. The repository does not contain the version, so an
/// upgrade does not restart pods whose image is unchanged. The tag contains the version and prevents the registry from
/// removing the image as untagged. A referrer keeps its tag, because clients look for it.
pub fn image_place(
    registry: &RegistryAddress,
    layout: PathLayout,
    solution: &SolutionName,
    version: &Version,
    image: &ImagePlace,
    digest: Digest,
) -> Result<(RepositoryPath, Reference), AddressError> {
    let ImagePlace { name, tag } = image;
    let repository = layout.repository(registry, &format!("{solution}/{name}"))?;
    if tag.subject().is_some() {
        return Ok((repository, Reference::Tag(tag.clone())));
    }
    Ok((repository, Reference::Tag(holding_tag(version, digest))))
}

pub(crate) fn holding_tag(version: &Version, digest: Digest) -> Tag {
    let mut hex = digest.hex();
    hex.truncate(HELD);
    let tag = format!("{version}-{hex}").parse();
    tag.expect("a version, which is part of a DNS label, and hex digits are a tag")
}

/// Returns the common part of the addresses of a version's images: `HOST[/PREFIX]/<name>-<version>`.
#[must_use]
pub fn endpoint(registry: &RegistryAddress, id: &SolutionId) -> String {
    format!("{registry}/{id}")
}

/// Returns the place of an image under the name that workloads use.
pub(crate) fn asked_place(
    registry: &RegistryAddress,
    layout: PathLayout,
    reference: &ImageReference,
    digest: Digest,
) -> Result<(RepositoryPath, Reference), AddressError> {
    let asked = ImageLocation::of(reference)?;
    let path = match layout.below(asked.registry().host()) {
        Some(below) => format!("{below}/{}", asked.repository()),
        None => asked.repository().to_string(),
    };
    let reference = match asked.reference() {
        Reference::Digest(_) => Reference::Digest(digest),
        tag @ Reference::Tag(_) => tag.clone(),
    };
    Ok((layout.repository(registry, &path)?, reference))
}

/// Returns the registry that a reference names, and the repository prefix of its mirrors.
pub(crate) fn mirror(
    registry: &RegistryAddress,
    reference: &ImageReference,
) -> Result<(String, RepositoryPath), AddressError> {
    let host = ImageLocation::of(reference)?.registry().host().to_owned();
    let below = PathLayout::Solution.below(&host).unwrap_or_default();
    Ok((host, registry.repository(&below)?))
}

/// Returns the repository of an image that belongs to this version only.
pub(crate) fn own_repository(
    registry: &RegistryAddress,
    layout: PathLayout,
    id: &str,
    name: &ImageName,
) -> Result<RepositoryPath, AddressError> {
    layout.repository(registry, &format!("{id}/{name}"))
}

/// Returns the beginnings of the image addresses that belong to this version only, with the registry's address for
/// pushes and for nodes.
pub fn own_addresses(record: &Record) -> Result<Vec<String>, Error> {
    if record.placement.layout != PathLayout::Flat {
        let both = [&record.endpoint, &record.pushed_to];
        return Ok(both.map(|place| format!("{place}/")).into());
    }
    let mut all = Vec::new();
    for registry in [record.pull_registry()?, record.registry()?] {
        for RecordedImage { image, .. } in &record.images {
            let repository = own_repository(
                &registry,
                record.placement.layout,
                &record.id(),
                &image.name,
            )?;
            let address = format!("{}/{repository}", registry.host());
            all.extend([":", "@"].map(|end| format!("{address}{end}")));
        }
    }
    Ok(all)
}

/// Returns the main place of an image: its only place if the layout uses its `ref`, else the place that operators
/// receive.
pub(crate) fn main_place(
    registry: &RegistryAddress,
    layout: PathLayout,
    id: &SolutionId,
    RecordedImage {
        image,
        digest,
        reference,
    }: &RecordedImage,
) -> Result<(RepositoryPath, Reference), AddressError> {
    match (layout, reference) {
        (PathLayout::Ref, Some(asked)) => asked_place(registry, layout, asked, *digest),
        (PathLayout::Ref, None) | (PathLayout::Solution | PathLayout::Flat, _) => {
            let ImagePlace { name, tag } = image;
            let repository = own_repository(registry, layout, &id.to_string(), name)?;
            Ok((repository, Reference::Tag(tag.clone())))
        }
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
                asked_place(&registry, PathLayout::Solution, &reference, digest).unwrap();
            assert_eq!(format!("{repository} {reference}"), expected);
        }
    }
}
