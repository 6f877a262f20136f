//! The digest of a content: SHA-256, in the spelling of the OCI image specification ("Digests"). Other algorithms are
//! refused, because every document of an archive uses this one.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::pattern;

/// A SHA-256 digest. The text form is `sha256:` and 64 lower-case hexadecimal characters; no other algorithm and
/// no other spelling exists in archives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// The error of a text that is not a digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The algorithm is not SHA-256, or is missing.
    #[error("`{0}` is not a sha256 digest: expected `sha256:` and 64 hexadecimal characters")]
    Algorithm(String),
    /// The text after the colon is not 64 lower-case hexadecimal characters.
    #[error("`{0}` is not 64 lower-case hexadecimal characters")]
    Hex(String),
}

impl Digest {
    /// Returns the digest with these 32 bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the 64 hexadecimal characters without `sha256:`, as layouts name blobs.
    #[must_use]
    pub fn hex(&self) -> String {
        use fmt::Write as _;
        self.0
            .iter()
            .fold(String::with_capacity(64), |mut hex, byte| {
                write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
                hex
            })
    }

    /// Parses 64 lower-case hexadecimal characters.
    pub fn from_hex(hex: &str) -> Result<Self, DigestError> {
        let digits = hex.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 64 {
            return Err(DigestError::Hex(shorten(hex)));
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            match (nibble(pair[0]), nibble(pair[1])) {
                (Some(high), Some(low)) => *byte = high << 4 | low,
                _ => return Err(DigestError::Hex(shorten(hex))),
            }
        }
        Ok(Self(bytes))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Returns at most 80 characters of a hostile text, for a message.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("sha256:") {
            Some(hex) => Self::from_hex(hex),
            None => Err(DigestError::Algorithm(shorten(text))),
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Digest {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "`sha256:` and 64 lower-case hexadecimal characters",
            "pattern": pattern::DIGEST,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn text_form_round_trips() {
        let digest: Digest = EMPTY.parse().unwrap();
        assert_eq!(digest.to_string(), EMPTY);
        assert_eq!(format!("sha256:{}", digest.hex()), EMPTY);
        assert_eq!(digest.as_bytes()[0], 0xe3);
    }

    #[test]
    fn every_other_spelling_is_refused() {
        for text in [
            "",
            "sha256:",
            &EMPTY.to_uppercase(),
            &EMPTY[7..],
            &EMPTY[..70],
            &format!("{EMPTY}0"),
            &EMPTY.replace("sha256", "sha512"),
            &EMPTY.replace('e', "g"),
            &EMPTY.replace("e3", "é"),
        ] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}
