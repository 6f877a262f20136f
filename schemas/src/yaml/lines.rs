//! The lines of a document's values, for errors that are found after parsing. [`Lines::parse`] is the entry point.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::{YamlError, YamlPlace, document, options, text};

/// The place of a value and of all values within it.
#[derive(Debug)]
pub struct Lines {
    place: YamlPlace,
    within: Within,
}

/// The values within a value.
#[derive(Debug)]
enum Within {
    None,
    Map(BTreeMap<String, Lines>),
    List(Vec<Lines>),
}

impl Lines {
    /// Determines the lines of a file with exactly one document.
    pub fn parse(bytes: &[u8]) -> Result<Self, YamlError> {
        serde_saphyr::from_str_with_options(text(bytes)?, options())
            .map_err(|error| document(&error))
    }

    /// Returns the line, from 1, of the value at a JSON Pointer (RFC 6901). For a missing value, it is the line of the
    /// closest value that would contain it.
    #[must_use]
    pub fn line(&self, pointer: &str) -> u64 {
        let mut value = self;
        for part in pointer.split('/').skip(1) {
            let within = match &value.within {
                Within::Map(fields) => fields.get(&part.replace("~1", "/").replace("~0", "~")),
                Within::List(items) => part.parse().ok().and_then(|at: usize| items.get(at)),
                Within::None => None,
            };
            match within {
                Some(within) => value = within,
                None => break,
            }
        }
        value.place.line.into()
    }

    /// Returns the path, such as `spec.images[0]`, of the mapping that begins or has a key at this place. The document
    /// itself has no path.
    pub(super) fn mapping_at(&self, place: YamlPlace) -> Option<String> {
        let path = self.path_to(place).or_else(|| {
            // A key is not recorded, but its value is the next one.
            let mut next = None;
            self.find_next(place, "", &mut next);
            next.map(|(_, path)| path)
        });
        path.filter(|path| !path.is_empty())
    }

    /// Finds the first value after a place, and the path of its mapping.
    fn find_next(&self, place: YamlPlace, path: &str, next: &mut Option<(YamlPlace, String)>) {
        match &self.within {
            Within::Map(fields) => {
                for (name, value) in fields {
                    let is_first = next.as_ref().is_none_or(|(first, _)| value.place < *first);
                    if value.place > place && is_first {
                        *next = Some((value.place, path.to_owned()));
                    }
                    value.find_next(place, &joined(path, name), next);
                }
            }
            Within::List(items) => {
                for (at, value) in items.iter().enumerate() {
                    value.find_next(place, &format!("{path}[{at}]"), next);
                }
            }
            Within::None => {}
        }
    }

    fn path_to(&self, place: YamlPlace) -> Option<String> {
        match &self.within {
            Within::Map(_) if self.place == place => Some(String::new()),
            Within::Map(fields) => fields
                .iter()
                .find_map(|(name, value)| Some(joined(name, &value.path_to(place)?))),
            Within::List(items) => (0..).zip(items).find_map(|(at, value): (usize, _)| {
                Some(joined(&format!("[{at}]"), &value.path_to(place)?))
            }),
            Within::None => None,
        }
    }
}

/// Returns a path followed by a relative one.
fn joined(path: &str, rest: &str) -> String {
    let is_apart = path.is_empty() || rest.is_empty() || rest.starts_with('[');
    format!("{path}{}{rest}", if is_apart { "" } else { "." })
}

impl<'de> Deserialize<'de> for Lines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned {
            value, referenced, ..
        } = Spanned::<Within>::deserialize(deserializer)?;
        Ok(Self {
            place: referenced.into(),
            within: value,
        })
    }
}

impl<'de> Deserialize<'de> for Within {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values)
    }
}

/// A visitor that keeps only the places of values.
struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Within;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Within, A::Error> {
        let mut all = BTreeMap::new();
        while let Some((key, value)) = fields.next_entry::<String, Lines>()? {
            all.insert(key, value);
        }
        Ok(Within::Map(all))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Within, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(Within::List(all))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Within, E> {
        Ok(Within::None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Within, E> {
        Ok(Within::None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Within, E> {
        Ok(Within::None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Within, E> {
        Ok(Within::None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Within, E> {
        Ok(Within::None)
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Within, E> {
        Ok(Within::None)
    }

    fn visit_unit<E>(self) -> Result<Within, E> {
        Ok(Within::None)
    }

    fn visit_none<E>(self) -> Result<Within, E> {
        Ok(Within::None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Within, D::Error> {
        deserializer.deserialize_any(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_on_their_lines() {
        let text = "# head\na: 1\nb:\n  - x\n  - {c: y, 'd/e': ~}\nf: |\n  text\n  more\ng: &g {h: i}\nj:\n  <<: *g\n  k: 1.5\nl:\n";
        let lines = Lines::parse(text.as_bytes()).unwrap();
        for (pointer, line) in [
            ("", 2),
            ("/a", 2),
            ("/b", 4),
            ("/b/0", 4),
            ("/b/1/c", 5),
            ("/b/1/d~1e", 5),
            ("/f", 7),
            ("/g/h", 9),
            ("/j/k", 12),
            ("/j/h", 11),
            ("/b/7", 4),
            ("/a/x/y", 2),
        ] {
            assert_eq!(lines.line(pointer), line, "{pointer}");
        }
    }

    #[test]
    fn a_mapping_is_named_by_its_path() {
        let text = "a:\n  - b: {c: 1}\n  - - {d: 2}\ne:\n  f:\n    g: 3\n    h: {i: 4, j: 5}\n";
        let lines = Lines::parse(text.as_bytes()).unwrap();
        let path = |line, column| lines.mapping_at(YamlPlace { line, column });
        for (line, column, expected) in [
            (2, 5, Some("a[0]")),
            (2, 8, Some("a[0].b")),
            (3, 7, Some("a[1][0]")),
            (6, 5, Some("e.f")),
            (1, 1, None),
            // Keys other than the first of their mapping.
            (2, 9, Some("a[0].b")),
            (4, 1, None),
            (7, 5, Some("e.f")),
            (7, 13, Some("e.f.h")),
        ] {
            assert_eq!(path(line, column).as_deref(), expected, "{line}:{column}");
        }
    }

    #[test]
    fn lines_are_read_of_one_document_within_its_budget() {
        assert!(Lines::parse(b"a: 1\n---\nb: 1\n").is_err());
        assert!(Lines::parse("[".repeat(100_000).as_bytes()).is_err());
        assert!(Lines::parse(b"a: 1\na: 2\n").is_err());
    }
}
