//! The binary layout of descriptors, directory records, path table records and System Use entries. Each function
//! encodes one structure; nothing here decides what an image contains.
//!
//! Field positions are those of ECMA-119 (whose byte positions count from 1, ours from 0), SUSP 1.12 and RRIP 1.12.

use crate::region::{ByteOrder, TreeKind};
use crate::{Timestamp, Volume};

/// The size of a sector and of a logical block in bytes; this layout uses the same size for both (ECMA-119 6.1.2,
/// 6.2.2).
pub const SECTOR_SIZE: u64 = 2048;

/// The same size as a buffer length.
pub(crate) const SECTOR_LEN: usize = 2048;

/// Returns the offset of a sector in bytes.
pub(crate) fn byte_offset(lba: u32) -> u64 {
    u64::from(lba) * SECTOR_SIZE
}

/// The maximum size of a file section in bytes: the largest whole number of sectors that fits a 32-bit length.
pub(crate) const SECTION_SIZE: u64 = 0xFFFF_F800;

/// The identifier of a directory's record of itself, and of the root in a path table.
pub(crate) const SELF: &[u8] = &[0];
/// The identifier of a directory's record of its parent.
pub(crate) const PARENT: &[u8] = &[1];

pub(crate) const FLAG_DIRECTORY: u8 = 0x02;
pub(crate) const FLAG_MORE_SECTIONS: u8 = 0x80;

/// POSIX file modes with their type bits (RRIP 4.1.1).
pub(crate) const MODE_FILE: u32 = 0o100_444;
pub(crate) const MODE_DIRECTORY: u32 = 0o040_555;

/// The length of a directory record up to its identifier (ECMA-119 9.1).
pub(crate) const RECORD_HEAD_LEN: usize = 33;

pub(crate) const STANDARD_ID: &[u8; 5] = b"CD001";
/// The escape sequence of UCS-2 level 3 (Joliet 2.2).
const JOLIET_ESCAPE: &[u8; 3] = b"%/E";
/// The number of characters, of two bytes each, in Joliet's volume identifier.
const JOLIET_VOLUME_ID_LEN: usize = 16;

const ER_ID: &[u8] = b"IEEE_P1282";
const ER_DESCRIPTOR: &[u8] =
    b"THE IEEE P1282 PROTOCOL PROVIDES SUPPORT FOR POSIX FILE SYSTEM SEMANTICS";
const ER_SOURCE: &[u8] =
    b"PLEASE CONTACT THE IEEE STANDARDS DEPARTMENT, PISCATAWAY, NJ, USA FOR THE P1282 SPECIFICATION";

/// Encodes a 16-bit number in both byte orders (ECMA-119 7.2.3).
fn both16(value: u16) -> [u8; 4] {
    let mut bytes = [0; 4];
    bytes[..2].copy_from_slice(&value.to_le_bytes());
    bytes[2..].copy_from_slice(&value.to_be_bytes());
    bytes
}

/// Encodes a 32-bit number in both byte orders (ECMA-119 7.3.3).
fn both32(value: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&value.to_le_bytes());
    bytes[4..].copy_from_slice(&value.to_be_bytes());
    bytes
}

/// A range of sectors in the form of a 32-bit record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SectorRun {
    /// Its first sector.
    pub(crate) lba: u32,
    /// Its size in bytes.
    pub(crate) size: u32,
}

/// A directory record (ECMA-119 9.1).
#[derive(Debug)]
pub(crate) struct DirectoryRecord<'a> {
    pub(crate) place: SectorRun,
    pub(crate) flags: u8,
    pub(crate) time: [u8; 7],
    pub(crate) identifier: &'a [u8],
    pub(crate) system_use: &'a [u8],
}

impl DirectoryRecord<'_> {
    /// Appends the record. Identifier and System Use area are each padded to an even length (ECMA-119 9.1.12, 9.1.13).
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        let start = out.len();
        // The length of the record, which is set at the end, and of the extended attribute record, which does not
        // exist.
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&both32(self.place.lba));
        out.extend_from_slice(&both32(self.place.size));
        out.extend_from_slice(&self.time);
        // File unit size and interleave gap are zero: files are not interleaved.
        out.extend_from_slice(&[self.flags, 0, 0]);
        out.extend_from_slice(&both16(1));
        out.push(byte_len(self.identifier.len()));
        out.extend_from_slice(self.identifier);
        pad_even(out, start);
        out.extend_from_slice(self.system_use);
        pad_even(out, start);
        out[start] = byte_len(out.len() - start);
    }
}

fn byte_len(len: usize) -> u8 {
    u8::try_from(len)
        .expect("names are limited so that every record and entry stays below 256 bytes")
}

fn pad_even(out: &mut Vec<u8>, start: usize) {
    if !(out.len() - start).is_multiple_of(2) {
        out.push(0);
    }
}

