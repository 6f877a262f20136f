//! Validation of structural schemas: each field has one type, defined at the field itself, and the clauses of `allOf`,
//! `anyOf`, `oneOf` and `not` restrict values without defining structure. The function is `ValidateStructural`
//! (`apiserver/schema/validation.go`; the last check is in `complete.go`).

use serde_json::Value;

use super::pattern;
use super::place::{Faults, Place};
use super::schema::Fields;
use super::shape::is_schema_field;

/// The fields that clauses cannot have. A field that is empty or false counts as missing.
const NOT_IN_CLAUSES: [&str; 7] = [
    "type",
    "title",
    "description",
    "nullable",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
];
/// The fields that clauses cannot have, even if they are empty or false.
const NEVER_IN_CLAUSES: [&str; 3] = ["default", "x-kubernetes-list-type", "x-kubernetes-map-type"];
/// The lists that clauses cannot have. An empty list counts as missing.
const LISTS_NOT_IN_CLAUSES: [&str; 2] = ["x-kubernetes-list-map-keys", "x-kubernetes-validations"];

/// The position of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Checks the schema of a version.
pub(super) fn check(schema: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    check_level(schema, Level::Root, place, faults);
    // The API server compares only the clauses of the root with the structure outside of them.
    complete(schema, schema, place, faults);
}

/// Checks a schema, and those of its items and properties (`validateStructuralInvariants`).
fn check_level(schema: Fields<'_>, level: Level, place: &Place<'_>, faults: &mut Faults) {
    if let Some(items) = schema.items() {
        check_level(items, Level::Item, &place.field("items"), faults);
    } else if schema.kind() == "array" {
        let words = "is missing: an array must define its items";
        faults.add(&place.field("items"), words);
    }
    let properties = place.field("properties");
    for (name, property) in schema.properties() {
        check_level(property, Level::Field, &properties.key(name), faults);
    }
    if schema.has("additionalProperties") {
        let place = place.field("additionalProperties");
        if level == Level::Root {
            faults.add(&place, "cannot be at the root");
        }
        if schema.is_embedded() {
            faults.add(&place, "cannot be in an embedded resource");
        }
        if let Some(schema) = schema.additional() {
            check_level(schema, Level::Field, &place, faults);
        }
    }
    kind(schema, level, place, faults);
    embedded(schema, level, place, faults);
    clauses(schema, place, faults);
}

/// Checks the type of a schema.
fn kind(schema: Fields<'_>, level: Level, place: &Place<'_>, faults: &mut Faults) {
    let at = place.field("type");
    let kind = schema.kind();
    let is_free = schema.is_int_or_string() || schema.preserves_unknown_fields();
    if schema.is_embedded() && kind != "object" {
        faults.add(&at, "must be `object` in an embedded resource");
    } else if kind.is_empty() && !is_free {
        faults.add(
            &at,
            "is missing: the root and every field and item must have a type",
        );
    }
    if level == Level::Root && !matches!(kind, "" | "object") {
        faults.add(&at, format_args!("is `{kind}`; the root must be an object"));
    }
    if schema.is_int_or_string() {
        let others = [
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-embedded-resource",
        ];
        for other in others.into_iter().filter(|field| schema.flag(field)) {
            let words = "cannot be combined with x-kubernetes-int-or-string";
            faults.add(&place.field(other), words);
        }
    }
}

/// Checks the schemas of a resource's kind and metadata, at the root or in an embedded resource
/// (`validateStructuralMetadataInvariants`).
fn embedded(schema: Fields<'_>, level: Level, place: &Place<'_>, faults: &mut Faults) {
    let is_resource = level == Level::Root || schema.is_embedded();
    if !is_resource {
        return;
    }
    let properties = place.field("properties");
    for (name, kind) in [
        ("apiVersion", "string"),
        ("kind", "string"),
        ("metadata", "object"),
    ] {
        let other = schema
            .property(name)
            .filter(|property| property.kind() != kind);
        if other.is_some() {
            let words = format_args!("must be `{kind}` in this field of a resource");
            faults.add(&properties.key(name).field("type"), words);
        }
    }
    let metadata = schema.property("metadata");
    if level == Level::Root && metadata.is_some_and(says_more_than_names) {
        let words = "may define only its type, name and generateName: all other metadata is the same for all kinds";
        faults.add(&properties.key("metadata"), words);
    }
    if schema.is_embedded() && !schema.preserves_unknown_fields() && !schema.has_properties() {
        let words = "is missing: an embedded resource must have properties or x-kubernetes-preserve-unknown-fields";
        faults.add(&properties, words);
    }
}

fn says_more_than_names(metadata: Fields<'_>) -> bool {
    let fields = metadata.0.as_object().into_iter().flatten();
    let mut others = fields.filter(|(field, value)| match (field.as_str(), value) {
        ("type" | "default", _) => false,
        ("additionalProperties", value) => !value.is_null(),
        ("properties", Value::Object(map)) => {
            map.keys().any(|key| key != "name" && key != "generateName")
        }
        (field, value) => says_something(field, value),
    });
    others.next().is_some()
}

