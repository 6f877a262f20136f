//! Parsing of directory records (ECMA-119 9.1) and of the names in them. Records come from an untrusted medium, so
//! each field is checked before it is used.

use crate::format::{FLAG_DIRECTORY, FLAG_MORE_SECTIONS, RECORD_HEAD_LEN, SectorRun};

const FLAG_ASSOCIATED: u8 = 0x04;

/// Decodes a 16-bit number in both byte orders; none if they disagree.
pub(super) fn both16(bytes: &[u8]) -> Option<u16> {
    let little = u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?);
    let big = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    (little == big).then_some(little)
}

/// Decodes a 32-bit number in both byte orders; none if they disagree.
pub(super) fn both32(bytes: &[u8]) -> Option<u32> {
    let little = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
    let big = u32::from_be_bytes(bytes.get(4..8)?.try_into().ok()?);
    (little == big).then_some(little)
}

/// A directory record whose fields are in range and use no unsupported feature.
#[derive(Debug)]
pub(super) struct RawRecord<'a> {
    pub(super) place: SectorRun,
    pub(super) is_directory: bool,
    pub(super) more_sections: bool,
    pub(super) identifier: &'a [u8],
    pub(super) system_use: &'a [u8],
}

impl<'a> RawRecord<'a> {
    /// Parses a record that consists of exactly `bytes`.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let Some((head, rest)) = bytes.split_at_checked(RECORD_HEAD_LEN) else {
            return Err("too short");
        };
        let identifier_len = usize::from(head[32]);
        // The System Use area starts on an even byte.
        let padded = identifier_len + usize::from(identifier_len.is_multiple_of(2));
        if identifier_len == 0 || identifier_len > rest.len() {
            return Err("the identifier does not fit into the record");
        }
        let (lba, size) = both32(&head[2..10])
            .zip(both32(&head[10..18]))
            .ok_or("the two byte orders of a number disagree")?;
        let flags = head[25];
        refuse_unusual(head, flags)?;
        Ok(Self {
            place: SectorRun { lba, size },
            is_directory: flags & FLAG_DIRECTORY != 0,
            more_sections: flags & FLAG_MORE_SECTIONS != 0,
            identifier: &rest[..identifier_len],
            system_use: rest.get(padded..).unwrap_or_default(),
        })
    }

    /// Returns whether this is the record of the directory itself or of its parent.
    pub(super) fn is_self_or_parent(&self) -> bool {
        matches!(self.identifier, [0 | 1])
    }
}

fn refuse_unusual(head: &[u8], flags: u8) -> Result<(), &'static str> {
    match () {
        () if head[1] != 0 => Err("extended attribute records are not supported"),
        () if head[26] != 0 || head[27] != 0 => Err("interleaved files are not supported"),
        () if flags & FLAG_ASSOCIATED != 0 => Err("associated files are not supported"),
        () if flags & FLAG_DIRECTORY != 0 && flags & FLAG_MORE_SECTIONS != 0 => {
            Err("a directory in several sections")
        }
        () => Ok(()),
    }
}

/// Decodes a name of the primary tree and removes version and trailing dot.
pub(super) fn primary_name(identifier: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(identifier).ok()?;
    let name = without_version(name);
    Some(name.strip_suffix('.').unwrap_or(name).to_owned())
}

/// Decodes a name of the Joliet tree and removes the version.
pub(super) fn joliet_name(identifier: &[u8]) -> Option<String> {
    if !identifier.len().is_multiple_of(2) {
        return None;
    }
    let units: Vec<u16> = identifier
        .chunks_exact(2)
        .map(|unit| u16::from_be_bytes([unit[0], unit[1]]))
        .collect();
    let name = String::from_utf16(&units).ok()?;
    Some(without_version(&name).to_owned())
}

fn without_version(name: &str) -> &str {
    match name.rsplit_once(';') {
        Some((name, version)) if version.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}

/// Checks whether a name is a path component that all readers interpret in the same way.
pub(super) fn is_safe(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
        && name.len() <= 255
        && !name.contains(|c: char| c == '/' || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_version() {
        assert_eq!(
            primary_name(b"MANIFEST.YAML;1").as_deref(),
            Some("MANIFEST.YAML")
        );
        assert_eq!(primary_name(b"README.;1").as_deref(), Some("README"));
        assert_eq!(primary_name(b"A;B").as_deref(), Some("A;B"));
        assert_eq!(primary_name(b"\xFF"), None);
        assert_eq!(joliet_name(b"\0a\0;\x001").as_deref(), Some("a"));
        assert_eq!(joliet_name(b"\0a\0"), None);
        assert_eq!(joliet_name(b"\xD8\x00"), None, "half a surrogate pair");
    }

    #[test]
    fn unsafe_names_are_refused() {
        for name in ["", ".", "..", "a/b", "a\0", "a\n", &"x".repeat(256)] {
            assert!(!is_safe(name), "{name:?}");
        }
        for name in ["a", "...", "é b", "-", &"x".repeat(255)] {
            assert!(is_safe(name), "{name:?}");
        }
    }

    #[test]
    fn records_are_checked_field_by_field() {
        let mut good = vec![0; 34];
        good[32] = 1;
        good[33] = b'A';
        assert_eq!(RawRecord::parse(&good).unwrap().identifier, b"A");
        for (index, problem) in [
            (1, "extended attribute records are not supported"),
            (2, "the two byte orders of a number disagree"),
            (17, "the two byte orders of a number disagree"),
            (26, "interleaved files are not supported"),
            (27, "interleaved files are not supported"),
            (32, "the identifier does not fit into the record"),
        ] {
            let mut bad = good.clone();
            bad[index] += 1;
            assert_eq!(RawRecord::parse(&bad).unwrap_err(), problem);
        }
        good[25] = 0x04;
        assert_eq!(
            RawRecord::parse(&good).unwrap_err(),
            "associated files are not supported"
        );
        good[25] = 0x82;
        assert_eq!(
            RawRecord::parse(&good).unwrap_err(),
            "a directory in several sections"
        );
        assert_eq!(
            RawRecord::parse(&good[..33]).unwrap_err(),
            "the identifier does not fit into the record"
        );
        assert_eq!(RawRecord::parse(&[]).unwrap_err(), "too short");
    }
}
