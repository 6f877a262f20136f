//! Access to the medium for the walk. It refuses reads outside of the medium and more metadata than the budget allows.

use super::ImageReadError;
use crate::ReadAt;
use crate::format::{SECTOR_LEN, SECTOR_SIZE, SectorRun, byte_offset};

/// A medium with a size and a budget for metadata.
pub(super) struct MeteredMedium<'a, R> {
    image: &'a R,
    size: u64,
    budget: u64,
    left: u64,
}

impl<'a, R: ReadAt> MeteredMedium<'a, R> {
    pub(super) fn new(image: &'a R, size: u64, budget: u64) -> Self {
        Self {
            image,
            size,
            budget,
            left: budget,
        }
    }

    /// Refuses an extent that ends after the end of the medium.
    pub(super) fn check_extent(&self, path: &str, place: SectorRun) -> Result<(), ImageReadError> {
        let (offset, size) = (byte_offset(place.lba), u64::from(place.size));
        if offset + size <= self.size {
            return Ok(());
        }
        Err(ImageReadError::OutOfImage {
            path: path.to_owned(),
            offset,
            size,
            end: self.size,
        })
    }

    /// Reads one sector of metadata. It must be inside the medium and within the budget.
    pub(super) fn sector(
        &mut self,
        lba: u32,
        path: &str,
    ) -> Result<[u8; SECTOR_LEN], ImageReadError> {
        let left = self.left.checked_sub(SECTOR_SIZE);
        let limit = self.budget;
        let what = "bytes of directories";
        self.left = left.ok_or_else(|| ImageReadError::Limit {
            what,
            path: path.to_owned(),
            limit,
        })?;
        self.check_extent(path, SectorRun { lba, size: 2048 })?;
        read_sector(self.image, lba, "a directory")
    }
}

/// Reads one sector. `what` names its structure in errors.
pub(super) fn read_sector(
    image: &impl ReadAt,
    lba: u32,
    what: &'static str,
) -> Result<[u8; SECTOR_LEN], ImageReadError> {
    let (offset, mut sector) = (byte_offset(lba), [0; SECTOR_LEN]);
    let read = image.read_exact_at(&mut sector, offset);
    read.map_err(|source| ImageReadError::Io {
        what,
        offset,
        source,
    })?;
    Ok(sector)
}
