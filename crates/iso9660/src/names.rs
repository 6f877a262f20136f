//! The grammar of path components ([`is_component`]) and their identifiers in the primary tree ([`Stem`]). The primary
//! tree has short names in upper case, so long names are shortened there.

use crate::limits::MAX_COMPONENT_LEN;

/// The maximum length of name and extension together in the primary tree (ECMA-119 7.5.1, 10.1).
const MAX_STEM: usize = 30;
/// The maximum length of an extension.
const MAX_EXTENSION: usize = 8;

/// Checks whether a path component matches `[A-Za-z0-9_][A-Za-z0-9._-]{0,102}`.
pub(crate) fn is_component(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.len() <= MAX_COMPONENT_LEN
        && name.bytes().next().is_some_and(word)
        && name
            .bytes()
            .all(|byte| word(byte) || byte == b'.' || byte == b'-')
}

/// Checks whether a text consists of d-characters (ECMA-119 7.4.1).
pub(crate) fn is_d_characters(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The kind of an entry. Identifiers of files and directories differ in the primary tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdentifierKind {
    File,
    Directory,
}

/// An identifier of the primary tree without version and trailing dot.
///
/// Different stems sort in the order of ECMA-119 9.3: a dot sorts before every d-character, like the padding space, and
/// a name without extension is a prefix of the same name with an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Stem {
    bytes: [u8; MAX_STEM + 1],
    len: u8,
}

impl Stem {
    /// Derives the stem of a name: upper case, `_` for other characters, truncated to 30 characters. Files keep their
    /// extension.
    pub(crate) fn from_name(name: &str, kind: IdentifierKind) -> Self {
        let (base, extension) = match kind {
            IdentifierKind::Directory => (name, ""),
            IdentifierKind::File => name.rsplit_once('.').unwrap_or((name, "")),
        };
        let extension = &extension[..extension.len().min(MAX_EXTENSION)];
        let base = &base[..base.len().min(MAX_STEM - extension.len())];
        let mut stem = Self {
            bytes: [0; MAX_STEM + 1],
            len: 0,
        };
        base.bytes().for_each(|byte| stem.push(d_character(byte)));
        if !extension.is_empty() {
            stem.push(b'.');
            extension
                .bytes()
                .for_each(|byte| stem.push(d_character(byte)));
        }
        stem
    }

    /// Returns the stem with number `number`, for entries whose own stems clash: `X` and seven digits.
    pub(crate) fn numbered(number: u32) -> Self {
        let text = format!("X{number:07}");
        let mut stem = Self {
            bytes: [0; MAX_STEM + 1],
            len: 0,
        };
        text.bytes().for_each(|byte| stem.push(byte));
        stem
    }

    /// Appends the identifier for records: the stem, and for files a dot and version 1.
    pub(crate) fn append_identifier(&self, out: &mut Vec<u8>, kind: IdentifierKind) {
        out.extend_from_slice(self.as_bytes());
        if kind == IdentifierKind::File {
            if !self.as_bytes().contains(&b'.') {
                out.push(b'.');
            }
            out.extend_from_slice(b";1");
        }
    }

    /// Checks whether the stem has the form of a numbered stem.
    pub(crate) fn looks_numbered(&self) -> bool {
        matches!(self.as_bytes(), [b'X', digits @ ..] if digits.len() == 7 && digits.iter().all(u8::is_ascii_digit))
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    fn push(&mut self, byte: u8) {
        self.bytes[usize::from(self.len)] = byte;
        self.len += 1;
    }
}

fn d_character(byte: u8) -> u8 {
    if byte.is_ascii_alphanumeric() {
        byte.to_ascii_uppercase()
    } else {
        b'_'
    }
}

/// Appends a name in the form of the Joliet tree: UCS-2 big-endian without a version.
pub(crate) fn append_ucs2(out: &mut Vec<u8>, name: &str) {
    for byte in name.bytes() {
        out.extend_from_slice(&[0, byte]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identifier(name: &str, kind: IdentifierKind) -> String {
        let mut out = Vec::new();
        Stem::from_name(name, kind).append_identifier(&mut out, kind);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn components_follow_the_grammar() {
        for good in [
            "a",
            "_",
            "0",
            "A-b.c_",
            "trailing.",
            "a..b",
            &"x".repeat(103),
        ] {
            assert!(is_component(good), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            ".a",
            "-a",
            "a b",
            "a/b",
            "a\\b",
            "é",
            "a\0",
            "a;1",
            &"x".repeat(104),
        ] {
            assert!(!is_component(bad), "{bad}");
        }
    }

    #[test]
    fn files_keep_their_extension() {
        let hex = "0123456789abcdef".repeat(4);
        for (name, expected) in [
            ("manifest.yaml", "MANIFEST.YAML;1"),
            ("CONTENTS", "CONTENTS.;1"),
            ("trailing.", "TRAILING.;1"),
            ("registry-config.inc.j2", "REGISTRY_CONFIG_INC.J2;1"),
            ("statement.dsse.json", "STATEMENT_DSSE.JSON;1"),
            (&hex, "0123456789ABCDEF0123456789ABCD.;1"),
            (
                &format!("{hex}.manifest.json"),
                "0123456789ABCDEF0123456789.JSON;1",
            ),
            ("a.0123456789", "A.01234567;1"),
        ] {
            assert_eq!(identifier(name, IdentifierKind::File), expected);
        }
    }

    #[test]
    fn directories_have_no_dot() {
        assert_eq!(identifier("1.0.0", IdentifierKind::Directory), "1_0_0");
        assert_eq!(
            identifier("base-server", IdentifierKind::Directory),
            "BASE_SERVER"
        );
        assert_eq!(
            identifier(&"d".repeat(40), IdentifierKind::Directory),
            "D".repeat(30)
        );
    }

    #[test]
    fn stems_sort_as_ecma_119_9_3_says() {
        // The order of file names padded with spaces, then of extensions padded with spaces.
        let mut names = ["AB.X", "AB", "ABC", "A_B", "A.ZZZ", "AB.XA", "A0.A", "AB._"];
        names.sort_by_key(|name| Stem::from_name(name, IdentifierKind::File));
        assert_eq!(
            names,
            ["A.ZZZ", "A0.A", "AB", "AB.X", "AB.XA", "AB._", "ABC", "A_B"]
        );
    }

    #[test]
    fn numbered_stems_are_recognised() {
        assert!(Stem::numbered(0).looks_numbered());
        assert!(Stem::from_name("x1234567", IdentifierKind::File).looks_numbered());
        for other in ["x123456", "x12345678", "y1234567", "x123456a", "x1234567.a"] {
            assert!(
                !Stem::from_name(other, IdentifierKind::File).looks_numbered(),
                "{other}"
            );
        }
    }
}
