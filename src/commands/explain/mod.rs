//! `solution explain`: the meaning of an id, or of a field of a document as its JSON Schema describes it. Ids are in
//! the output of other verbs, so a user can look up any of them.

pub(super) mod catalogue;

use anyhow::anyhow;
use clap::Args;
use schemars::JsonSchema;
use schemas::nearest;
use serde::Serialize;
use serde_json::{Map, Value};

use super::give;
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::render;

/// The number of letters in which a mistyped id may differ.
const TYPING_ERRORS: usize = 4;

/// Explain a finding, a blocker, a capability, or a field of a document
#[derive(Args, Debug)]
#[command(after_help = "\
`solution schema` lists the documents. A field is named by its path, without indexes of lists.

Examples:
  solution explain images.empty
  solution explain crd-too-new
  solution explain charts-1.0.0
  solution explain site
  solution explain site.spec.workloads
  solution explain solution-source.spec.images -o json")]
pub(crate) struct Arguments {
    /// An id of a finding, blocker or capability, or DOCUMENT[.FIELD...]
    #[arg(value_name = "ID|FIELD")]
    id: String,
}

/// The kind of a thing that is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum ExplainedKind {
    /// A finding of `validate`, `pack` or `import`.
    Finding,
    /// A reason why a plan cannot be applied.
    Blocker,
    /// A capability that an archive requires of its readers.
    Capability,
    /// A document, or a field of one.
    Field,
}

/// The explanation of an id or a field.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Explanation {
    /// The id, or the path of the field.
    id: String,
    /// The kind of the thing.
    kind: ExplainedKind,
    /// The severity of a finding, or the type of a field.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    /// The meaning.
    text: String,
    /// The fix for a finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
    /// The fields of a blocker in JSON, or those below a field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<ExplainedField>,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let id = arguments.id.as_str();
    let ids = catalogue::all();
    let found = ids.iter().find(|known| known.id == id);
    let explanation = match found {
        Some(found) => found,
        None => &explain(id).map_err(|near| unknown(id, near, &ids))?,
    };
    Ok(give(output, explanation, show))
}

/// Returns the failure for an unknown id, with a similar one if there is one.
fn unknown(id: &str, near: Option<String>, ids: &[Explanation]) -> Failure {
    let names = ids.iter().map(|known| known.id.as_str());
    let near = near.or_else(|| nearest(id, names, TYPING_ERRORS).map(str::to_owned));
    let failure = Failure::no(anyhow!("cannot explain `{id}`: unknown id or field"));
    match near {
        Some(near) => failure.hint(format!("did you mean `solution explain {near}`?")),
        None => failure.hint("`solution schema` lists the documents with their fields"),
    }
}

fn show(explanation: &Explanation) {
    let Explanation {
        id,
        kind,
        class,
        text,
        fix,
        fields,
    } = explanation;
    let title = match kind {
        ExplainedKind::Finding => "finding",
        ExplainedKind::Blocker => "blocker",
        ExplainedKind::Capability => "capability",
        ExplainedKind::Field => "field",
    };
    let class = class.as_ref().map(|class| format!("  ({class})"));
    render::line!("{title:<11} {id}{}", class.unwrap_or_default());
    render::line!("meaning     {text}");
    if let Some(fix) = fix {
        render::line!("fix         {fix}");
    }
    if !fields.is_empty() {
        render::line("fields");
        let rows = fields.iter().map(|field| {
            [
                format!("  {}", field.name),
                field.class.clone(),
                field.text.clone(),
            ]
        });
        render::columns(&rows.collect::<Vec<_>>())
            .iter()
            .for_each(render::line);
    }
}

/// A field below another one.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExplainedField {
    /// The name of the field.
    name: String,
    /// The type of its values.
    #[serde(rename = "type")]
    class: String,
    /// The meaning of the field.
    text: String,
}

/// Explains `DOCUMENT[.FIELD...]`.
///
/// # Errors
///
/// Fails with a similar path, if there is one, for a field that does not exist.
fn explain(path: &str) -> Result<Explanation, Option<String>> {
    let mut names = path.split('.');
    let document = names.next().unwrap_or_default();
    let Some(text) = catalogue::document_schema(document) else {
        let all = catalogue::document_names();
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

/// Returns the schema that a reference points to.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let reference = schema["$ref"].as_str();
    let target = reference.and_then(|path| root.pointer(path.trim_start_matches('#')));
    target.unwrap_or(schema)
}

/// Returns the fields of an object, of the items of a list, or of any alternative.
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

/// Returns the type of the values of a schema.
fn class_of(root: &Value, schema: &Value) -> String {
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
            let mut names: Vec<String> = alternatives
                .map(|alternative| class_of(root, alternative))
                .collect();
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

/// Returns the description of a schema, in one line.
fn text_of(schema: &Value) -> String {
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
        for document in catalogue::document_names() {
            let mut open = vec![document];
            let mut explained = 0;
            while let Some(path) = open.pop() {
                let found = explain(&path).unwrap();
                assert!(!found.text.is_empty(), "{path}");
                explained += 1;
                // Schemas of affinities and JSON Schemas themselves are recursive, so limit the depth.
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
