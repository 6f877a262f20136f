//! Defaults: each has only fields that its schema knows, and is a value that the schema allows. Rules in CEL are not asked,
//! and what a default makes of the metadata of an embedded resource is not looked at. `ValidateDefaults`
//! (`apiserver/schema/defaulting/validation.go`).

use serde_json::Value;

use super::format::is_label;
use super::place::{Faults, Place};
use super::schema::{Fields, META};
use super::value::ValueJudge;

/// Where a schema stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    /// A resource, at the root or embedded.
    Resource,
    /// Within the kind, version or metadata of a resource.
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

/// Checks the defaults in a schema that is otherwise right.
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
    // Those below additionalProperties are never judged.
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

/// What happens to fields that a schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unknown {
    Dropped,
    Kept,
}

/// Whether a value has only fields that the schema knows, so that nothing would be dropped. `unknown` is what the list around
/// the value says.
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
            let property = schema.and_then(|it| it.property(name));
            if around == Where::Resource && META.contains(&name.as_str()) {
                true
            } else if property.is_some() {
                known(value, property, Unknown::Dropped)
            } else if schema.is_some_and(|it| it.has("additionalProperties")) {
                let additional = schema.and_then(Fields::additional);
                known(value, additional, Unknown::Dropped)
            } else {
                unknown == Unknown::Kept
            }
        }),
        Value::Array(list) => {
            let items = schema.and_then(Fields::items);
            list.iter().all(|it| known(it, items, unknown))
        }
        _ => true,
    }
}

/// Returns what is wrong with the kind and version of a resource within a value.
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
            list.find_map(|it| wrong_resource(it, items, Where::of(items)))
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
    } else if resource.get("metadata").is_some_and(|it| !it.is_object()) {
        Some("is a resource whose metadata is not a mapping")
    } else {
        None
    }
}
