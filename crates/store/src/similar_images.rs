//! Images in a registry that are likely to share content with the images of a new version. A registry can mount their
//! blobs instead of receiving them again.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{REGISTRY, digest, image, record};

    #[test]
    fn the_next_lower_version_is_nearest_and_the_next_higher_one_otherwise() {
        let version =
            |version: &str, number| record("shop", version, vec![image("app:1", number, "")]);
        let all = [
            version("1.0.0", 1),
            version("1.1.0", 2),
            version("2.0.0", 3),
        ];
        let registry: RegistryAddress = REGISTRY.parse().unwrap();
        for (known, imported, expected) in [
            (&all[..], "1.2.0", Some(("1.1.0", 2))),
            (&all[..], "3.0.0", Some(("2.0.0", 3))),
            (&all[..], "1.1.0", Some(("1.0.0", 1))),
            (&all[..], "0.9.0", Some(("1.0.0", 1))),
            (&all[1..], "1.1.0", Some(("2.0.0", 3))),
            (&all[..1], "1.0.0", None),
            (&[], "1.0.0", None),
        ] {
            let found = neighbours(&registry, known, &version(imported, 9)).unwrap();
            let expected: Vec<_> = expected
                .map(|(version, number)| {
                    let repository = format!("apps/shop-{version}/app").parse().unwrap();
                    (repository, digest(number))
                })
                .into_iter()
                .collect();
            assert_eq!(found, expected, "{imported}");
        }
    }

    #[test]
    fn other_solutions_and_other_registries_are_no_neighbours() {
        let registry: RegistryAddress = REGISTRY.parse().unwrap();
        let mut elsewhere = record("shop", "1.0.0", vec![image("app:1", 1, "")]);
        elsewhere.pushed_to = "r.test:5000/other/shop-1.0.0".to_owned();
        let other = record("store", "1.0.0", vec![image("app:1", 1, "")]);
        let imported = record("shop", "1.1.0", Vec::new());
        let found = neighbours(&registry, &[elsewhere, other], &imported).unwrap();
        assert_eq!(found, []);
    }
}