/// Appends a path table record (ECMA-119 9.4).
pub(crate) fn append_path_table_record(
    out: &mut Vec<u8>,
    order: ByteOrder,
    lba: u32,
    parent: u16,
    identifier: &[u8],
) {
    out.extend_from_slice(&[byte_len(identifier.len()), 0]);
    match order {
        ByteOrder::Little => {
            out.extend_from_slice(&lba.to_le_bytes());
            out.extend_from_slice(&parent.to_le_bytes());
        }
        ByteOrder::Big => {
            out.extend_from_slice(&lba.to_be_bytes());
            out.extend_from_slice(&parent.to_be_bytes());
        }
    }
    out.extend_from_slice(identifier);
    if !identifier.len().is_multiple_of(2) {
        out.push(0);
    }
}

/// Appends SP (SUSP 5.3), which declares that entries start at byte 0 of every System Use area.
pub(crate) fn append_sp(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'S', b'P', 7, 1, 0xBE, 0xEF, 0]);
}

/// Appends CE (SUSP 5.1), which continues the area at the start of sector `lba` for `len` bytes.
pub(crate) fn append_ce(out: &mut Vec<u8>, lba: u32, len: u32) {
    out.extend_from_slice(&[b'C', b'E', 28, 1]);
    out.extend_from_slice(&both32(lba));
    out.extend_from_slice(&both32(0));
    out.extend_from_slice(&both32(len));
}

/// Appends PX (RRIP 4.1.1) in its form of 44 bytes: mode, links, uid 0, gid 0 and serial number.
pub(crate) fn append_px(out: &mut Vec<u8>, mode: u32, links: u32, serial: u32) {
    out.extend_from_slice(&[b'P', b'X', 44, 1]);
    for value in [mode, links, 0, 0, serial] {
        out.extend_from_slice(&both32(value));
    }
}

/// Appends TF (RRIP 4.1.6) in its short form with the times of modification, access and attribute change.
pub(crate) fn append_tf(out: &mut Vec<u8>, time: [u8; 7]) {
    out.extend_from_slice(&[b'T', b'F', 26, 1, 0x0E]);
    for _ in 0..3 {
        out.extend_from_slice(&time);
    }
}

/// Appends NM (RRIP 4.1.4) with the complete name.
pub(crate) fn append_nm(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(&[b'N', b'M', byte_len(name.len() + 5), 1, 0]);
    out.extend_from_slice(name.as_bytes());
}

/// Encodes the ER entry (SUSP 5.5) that announces Rock Ridge. It is the only content of the continuation area.
pub(crate) fn er() -> Vec<u8> {
    let len = 8 + ER_ID.len() + ER_DESCRIPTOR.len() + ER_SOURCE.len();
    let mut out = vec![b'E', b'R', byte_len(len), 1];
    out.extend([ER_ID, ER_DESCRIPTOR, ER_SOURCE].map(|text| byte_len(text.len())));
    out.push(1);
    for text in [ER_ID, ER_DESCRIPTOR, ER_SOURCE] {
        out.extend_from_slice(text);
    }
    out
}

/// The fields of a volume descriptor other than the volume's names and time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DescriptorFields {
    pub(crate) tree: TreeKind,
    /// The size of the image in sectors.
    pub(crate) sectors: u32,
    /// The size of one path table in bytes.
    pub(crate) path_table_size: u32,
    pub(crate) path_table_l: u32,
    pub(crate) path_table_m: u32,
    pub(crate) root: SectorRun,
}

/// Encodes the primary volume descriptor (ECMA-119 8.4) or the Joliet volume descriptor (ECMA-119 8.5, Joliet 2).
pub(crate) fn volume_descriptor(fields: &DescriptorFields, volume: &Volume) -> [u8; SECTOR_LEN] {
    let mut d = [0; SECTOR_LEN];
    d[1..6].copy_from_slice(STANDARD_ID);
    d[6] = 1;
    // Volume space size, volume set size, volume sequence number and logical block size.
    d[80..88].copy_from_slice(&both32(fields.sectors));
    d[120..124].copy_from_slice(&both16(1));
    d[124..128].copy_from_slice(&both16(1));
    d[128..132].copy_from_slice(&both16(2048));
    // Path table size, and the locations of the L and M path tables. There are no optional path tables.
    d[132..140].copy_from_slice(&both32(fields.path_table_size));
    d[140..144].copy_from_slice(&fields.path_table_l.to_le_bytes());
    d[148..152].copy_from_slice(&fields.path_table_m.to_be_bytes());
    d[156..190].copy_from_slice(&root_record(fields.root, volume.time));
    let volume_id_len = match fields.tree {
        TreeKind::Primary => {
            d[0] = 1;
            volume.id.len()
        }
        TreeKind::Joliet => {
            d[0] = 2;
            d[88..91].copy_from_slice(JOLIET_ESCAPE);
            volume.id.len().min(JOLIET_VOLUME_ID_LEN)
        }
    };
    // System identifier, volume identifier and volume set identifier.
    set_text(&mut d[8..40], fields.tree, "");
    set_text(&mut d[40..72], fields.tree, &volume.id[..volume_id_len]);
    set_text(&mut d[190..318], fields.tree, &volume.set_id);
    // Publisher, data preparer and application, then the copyright, abstract and bibliographic files.
    for field in [318..446, 446..574, 574..702, 702..739, 739..776, 776..813] {
        set_text(&mut d[field], fields.tree, "");
    }
    // The times of creation and modification.
    let time = volume.time.long();
    d[813..830].copy_from_slice(&time);
    d[830..847].copy_from_slice(&time);
    // The expiration and effective times are not specified (ECMA-119 8.4.26.1).
    d[847..863].fill(b'0');
    d[864..880].fill(b'0');
    d[881] = 1;
    // The application use area has spaces, so that implantisomd5 can use it in a copy of the image.
    d[883..1395].fill(b' ');
    d
}

