//! Strict JSON: a document that two readers could understand differently is rejected before anything is read from it.
//! [`from_slice`] is the entry point.
//!
//! These attacks are stopped:
//!
//! - duplicate keys, of which readers use the first or the last, here and at any depth;
//!
//! - numbers that lose precision or have two spellings (floats, and 2^53 or more), here;
//!
//! - deep nesting, here and before serde recurses;
//!
//! - lists in place of objects, in `objects`;
//!
//! - keys that only some readers take for a known one, in `keys`;
//!
//! - size, by the caller with the limit of the document.

mod keys;
mod objects;

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::limits;
pub use keys::{Fields, Kind};
use objects::Objects;

/// The error of bytes that are not strict JSON of the expected structure.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct JsonError(#[from] serde_json::Error);

/// Parses a document strictly: without duplicate keys at any depth, with integers below 2^53 as the only numbers, and
/// with a nesting of at most [`limits::JSON_DEPTH`].
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, JsonError> {
    from_slice_of(bytes, Kind::Plain)
}

/// Parses a document strictly that Go reads as `kind`. In its structs, no key may differ from a known one only in case.
pub fn from_slice_of<T: DeserializeOwned>(bytes: &[u8], kind: Kind) -> Result<T, JsonError> {
    walk(bytes, kind, Rules::Strict)?;
    read(bytes)
}

/// Parses a document without the strict rules, except that keys of structs are checked as in [`from_slice_of`].
pub fn from_loose_slice_of<T: DeserializeOwned>(bytes: &[u8], kind: Kind) -> Result<T, JsonError> {
    walk(bytes, kind, Rules::KeysOnly)?;
    read(bytes)
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, JsonError> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    Ok(T::deserialize(Objects(&mut deserializer))?)
}

fn walk(bytes: &[u8], kind: Kind, rules: Rules) -> Result<(), JsonError> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let whole = ValueCheck {
        rules,
        kind,
        depth: 0,
    };
    whole.deserialize(&mut deserializer)?;
    Ok(deserializer.end()?)
}

/// Parses a part of a document that was already read. A list is not accepted in place of an object.
pub fn from_value<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, JsonError> {
    Ok(T::deserialize(Objects(value))?)
}

/// The rules for a document, which are checked before it is parsed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rules {
    Strict,
    /// Only keys are checked. serde's recursion limit bounds the depth.
    KeysOnly,
}

/// A check of a value and everything within it, which stores nothing.
#[derive(Clone, Copy)]
struct ValueCheck {
    rules: Rules,
    kind: Kind,
    depth: usize,
}

impl ValueCheck {
    /// Returns the check for the values within this one, which Go reads as `kind`.
    fn rules_within<E: serde::de::Error>(self, kind: Kind) -> Result<Self, E> {
        if self.rules == Rules::Strict && self.depth == limits::JSON_DEPTH {
            return Err(E::custom(format_args!(
                "nested deeper than {} levels",
                limits::JSON_DEPTH
            )));
        }
        Ok(Self {
            kind,
            depth: self.depth + 1,
            ..self
        })
    }
}

impl<'de> DeserializeSeed<'de> for ValueCheck {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// 2^53. Readers that store numbers as doubles can get a different value above it.
const INTEGERS: u64 = 1 << 53;

impl<'de> Visitor<'de> for ValueCheck {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<(), E> {
        match self.rules {
            Rules::Strict if number >= INTEGERS => {
                Err(E::custom(format_args!("number {number} is not below 2^53")))
            }
            _ => Ok(()),
        }
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<(), E> {
        self.visit_u64(number.unsigned_abs())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<(), E> {
        match self.rules {
            Rules::Strict => Err(E::custom(format_args!("number {number} is not an integer"))),
            Rules::KeysOnly => Ok(()),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let element = self.rules_within(self.kind.element())?;
        while seq.next_element_seed(element)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        use serde::de::Error as _;
        let mut keys = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = self.kind.value(&key).map_err(A::Error::custom)?;
            map.next_value_seed(self.rules_within(value)?)?;
            if self.rules == Rules::KeysOnly {
                continue;
            }
            if let Some(key) = keys.replace(key) {
                let key = crate::digest::shorten(&key);
                return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        from_slice::<serde_json::Value>(text.as_bytes())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn ordinary_documents_are_read() {
        let value: serde_json::Value =
            from_slice(br#"{"a":[1,-2,"x",null,true],"b":{"a":1}}"#).unwrap();
        assert_eq!(value["b"]["a"], 1);
    }

    #[test]
    fn what_readers_could_see_differently_is_refused() {
        assert!(error(r#"{"a":1,"a":2}"#).contains("duplicate key `a`"));
        assert!(error(r#"{"x":[{"a":1,"\u0061":2}]}"#).contains("duplicate key `a`"));
        assert!(error("[1.0]").contains("not an integer"));
        assert!(error("[9007199254740992]").contains("2^53"));
        assert!(error("[1] [2]").contains("trailing"));
        assert!(error("").contains("EOF"));
    }

    #[test]
    fn lists_are_no_objects() {
        #[derive(Debug, PartialEq, serde::Deserialize)]
        struct Outer {
            inner: Vec<Inner>,
            maybe: Option<Inner>,
        }
        #[derive(Debug, PartialEq, serde::Deserialize)]
        struct Inner {
            number: u8,
        }
        let read = |text: &str| from_slice::<Outer>(text.as_bytes());
        let one = || Inner { number: 1 };
        let both = Outer {
            inner: vec![one()],
            maybe: Some(one()),
        };
        let good = r#"{"inner":[{"number":1}],"maybe":{"number":1}}"#;
        assert_eq!(read(good).unwrap(), both);
        for bad in [
            r#"[[{"number":1}],{"number":1}]"#,
            r#"{"inner":[[1]],"maybe":{"number":1}}"#,
            r#"{"inner":[{"number":1}],"maybe":[1]}"#,
        ] {
            assert!(
                read(bad)
                    .unwrap_err()
                    .to_string()
                    .contains("expected struct"),
                "{bad}"
            );
            let value = serde_json::from_str(bad).unwrap();
            assert!(from_value::<Outer>(value).is_err(), "{bad}");
        }
    }

    /// Checks that each value of a document is visited once at any depth, and that the check keeps only the keys of
    /// objects.
    #[test]
    fn every_value_is_looked_at_once() {
        use std::cell::Cell;

        use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
        const EACH: usize = 200;
        let asked = Cell::new(0);
        let count = |number: usize| {
            asked.set(asked.get() + 1);
            number
        };
        let layer = || {
            let fields = (0..EACH).map(|number| (format!("key {}", count(number)), 1_u64));
            MapDeserializer::<_, Error>::new(fields)
        };
        let layers = SeqDeserializer::<_, Error>::new((0..EACH).map(|_| layer()));
        let whole = ValueCheck {
            rules: Rules::Strict,
            kind: Kind::List(&[("known", Kind::Plain)]),
            depth: 0,
        };
        whole.deserialize(layers).unwrap();
        assert_eq!(asked.get(), EACH * EACH);
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(from_slice::<serde_json::Value>(nested(limits::JSON_DEPTH).as_bytes()).is_ok());
        assert!(error(&nested(limits::JSON_DEPTH + 1)).contains("nested deeper"));
        assert!(error(&"[".repeat(1_000_000)).contains("nested deeper"));
    }
}
