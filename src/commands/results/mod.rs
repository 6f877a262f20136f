//! The JSON Schemas of results (`schemas/results`). They are generated from the types that the program writes as JSON.
//! Only this module assigns these types to verbs. The generator does not know two rules, which are applied to its
//! schemas afterwards: further fields are not allowed, and optional fields are not empty. `UPDATE=1 cargo test --bin
//! solution results` writes the files again.

mod stream;
mod verbs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};
use validator::Report;

use crate::failure::FailureJson;
use crate::render::SCHEMA_VERSION;

/// Returns the schema of each verb's results. All verbs can also return a failure.
fn all() -> BTreeMap<String, Schema> {
    let mut all = Results::begin();
    let report = &all.shared::<Report>("report");
    verbs::add_change_verbs(&mut all, report);
    verbs::add_archive_verbs(&mut all, report);
    verbs::add_site_verbs(&mut all);
    verbs::add_registry_verbs(&mut all, report);
    stream::add(&mut all);
    all.finish()
}

/// Fails if a committed schema differs from the one that is generated; `UPDATE=1` renews the files.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "who runs the test decides to renew"
)]
fn the_schemas_of_results_follow_from_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/results");
    let all = all();
    for (file, schema) in &all {
        let now = serde_json::to_string_pretty(schema).unwrap() + "\n";
        let path = folder.join(file);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &now).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == now,
            "schemas/results/{file} is stale: UPDATE=1 cargo test --bin solution results"
        );
    }
    let committed = std::fs::read_dir(folder).unwrap();
    let committed = committed.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let committed: BTreeSet<String> = committed.collect();
    assert_eq!(committed, all.into_keys().collect());
}

/// Fails if two types have the same name, because the generator would call one of them `Name2`.
#[test]
fn no_two_types_of_results_have_the_same_name() {
    for (file, schema) in all() {
        let definitions = schema.get("$defs").and_then(Value::as_object);
        for name in definitions.into_iter().flat_map(Map::keys) {
            let numbered = name.ends_with(|name: char| name.is_ascii_digit());
            assert!(!numbered, "{name} in {file}");
        }
    }
}

/// The name of the file with the definitions that multiple results share.
const COMMON: &str = "common";

/// The schemas that were generated so far.
struct Results {
    generator: SchemaGenerator,
    definitions: Map<String, Value>,
    files: BTreeMap<&'static str, Value>,
}

impl Results {
    /// Creates the schemas with the definitions that every result has.
    fn begin() -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let mut all = Self {
            generator: settings.into_generator(),
            definitions: Map::new(),
            files: BTreeMap::new(),
        };
        let version = json!({
            "description": "The version of the results' schemas. It increases when a field changes its meaning or is \
                            removed, but not when fields are added.",
            "const": SCHEMA_VERSION,
        });
        all.definitions.insert("schemaVersion".to_owned(), version);
        all.shared::<FailureJson>("failure");
        all
    }

    /// Returns the schema of a result that only one verb has.
    fn own<T: JsonSchema>(&mut self) -> Value {
        let mut answer = T::json_schema(&mut self.generator).to_value();
        answer["properties"]["schemaVersion"] = reference("schemaVersion");
        let mut required = vec![json!("schemaVersion")];
        required.extend(answer["required"].as_array().cloned().unwrap_or_default());
        answer["required"] = required.into();
        answer
    }

    /// Adds the schema of a result that multiple verbs have, and returns a reference to it.
    fn shared<T: JsonSchema>(&mut self, name: &str) -> Value {
        let answer = self.own::<T>();
        self.definitions.insert(name.to_owned(), answer);
        reference(name)
    }

    /// Adds the results of a verb, which can also return a failure.
    fn verb(&mut self, verb: &'static str, answers: &[&Value]) {
        let failure = reference("failure");
        let answers = [answers, &[&failure]].concat();
        let title = format!("solution {}", verb.replace('-', " "));
        let schema = json!({ "title": title, "anyOf": answers });
        self.file(verb, schema);
    }

    /// Adds a file with this schema.
    fn file(&mut self, name: &'static str, schema: Value) {
        self.files.insert(name, schema);
    }

    /// Adds a description of a verb's results.
    fn describe(&mut self, verb: &'static str, description: &str) {
        let file = self.files.entry(verb);
        file.and_modify(|file| file["description"] = description.into());
    }

    /// Moves each definition into the file that refers to it, or into the common file if multiple files do.
    fn finish(mut self) -> BTreeMap<String, Schema> {
        self.definitions
            .append(&mut self.generator.take_definitions(false));
        let all = self.definitions.values_mut().chain(self.files.values_mut());
        all.for_each(tidy);

        let mut users: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (file, schema) in &self.files {
            for name in self.needed(schema) {
                users.entry(name).or_default().push(file);
            }
        }
        let common = json!({ "title": "Definitions that multiple results share" });
        self.files.insert(COMMON, common);
        for (name, users) in &users {
            let file = if let [one] = users[..] { one } else { COMMON };
            let file = self.files.get_mut(file).expect("it was named above");
            file["$defs"][name] = self.definitions[name].clone();
        }
        let files = self.files.into_iter();
        files.map(|(name, schema)| named(name, schema)).collect()
    }

    /// Returns the names of all definitions that a schema needs.
    fn needed(&self, schema: &Value) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open = vec![schema];
        while let Some(schema) = open.pop() {
            for name in referenced(schema) {
                if name != MANIFEST && found.insert(name.to_owned()) {
                    open.push(&self.definitions[name]);
                }
            }
        }
        found
    }
}