/// Encodes the volume descriptor set terminator (ECMA-119 8.3).
pub(crate) fn terminator() -> [u8; SECTOR_LEN] {
    let mut d = [0; SECTOR_LEN];
    d[0] = 255;
    d[1..6].copy_from_slice(STANDARD_ID);
    d[6] = 1;
    d
}

fn root_record(place: SectorRun, time: Timestamp) -> Vec<u8> {
    let mut out = Vec::with_capacity(34);
    DirectoryRecord {
        place,
        flags: FLAG_DIRECTORY,
        time: time.short(),
        identifier: SELF,
        system_use: &[],
    }
    .append_to(&mut out);
    out
}

/// Fills a text field: ASCII padded with spaces, or UCS-2 big-endian padded with UCS-2 spaces. Longer text is
/// truncated. The last byte of a UCS-2 field with an odd length stays zero.
fn set_text(field: &mut [u8], tree: TreeKind, text: &str) {
    match tree {
        TreeKind::Primary => {
            field.fill(b' ');
            field[..text.len()].copy_from_slice(text.as_bytes());
        }
        TreeKind::Joliet => {
            let characters = text.bytes().chain(std::iter::repeat(b' '));
            for (unit, character) in field.chunks_exact_mut(2).zip(characters) {
                unit.copy_from_slice(&[0, character]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The expected bytes were written from the standards, not from the output of this code.

    #[test]
    fn records_are_padded_twice() {
        let mut out = vec![0xAA];
        let place = SectorRun {
            lba: 0x0102_0304,
            size: 0x0A0B,
        };
        let time = [80, 1, 2, 3, 4, 5, 0];
        DirectoryRecord {
            place,
            flags: FLAG_MORE_SECTIONS,
            time,
            identifier: b"AB",
            system_use: &[9],
        }
        .append_to(&mut out);
        let expected = [
            &[0xAA, 38, 0][..],
            &[4, 3, 2, 1, 1, 2, 3, 4],
            &[0x0B, 0x0A, 0, 0, 0, 0, 0x0A, 0x0B],
            &time,
            &[0x80, 0, 0],
            &[1, 0, 0, 1],
            b"\x02AB\0",
            &[9, 0],
        ];
        // 33 + 2, a pad byte, one byte of System Use, a pad byte: 38.
        assert_eq!(out, expected.concat());
    }

    #[test]
    fn path_table_records_differ_in_byte_order_only() {
        let record = |order| {
            let mut out = Vec::new();
            append_path_table_record(&mut out, order, 0x0102_0304, 0x0506, b"ABC");
            out
        };
        assert_eq!(
            record(ByteOrder::Little),
            b"\x03\0\x04\x03\x02\x01\x06\x05ABC\0"
        );
        assert_eq!(
            record(ByteOrder::Big),
            b"\x03\0\x01\x02\x03\x04\x05\x06ABC\0"
        );
    }

    #[test]
    fn system_use_entries_have_the_lengths_they_say() {
        let mut out = Vec::new();
        append_sp(&mut out);
        append_px(&mut out, MODE_FILE, 2, 7);
        append_nm(&mut out, "name");
        append_tf(&mut out, [1; 7]);
        append_ce(&mut out, 100, 200);
        out.extend(er());
        let mut signatures = Vec::new();
        let mut rest = out.as_slice();
        while let [a, b, len, version, ..] = *rest {
            signatures.push((String::from_utf8(vec![a, b]).unwrap(), len, version));
            rest = &rest[usize::from(len)..];
        }
        let expected = [
            ("SP", 7),
            ("PX", 44),
            ("NM", 9),
            ("TF", 26),
            ("CE", 28),
            ("ER", 8 + 10 + 72 + 93),
        ];
        assert_eq!(
            signatures,
            expected.map(|(signature, len)| (signature.to_owned(), len, 1))
        );
    }

    #[test]
    fn joliet_text_is_cut_to_its_field_and_padded_with_two_byte_spaces() {
        let mut field = [0xFF; 7];
        set_text(&mut field[..5], TreeKind::Joliet, "a");
        assert_eq!(&field, b"\0a\0 \xFF\xFF\xFF");
        set_text(&mut field, TreeKind::Joliet, "abcdef");
        assert_eq!(&field, b"\0a\0b\0c\xFF");
    }

    #[test]
    fn the_terminator_ends_the_descriptors() {
        assert_eq!(&terminator()[..8], b"\xFFCD001\x01\0");
    }
}
