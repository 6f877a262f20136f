//! Validation of a definition's versions: schema, subresources, printer columns and selectable fields
//! (`validateCustomResourceDefinitionVersion`, `apis/apiextensions/validation/validation.go`).

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::defaults;
use super::field_path::{ArrayNotation, find};
use super::openapi;
use super::place::{Faults, Place};
use super::schema::Fields;
use super::shape;
use super::structural;

/// The fields that the root of a schema may have if the status is a subresource, since the status is validated
/// separately (`allowedFieldsAtRootSchema`).
const AT_ROOT: [&str; 22] = [
    "description",
    "type",
    "format",
    "title",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "required",
    "items",
    "properties",
    "externalDocs",
    "example",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

const COLUMN_TYPES: [&str; 5] = ["integer", "number", "string", "boolean", "date"];
const COLUMN_FORMATS: [&str; 8] = [
    "int32",
    "int64",
    "float",
    "double",
    "byte",
    "date",
    "date-time",
    "password",
];
/// The API server's limit for selectable fields.
const SELECTABLE: usize = 8;
/// The API server's limit for a deprecation warning, in bytes.
const WARNING: usize = 256;

/// Checks all versions. The faults of schemas are added to `of_schemas`.
pub(super) fn check(versions: &[Value], faults: &mut Faults, of_schemas: &mut Faults) {
    let list = Place::root("spec");
    let list = list.field("versions");
    let schemas = || versions.iter().map(|version| Fields(version).get("schema"));
    let are_alike = schemas()
        .zip(schemas().skip(1))
        .all(|(one, next)| one == next);
    let any_status = versions.iter().any(|version| has_status(Fields(version)));
    for (index, version) in versions.iter().enumerate() {
        let version = Fields(version);
        let place = list.index(index);
        deprecation(version, &place, faults);
        let place_of_schema = place.field("schema");
        let place_of_schema = place_of_schema.field("openAPIV3Schema");
        let schema = version.fields("schema");
        if let Some(schema) = schema.and_then(|schema| schema.fields("openAPIV3Schema")) {
            // The API server moves schemas and subresources that all versions have in common to a single place for all
            // versions.
            let status = if are_alike {
                any_status
            } else {
                has_status(version)
            };
            check_schema(schema, status, &place_of_schema, of_schemas);
        } else {
            faults.add(&place_of_schema, "is missing");
        }
        if let Some(subresources) = version.fields("subresources") {
            scale(subresources, &place.field("subresources"), faults);
        }
        let columns = place.field("additionalPrinterColumns");
        let list = version.list("additionalPrinterColumns").iter();
        for (index, column) in list.enumerate() {
            check_column(Fields(column), &columns.index(index), faults);
        }
        selectable(version, &place, faults);
    }
    // If the schemas are equal, the API server reads the selectable fields only from the place for all versions.
    let selectable = |version: &'_ Value| Fields(version).list("selectableFields").to_vec();
    let lists: Vec<Vec<Value>> = versions.iter().map(selectable).collect();
    let are_one = lists.windows(2).all(|pair| pair[0] == pair[1]);
    if lists.iter().any(|fields| !fields.is_empty()) && are_one != are_alike {
        let words = "selectableFields must be the same in all versions if the schemas are, and differ if they differ";
        faults.add(&list, words);
    }
}

fn has_status(version: Fields<'_>) -> bool {
    let subresources = version.fields("subresources");
    subresources.is_some_and(|subresources| subresources.has("status"))
}

/// Checks a schema as a whole (`validateCustomResourceDefinitionValidation`).
fn check_schema(schema: Fields<'_>, status: bool, place: &Place<'_>, faults: &mut Faults) {
    if status {
        let map = schema.0.as_object().into_iter().flatten();
        let set = map.filter(|(_, value)| {
            !matches!(value, Value::Null | Value::Bool(false)) && value.as_str() != Some("")
        });
        let other = set
            .map(|(field, _)| field.as_str())
            .find(|field| shape::is_schema_field(field) && !AT_ROOT.contains(field));
        if let Some(field) = other {
            let words = "is not allowed at the root if the status is a subresource";
            faults.add(&place.field(field), words);
        }
    }
    if schema.flag("nullable") {
        faults.add(&place.field("nullable"), "cannot be true at the root");
    }
    structural::check(schema, place, faults);
    openapi::check(schema, place, faults);
    // Defaults are validated against the schema, which must be valid for this.
    if faults.is_empty() {
        defaults::check(schema, place, faults);
    }
}

/// Checks the deprecation warning of a version (`validateDeprecationWarning`).
fn deprecation(version: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    static PRINTABLE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^[\pL\pM\pN\pP\pS ]*$").expect("the pattern is constant"));
    let Some(warning) = version.optional_text("deprecationWarning") else {
        return;
    };
    let place = place.field("deprecationWarning");
    if !version.flag("deprecated") {
        faults.add(&place, "is only allowed for a deprecated version");
    } else if warning.is_empty() {
        faults.add(&place, "is empty");
    } else if warning.len() > WARNING {
        faults.add(&place, format_args!("has more than {WARNING} bytes"));
    } else if !PRINTABLE.is_match(warning) {
        faults.add(&place, "has characters that cannot be printed");
    }
}

/// Checks the paths of the scale subresource (`ValidateCustomResourceDefinitionSubresources`).
fn scale(subresources: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    let Some(scale) = subresources.fields("scale") else {
        return;
    };
    let place = place.field("scale");
    let paths: [(&str, &[&str], bool); 3] = [
        ("specReplicasPath", &[".spec."], true),
        ("statusReplicasPath", &[".status."], true),
        ("labelSelectorPath", &[".spec.", ".status."], false),
    ];
    for (field, prefixes, is_required) in paths {
        let path = scale.text(field);
        if path.is_empty() {
            if is_required {
                faults.add(&place.field(field), "is missing");
            }
        } else if !prefixes.iter().any(|prefix| path.starts_with(prefix)) {
            let words = format_args!("`{path}` does not begin with {}", prefixes.join(" or "));
            faults.add(&place.field(field), words);
        }
    }
}

/// Checks a printer column (`ValidateCustomResourceColumnDefinition`).
fn check_column(column: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    if column.text("name").is_empty() {
        faults.add(&place.field("name"), "is missing");
    }
    let kind = column.text("type");
    if !COLUMN_TYPES.contains(&kind) {
        let words = format_args!("`{kind}` is not one of {}", COLUMN_TYPES.join(", "));
        faults.add(&place.field("type"), words);
    }
    let format = column.text("format");
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
        let words = format_args!("`{format}` is not one of {}", COLUMN_FORMATS.join(", "));
        faults.add(&place.field("format"), words);
    }
    if !column.text("jsonPath").starts_with('.') {
        let words = "is not a path that begins with `.`";
        faults.add(&place.field("jsonPath"), words);
    }
}

