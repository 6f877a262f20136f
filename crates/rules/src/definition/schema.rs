//! Checks that schemas are structural: each field has one type, defined at the field itself, and the clauses of
//! `allOf`, `anyOf`, `oneOf` and `not` restrict values without defining structure. The functions are
//! `ValidateStructural` (`apiserver/schema/validation.go`; the last check is in `complete.go`) and, for unsupported
//! fields, `ValidateCustomResourceDefinitionOpenAPISchema` (`apis/apiextensions/validation/validation.go`).

use serde_json::Value;

use super::field_path::{FieldPath, ProblemList};
use super::fields::Fields;

const TYPES: [&str; 6] = ["string", "number", "integer", "boolean", "array", "object"];
/// The fields that definitions cannot have, even if they are empty.
const UNSUPPORTED: [&str; 3] = ["$ref", "additionalItems", "dependencies"];
/// The fields that definitions cannot have. An empty text or mapping counts as missing.
const UNSUPPORTED_UNLESS_EMPTY: [&str; 4] = ["id", "$schema", "definitions", "patternProperties"];

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
    Nested,
}

/// Checks the schema of a version.
pub(super) fn check(schema: Fields<'_>, path: &FieldPath<'_>, problems: &mut ProblemList) {
    if schema.flag("nullable") {
        problems.add(&path.field("nullable"), "cannot be true at the root");
    }
    check_level(schema, Level::Root, path, problems);
    // The API server compares only the clauses of the root with the structure outside of them.
    check_counterparts(schema, schema, path, problems);
}

/// Checks a schema, and those of its items and properties (`validateStructuralInvariants`).
fn check_level(schema: Fields<'_>, level: Level, path: &FieldPath<'_>, problems: &mut ProblemList) {
    if let Some(items) = schema.items() {
        check_level(items, Level::Nested, &path.field("items"), problems);
    } else if schema.kind() == "array" {
        let words = "is missing: an array must define its items";
        problems.add(&path.field("items"), words);
    }
    let properties = path.field("properties");
    for (name, property) in schema.properties() {
        check_level(property, Level::Nested, &properties.key(name), problems);
    }
    check_additional(schema, level, path, problems);
    check_type(schema, level, path, problems);
    check_resource(schema, level, path, problems);
    check_supported(schema, path, problems);
    check_clauses(schema, path, problems);
}

fn check_additional(
    schema: Fields<'_>,
    level: Level,
    path: &FieldPath<'_>,
    problems: &mut ProblemList,
) {
    let Some(additional) = schema.get("additionalProperties") else {
        return;
    };
    let path = path.field("additionalProperties");
    if level == Level::Root {
        problems.add(&path, "cannot be at the root");
    }
    if schema.is_embedded() {
        problems.add(&path, "cannot be in an embedded resource");
    }
    if schema.has_properties() && *additional != Value::Bool(true) {
        problems.add(&path, "cannot be combined with properties");
    }
    if let Some(schema) = schema.additional() {
        check_level(schema, Level::Nested, &path, problems);
    }
}

fn check_type(schema: Fields<'_>, level: Level, path: &FieldPath<'_>, problems: &mut ProblemList) {
    let type_path = path.field("type");
    let kind = schema.kind();
    let is_free = schema.is_int_or_string() || schema.preserves_unknown_fields();
    if schema.is_embedded() && kind != "object" {
        problems.add(&type_path, "must be `object` in an embedded resource");
    } else if kind.is_empty() && !is_free {
        let words = "is missing: the root and every field and item must have a type";
        problems.add(&type_path, words);
    }
    if level == Level::Root && !matches!(kind, "" | "object") {
        let words = format_args!("is `{kind}`; the root must be an object");
        problems.add(&type_path, words);
    }
    if schema.is_int_or_string() {
        let others = [
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-embedded-resource",
        ];
        for other in others.into_iter().filter(|field| schema.flag(field)) {
            let words = "cannot be combined with x-kubernetes-int-or-string";
            problems.add(&path.field(other), words);
        }
    }
}

