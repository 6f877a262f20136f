//! The lines of a document on which its values begin, for whatever is found wrong with them after they were read.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::{YamlError, document, options, text};

/// The line of a value, and those of the values within it.
#[derive(Debug)]
pub struct Lines {
    line: u64,
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
    /// Reads the lines of a file that holds exactly one document.
    pub fn of(bytes: &[u8]) -> Result<Self, YamlError> {
        serde_saphyr::from_str_with_options(text(bytes)?, options())
            .map_err(|error| document(&error))
    }

    /// Returns the line, from 1, on which the value at a JSON Pointer (RFC 6901) begins; of one that is not there the line
    /// of the closest that it would be in.
    #[must_use]
    pub fn line(&self, pointer: &str) -> u64 {
        let mut place = self;
        for part in pointer.split('/').skip(1) {
            let within = match &place.within {
                Within::Map(fields) => fields.get(&part.replace("~1", "/").replace("~0", "~")),
                Within::List(items) => part.parse().ok().and_then(|at: usize| items.get(at)),
                Within::None => None,
            };
            match within {
                Some(within) => place = within,
                None => break,
            }
        }
        place.line
    }
}

impl<'de> Deserialize<'de> for Lines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned {
            value, referenced, ..
        } = Spanned::<Within>::deserialize(deserializer)?;
        Ok(Self {
            line: referenced.line(),
            within: value,
        })
    }
}

impl<'de> Deserialize<'de> for Within {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values)
    }
}

/// Keeps of a value what is within it.
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
        let lines = Lines::of(text.as_bytes()).unwrap();
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
    fn lines_are_read_of_one_document_within_its_budget() {
        assert!(Lines::of(b"a: 1\n---\nb: 1\n").is_err());
        assert!(Lines::of("[".repeat(100_000).as_bytes()).is_err());
        assert!(Lines::of(b"a: 1\na: 2\n").is_err());
    }
}
