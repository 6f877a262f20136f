//! Parsing of volume descriptors (ECMA-119 8): [`read`] returns the roots of both trees and the names of the volume.
//! Descriptors come from an untrusted medium, so values that are stored twice must agree.

use super::medium::read_sector;
use super::record::{RawRecord, both16, both32};
use super::{ImageReadError, VolumeInfo};
use crate::ReadAt;
use crate::format::{SECTOR_LEN, SECTOR_SIZE, STANDARD_ID, SectorRun, byte_offset};
use crate::limits::Limits;

/// The first sector of the volume descriptors.
const FIRST: u32 = 16;

const TYPE_PRIMARY: u8 = 1;
const TYPE_SUPPLEMENTARY: u8 = 2;
const TYPE_TERMINATOR: u8 = 255;

/// The escape sequences of UCS-2 levels 1 to 3 (Joliet 2.2).
const JOLIET_ESCAPES: [&[u8]; 3] = [b"%/@", b"%/C", b"%/E"];

/// The fields of the descriptors that are used.
#[derive(Debug)]
pub(super) struct Volumes {
    pub(super) info: VolumeInfo,
    pub(super) primary_root: SectorRun,
    pub(super) joliet_root: Option<SectorRun>,
}

/// Reads descriptors up to the terminator. It uses the first primary and the first Joliet descriptor.
pub(super) fn read(image: &impl ReadAt, limits: &Limits) -> Result<Volumes, ImageReadError> {
    let (mut primary, mut joliet) = (None, None);
    for lba in FIRST..FIRST.saturating_add(limits.descriptors) {
        let offset = byte_offset(lba);
        let sector = read_sector(image, lba, "a volume descriptor")?;
        if &sector[1..6] != STANDARD_ID {
            return Err(ImageReadError::NotAnImage(offset));
        }
        match sector[0] {
            TYPE_PRIMARY if primary.is_none() => {
                primary = Some((info(&sector, offset)?, root(&sector, offset)?));
            }
            TYPE_SUPPLEMENTARY if joliet.is_none() && JOLIET_ESCAPES.contains(&&sector[88..91]) => {
                joliet = Some(root(&sector, offset)?);
            }
            TYPE_TERMINATOR => {
                let problem = "no primary volume descriptor before the terminator";
                let (info, primary_root) =
                    primary.ok_or(ImageReadError::Descriptor { offset, problem })?;
                return Ok(Volumes {
                    info,
                    primary_root,
                    joliet_root: joliet,
                });
            }
            _ => {}
        }
    }
    let what = "volume descriptors";
    Err(ImageReadError::Limit {
        what,
        path: String::new(),
        limit: u64::from(limits.descriptors),
    })
}

fn info(sector: &[u8; SECTOR_LEN], offset: u64) -> Result<VolumeInfo, ImageReadError> {
    let sectors = both32(&sector[80..88]).ok_or(disagreement_error(offset))?;
    let size = u64::from(sectors) * SECTOR_SIZE;
    Ok(VolumeInfo {
        id: text(&sector[40..72]),
        set_id: text(&sector[190..318]),
        size,
    })
}

fn root(sector: &[u8; SECTOR_LEN], offset: u64) -> Result<SectorRun, ImageReadError> {
    if both16(&sector[128..132]).ok_or(disagreement_error(offset))? != 2048 {
        return Err(ImageReadError::Descriptor {
            offset,
            problem: "the logical block size is not 2048 bytes",
        });
    }
    let record = RawRecord::parse(&sector[156..190]);
    record
        .map(|record| record.place)
        .map_err(|problem| ImageReadError::Descriptor { offset, problem })
}

fn disagreement_error(offset: u64) -> ImageReadError {
    ImageReadError::Descriptor {
        offset,
        problem: "the two byte orders of a number disagree",
    }
}

fn text(field: &[u8]) -> String {
    let shown = |&byte: &u8| {
        if byte == b' ' || byte.is_ascii_graphic() {
            char::from(byte)
        } else {
            '?'
        }
    };
    field
        .iter()
        .map(shown)
        .collect::<String>()
        .trim_end_matches([' ', '?'])
        .to_owned()
}
