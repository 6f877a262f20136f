//! Images at a registry that may share contents with those that are to come.

use registry::{AddressError, RegistryAddress, RepositoryPath};
use schemas::Digest;

use crate::place::own_repository;
use crate::record::{Record, RecordedImage};

/// The images that may share the most: those of the version before this one, else of the one after it, that was
/// imported to the same registry. The records are sorted by name and version.
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
