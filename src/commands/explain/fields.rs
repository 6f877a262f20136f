//! The fields of documents, as their JSON Schemas describe them.

use schemars::JsonSchema;
use schemas::nearest;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{ExplainedKind, Explanation, TYPING_ERRORS};
use crate::commands::program::schema;

/// A field below another one.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExplainedField {
    /// The name of the field.
    pub(super) name: String,
    /// The type of its values.
    #[serde(rename = "type")]
    pub(super) class: String,
    /// The meaning of the field.
    pub(super) text: String,
}

/// Explains `DOCUMENT[.FIELD...]`.
///
/// # Errors
///
/// Fails with a similar path, if there is one, where there is no such field.
pub(super) fn explain(path: &str) -> Result<Explanation, Option<String>> {
    let mut names = path.split('.');
    let document = names.next().unwrap_or_default();
    let Some(text) = schema::text(document) else {
        let all = schema::names();
        let near = nearest(document, all.iter().map(String::as_str), TYPING_ERRORS);
        return Err(near.map(str::to_owned));
    };
    let root: Value = serde_json::from_str(text).expect("schemas are JSON");
    let mut here = &root;
    let mut above = document.to_owned();
    for name in names {
        let fields = fields(&root, here);
        let Some(below) = fields.iter().find(|(field, _)| *field == name) else {
            let near = nearest(name, fields.iter().map(|(field, _)| *field), TYPING_ERRORS);
            return Err(near.map(|near| format!("{above}.{near}")));
        };
        here = below.1;
        above = format!("{above}.{name}");
    }
    let fields = fields(&root, here).into_iter();
    Ok(Explanation {
        id: path.to_owned(),
        kind: ExplainedKind::Field,
        class: Some(class_of(&root, here)),
        text: match text_of(here) {
            empty if empty.is_empty() => text_of(resolved(&root, here)),
            text => text,
        },
        fix: None,
        fields: fields
            .map(|(name, field)| ExplainedField {
                name: name.to_owned(),
                class: class_of(&root, field),
                text: text_of(field),
            })
            .collect(),
    })
}

/// The schema that a reference leads to.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let reference = schema["$ref"].as_str();
    let target = reference.and_then(|path| root.pointer(path.trim_start_matches('#')));
    target.unwrap_or(schema)
}

/// The fields of an object, of the items of a list, or of any alternative.
fn fields<'a>(root: &'a Value, schema: &'a Value) -> Vec<(&'a str, &'a Value)> {
    let schema = resolved(root, schema);
    let properties = schema["properties"].as_object();
    let mut found: Vec<_> = properties
        .into_iter()
        .flat_map(Map::iter)
        .map(|(name, field)| (name.as_str(), field))
        .collect();
    let below = ["items", "additionalProperties"].map(|key| &schema[key]);
    let alternatives = ["anyOf", "oneOf", "allOf"].map(|key| schema[key].as_array());
    let alternatives = alternatives.into_iter().flatten().flatten();
    for below in below
        .into_iter()
        .filter(|below| below.is_object())
        .chain(alternatives)
    {
        for field in fields(root, below) {
            if found.iter().all(|(name, _)| *name != field.0) {
                found.push(field);
            }
        }
    }
    found
}

/// The type of the values of a schema.
pub(super) fn class_of(root: &Value, schema: &Value) -> String {
    let schema = resolved(root, schema);
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => {
            format!("list of {}", class_of(root, &schema["items"]))
        }
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str);
            let names: Vec<&str> = names.filter(|name| *name != "null").collect();
            names.join(" or ")
        }
        _ => {
            let alternatives = ["anyOf", "oneOf"].map(|key| schema[key].as_array());
            let alternatives = alternatives.into_iter().flatten().flatten();
            let mut names: Vec<String> = alternatives.map(|it| class_of(root, it)).collect();
            names.retain(|name| name != "null");
            names.dedup();
            if names.is_empty() {
                "any".to_owned()
            } else {
                names.join(" or ")
            }
        }
    }
}

/// The description of a schema, in one line.
pub(super) fn text_of(schema: &Value) -> String {
    schema["description"]
        .as_str()
        .unwrap_or_default()
        .replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_every_document_is_explained() {
        for document in schema::names() {
            let mut open = vec![document];
            let mut explained = 0;
            while let Some(path) = open.pop() {
                let found = explain(&path).unwrap();
                assert!(!found.text.is_empty(), "{path}");
                explained += 1;
                // Schemas of affinities and JSON Schemas themselves recur.
                if path.split('.').count() < 4 {
                    open.extend(
                        found
                            .fields
                            .iter()
                            .map(|field| format!("{path}.{}", field.name)),
                    );
                }
            }
            assert!(explained > 2);
        }
    }

    #[test]
    fn fields_of_lists_and_maps_need_no_index() {
        for path in [
            "site.spec.workloads.set",
            "solution-source.spec.parameters.default",
        ] {
            assert!(explain(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn a_mistyped_field_is_answered_with_the_nearest() {
        let near = explain("site.spec.wrokloads").unwrap_err();
        assert_eq!(near.as_deref(), Some("site.spec.workloads"));
        assert_eq!(explain("sit").unwrap_err().as_deref(), Some("site"));
    }
}
