//! The narrowings of a CRD compared with the active one: removed fields, and values that are no longer valid
//! ([`Narrowing`]). [`Narrowing::hits`] checks whether an existing object loses data by one.

use std::collections::BTreeSet;
use std::fmt;

use kubernetes::Object;
use schemas::list_names;
use serde_json::{Map, Value};

/// The keywords for upper bounds of a value.
pub(super) const UPPER: [&str; 4] = ["maximum", "maxLength", "maxItems", "maxProperties"];
pub(super) const LOWER: [&str; 4] = ["minimum", "minLength", "minItems", "minProperties"];
/// The type of a value that is either an integer or a string.
pub(super) const INT_OR_STRING_TYPE: &str = "integer or string";

/// A step from a value to those inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SchemaStep {
    /// The field with this name.
    Field(String),
    /// Every item of a list.
    Items,
    /// Every value of a map.
    Values,
}

/// A single narrowing of a schema.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Narrowing {
    /// The API version.
    pub(crate) api: String,
    /// The path in objects of this version.
    pub(super) path: Vec<SchemaStep>,
    pub(super) lost: InvalidValue,
}

/// The values that are no longer valid, or no longer kept.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum InvalidValue {
    /// The field, which the new schema does not have.
    Field,
    /// Fields other than these.
    Unknown(BTreeSet<String>),
    /// Values of another type.
    Type(String),
    /// Values other than these.
    Enum(Vec<Value>),
    /// The value null.
    Null,
    /// Objects without this field.
    Required(String),
    /// Values beyond this bound.
    Bound(&'static str, f64),
    /// Values that violate a keyword that is only compared as text.
    Text(&'static str),
    /// Values that violate a validation rule.
    Rule(String),
    /// All values, because their schemas are nested too deeply, or the limit of narrowings is exceeded before them.
    Uncompared,
}

impl Narrowing {
    /// Returns the path, for example `.spec.ports[].name`.
    pub(crate) fn path(&self) -> String {
        let step = |step: &SchemaStep| match step {
            SchemaStep::Field(name) if name.contains(['.', '/', '[']) => format!("[{name}]"),
            SchemaStep::Field(name) => format!(".{name}"),
            SchemaStep::Items => "[]".to_owned(),
            SchemaStep::Values => "[*]".to_owned(),
        };
        let path: String = self.path.iter().map(step).collect();
        if path.is_empty() {
            ".".to_owned()
        } else {
            path
        }
    }

    /// Checks whether an object's values show if it loses data. Other narrowings would need a program to evaluate.
    pub(crate) fn can_be_told(&self) -> bool {
        !matches!(self.lost, InvalidValue::Text(_) | InvalidValue::Rule(_))
    }

    /// Checks whether an object's values show that it loses data.
    pub(crate) fn hits(&self, object: &Object) -> bool {
        self.hits_inside(object.as_value(), &self.path)
    }

    /// Checks whether a value loses data at the end of these steps, of which there are at most
    /// [`crate::limits::SCHEMA_DEPTH`].
    fn hits_inside(&self, value: &Value, steps: &[SchemaStep]) -> bool {
        let Some((step, rest)) = steps.split_first() else {
            return self.lost.hits(value);
        };
        let hits = |value: &Value| self.hits_inside(value, rest);
        match (step, value) {
            (SchemaStep::Field(name), Value::Object(fields)) => fields.get(name).is_some_and(hits),
            (SchemaStep::Items, Value::Array(items)) => items.iter().any(hits),
            (SchemaStep::Values, Value::Object(fields)) => fields.values().any(hits),
            _ => false,
        }
    }
}

/// Formats the narrowing in plain words that follow its path.
impl fmt::Display for Narrowing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.lost {
            InvalidValue::Field => write!(f, "the field is removed"),
            InvalidValue::Unknown(_) => write!(f, "unknown fields are no longer kept"),
            InvalidValue::Type(wanted) => write!(f, "the type is now {wanted}"),
            InvalidValue::Enum(values) => write!(f, "only {} are taken now", list(values)),
            InvalidValue::Null => write!(f, "null is no longer taken"),
            InvalidValue::Required(field) => write!(f, "the field {field} is required now"),
            InvalidValue::Bound(keyword, bound) => write!(f, "{keyword} is now {bound}"),
            InvalidValue::Text(keyword) => write!(f, "{keyword} is new or another one"),
            InvalidValue::Rule(rule) => write!(f, "a rule is new: {rule}"),
            InvalidValue::Uncompared => write!(f, "what is deeper or follows was not compared"),
        }
    }
}

/// Formats the first values of a list.
fn list(values: &[Value]) -> String {
    let values = values.iter().map(Value::to_string).collect();
    list_names(values)
}

impl InvalidValue {
    /// Checks whether an existing value is lost or no longer valid. A null field counts as absent.
    fn hits(&self, value: &Value) -> bool {
        let fields = value.as_object();
        match self {
            Self::Null => value.is_null(),
            Self::Uncompared => true,
            _ if value.is_null() => false,
            Self::Field => true,
            Self::Unknown(known) => {
                let mut fields = fields.into_iter().flat_map(Map::keys);
                fields.any(|field| !known.contains(field))
            }
            Self::Type(wanted) => !is_of(value, wanted),
            Self::Enum(values) => !values.contains(value),
            Self::Required(field) => fields.is_some_and(|fields| !fields.contains_key(field)),
            Self::Bound(keyword, bound) => {
                measured(value, keyword).is_some_and(|measured| match *keyword {
                    "exclusiveMaximum" => measured >= *bound,
                    "exclusiveMinimum" => measured <= *bound,
                    upper if UPPER.contains(&upper) => measured > *bound,
                    _ => measured < *bound,
                })
            }
            Self::Text(_) | Self::Rule(_) => false,
        }
    }
}

/// Returns the quantity that a bound limits: a number, the characters of a string, the items of a list, or the fields
/// of a map.
fn measured(value: &Value, keyword: &str) -> Option<f64> {
    let counted = match value {
        Value::Number(number) if keyword.ends_with("imum") => return number.as_f64(),
        Value::String(text) if keyword.ends_with("Length") => text.chars().count(),
        Value::Array(items) if keyword.ends_with("Items") => items.len(),
        Value::Object(fields) if keyword.ends_with("Properties") => fields.len(),
        _ => return None,
    };
    u32::try_from(counted).ok().map(f64::from)
}

fn is_of(value: &Value, wanted: &str) -> bool {
    match wanted {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        INT_OR_STRING_TYPE => value.is_string() || value.is_i64() || value.is_u64(),
        _ => true,
    }
}
