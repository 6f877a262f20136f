//! The signed statement of an archive: an in-toto Statement v1 with the project's predicate. [`Statement::from_slice`]
//! parses exactly the bytes that were signed, whose SHA-256 is the archive id.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::json::{self, JsonError};
use crate::known_keys;
use crate::name::{NameError, text_traits};
use crate::{Capability, Digest, SolutionId, SolutionName, Version, VersionRange};

const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
const PREDICATE_TYPE: &str = "https://solutions.metalk8s.scality.com/archive/v1";
const SUBJECT: &str = "SHA256SUMS";

/// A SHA-256 in the form of in-toto: 64 hexadecimal characters without `sha256:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sha256Hex(Digest);

impl Serialize for Sha256Hex {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.hex())
    }
}

impl<'de> Deserialize<'de> for Sha256Hex {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Digest::from_hex(&String::deserialize(deserializer)?)
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}

/// A point in time with the resolution of a second, spelled `YYYY-MM-DDThh:mm:ssZ`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StatementTime(i64);

impl StatementTime {
    /// 1980-01-01T00:00:00Z, the time of archives built without `SOURCE_DATE_EPOCH`.
    pub const DEFAULT: Self = Self(315_532_800);

    /// Returns a time from the seconds since 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    ///
    /// Fails outside of the years 1980 to 2099, the range that every date field of an image supports.
    pub fn from_unix(seconds: i64) -> Result<Self, NameError> {
        if (Self::DEFAULT.0..4_102_444_800).contains(&seconds) {
            Ok(Self(seconds))
        } else {
            let grammar = "1980-01-01T00:00:00Z to 2099-12-31T23:59:59Z";
            Err(NameError::new("time", &seconds.to_string(), grammar))
        }
    }

    /// Returns the seconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn unix(self) -> i64 {
        self.0
    }
}

impl FromStr for StatementTime {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let time = text
            .parse::<jiff::Timestamp>()
            .ok()
            .and_then(|time| Self::from_unix(time.as_second()).ok())
            .filter(|time| time.to_string() == text);
        time.ok_or_else(|| NameError::new("time", text, "YYYY-MM-DDThh:mm:ssZ, from 1980 to 2099"))
    }
}

impl fmt::Display for StatementTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time =
            jiff::Timestamp::from_second(self.0).expect("the range is inside the calendar's");
        fmt::Display::fmt(&time, f)
    }
}

text_traits!(StatementTime, "YYYY-MM-DDThh:mm:ssZ", crate::pattern::TIME);

/// The names in the volume descriptors (ECMA-119 8.4.7, 8.4.19).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeNames {
    /// The volume identifier.
    pub id: String,
    /// The volume set identifier.
    pub set_id: String,
}

/// The digest and size of `CONTENTS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContentsReference {
    sha256: Sha256Hex,
    size: u64,
}

/// The predicate about an archive that is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predicate {
    /// The layout version of the image. It never changes for an existing archive.
    pub layout: u64,
    /// The name and version of the Solution.
    pub id: SolutionId,
    /// The names in the volume descriptors.
    pub volume: VolumeNames,
    /// The only time in the image.
    pub time: StatementTime,
    /// The SHA-256 of `CONTENTS`.
    pub contents: Digest,
    /// The size of `CONTENTS` in bytes.
    pub contents_size: u64,
    /// The versions that can be upgraded to this one.
    pub upgrade_from: Option<VersionRange>,
    /// The time after which the publisher advises against using the archive. It only leads to a warning, because the
    /// clocks of sites are unreliable.
    pub expires: Option<StatementTime>,
    /// The capabilities that a reader must have.
    pub requires: Vec<Capability>,
    /// The top-level names that a reader may ignore.
    pub optional: Vec<String>,
}

/// A statement with a predicate about `SHA256SUMS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The SHA-256 of `SHA256SUMS`.
    pub sha256sums: Digest,
    /// The predicate of the archive.
    pub predicate: Predicate,
}

