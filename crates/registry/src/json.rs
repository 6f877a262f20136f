//! JSON values whose objects keep the order of their keys, so that changing one value leaves the rest of a file as it
//! was. Duplicate keys are refused, because readers differ in which one they use.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Number;

/// A JSON value.
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Json>),
    Object(JsonObject),
}

/// The entries of an object, in order.
#[derive(Default)]
pub(crate) struct JsonObject(pub(crate) Vec<(String, Json)>);

impl JsonObject {
    /// Returns the object under this key, which is appended if the key is missing. Returns `None` if the value is not
    /// an object.
    pub(crate) fn object(&mut self, key: &str) -> Option<&mut JsonObject> {
        let at = self.0.iter().position(|(name, _)| name == key);
        let at = at.unwrap_or_else(|| {
            self.0.push((key.to_owned(), Json::Object(Self::default())));
            self.0.len() - 1
        });
        match &mut self.0[at].1 {
            Json::Object(object) => Some(object),
            _ => None,
        }
    }
}

impl Serialize for JsonObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(value) => value.serialize(serializer),
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(values) => values.serialize(serializer),
            Self::Object(object) => object.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

impl<'de> Deserialize<'de> for JsonObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::Object(object) => Ok(object),
            _ => Err(D::Error::custom("not an object")),
        }
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        let number = Number::from_f64(value).map(Json::Number);
        number.ok_or_else(|| E::custom("not a number"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element()? {
            list.push(value);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let (mut object, mut seen) = (JsonObject::default(), HashSet::new());
        while let Some(key) = entries.next_key::<String>()? {
            if !seen.insert(key.clone()) {
                return Err(A::Error::custom("a key occurs twice"));
            }
            object.0.push((key, entries.next_value()?));
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_written_as_it_was_read() {
        let text =
            r#"{"b":[null,true,-1,18446744073709551615,1.5,"x\n\u0001"],"a":{"z":{},"y":[]},"":0}"#;
        let read: Json = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }

    #[test]
    fn a_key_that_stands_twice_is_refused() {
        for text in [r#"{"a":1,"a":1}"#, r#"[{"a":{"b":1,"\u0062":2}}]"#] {
            assert!(serde_json::from_str::<Json>(text).is_err(), "{text}");
        }
    }
}