/// Checks the schemas of a resource's kind and metadata, at the root or in an embedded resource
/// (`validateStructuralMetadataInvariants`).
fn check_resource(
    schema: Fields<'_>,
    level: Level,
    path: &FieldPath<'_>,
    problems: &mut ProblemList,
) {
    if level != Level::Root && !schema.is_embedded() {
        return;
    }
    let properties = path.field("properties");
    for (name, kind) in [
        ("apiVersion", "string"),
        ("kind", "string"),
        ("metadata", "object"),
    ] {
        let property = schema.property(name);
        if property.is_some_and(|property| property.kind() != kind) {
            let words = format_args!("must be `{kind}` in this field of a resource");
            problems.add(&properties.key(name).field("type"), words);
        }
    }
    let defines_more_than_names = |metadata: Fields<'_>| {
        let mut names = metadata.properties().map(|(name, _)| name);
        names.any(|name| name != "name" && name != "generateName")
    };
    let metadata = schema.property("metadata");
    if level == Level::Root && metadata.is_some_and(defines_more_than_names) {
        let words = "may define only its type, name and generateName: all other metadata is the same for all kinds";
        problems.add(&properties.key("metadata"), words);
    }
    if schema.is_embedded() && !schema.preserves_unknown_fields() && !schema.has_properties() {
        let words = "is missing: an embedded resource must have properties or x-kubernetes-preserve-unknown-fields";
        problems.add(&properties, words);
    }
}

/// Checks that a schema or a clause has no field or value that definitions do not support.
fn check_supported(schema: Fields<'_>, path: &FieldPath<'_>, problems: &mut ProblemList) {
    let kind = schema.kind();
    if !kind.is_empty() && !TYPES.contains(&kind) {
        let words = format_args!("is `{kind}`; expected one of {}", TYPES.join(", "));
        problems.add(&path.field("type"), words);
    }
    let is_filled = |field: &&str| match schema.get(field) {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(map)) => !map.is_empty(),
        _ => false,
    };
    let unsupported = UNSUPPORTED.into_iter().filter(|field| schema.has(field));
    let unsupported = unsupported.chain(UNSUPPORTED_UNLESS_EMPTY.into_iter().filter(is_filled));
    for field in unsupported {
        problems.add(&path.field(field), "is not supported");
    }
    if !schema.list("items").is_empty() {
        problems.add(&path.field("items"), "is a list, not one schema");
    }
    if schema.flag("uniqueItems") {
        let words = "cannot be true; use x-kubernetes-list-type: set instead";
        problems.add(&path.field("uniqueItems"), words);
    }
    let preserve = "x-kubernetes-preserve-unknown-fields";
    if schema.has(preserve) && !schema.flag(preserve) {
        problems.add(&path.field(preserve), "cannot be false; remove it");
    }
}

/// The fields that a clause may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClauseForm {
    /// No type.
    Plain,
    /// Its `anyOf` may be the form for integers or texts, whose clauses have types.
    WithIntOrString,
    /// A clause of that form, which has a type.
    Typed,
}

/// Checks the clauses of a schema (`validateValueValidation`).
fn check_clauses(schema: Fields<'_>, path: &FieldPath<'_>, problems: &mut ProblemList) {
    let any_is_free = is_int_or_string(schema);
    // The form may also be in the first clause of `allOf`, which leaves `anyOf` free for other restrictions.
    let first = schema.clauses("allOf").next();
    let all_is_free = first.is_some_and(is_int_or_string);
    for_each_clause(schema, path, |field, index, clause, path| {
        let form = if all_is_free && field == "allOf" && index == 0 {
            ClauseForm::WithIntOrString
        } else if any_is_free && field == "anyOf" {
            ClauseForm::Typed
        } else {
            ClauseForm::Plain
        };
        check_clause(clause, form, path, problems);
    });
}

