//! The repositories and tags of a version's images in a registry, also for objects that are applied without an
//! operator. Images that are already in registries must stay findable, so existing results never change.

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
    let asked = ImageLocation::from_image_reference(reference)?;
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
    let host = ImageLocation::from_image_reference(reference)?
        .registry()
        .host()
        .to_owned();
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
    use crate::testing::{image, record};

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

    #[test]
    fn the_tag_of_an_image_without_an_operator_holds_it_and_a_referrer_keeps_its_own() {
        let registry: RegistryAddress = "r.test:5000/apps".parse().unwrap();
        let digest = Digest::new([0xab; 32]);
        let signature = format!("app:sha256-{}.sig", Digest::new([8; 32]).hex());
        let kept = signature.split_once(':').unwrap().1;
        for (layout, image, expected) in [
            (
                PathLayout::Solution,
                "app:1",
                "apps/shop/app 1.2.0-abababababab",
            ),
            (
                PathLayout::Ref,
                "org/app:1",
                "apps/shop/org/app 1.2.0-abababababab",
            ),
            (
                PathLayout::Flat,
                "app:1",
                // `printf shop/app | sha256sum`
                "apps/shop_app-87bf3caf70ce3a93 1.2.0-abababababab",
            ),
            (
                PathLayout::Solution,
                &signature,
                &format!("apps/shop/app {kept}"),
            ),
        ] {
            let (solution, version) = ("shop".parse().unwrap(), "1.2.0".parse().unwrap());
            let image = image.parse().unwrap();
            let place = image_place(&registry, layout, &solution, &version, &image, digest);
            let (repository, reference) = place.unwrap();
            assert_eq!(format!("{repository} {reference}"), expected);
        }
    }

    #[test]
    fn an_image_lies_in_the_solution_unless_the_layout_follows_its_reference() {
        let registry: RegistryAddress = "r.test:5000/apps".parse().unwrap();
        let id: SolutionId = "shop-1.0.0".parse().unwrap();
        for (layout, reference, expected) in [
            (
                PathLayout::Solution,
                "quay.io/org/app:1.2",
                "apps/shop-1.0.0/app 7",
            ),
            (PathLayout::Solution, "", "apps/shop-1.0.0/app 7"),
            (PathLayout::Ref, "quay.io/org/app:1.2", "apps/org/app 1.2"),
            (PathLayout::Ref, "", "apps/shop-1.0.0/app 7"),
            (
                PathLayout::Flat,
                "quay.io/org/app:1.2",
                "apps/shop-1.0.0_app-f52961787862a5be 7",
            ),
        ] {
            let image = image("app:7", 1, reference);
            let (repository, reference) = main_place(&registry, layout, &id, &image).unwrap();
            assert_eq!(format!("{repository} {reference}"), expected, "{layout}");
        }
        assert_eq!(endpoint(&registry, &id), "r.test:5000/apps/shop-1.0.0");
    }

    #[test]
    fn the_mirrors_of_a_registry_have_a_common_prefix() {
        let registry: RegistryAddress = "r.test:5000/apps".parse().unwrap();
        for (reference, host, prefix) in [
            ("quay.io/org/app:1", "quay.io", "apps/mirror/quay.io"),
            ("app", "docker.io", "apps/mirror/docker.io"),
            (
                "r.other:5000/app:1",
                "r.other:5000",
                "apps/mirror/r.other_5000",
            ),
        ] {
            let found = mirror(&registry, &reference.parse().unwrap()).unwrap();
            assert_eq!((found.0.as_str(), found.1.as_str()), (host, prefix));
        }
    }

    #[test]
    fn the_own_addresses_of_a_version_are_a_prefix_or_each_flat_repository() {
        let mut record = record("shop", "1.0.0", vec![image("app:1", 1, "")]);
        let own = own_addresses(&record).unwrap();
        assert_eq!(
            own,
            ["pull.test/shop-1.0.0/", "r.test:5000/apps/shop-1.0.0/"]
        );
        record.placement.layout = PathLayout::Flat;
        let flat = "shop-1.0.0_app-f52961787862a5be";
        let expected = [
            format!("pull.test/{flat}:"),
            format!("pull.test/{flat}@"),
            format!("r.test:5000/apps/{flat}:"),
            format!("r.test:5000/apps/{flat}@"),
        ];
        assert_eq!(own_addresses(&record).unwrap(), expected);
    }
}