/// Returns a result with the description that it has for one verb.
fn said(description: &str, answer: &Value) -> Value {
    let mut answer = answer.clone();
    answer["description"] = description.into();
    answer
}

/// The common prefix of schema names.
const BASE: &str = "https://solutions.metalk8s.scality.com/v1alpha1/results/";

/// The type of manifests, which have a schema elsewhere.
const MANIFEST: &str = "Solution";

/// The prefix of references within a schema.
const DEFINITIONS: &str = "#/$defs/";

/// Returns the names of the definitions to which a schema refers.
fn referenced(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(fields) => {
            let here = fields.get("$ref").and_then(Value::as_str);
            let here = here.and_then(|path| path.strip_prefix(DEFINITIONS));
            here.into_iter()
                .chain(fields.values().flat_map(referenced))
                .collect()
        }
        Value::Array(all) => all.iter().flat_map(referenced).collect(),
        _ => Vec::new(),
    }
}

/// Adds the file name to references whose definition is in another file.
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
            fields.values_mut().for_each(|value| redirect(value, here));
        }
        Value::Array(all) => all.iter_mut().for_each(|value| redirect(value, here)),
        _ => {}
    }
}

/// Returns a reference to a definition.
fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{DEFINITIONS}{name}") })
}

/// Returns the complete schema of a file, with its name.
fn named(name: &str, mut schema: Value) -> (String, Schema) {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let here = definitions.into_iter().flat_map(Map::keys).cloned();
    let here = here.collect();
    redirect(&mut schema, &here);
    let file = format!("{name}.schema.json");
    schema["$id"] = format!("{BASE}{file}").into();
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    (file, schema.try_into().expect("an object is a schema"))
}

/// The keywords with alternative or combined schemas.
const CHOICES: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// The extent of a schema: it lists all fields of an object, or other schemas list more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Whole,
    Part,
}

/// Applies the rules to a schema.
fn tidy(schema: &mut Value) {
    tidy_as(schema, Extent::Whole);
}

fn tidy_as(schema: &mut Value, extent: Extent) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::String(description)) = fields.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    // A default has no effect in a result, because readers do not add missing fields.
    fields.remove("default");
    let is_object =
        fields.contains_key("properties") || fields.get("type") == Some(&json!("object"));
    if is_object {
        close(fields, extent);
        fill(fields);
    }
    let part = if is_object { Extent::Part } else { extent };
    for (key, value) in fields {
        match key.as_str() {
            "allOf" | "anyOf" | "oneOf" => each(value, |value| tidy_as(value, part)),
            "properties" | "patternProperties" | "prefixItems" => each(value, tidy),
            "additionalProperties" | "items" => tidy(value),
            _ => {}
        }
    }
}