/// Checks whether a field of a schema has a value that the API server keeps.
fn says_something(field: &str, value: &Value) -> bool {
    match (field, value) {
        (_, Value::Null | Value::Bool(false)) => false,
        ("x-kubernetes-list-type" | "x-kubernetes-map-type", _) => true,
        ("allOf" | "anyOf" | "oneOf" | "enum", Value::Array(list)) => !list.is_empty(),
        ("items", value) => value.is_object(),
        (_, Value::String(text)) if text.is_empty() => false,
        (field, _) => is_schema_field(field),
    }
}

/// Checks the clauses of a schema, and its pattern (`validateValueValidation`).
fn clauses(schema: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    let any_is_free = is_int_or_string(schema);
    // The form may also be in the first clause of `allOf`, which leaves `anyOf` free for other restrictions.
    let first = schema.clauses("allOf").next();
    let all_is_free = first.is_some_and(is_int_or_string);
    for_each_clause(schema, place, |field, index, clause, place| {
        let types = if all_is_free && field == "allOf" && index == 0 {
            ClauseTypes::Free
        } else {
            ClauseTypes::Checked
        };
        if !(any_is_free && field == "anyOf") {
            check_clause(clause, types, place, faults);
        }
    });
    check_pattern(schema, place, faults);
}

/// The rule for types in the clauses of `anyOf`: free for the form of integers or texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClauseTypes {
    Checked,
    Free,
}

/// Checks that a clause does not define structure (`validateNestedValueValidation`).
fn check_clause(clause: Fields<'_>, types: ClauseTypes, place: &Place<'_>, faults: &mut Faults) {
    let empty = |field: &str| {
        let value = clause.get(field);
        value.is_none_or(|value| *value == Value::Bool(false) || value.as_str() == Some(""))
    };
    let fields = NOT_IN_CLAUSES
        .into_iter()
        .filter(|field| !empty(field))
        .chain(
            NEVER_IN_CLAUSES
                .into_iter()
                .filter(|field| clause.has(field)),
        );
    let lists = LISTS_NOT_IN_CLAUSES.into_iter();
    let fields = fields.chain(lists.filter(|field| !clause.list(field).is_empty()));
    let additional = clause
        .get("additionalProperties")
        .filter(|value| **value != Value::Bool(false));
    let fields = fields.chain(additional.map(|_| "additionalProperties"));
    for field in fields {
        let words =
            "is not allowed in allOf, anyOf, oneOf or not: a structural schema defines it outside";
        faults.add(&place.field(field), words);
    }
    let properties = place.field("properties");
    if clause.property("metadata").is_some() {
        let words = "is not allowed in allOf, anyOf, oneOf or not";
        faults.add(&properties.key("metadata"), words);
    }
    if let Some(items) = clause.items() {
        check_clause(items, ClauseTypes::Checked, &place.field("items"), faults);
    }
    for (name, property) in clause.properties() {
        check_clause(
            property,
            ClauseTypes::Checked,
            &properties.key(name),
            faults,
        );
    }
    for_each_clause(clause, place, |field, _, inner, place| {
        if field != "anyOf" || types == ClauseTypes::Checked {
            check_clause(inner, ClauseTypes::Checked, place, faults);
        }
    });
    check_pattern(clause, place, faults);
}

/// Calls `call` with each clause: its field, its index, the clause, and its position.
fn for_each_clause<'v>(
    schema: Fields<'v>,
    place: &Place<'_>,
    mut call: impl FnMut(&str, usize, Fields<'v>, &Place<'_>),
) {
    for field in ["allOf", "anyOf", "oneOf"] {
        let list = place.field(field);
        for (index, clause) in schema.clauses(field).enumerate() {
            call(field, index, clause, &list.index(index));
        }
    }
    if let Some(not) = schema.not() {
        call("not", 0, not, &place.field("not"));
    }
}

fn check_pattern(schema: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    if let Err(problem) = pattern::translate(schema.text("pattern")) {
        faults.add(
            &place.field("pattern"),
            format_args!("is not a valid regular expression for Go: {problem}"),
        );
    }
}

/// Checks whether `anyOf` consists of an integer and a text (`intOrStringAnyOf`), the only form in which clauses have
/// types.
fn is_int_or_string(schema: Fields<'_>) -> bool {
    let is = |clause: &Value, kind: &str| {
        let mut fields = clause.as_object().into_iter().flatten();
        let other = fields.any(|(field, value)| field != "type" && says_something(field, value));
        Fields(clause).kind() == kind && !other
    };
    let clauses = schema.list("anyOf");
    matches!(clauses, [one, other] if is(one, "integer") && is(other, "string"))
}

/// Checks that each field in a clause has a structure outside of the clauses (`validateStructuralCompleteness`).
fn complete(clauses: Fields<'_>, schema: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    for_each_clause(clauses, place, |_, _, clause, place| {
        complete_clause(clause, schema, place, faults);
    });
}

fn complete_clause(clause: Fields<'_>, schema: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    let words = "has no counterpart outside of allOf, anyOf, oneOf and not";
    complete(clause, schema, place, faults);
    if let Some(items) = clause.items() {
        let place = place.field("items");
        match schema.items() {
            Some(schema) => complete_clause(items, schema, &place, faults),
            None => faults.add(&place, words),
        }
    }
    let properties = place.field("properties");
    for (name, property) in clause.properties() {
        let place = properties.key(name);
        match schema.property(name) {
            Some(schema) => complete_clause(property, schema, &place, faults),
            None => faults.add(&place, words),
        }
    }
}
