//! What schemas refer to, in the same file and in others.

use std::collections::BTreeSet;

use schemars::Schema;
use serde_json::{Map, Value, json};

/// Where the names of the schemas begin.
pub(super) const BASE: &str = "https://solutions.metalk8s.scality.com/v1alpha1/results/";

/// The type of manifests, which have a schema elsewhere.
pub(super) const MANIFEST: &str = "Solution";

/// Where a schema has what it refers to.
const DEFINITIONS: &str = "#/$defs/";

/// The names that a schema refers to.
pub(super) fn referenced(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(fields) => {
            let here = fields.get("$ref").and_then(Value::as_str);
            let here = here.and_then(|it| it.strip_prefix(DEFINITIONS));
            here.into_iter()
                .chain(fields.values().flat_map(referenced))
                .collect()
        }
        Value::Array(all) => all.iter().flat_map(referenced).collect(),
        _ => Vec::new(),
    }
}

/// Makes references lead to the file that has what they name.
fn redirect(schema: &mut Value, here: &BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(to)) = fields.get_mut("$ref")
                && let Some(name) = to.strip_prefix(DEFINITIONS)
            {
                if name == MANIFEST {
                    "../solution.schema.json".clone_into(to);
                } else if !here.contains(name) {
                    to.insert_str(0, "common.schema.json");
                }
            }
            fields.values_mut().for_each(|it| redirect(it, here));
        }
        Value::Array(all) => all.iter_mut().for_each(|it| redirect(it, here)),
        _ => {}
    }
}

/// A reference to a definition.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{DEFINITIONS}{name}") })
}

/// The schema of a file, complete.
pub(super) fn named(name: &str, mut schema: Value) -> (String, Schema) {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let here = definitions.into_iter().flat_map(Map::keys).cloned();
    let here = here.collect();
    redirect(&mut schema, &here);
    let file = format!("{name}.schema.json");
    schema["$id"] = format!("{BASE}{file}").into();
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    (file, schema.try_into().expect("an object is a schema"))
}
