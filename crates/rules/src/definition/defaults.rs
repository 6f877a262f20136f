//! Validation of defaults: each default has only fields that its schema defines, and is a valid value of the schema.
//! CEL rules are not evaluated, and defaults within the metadata of embedded resources are not checked. The function is
//! `ValidateDefaults` (`apiserver/schema/defaulting/validation.go`).

use serde_json::Value;

use super::format::is_label;
use super::place::{Faults, Place};
use super::schema::{Fields, META};
use super::value::ValueJudge;

/// The position of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    /// A resource: the root or an embedded resource.
    Resource,
    /// The kind, version or metadata of a resource.
    Metadata,
    Elsewhere,
}

impl Where {
    fn of(schema: Fields<'_>) -> Self {
        if schema.is_embedded() {
            Self::Resource
        } else {
            Self::Elsewhere
        }
    }
}

/// Checks the defaults in a schema that is otherwise valid.
pub(super) fn check(schema: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    let mut judge = ValueJudge::new();
    check_within(schema, Where::Resource, place, &mut judge, faults);
}

fn check_within<'v>(
    schema: Fields<'v>,
    around: Where,
    place: &Place<'_>,
    judge: &mut ValueJudge<'v>,
    faults: &mut Faults,
) {
    if let Some(default) = schema.get("default") {
        let refusal = if around == Where::Metadata {
            None
        } else if !is_known(default, Some(schema), around, Unknown::Dropped) {
            Some("has fields that its schema does not define".to_owned())
        } else {
            wrong_resource(default, schema, around).map(ToOwned::to_owned)
        };
        let refusal = refusal.or_else(|| judge.refusal(default, schema));
        if let Some(words) = refusal {
            faults.add(&place.field("default"), words);
        }
    }
    // As in the API server, defaults below `additionalProperties` are not checked.
    if let Some(items) = schema.items() {
        let inner = inner(items, around);
        check_within(items, inner, &place.field("items"), judge, faults);
    }
    let properties = place.field("properties");
    for (name, property) in schema.properties() {
        let of_meta = around == Where::Resource && META.contains(&name) && !property.is_embedded();
        let inner = if of_meta {
            Where::Metadata
        } else {
            inner(property, around)
        };
        check_within(property, inner, &properties.key(name), judge, faults);
    }
}

fn inner(schema: Fields<'_>, around: Where) -> Where {
    match (Where::of(schema), around) {
        (Where::Elsewhere, Where::Metadata) => Where::Metadata,
        (own, _) => own,
    }
}

/// The handling of fields that a schema does not define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unknown {
    Dropped,
    Kept,
}

/// Checks whether the schema defines all fields of a value, so that none is dropped. `unknown` is the handling that the
/// enclosing list or map defines.
fn is_known(value: &Value, schema: Option<Fields<'_>>, around: Where, unknown: Unknown) -> bool {
    let unknown = match schema {
        Some(schema) if schema.preserves_unknown_fields() => Unknown::Kept,
        _ => unknown,
    };
    let known = |value: &Value, inner: Option<Fields<'_>>, unknown| {
        is_known(
            value,
            inner,
            inner.map_or(Where::Elsewhere, Where::of),
            unknown,
        )
    };
    match value {
        Value::Object(map) => map.iter().all(|(name, value)| {
            let property = schema.and_then(|schema| schema.property(name));
            if around == Where::Resource && META.contains(&name.as_str()) {
                true
            } else if property.is_some() {
                known(value, property, Unknown::Dropped)
            } else if schema.is_some_and(|schema| schema.has("additionalProperties")) {
                let additional = schema.and_then(Fields::additional);
                known(value, additional, Unknown::Dropped)
            } else {
                unknown == Unknown::Kept
            }
        }),
        Value::Array(list) => {
            let items = schema.and_then(Fields::items);
            list.iter().all(|item| known(item, items, unknown))
        }
        _ => true,
    }
}

/// Returns the problem of the kind and version of a resource within a value.
fn wrong_resource(value: &Value, schema: Fields<'_>, around: Where) -> Option<&'static str> {
    match value {
        Value::Object(map) => {
            let own = (around == Where::Resource).then(|| wrong_kind(Fields(value)));
            own.flatten().or_else(|| {
                map.iter().find_map(|(name, value)| {
                    let inner = schema.property(name).or_else(|| schema.additional())?;
                    wrong_resource(value, inner, Where::of(inner))
                })
            })
        }
        Value::Array(list) => {
            let items = schema.items()?;
            let mut list = list.iter();
            list.find_map(|item| wrong_resource(item, items, Where::of(items)))
        }
        _ => None,
    }
}

fn wrong_kind(resource: Fields<'_>) -> Option<&'static str> {
    let version = resource.text("apiVersion");
    let kind = resource.text("kind").to_lowercase();
    if version.is_empty() || version.matches('/').count() > 1 {
        Some("is a resource whose apiVersion is missing or wrong")
    } else if !is_label(&kind) {
        Some("is a resource whose kind is missing or wrong")
    } else if resource
        .get("metadata")
        .is_some_and(|metadata| !metadata.is_object())
    {
        Some("is a resource whose metadata is not a mapping")
    } else {
        None
    }
}
