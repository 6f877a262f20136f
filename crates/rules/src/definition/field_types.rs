//! The types of the fields that the other checks read. They run only if all these types are right, so that each fault
//! is reported once, at the field that causes it. As in the API server, a field with the value null counts as missing,
//! and unknown fields are ignored.

use serde_json::Value;

use super::field_path::{FieldPath, ProblemList};

/// The type of a field.
#[derive(Debug)]
enum FieldType {
    Text,
    Flag,
    List(&'static FieldType),
    Map(&'static FieldType),
    Fields(&'static [(&'static str, &'static FieldType)]),
    /// The `items` of a schema: a schema or a list of schemas. The API server ignores other values.
    Items,
    /// A schema or a Boolean value.
    SchemaOrFlag,
}

const TEXT: &FieldType = &FieldType::Text;
const TEXTS: &FieldType = &FieldType::List(TEXT);
const FLAG: &FieldType = &FieldType::Flag;

static SPEC: FieldType = FieldType::Fields(&[
    ("group", TEXT),
    ("names", NAMES),
    ("scope", TEXT),
    ("versions", &FieldType::List(&VERSION)),
    ("conversion", CONVERSION),
    ("preserveUnknownFields", FLAG),
]);

const NAMES: &FieldType = &FieldType::Fields(&[
    ("plural", TEXT),
    ("singular", TEXT),
    ("shortNames", TEXTS),
    ("kind", TEXT),
    ("listKind", TEXT),
    ("categories", TEXTS),
]);

static VERSION: FieldType = FieldType::Fields(&[
    ("name", TEXT),
    ("served", FLAG),
    ("storage", FLAG),
    (
        "schema",
        &FieldType::Fields(&[("openAPIV3Schema", &SCHEMA)]),
    ),
]);

const CONVERSION: &FieldType =
    &FieldType::Fields(&[("strategy", TEXT), ("webhook", CONVERSION_WEBHOOK)]);

const CONVERSION_WEBHOOK: &FieldType = &FieldType::Fields(&[
    (
        "clientConfig",
        &FieldType::Fields(&[
            ("url", TEXT),
            (
                "service",
                &FieldType::Fields(&[("namespace", TEXT), ("name", TEXT)]),
            ),
        ]),
    ),
    ("conversionReviewVersions", TEXTS),
]);

static SCHEMA: FieldType = FieldType::Fields(&[
    ("type", TEXT),
    ("nullable", FLAG),
    ("uniqueItems", FLAG),
    ("items", &FieldType::Items),
    ("properties", &FieldType::Map(&SCHEMA)),
    ("additionalProperties", &FieldType::SchemaOrFlag),
    ("allOf", &FieldType::List(&SCHEMA)),
    ("anyOf", &FieldType::List(&SCHEMA)),
    ("oneOf", &FieldType::List(&SCHEMA)),
    ("not", &SCHEMA),
    ("x-kubernetes-preserve-unknown-fields", FLAG),
    ("x-kubernetes-embedded-resource", FLAG),
    ("x-kubernetes-int-or-string", FLAG),
]);

/// Checks the types of the fields of `spec`. The recursion is bounded by the limit for nested documents.
pub(super) fn check(spec: &Value, problems: &mut ProblemList) {
    SPEC.check(spec, &FieldPath::root("spec"), problems);
}

impl FieldType {
    fn check(&self, value: &Value, path: &FieldPath<'_>, problems: &mut ProblemList) {
        match (self, value) {
            (Self::Items | Self::SchemaOrFlag, Value::Object(_)) => {
                SCHEMA.check(value, path, problems);
            }
            (Self::Items, Value::Array(list)) => {
                for (index, item) in list.iter().enumerate() {
                    SCHEMA.check(item, &path.index(index), problems);
                }
            }
            (_, Value::Null)
            | (Self::Items, _)
            | (Self::Text, Value::String(_))
            | (Self::Flag | Self::SchemaOrFlag, Value::Bool(_)) => {}
            (Self::List(items), Value::Array(list)) => {
                for (index, item) in list.iter().enumerate() {
                    items.check(item, &path.index(index), problems);
                }
            }
            (Self::Map(values), Value::Object(map)) => {
                for (key, value) in map {
                    values.check(value, &path.key(key), problems);
                }
            }
            (Self::Fields(fields), Value::Object(map)) => {
                for (field, field_type) in *fields {
                    if let Some(value) = map.get(*field) {
                        field_type.check(value, &path.field(field), problems);
                    }
                }
            }
            _ => problems.add(path, format_args!("is not {}", self.description())),
        }
    }

    const fn description(&self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Flag => "true or false",
            Self::List(_) => "a list",
            Self::Map(_) | Self::Fields(_) => "a mapping",
            Self::Items => "a schema",
            Self::SchemaOrFlag => "a schema, true or false",
        }
    }
}
