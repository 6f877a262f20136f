//! Images in a registry that are likely to share content with the images of a new version.

use registry::{AddressError, RegistryAddress, RepositoryPath};
use schemas::Digest;

use crate::place::own_repository;
use crate::record::{Record, RecordedImage};

/// Returns the images that are likely to share the most content: those of the next lower imported version in the same
/// registry, else of the next higher one. The records must be sorted by name and version.
pub fn neighbours(
    registry: &RegistryAddress,
    records: &[Record],
    record: &Record,
) -> Result<Vec<(RepositoryPath, Digest)>, AddressError> {
    let others = records.iter().filter(|known| {
        known.name == record.name
            && known.version != record.version
            && known.pushed_to == format!("{registry}/{}", known.id())
    });
    let (before, after): (Vec<_>, Vec<_>) =
        others.partition(|known| known.version < record.version);
    let Some(nearest) = before.last().or(after.first()) else {
        return Ok(Vec::new());
    };
    let image = |image: &RecordedImage| {
        let (layout, id) = (nearest.placement.layout, nearest.id());
        let repository = own_repository(registry, layout, &id, &image.image.name)?;
        Ok((repository, image.digest))
    };
    nearest.images.iter().map(image).collect()
}
