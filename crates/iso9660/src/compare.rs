//! Byte-for-byte comparison of a medium with a plan: [`compare`].
//!
//! It reads metadata and padding in pieces through one buffer and never parses them. Manipulations that a parser would
//! not notice (slack in records, a second tree, bytes after the end of a file) are therefore found as differing bytes.

use std::fmt;
use std::io;

use crate::{ImagePart, ImagePlan, ReadAt, Region, RegionBytes};

/// The size of the read buffer in bytes.
const BUFFER: usize = 64 << 10;

/// The zeros that padding is compared with.
static ZEROS: [u8; BUFFER] = [0; BUFFER];

/// A run of metadata that differs from the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataDifference {
    /// The offset of the first differing byte, in bytes from the start of the image.
    pub offset: u64,
    /// The byte in the plan.
    pub expected: u8,
    /// The byte on the medium.
    pub found: u8,
    /// The structure that contains the byte.
    pub part: ImagePart<'static>,
}

impl fmt::Display for MetadataDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            offset,
            expected,
            found,
            part,
        } = self;
        write!(
            f,
            "{part} at byte {offset}: 0x{found:02x} instead of 0x{expected:02x}"
        )
    }
}

/// A failed read of the medium. It is the inner error of the [`io::Error`] that [`compare`] returns.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {part} at byte {offset}")]
struct Unreadable {
    part: ImagePart<'static>,
    offset: u64,
    source: io::Error,
}

/// The reason why the comparison ended early.
enum ComparisonStop {
    Enough,
    Failed(io::Error),
}

/// Compares every byte of `image` that is not file data with the plan. Returns the first `limit` differences in
/// ascending order, at most one for each 64 KiB. An empty result means that all metadata is as planned. The caller
/// checks the size of the image and the file data.
pub fn compare(
    plan: &ImagePlan,
    image: &impl ReadAt,
    limit: usize,
) -> io::Result<Vec<MetadataDifference>> {
    let mut differences = Vec::new();
    let mut buffer = vec![0; BUFFER];
    let walked = plan.visit_metadata(&mut |region| {
        compare_region(&region, image, &mut buffer, &mut |difference| {
            differences.push(difference);
            if differences.len() >= limit {
                Err(ComparisonStop::Enough)
            } else {
                Ok(())
            }
        })
    });
    match walked {
        Ok(()) | Err(ComparisonStop::Enough) => Ok(differences),
        Err(ComparisonStop::Failed(error)) => Err(error),
    }
}

fn compare_region(
    region: &Region<'_>,
    image: &impl ReadAt,
    buffer: &mut [u8],
    report: &mut impl FnMut(MetadataDifference) -> Result<(), ComparisonStop>,
) -> Result<(), ComparisonStop> {
    let mut done = 0;
    while done < region.bytes.size() {
        let len = usize::try_from(region.bytes.size() - done)
            .map_or(buffer.len(), |left| left.min(buffer.len()));
        let found = &mut buffer[..len];
        let offset = region.offset + done;
        image
            .read_exact_at(found, offset)
            .map_err(|source| unreadable(source, offset, &region.part))?;
        if let Some((index, expected)) = first_difference(region.bytes, done, found) {
            let found = found[index];
            let part = region.part.clone().into_owned();
            report(MetadataDifference {
                offset: offset + index as u64,
                expected,
                found,
                part,
            })?;
        }
        done += len as u64;
    }
    Ok(())
}

/// Returns the index of the first difference between `found`, which was read `done` bytes into a region, and the plan,
/// together with the planned byte.
fn first_difference(planned: RegionBytes<'_>, done: u64, found: &[u8]) -> Option<(usize, u8)> {
    let planned = match planned {
        RegionBytes::Zeros(_) => &ZEROS[..found.len()],
        RegionBytes::Bytes(bytes) => {
            let start = usize::try_from(done).expect("a region's bytes are in memory");
            &bytes[start..start + found.len()]
        }
    };
    // Comparing whole slices first is many times faster than comparing byte by byte.
    if planned == found {
        return None;
    }
    let index = planned.iter().zip(found).position(|(a, b)| a != b);
    index.map(|index| (index, planned[index]))
}

fn unreadable(source: io::Error, offset: u64, part: &ImagePart<'_>) -> ComparisonStop {
    let part = part.clone().into_owned();
    ComparisonStop::Failed(io::Error::new(
        source.kind(),
        Unreadable {
            part,
            offset,
            source,
        },
    ))
}
