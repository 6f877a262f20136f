//! Comparison of keys as Go's `encoding/json` does it: a key belongs to the field with exactly this name, else to one
//! that is equal under Unicode's simple case folding. Programs that run images are written in Go. A key that they
//! accept as a known one, but an exact reader ignores, is rejected.

use std::fmt;

use crate::digest::shorten;

/// The fields of a struct, by the names of their JSON keys.
pub type Fields = &'static [(&'static str, Kind)];

/// The kind of Go value into which a JSON value is decoded, as far as it contains structs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value without structs: texts, numbers, lists of these, and maps with arbitrary keys.
    Plain,
    /// A struct.
    Struct(Fields),
    /// A list of structs.
    List(Fields),
    /// A map whose values are structs.
    Map(Fields),
}

/// A key that Go accepts for another one.
#[derive(Debug)]
pub(super) struct FoldedKey {
    key: String,
    known: &'static str,
}

impl fmt::Display for FoldedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, known } = self;
        write!(
            f,
            "key `{key}` differs from `{known}` only in case, and some readers treat the two as one"
        )
    }
}

impl Kind {
    /// Returns the kind of a list's elements.
    pub(super) fn element(self) -> Self {
        match self {
            Self::List(fields) => Self::Struct(fields),
            Self::Plain | Self::Struct(_) | Self::Map(_) => Self::Plain,
        }
    }

    /// Returns the kind of the value of an object's key.
    ///
    /// # Errors
    ///
    /// Fails if the key differs from a known one only in case.
    pub(super) fn value(self, key: &str) -> Result<Self, FoldedKey> {
        match self {
            Self::Struct(fields) => field(fields, key),
            Self::Map(fields) => Ok(Self::Struct(fields)),
            Self::Plain | Self::List(_) => Ok(Self::Plain),
        }
    }
}

fn field(fields: Fields, key: &str) -> Result<Kind, FoldedKey> {
    if let Some((_, kind)) = fields.iter().find(|(name, _)| *name == key) {
        return Ok(*kind);
    }
    match fields.iter().find(|(name, _)| folds_to(key, name)) {
        None => Ok(Kind::Plain),
        Some((known, _)) => Err(FoldedKey {
            key: shorten(key),
            known,
        }),
    }
}

/// Returns whether two texts are equal under simple case folding. `name` is ASCII, so the only other characters that
/// fold to one of its letters are these two (`CaseFolding.txt`, status C).
fn folds_to(key: &str, name: &str) -> bool {
    let fold = |character: char| match character {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    key.chars().map(fold).eq(name.chars().map(fold))
}

#[cfg(test)]
mod tests {
    use serde::de::IgnoredAny;

    use super::*;
    use crate::json::{self, JsonError};

    const INNER: Fields = &[("digest", Kind::Plain), ("os.version", Kind::Plain)];
    const OUTER: Kind = Kind::Struct(&[
        ("mediaType", Kind::Plain),
        ("disk", Kind::Struct(INNER)),
        ("layers", Kind::List(INNER)),
        ("sources", Kind::Map(INNER)),
        ("labels", Kind::Plain),
    ]);

    fn strict(text: &str) -> Result<IgnoredAny, JsonError> {
        json::from_slice_of(text.as_bytes(), OUTER)
    }

    fn loose(text: &[u8]) -> Result<IgnoredAny, JsonError> {
        json::from_loose_slice_of(text, OUTER)
    }

    fn refused(text: &str) -> String {
        let message = strict(text).unwrap_err().to_string();
        assert_eq!(
            message,
            loose(text.as_bytes()).unwrap_err().to_string(),
            "{text}"
        );
        message
    }

    #[test]
    fn a_key_that_differs_only_in_case_is_named() {
        for (key, known) in [
            ("Layers", "layers"),
            ("LAYERS", "layers"),
            ("mediatype", "mediaType"),
            ("layer\\u017f", "layers"),
            ("di\\u017fk", "disk"),
            ("dis\\u212a", "disk"),
            ("\\u004cayers", "layers"),
        ] {
            let expected = format!("differs from `{known}` only in case");
            for text in [
                format!(r#"{{"{key}":[]}}"#),
                format!(r#"{{"{known}":[],"{key}":[]}}"#),
                format!(r#"{{"{key}":[],"{known}":[]}}"#),
            ] {
                let message = refused(&text);
                assert!(message.contains(&expected), "{text}: {message}");
            }
        }
        let message = refused("{\"layer\u{17f}\":[]}");
        assert!(
            message.starts_with("key `layer\u{17f}` differs"),
            "{message}"
        );
    }

    #[test]
    fn every_struct_inside_counts() {
        for text in [
            r#"{"disk":{"Digest":1}}"#,
            r#"{"layers":[{},{"OS.Version":1}]}"#,
            r#"{"sources":{"any":{"Digest":1}}}"#,
            r#"{"sources":{"any":{},"Any":{"DIGEST":1}}}"#,
        ] {
            refused(text);
        }
    }

    #[test]
    fn keys_of_maps_and_keys_that_nobody_knows_are_free() {
        for text in [
            r#"{"labels":{"Layers":1,"layers":2,"mediatype":{"Digest":1}}}"#,
            r#"{"sources":{"Digest":{},"digest":{}}}"#,
            r#"{"layer":1,"layersX":1,"l\u00e4yers":1,"other":{"Layers":1}}"#,
            // Values of other kinds have no known fields.
            r#"{"disk":[{"Digest":1}],"layers":{"Digest":1}}"#,
            r#"[{"Layers":1}]"#,
        ] {
            strict(text).unwrap();
            loose(text.as_bytes()).unwrap();
        }
    }

    #[test]
    fn documents_of_which_little_is_asked_may_hold_any_json() {
        let text = r#"{"labels":1.5,"labels":18446744073709551615,"x":-1e3}"#;
        loose(text.as_bytes()).unwrap();
        for text in [
            &b""[..],
            b"{",
            b"{} {}",
            b"{\"a\":\"\x01\"}",
            b"{\"a\":\"\xff\"}",
        ] {
            assert!(loose(text).is_err(), "{text:?}");
        }
    }

    /// Two fields of one struct that fold to one key would make each the other's mistake.
    #[test]
    fn no_table_refuses_its_own_keys() {
        fn check(kind: Kind) {
            let fields = match kind {
                Kind::Plain => return,
                Kind::Struct(fields) | Kind::List(fields) | Kind::Map(fields) => fields,
            };
            for (index, (name, inside)) in fields.iter().enumerate() {
                assert!(name.is_ascii(), "{name}");
                let others = &fields[index + 1..];
                assert!(
                    others.iter().all(|(other, _)| !folds_to(other, name)),
                    "{name}"
                );
                check(*inside);
            }
        }
        use crate::known_keys::{
            IMAGE_CONFIG, IMAGE_DOCUMENT, LAYOUT_MARKER, SAVED_IMAGES, STATEMENT,
        };
        for kind in [
            IMAGE_CONFIG,
            IMAGE_DOCUMENT,
            LAYOUT_MARKER,
            SAVED_IMAGES,
            STATEMENT,
        ] {
            check(kind);
        }
    }
}