/// Checks that a clause does not define structure (`validateNestedValueValidation`).
fn check_clause(
    clause: Fields<'_>,
    form: ClauseForm,
    path: &FieldPath<'_>,
    problems: &mut ProblemList,
) {
    let is_set = |field: &&str| {
        let value = clause.get(field);
        value.is_some_and(|value| *value != Value::Bool(false) && value.as_str() != Some(""))
    };
    let may_have = |field: &&str| form == ClauseForm::Typed && *field == "type";
    let fields = NOT_IN_CLAUSES.into_iter().filter(is_set);
    let fields = fields.filter(|field| !may_have(field));
    let fields = fields.chain(
        NEVER_IN_CLAUSES
            .into_iter()
            .filter(|field| clause.has(field)),
    );
    let lists = LISTS_NOT_IN_CLAUSES.into_iter();
    let fields = fields.chain(lists.filter(|field| !clause.list(field).is_empty()));
    let fields = fields.chain(["additionalProperties"].into_iter().filter(is_set));
    for field in fields {
        let words =
            "is not allowed in allOf, anyOf, oneOf or not: a structural schema defines it outside";
        problems.add(&path.field(field), words);
    }
    let properties = path.field("properties");
    if clause.property("metadata").is_some() {
        let words = "is not allowed in allOf, anyOf, oneOf or not";
        problems.add(&properties.key("metadata"), words);
    }
    check_supported(clause, path, problems);
    if let Some(items) = clause.items() {
        let path = path.field("items");
        check_clause(items, ClauseForm::Plain, &path, problems);
    }
    for (name, property) in clause.properties() {
        let path = properties.key(name);
        check_clause(property, ClauseForm::Plain, &path, problems);
    }
    for_each_clause(clause, path, |field, _, inner, path| {
        let is_typed = field == "anyOf" && form == ClauseForm::WithIntOrString;
        let form = if is_typed {
            ClauseForm::Typed
        } else {
            ClauseForm::Plain
        };
        check_clause(inner, form, path, problems);
    });
}

/// Calls `call` with each clause: its field, its index, the clause, and its path.
fn for_each_clause<'v>(
    schema: Fields<'v>,
    path: &FieldPath<'_>,
    mut call: impl FnMut(&str, usize, Fields<'v>, &FieldPath<'_>),
) {
    for field in ["allOf", "anyOf", "oneOf"] {
        let list = path.field(field);
        for (index, clause) in schema.clauses(field).enumerate() {
            call(field, index, clause, &list.index(index));
        }
    }
    if let Some(not) = schema.not() {
        call("not", 0, not, &path.field("not"));
    }
}

/// Checks whether `anyOf` consists of an integer and a text (`intOrStringAnyOf`), the only form in which clauses have
/// types.
fn is_int_or_string(schema: Fields<'_>) -> bool {
    schema
        .clauses("anyOf")
        .map(Fields::kind)
        .eq(["integer", "string"])
}

/// Checks that each field in a clause has a structure outside of the clauses (`validateStructuralCompleteness`).
fn check_counterparts(
    clauses: Fields<'_>,
    schema: Fields<'_>,
    path: &FieldPath<'_>,
    problems: &mut ProblemList,
) {
    for_each_clause(clauses, path, |_, _, clause, path| {
        check_counterpart(clause, schema, path, problems);
    });
}

fn check_counterpart(
    clause: Fields<'_>,
    schema: Fields<'_>,
    path: &FieldPath<'_>,
    problems: &mut ProblemList,
) {
    let words = "has no counterpart outside of allOf, anyOf, oneOf and not";
    check_counterparts(clause, schema, path, problems);
    if let Some(items) = clause.items() {
        let path = path.field("items");
        match schema.items() {
            Some(schema) => check_counterpart(items, schema, &path, problems),
            None => problems.add(&path, words),
        }
    }
    let properties = path.field("properties");
    for (name, property) in clause.properties() {
        let path = properties.key(name);
        match schema.property(name) {
            Some(schema) => check_counterpart(property, schema, &path, problems),
            None => problems.add(&path, words),
        }
    }
}
