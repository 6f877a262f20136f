//! Verification of an archive's data: [`ListedArchive::verify_data`] reads and hashes every content once. On drives that seek
//! slowly, only one thread reads at a time.

use std::num::NonZeroUsize;

use iso9660::{Extent, ReadAt as _};
use progress::{Progress, Watch};
use schemas::Digest;

use crate::layout::STATEMENT_OFFSET;
use crate::medium::{Drive, Medium};
use crate::pipeline::{self, Feed, LaneTurns};
use crate::{ListedArchive, OpenError};

/// A content that differs from the signed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedContent {
    /// The first file with the content, in data order.
    pub path: String,
    /// The offset of the content, in bytes from the start of the image.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The digest in the signed list.
    pub expected: Digest,
    /// The digest of the bytes that were read.
    pub found: Digest,
}

impl ListedArchive {
    /// Reads and hashes every content except the statement. Returns those that differ from the signed list, in the
    /// order of their offsets.
    pub fn verify_data(
        &self,
        threads: NonZeroUsize,
        watch: &Watch<'_, Progress>,
    ) -> Result<Vec<DamagedContent>, OpenError> {
        let extents = self.data();
        let turns = lane_turns(self.drive());
        let differing = pipeline::hash_all(&*self.medium, extents, threads, turns, watch)?;
        let damaged = differing.into_iter().filter_map(|hashed| {
            let extent = &extents[hashed.index];
            Some(DamagedContent {
                path: self.plan.path_of(extent).to_owned(),
                offset: extent.offset,
                size: extent.size,
                expected: Self::expected_digest(extent)?,
                found: hashed.digest,
            })
        });
        Ok(damaged.collect())
    }

    /// Every content except the statement, which comes first and is already verified.
    fn data(&self) -> &[Extent] {
        let extents = self.plan.extents();
        let first = extents.partition_point(|extent| extent.offset <= STATEMENT_OFFSET);
        &extents[first..]
    }
}

fn lane_turns(drive: Drive) -> LaneTurns {
    match drive {
        Drive::Random => LaneTurns::Free,
        Drive::Rotational | Drive::Optical => LaneTurns::OneByOne,
    }
}

impl Feed for Medium {
    type Reader = ();
    type Error = OpenError;

    fn start(&self, _: &Extent) -> Result<(), OpenError> {
        Ok(())
    }

    fn fill(
        &self,
        (): &mut (),
        extent: &Extent,
        buf: &mut [u8],
        offset: u64,
    ) -> Result<(), OpenError> {
        let read = match ListedArchive::expected_digest(extent) {
            Some(digest) => self.read_content(extent.offset, &digest, buf, offset),
            None => self.read_exact_at(buf, extent.offset + offset),
        };
        read.map_err(|source| self.failed(extent.offset + offset, source))
    }
}