/// Checks the selectable fields (`ValidateCustomResourceSelectableFields`).
fn selectable(version: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    let schema = version.fields("schema");
    let Some(schema) = schema.and_then(|schema| schema.fields("openAPIV3Schema")) else {
        return;
    };
    let place = place.field("selectableFields");
    let mut known: Vec<&str> = Vec::new();
    for (index, field) in version.list("selectableFields").iter().enumerate() {
        let path = Fields(field).text("jsonPath");
        let at = place.index(index);
        let at = at.field("jsonPath");
        match find(path, schema, ArrayNotation::Refused) {
            _ if path.is_empty() => faults.add(&at, "is missing"),
            Err(words) => faults.add(&at, format_args!("`{path}` {words}")),
            Ok(_) if path.starts_with(".metadata.") || path == ".metadata" => {
                faults.add(&at, "is a field of metadata, which is always selectable");
            }
            Ok(found) if !matches!(found.kind(), "string" | "boolean" | "integer") => {
                let words = format_args!("`{path}` is not a string, a boolean or an integer");
                faults.add(&at, words);
            }
            Ok(_) if known.contains(&path) => {
                faults.add(&at, format_args!("`{path}` is listed twice"));
            }
            Ok(_) if known.len() == SELECTABLE => {
                faults.add(&place, format_args!("has more than {SELECTABLE} fields"));
                return;
            }
            Ok(_) => known.push(path),
        }
    }
}
