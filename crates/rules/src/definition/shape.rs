//! The types of a definition's fields, as the API server decodes them (`apis/apiextensions/v1`, `types.go` and
//! `types_jsonschema.go`). A field with the value null counts as missing, and unknown fields are ignored.

use serde_json::Value;

use super::format;
use super::place::{Faults, Place};

/// The type of a field.
#[derive(Debug)]
enum Shape {
    Text,
    Flag,
    Number,
    /// An integer with this number of bits.
    Integer(u32),
    /// Bytes in Base64.
    Bytes,
    Any,
    List(&'static Shape),
    Map(&'static Shape),
    Fields(&'static [(&'static str, &'static Shape)]),
    /// The `items` of a schema: a schema or a list of schemas. Other values are ignored.
    Items,
    /// A schema or a Boolean value.
    SchemaOrFlag,
}

const TEXT: &Shape = &Shape::Text;
const TEXTS: &Shape = &Shape::List(TEXT);
const FLAG: &Shape = &Shape::Flag;
const NUMBER: &Shape = &Shape::Number;
const INT32: &Shape = &Shape::Integer(32);
const INT64: &Shape = &Shape::Integer(64);
const ANY: &Shape = &Shape::Any;

const NAMES: &Shape = &Shape::Fields(&[
    ("plural", TEXT),
    ("singular", TEXT),
    ("shortNames", TEXTS),
    ("kind", TEXT),
    ("listKind", TEXT),
    ("categories", TEXTS),
]);

const CONVERSION: &Shape = &Shape::Fields(&[
    ("strategy", TEXT),
    (
        "webhook",
        &Shape::Fields(&[
            (
                "clientConfig",
                &Shape::Fields(&[
                    ("url", TEXT),
                    (
                        "service",
                        &Shape::Fields(&[
                            ("namespace", TEXT),
                            ("name", TEXT),
                            ("path", TEXT),
                            ("port", INT32),
                        ]),
                    ),
                    ("caBundle", &Shape::Bytes),
                ]),
            ),
            ("conversionReviewVersions", TEXTS),
        ]),
    ),
]);

const SUBRESOURCES: &Shape = &Shape::Fields(&[
    ("status", &Shape::Fields(&[])),
    (
        "scale",
        &Shape::Fields(&[
            ("specReplicasPath", TEXT),
            ("statusReplicasPath", TEXT),
            ("labelSelectorPath", TEXT),
        ]),
    ),
]);

const COLUMN: &Shape = &Shape::Fields(&[
    ("name", TEXT),
    ("type", TEXT),
    ("format", TEXT),
    ("description", TEXT),
    ("priority", INT32),
    ("jsonPath", TEXT),
]);

static VERSION: &Shape = &Shape::Fields(&[
    ("name", TEXT),
    ("served", FLAG),
    ("storage", FLAG),
    ("deprecated", FLAG),
    ("deprecationWarning", TEXT),
    ("schema", &Shape::Fields(&[("openAPIV3Schema", &SCHEMA)])),
    ("subresources", SUBRESOURCES),
    ("additionalPrinterColumns", &Shape::List(COLUMN)),
    (
        "selectableFields",
        &Shape::List(&Shape::Fields(&[("jsonPath", TEXT)])),
    ),
]);

static SPEC: &Shape = &Shape::Fields(&[
    ("group", TEXT),
    ("names", NAMES),
    ("scope", TEXT),
    ("versions", &Shape::List(VERSION)),
    ("conversion", CONVERSION),
    ("preserveUnknownFields", FLAG),
]);

const RULE: &Shape = &Shape::Fields(&[
    ("rule", TEXT),
    ("message", TEXT),
    ("messageExpression", TEXT),
    ("reason", TEXT),
    ("fieldPath", TEXT),
    ("optionalOldSelf", FLAG),
]);

static SCHEMA: Shape = Shape::Fields(SCHEMA_FIELDS);
static SCHEMA_FIELDS: &[(&str, &Shape)] = &[
    ("id", TEXT),
    ("$schema", TEXT),
    ("$ref", TEXT),
    ("description", TEXT),
    ("type", TEXT),
    ("format", TEXT),
    ("title", TEXT),
    ("default", ANY),
    ("maximum", NUMBER),
    ("exclusiveMaximum", FLAG),
    ("minimum", NUMBER),
    ("exclusiveMinimum", FLAG),
    ("maxLength", INT64),
    ("minLength", INT64),
    ("pattern", TEXT),
    ("maxItems", INT64),
    ("minItems", INT64),
    ("uniqueItems", FLAG),
    ("multipleOf", NUMBER),
    ("enum", &Shape::List(ANY)),
    ("maxProperties", INT64),
    ("minProperties", INT64),
    ("required", TEXTS),
    ("items", &Shape::Items),
    ("allOf", SCHEMAS),
    ("oneOf", SCHEMAS),
    ("anyOf", SCHEMAS),
    ("not", &SCHEMA),
    ("properties", SCHEMA_MAP),
    ("additionalProperties", &Shape::SchemaOrFlag),
    ("patternProperties", SCHEMA_MAP),
    ("dependencies", &Shape::Map(ANY)),
    ("additionalItems", &Shape::SchemaOrFlag),
    ("definitions", SCHEMA_MAP),
    (
        "externalDocs",
        &Shape::Fields(&[("description", TEXT), ("url", TEXT)]),
    ),
    ("example", ANY),
    ("nullable", FLAG),
    ("x-kubernetes-preserve-unknown-fields", FLAG),
    ("x-kubernetes-embedded-resource", FLAG),
    ("x-kubernetes-int-or-string", FLAG),
    ("x-kubernetes-list-map-keys", TEXTS),
    ("x-kubernetes-list-type", TEXT),
    ("x-kubernetes-map-type", TEXT),
    ("x-kubernetes-validations", &Shape::List(RULE)),
];
static SCHEMAS: &Shape = &Shape::List(&SCHEMA);
static SCHEMA_MAP: &Shape = &Shape::Map(&SCHEMA);

/// Checks the types of all fields of `spec`. The recursion is bounded by the limit for nested documents.
pub(super) fn check(spec: &Value, faults: &mut Faults) {
    SPEC.check(spec, &Place::root("spec"), faults);
}

/// Checks whether the API server knows a field of a schema.
pub(super) fn is_schema_field(field: &str) -> bool {
    SCHEMA_FIELDS.iter().any(|(name, _)| *name == field)
}

impl Shape {
    fn check(&self, value: &Value, place: &Place<'_>, faults: &mut Faults) {
        match (self, value) {
            (Self::Items | Self::SchemaOrFlag, Value::Object(_)) => {
                SCHEMA.check(value, place, faults);
            }
            (Self::Items, Value::Array(list)) => {
                for (index, item) in list.iter().enumerate() {
                    SCHEMA.check(item, &place.index(index), faults);
                }
            }
            (_, Value::Null)
            | (Self::Items | Self::Any, _)
            | (Self::Text, Value::String(_))
            | (Self::Flag | Self::SchemaOrFlag, Value::Bool(_))
            | (Self::Number, Value::Number(_)) => {}
            (Self::List(items), Value::Array(list)) => {
                for (index, item) in list.iter().enumerate() {
                    items.check(item, &place.index(index), faults);
                }
            }
            (Self::Map(values), Value::Object(map)) => {
                for (key, value) in map {
                    values.check(value, &place.key(key), faults);
                }
            }
            (Self::Fields(fields), Value::Object(map)) => {
                for (field, shape) in *fields {
                    if let Some(value) = map.get(*field) {
                        shape.check(value, &place.field(field), faults);
                    }
                }
            }
            (Self::Integer(bits), Value::Number(number)) => {
                let number = number.as_i64();
                let fits =
                    number.is_some_and(|number| *bits == 64 || i32::try_from(number).is_ok());
                if !fits {
                    faults.add(place, format_args!("is not an integer of {bits} bits"));
                }
            }
            (Self::Bytes, Value::String(text)) => {
                if !is_bytes(text) {
                    faults.add(place, "is not Base64");
                }
            }
            _ => faults.add(place, format_args!("is not {}", self.words())),
        }
    }

    const fn words(&self) -> &'static str {
        match self {
            Self::Text | Self::Bytes => "text",
            Self::Flag => "true or false",
            Self::Number => "a number",
            Self::Integer(_) => "an integer",
            Self::Any => "a value",
            Self::List(_) => "a list",
            Self::Map(_) | Self::Fields(_) => "a mapping",
            Self::Items => "a schema",
            Self::SchemaOrFlag => "a schema, true or false",
        }
    }
}

/// Checks whether the API server decodes a text to bytes, ignoring line breaks.
fn is_bytes(text: &str) -> bool {
    let text = text.replace(['\r', '\n'], "");
    text.is_empty() || format::is_base64(&text)
}
