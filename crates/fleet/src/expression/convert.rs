//! Conversion between JSON and CEL values. Integers become signed ones, because in CEL an unsigned integer equals no
//! other number and cannot be added to a signed one.

use std::collections::HashMap;

use cel::Value as Computed;
use cel::objects::{Key, OptionalValue};
use serde_json::{Map, Number, Value};

use super::ExpressionError;

/// The size of a value without content, in bytes.
const LEAST: usize = 16;

/// Converts JSON to a value of CEL.
pub(super) fn from_json(value: &Value) -> Result<Computed, ExpressionError> {
    Ok(match value {
        Value::Null => Computed::Null,
        Value::Bool(is_true) => Computed::Bool(*is_true),
        Value::Number(number) => of_number(number)?,
        Value::String(text) => Computed::String(text.clone().into()),
        Value::Array(items) => {
            let items: Result<Vec<_>, _> = items.iter().map(from_json).collect();
            Computed::List(items?.into())
        }
        Value::Object(fields) => {
            let mut map = HashMap::with_capacity(fields.len());
            for (key, value) in fields {
                map.insert(Key::from(key.as_str()), from_json(value)?);
            }
            map.into()
        }
    })
}

fn of_number(number: &Number) -> Result<Computed, ExpressionError> {
    let double = || number.as_f64().filter(|_| number.is_f64());
    let value = number.as_i64().map(Computed::Int);
    let value = value.or_else(|| double().map(Computed::Float));
    value.ok_or_else(|| ExpressionError::Number(number.to_string()))
}

/// Converts a value of CEL to JSON.
///
/// # Errors
///
/// Fails if JSON has no representation for it.
pub(super) fn to_json(value: &Computed) -> Result<Value, ExpressionError> {
    Ok(match value {
        Computed::Null => Value::Null,
        Computed::Bool(is_true) => Value::Bool(*is_true),
        Computed::Int(number) => Value::from(*number),
        Computed::UInt(number) => Value::from(*number),
        Computed::Float(double) => {
            let number = Number::from_f64(*double);
            Value::Number(number.ok_or(ExpressionError::Type("a number that is not finite"))?)
        }
        Computed::String(text) => Value::String(text.to_string()),
        Computed::List(items) => {
            let items: Result<Vec<Value>, _> = items.iter().map(to_json).collect();
            Value::Array(items?)
        }
        Computed::Map(map) => {
            let mut fields = Map::new();
            for (key, value) in map.map.iter() {
                let Key::String(key) = key else {
                    return Err(ExpressionError::Type("a map with keys that are no texts"));
                };
                fields.insert(key.to_string(), to_json(value)?);
            }
            Value::Object(fields)
        }
        Computed::Bytes(_) => return Err(ExpressionError::Type("bytes")),
        Computed::Opaque(_) => return Err(ExpressionError::Type("an optional value")),
        Computed::Function(..) | Computed::Struct(_) => {
            return Err(ExpressionError::Type("an object"));
        }
    })
}

/// Returns the approximate size of a value in bytes.
pub(super) fn size(value: &Computed) -> usize {
    LEAST
        + match value {
            Computed::String(text) => text.len(),
            Computed::Bytes(bytes) => bytes.len(),
            Computed::List(items) => items.iter().map(size).sum(),
            Computed::Map(map) => {
                let entries = map.map.iter();
                entries.map(|(key, value)| of_key(key) + size(value)).sum()
            }
            Computed::Opaque(opaque) => {
                let optional = opaque.downcast_ref::<OptionalValue>();
                optional.and_then(OptionalValue::value).map_or(0, size)
            }
            _ => 0,
        }
}

fn of_key(key: &Key) -> usize {
    match key {
        Key::String(text) => LEAST + text.len(),
        Key::Int(_) | Key::Uint(_) | Key::Bool(_) => LEAST,
    }
}
