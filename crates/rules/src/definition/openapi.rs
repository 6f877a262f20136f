//! Validation of a schema apart from its structure: unsupported fields, types of lists and maps, and the positions of
//! defaults and rules. The functions are `ValidateCustomResourceDefinitionOpenAPISchema` and `specStandardValidatorV3`
//! (`apis/apiextensions/validation/validation.go`).

use super::place::{Faults, Place};
use super::schema::{Fields, META};
use super::validations::{self, RuleScope};

const TYPES: [&str; 6] = ["string", "number", "integer", "boolean", "array", "object"];
/// The fields of a schema that definitions cannot have. The first three are rejected even if they are empty.
const UNSUPPORTED: [&str; 5] = [
    "$ref",
    "additionalItems",
    "dependencies",
    "definitions",
    "patternProperties",
];

/// The position of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Root,
    /// The metadata, kind or version of a resource.
    Metadata,
    Elsewhere,
}

/// The properties that a schema inherits from the enclosing schemas.
#[derive(Clone, Copy, Debug)]
struct Surroundings {
    standing: Standing,
    may_have_default: bool,
    rules: RuleScope,
}

/// Checks the schema of a version.
pub(super) fn check(schema: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    let around = Surroundings {
        standing: Standing::Root,
        may_have_default: true,
        rules: RuleScope {
            has_old_self: true,
            are_compiled: true,
        },
    };
    check_within(schema, around, place, faults);
}

fn check_within(schema: Fields<'_>, around: Surroundings, place: &Place<'_>, faults: &mut Faults) {
    check_fields(schema, around, place, faults);
    lists_and_maps(schema, place, faults);
    validations::check(schema, around.rules, place, faults);
    let is_root = around.standing == Standing::Root;
    let inner = Surroundings {
        standing: if is_root {
            Standing::Elsewhere
        } else {
            around.standing
        },
        ..around
    };
    if let Some(additional) = schema.additional() {
        let inner = Surroundings {
            may_have_default: inner.may_have_default && inner.standing != Standing::Metadata,
            ..inner
        };
        check_within(
            additional,
            inner,
            &place.field("additionalProperties"),
            faults,
        );
    }
    let properties = place.field("properties");
    for (name, property) in schema.properties() {
        let is_meta = (is_root || schema.is_embedded()) && META.contains(&name);
        let inner = Surroundings {
            standing: if is_meta {
                Standing::Metadata
            } else {
                inner.standing
            },
            may_have_default: inner.may_have_default && !(is_meta && is_root),
            ..inner
        };
        check_within(property, inner, &properties.key(name), faults);
    }
    if let Some(items) = schema.items() {
        // Without keys, an item cannot be matched with its old value.
        let has_keys = schema.text("x-kubernetes-list-type") == "map";
        let rules = RuleScope {
            has_old_self: inner.rules.has_old_self && has_keys,
            ..inner.rules
        };
        let inner = Surroundings { rules, ..inner };
        check_within(items, inner, &place.field("items"), faults);
    }
    // The check of the structure already rejects rules in clauses.
    let rules = RuleScope {
        are_compiled: false,
        ..inner.rules
    };
    let inner = Surroundings { rules, ..inner };
    for field in ["allOf", "anyOf", "oneOf"] {
        let list = place.field(field);
        for (index, clause) in schema.clauses(field).enumerate() {
            check_within(clause, inner, &list.index(index), faults);
        }
    }
    if let Some(not) = schema.not() {
        check_within(not, inner, &place.field("not"), faults);
    }
}

fn check_fields(schema: Fields<'_>, around: Surroundings, place: &Place<'_>, faults: &mut Faults) {
    let kind = schema.kind();
    if !kind.is_empty() && !TYPES.contains(&kind) {
        let words = format_args!("is `{kind}`; expected one of {}", TYPES.join(", "));
        faults.add(&place.field("type"), words);
    }
    if schema.has("default") && !around.may_have_default {
        let words = "is not allowed in a field that every resource has";
        faults.add(&place.field("default"), words);
    }
    let is_set = |field: &&str| match *field {
        "definitions" | "patternProperties" => {
            let map = schema.get(field).and_then(|value| value.as_object());
            map.is_some_and(|map| !map.is_empty())
        }
        _ => schema.has(field),
    };
    let named = ["id", "$schema"]
        .into_iter()
        .filter(|field| !schema.text(field).is_empty());
    let unsupported = UNSUPPORTED.into_iter().filter(is_set).chain(named);
    for field in unsupported {
        faults.add(&place.field(field), "is not supported");
    }
    if !schema.list("items").is_empty() {
        faults.add(&place.field("items"), "is a list, not one schema");
    }
    if schema.flag("uniqueItems") {
        let words = "cannot be true; use x-kubernetes-list-type: set instead";
        faults.add(&place.field("uniqueItems"), words);
    }
    if around.standing == Standing::Metadata && schema.is_embedded() {
        let words = "is not allowed in metadata";
        faults.add(&place.field("x-kubernetes-embedded-resource"), words);
    }
    let additional = schema.get("additionalProperties");
    let is_true = additional.is_none_or(|value| value.as_bool() == Some(true));
    if schema.has_properties() && !is_true {
        let words = "cannot be combined with properties";
        faults.add(&place.field("additionalProperties"), words);
    }
    let preserve = "x-kubernetes-preserve-unknown-fields";
    if schema.has(preserve) && !schema.flag(preserve) {
        faults.add(&place.field(preserve), "cannot be false; remove it");
    }
}