/// The error of bytes that are not the statement of an archive.
#[derive(Debug, thiserror::Error)]
pub enum StatementError {
    /// The bytes are not strict JSON of this structure.
    #[error("the signed statement cannot be read")]
    Json(#[source] JsonError),
    /// The statement or predicate has another type.
    #[error("the signed statement is of type `{0}`, not that of an archive")]
    Type(String),
    /// The only subject is not `SHA256SUMS`.
    #[error("the signed statement is not about SHA256SUMS alone")]
    Subject,
    /// The name and version together are too long.
    #[error("the signed statement does not name a valid Solution")]
    Id(#[source] NameError),
}

/// The statement in the order of `docs/reference/format.md`. When a statement is parsed, its predicate is parsed
/// separately after the types are checked.
#[derive(Serialize, Deserialize)]
struct RawStatement<P> {
    #[serde(rename = "_type")]
    statement_type: String,
    subject: Vec<RawSubject>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    predicate: P,
}

#[derive(Serialize, Deserialize)]
struct RawSubject {
    name: String,
    digest: RawDigest,
}

#[derive(Serialize, Deserialize)]
struct RawDigest {
    sha256: Sha256Hex,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPredicate {
    layout: u64,
    name: SolutionName,
    version: Version,
    volume: VolumeNames,
    time: StatementTime,
    contents: ContentsReference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upgrade_from: Option<VersionRange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<StatementTime>,
    #[serde(default)]
    requires: Vec<Capability>,
    #[serde(default)]
    optional: Vec<String>,
}

impl Statement {
    /// Parses the verified bytes of a statement. Unknown fields of the predicate are ignored, because `requires` lists
    /// the capabilities that a reader must have. A field that differs from a known one only in case is rejected.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not strict JSON, or not a statement about an archive.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, StatementError> {
        let raw: RawStatement<serde_json::Value> =
            json::from_slice_of(bytes, known_keys::STATEMENT).map_err(StatementError::Json)?;
        if raw.statement_type != STATEMENT_TYPE {
            return Err(StatementError::Type(raw.statement_type));
        }
        if raw.predicate_type != PREDICATE_TYPE {
            return Err(StatementError::Type(raw.predicate_type));
        }
        let [subject] = raw.subject.as_slice() else {
            return Err(StatementError::Subject);
        };
        if subject.name != SUBJECT {
            return Err(StatementError::Subject);
        }
        let predicate = json::from_value(raw.predicate).map_err(StatementError::Json)?;
        Ok(Self {
            sha256sums: subject.digest.sha256.0,
            predicate: Predicate::from_raw(predicate)?,
        })
    }

    /// Returns the bytes to sign.
    ///
    /// # Panics
    ///
    /// Never: a statement always has a JSON form.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let raw = RawStatement {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: vec![RawSubject {
                name: SUBJECT.to_owned(),
                digest: RawDigest {
                    sha256: Sha256Hex(self.sha256sums),
                },
            }],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: self.predicate.to_raw(),
        };
        serde_json::to_vec(&raw).expect("a statement has a JSON form")
    }
}

impl Predicate {
    fn from_raw(raw: RawPredicate) -> Result<Self, StatementError> {
        Ok(Self {
            layout: raw.layout,
            id: SolutionId::new(raw.name, raw.version).map_err(StatementError::Id)?,
            volume: raw.volume,
            time: raw.time,
            contents: raw.contents.sha256.0,
            contents_size: raw.contents.size,
            upgrade_from: raw.upgrade_from,
            expires: raw.expires,
            requires: raw.requires,
            optional: raw.optional,
        })
    }