fn each(value: &mut Value, change: impl FnMut(&mut Value)) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(change),
        Value::Object(all) => all.values_mut().for_each(change),
        _ => {}
    }
}

/// Rejects additional fields.
fn close(fields: &mut Map<String, Value>, extent: Extent) {
    let has_parts = CHOICES.iter().any(|choice| fields.contains_key(*choice));
    if (has_parts || extent == Extent::Part)
        && fields.get("additionalProperties") == Some(&json!(false))
    {
        fields.remove("additionalProperties");
    }
    if extent == Extent::Whole {
        let key = if has_parts {
            "unevaluatedProperties"
        } else {
            "additionalProperties"
        };
        fields.entry(key).or_insert(json!(false));
    }
}

/// Requires that optional fields are not empty, because the program omits empty ones.
fn fill(fields: &mut Map<String, Value>) {
    let required = fields.get("required").cloned().unwrap_or_default();
    let required = required.as_array().map_or(&[][..], Vec::as_slice);
    let Some(Value::Object(properties)) = fields.get_mut("properties") else {
        return;
    };
    for (name, property) in properties {
        if let Value::Object(property) = property
            && !required.contains(&json!(name))
        {
            fill_one(property);
        }
    }
}

fn fill_one(property: &mut Map<String, Value>) {
    // An `Option` allows null in its schema, but the program omits the field instead.
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
        return;
    }
    if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(only)] = &choices[..] {
            let only = only.clone();
            property.remove("anyOf");
            for (key, value) in only {
                property.entry(key).or_insert(value);
            }
        }
        return;
    }
    let (key, value) = match property.get("type").and_then(Value::as_str) {
        Some("array") => ("minItems", json!(1)),
        Some("boolean") => ("const", json!(true)),
        Some("integer") => ("minimum", json!(1)),
        Some("object") => ("minProperties", json!(1)),
        Some("string") => ("minLength", json!(1)),
        _ => return,
    };
    property.insert(key.to_owned(), value);
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use schemars::generate::SchemaSettings;
    use serde::Serialize;

    use super::*;

    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Sample {
        always: Option<u8>,
        #[serde(skip_serializing_if = "Option::is_none")]
        perhaps: Option<u8>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        several: Vec<Inner>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        marked: bool,
        #[serde(flatten)]
        kind: Kind,
    }

    #[derive(Serialize, JsonSchema)]
    struct Inner {
        name: String,
    }

    #[derive(Serialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "camelCase")]
    enum Kind {
        One { first: u8 },
        Other { second: u8 },
    }

    #[test]
    fn what_is_not_told_is_not_allowed_and_what_is_left_out_is_not_empty() {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let schema = settings.into_generator().into_root_schema_for::<Sample>();
        let mut schema = schema.to_value();
        tidy(&mut schema["$defs"]["Inner"]);
        tidy(&mut schema);
        let schema = jsonschema::validator_for(&schema).unwrap();
        let full = Sample {
            always: Some(1),
            perhaps: Some(0),
            several: vec![Inner {
                name: String::new(),
            }],
            marked: true,
            kind: Kind::One { first: 1 },
        };
        let bare = Sample {
            always: None,
            perhaps: None,
            several: Vec::new(),
            marked: false,
            kind: Kind::Other { second: 1 },
        };
        let [full, bare] = [full, bare].map(|schema| serde_json::to_value(schema).unwrap());
        for good in [&full, &bare] {
            assert!(schema.is_valid(good), "{good}");
        }
        for (field, value) in [
            ("more", json!(1)),
            ("second", json!(1)),
            ("perhaps", json!(null)),
            ("several", json!([])),
            ("several", json!([{ "name": "", "more": 1 }])),
            ("marked", json!(false)),
            ("kind", json!("other")),
        ] {
            let mut bad = full.clone();
            bad[field] = value;
            assert!(!schema.is_valid(&bad), "{bad}");
        }
        let mut bad = full;
        bad.as_object_mut().unwrap().remove("always");
        assert!(!schema.is_valid(&bad), "{bad}");
    }
}