fn lists_and_maps(schema: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    if let Some(map) = schema.optional_text("x-kubernetes-map-type") {
        let place = place.field("x-kubernetes-map-type");
        if schema.kind() != "object" {
            faults.add(&place, "is only allowed for objects");
        }
        if !matches!(map, "atomic" | "granular") {
            faults.add(
                &place,
                format_args!("is `{map}`; expected atomic or granular"),
            );
        }
    }
    let list = schema.optional_text("x-kubernetes-list-type");
    if let Some(list) = list {
        let at = place.field("x-kubernetes-list-type");
        if schema.kind() != "array" {
            faults.add(&at, "is only allowed for arrays");
        }
        if !matches!(list, "atomic" | "set" | "map") {
            faults.add(
                &at,
                format_args!("is `{list}`; expected atomic, set or map"),
            );
        }
    }
    let keys = schema.list("x-kubernetes-list-map-keys");
    if list != Some("map") && !keys.is_empty() {
        let words = "is only allowed with x-kubernetes-list-type: map";
        faults.add(&place.field("x-kubernetes-list-map-keys"), words);
    }
    let Some(items) = schema.items() else {
        if list == Some("map") {
            faults.add(&place.field("items"), "is missing");
        }
        return;
    };
    let at = place.field("items");
    if matches!(list, Some("set" | "map")) && items.flag("nullable") {
        faults.add(&at.field("nullable"), "cannot be true in a set or a map");
    }
    match list {
        Some("set") if schema.kind() == "array" => set(items, &at, faults),
        Some("map") => map(schema, items, place, faults),
        _ => {}
    }
}

/// Checks that the items of a set are atomic.
fn set(items: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    let list = items.optional_text("x-kubernetes-list-type");
    let map = items.optional_text("x-kubernetes-map-type");
    let field = match items.kind() {
        "array" if list.is_some_and(|kind| kind != "atomic") => "x-kubernetes-list-type",
        "object" if map != Some("atomic") => "x-kubernetes-map-type",
        _ => return,
    };
    faults.add(&place.field(field), "must be atomic for an item of a set");
}

/// Checks that each item of a list of type `map` has the keys (`validateMapListKeysMapSet`).
fn map(schema: Fields<'_>, items: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    let at_keys = place.field("x-kubernetes-list-map-keys");
    let at_items = place.field("items");
    if schema.list("x-kubernetes-list-map-keys").is_empty() {
        faults.add(&at_keys, "is missing");
    }
    let is_object = items.kind() == "object";
    if !is_object {
        let words = "must be `object` for an item of a map";
        faults.add(&at_items.field("type"), words);
    }
    let required: std::collections::BTreeSet<&str> = items.texts("required").collect();
    let mut known = std::collections::BTreeSet::new();
    let properties = at_items.field("properties");
    for key in schema.texts("x-kubernetes-list-map-keys") {
        if !known.insert(key) && is_object {
            faults.add(&at_keys, format_args!("`{key}` is listed twice"));
        }
        let place = properties.key(key);
        let Some(property) = items.property(key) else {
            if is_object {
                faults.add(
                    &at_keys,
                    format_args!("`{key}` is not a property of the items"),
                );
            }
            continue;
        };
        if is_object && matches!(property.kind(), "array" | "object") {
            faults.add(
                &place.field("type"),
                "is not the type of a single value, which a key must have",
            );
        }
        if !required.contains(key) && !property.has("default") {
            let words = "is a key, which must be required or have a default";
            faults.add(&place, words);
        }
        if property.flag("nullable") {
            faults.add(&place.field("nullable"), "cannot be true for a key");
        }
    }
}
