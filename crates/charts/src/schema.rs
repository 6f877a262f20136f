//! `values.schema.json`: Helm compiles it before it renders, and fetches what it refers to elsewhere, which a site without
//! internet does not have.

use schemas::json;
use serde_json::Value;

use crate::error::ChartProblem;

/// The keywords that name another schema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The drafts that Helm has with it.
const DRAFTS: [&str; 5] = [
    "json-schema.org/draft-04/schema",
    "json-schema.org/draft-06/schema",
    "json-schema.org/draft-07/schema",
    "json-schema.org/draft/2019-09/schema",
    "json-schema.org/draft/2020-12/schema",
];

/// Refuses a schema that is no JSON, no schema, or needs another one.
pub(crate) fn check(bytes: &[u8]) -> Result<(), ChartProblem> {
    let wrong = |words: String| Err(ChartProblem::Schema(words));
    let schema: Value = match json::from_slice(bytes) {
        Ok(schema) => schema,
        Err(error) => return wrong(format!("cannot be read: {error}")),
    };
    if !schema.is_object() && !schema.is_boolean() {
        return wrong("is no schema".to_owned());
    }
    let mut left = vec![&schema];
    while let Some(value) = left.pop() {
        match value {
            Value::Array(list) => left.extend(list),
            Value::Object(fields) => {
                if let Some(remote) = remote(fields) {
                    return wrong(format!("refers to `{remote}`, which it does not hold"));
                }
                left.extend(fields.values());
            }
            _ => {}
        }
    }
    Ok(())
}

/// What an object of a schema refers to that is not in the schema.
fn remote(fields: &serde_json::Map<String, Value>) -> Option<&str> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let elsewhere = |reference: &&str| !reference.starts_with('#');
    let mut references = REFERENCES.into_iter().filter_map(text);
    let unknown = |draft: &&str| {
        let draft = draft.trim_end_matches('#');
        let draft = draft
            .strip_prefix("http://")
            .or(draft.strip_prefix("https://"));
        draft.is_none_or(|draft| !DRAFTS.contains(&draft))
    };
    references
        .find(elsewhere)
        .or_else(|| text("$schema").filter(unknown))
}