    fn to_raw(&self) -> RawPredicate {
        RawPredicate {
            layout: self.layout,
            name: self.id.name().clone(),
            version: self.id.version().clone(),
            volume: self.volume.clone(),
            time: self.time,
            contents: ContentsReference {
                sha256: Sha256Hex(self.contents),
                size: self.contents_size,
            },
            upgrade_from: self.upgrade_from.clone(),
            expires: self.expires,
            requires: self.requires.clone(),
            optional: self.optional.clone(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn statement() -> Statement {
        Statement {
            sha256sums: Digest::new([1; 32]),
            predicate: Predicate {
                layout: 1,
                id: SolutionId::new("example".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap(),
                volume: VolumeNames {
                    id: "EXAMPLE_1_0_0".to_owned(),
                    set_id: "example-1.0.0".to_owned(),
                },
                time: StatementTime::DEFAULT,
                contents: Digest::new([2; 32]),
                contents_size: 1234,
                upgrade_from: Some(">=0.9.0, <1.0.0".parse().unwrap()),
                expires: None,
                requires: vec![],
                optional: vec![],
            },
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let expected = concat!(
            r#"{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"SHA256SUMS","digest":{"sha256":""#,
            "0101010101010101010101010101010101010101010101010101010101010101",
            r#""}}],"predicateType":"https://solutions.metalk8s.scality.com/archive/v1","predicate":{"layout":1,"#,
            r#""name":"example","version":"1.0.0","volume":{"id":"EXAMPLE_1_0_0","setId":"example-1.0.0"},"#,
            r#""time":"1980-01-01T00:00:00Z","contents":{"sha256":""#,
            "0202020202020202020202020202020202020202020202020202020202020202",
            r#"","size":1234},"upgradeFrom":">=0.9.0, <1.0.0","requires":[],"optional":[]}}"#,
        );
        assert_eq!(String::from_utf8(statement().to_bytes()).unwrap(), expected);
        assert_eq!(
            Statement::from_slice(expected.as_bytes()).unwrap(),
            statement()
        );
    }

    fn refused(from: &str, to: &str) -> StatementError {
        let text = String::from_utf8(statement().to_bytes()).unwrap();
        assert!(text.contains(from), "{from}");
        Statement::from_slice(text.replacen(from, to, 1).as_bytes()).unwrap_err()
    }

    #[test]
    fn other_statements_are_refused() {
        assert!(matches!(
            refused("Statement/v1", "Statement/v2"),
            StatementError::Type(_)
        ));
        assert!(matches!(
            refused("archive/v1", "archive/v2"),
            StatementError::Type(_)
        ));
        assert!(matches!(
            refused("SHA256SUMS", "CONTENTS"),
            StatementError::Subject
        ));
        assert!(matches!(
            refused("\"layout\":1", "\"layout\":1,\"layout\":2"),
            StatementError::Json(_)
        ));
        assert!(matches!(
            refused("1.0.0\",\"volume", "1.0\",\"volume"),
            StatementError::Json(_)
        ));
        assert!(matches!(
            refused("1980-01-01T00:00:00Z", "1980-01-01T00:00:00+00:00"),
            StatementError::Json(_)
        ));
        assert!(matches!(
            refused("\"size\":1234", "\"size\":12.0"),
            StatementError::Json(_)
        ));
    }

    /// Fields by position would change their meaning for a reader that knows another field.
    #[test]
    fn lists_of_values_are_no_statement() {
        let list = r#"["EXAMPLE_1_0_0","example-1.0.0"]"#;
        let object = r#"{"id":"EXAMPLE_1_0_0","setId":"example-1.0.0"}"#;
        assert!(matches!(refused(object, list), StatementError::Json(_)));
        let hex = "01".repeat(32);
        let object = format!(r#"{{"name":"SHA256SUMS","digest":{{"sha256":"{hex}"}}}}"#);
        let list = format!(r#"["SHA256SUMS",{{"sha256":"{hex}"}}]"#);
        assert!(matches!(refused(&object, &list), StatementError::Json(_)));
    }

    #[test]
    fn fields_from_the_future_are_ignored() {
        let text = String::from_utf8(statement().to_bytes()).unwrap();
        let later = text.replacen("\"layout\":1", "\"layout\":1,\"mood\":\"good\"", 1);
        assert_eq!(
            Statement::from_slice(later.as_bytes()).unwrap(),
            statement()
        );
    }

    #[test]
    fn keys_that_differ_only_in_case_are_refused() {
        for (from, to) in [
            (r#""_type""#, r#""_Type":1,"_type""#),
            (r#""subject""#, r#""Subject":[],"subject""#),
            (r#""name":"SHA"#, r#""Name":"x","name":"SHA"#),
            (r#""predicate":"#, r#""Predicate":{},"predicate":"#),
            (r#""layout":1"#, r#""layout":1,"Layout":2"#),
            (
                r#""requires":[]"#,
                "\"require\u{17f}\":[\"x\"],\"requires\":[]",
            ),
            (r#""setId""#, r#""setid":"x","setId""#),
            (r#""size":1234"#, r#""size":1234,"SIZE":1"#),
        ] {
            let StatementError::Json(error) = refused(from, to) else {
                panic!("{to} is refused for another reason");
            };
            assert!(error.to_string().contains("only in case"), "{to}: {error}");
        }
    }

    #[test]
    fn times_have_one_spelling_and_a_range() {
        let time: StatementTime = "2026-02-28T23:59:59Z".parse().unwrap();
        assert_eq!(
            StatementTime::from_unix(time.unix()).unwrap().to_string(),
            "2026-02-28T23:59:59Z"
        );
        for text in [
            "1979-12-31T23:59:59Z",
            "2100-01-01T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2026-01-01T00:00:00.5Z",
            "now",
        ] {
            assert!(text.parse::<StatementTime>().is_err(), "{text}");
        }
    }
}
