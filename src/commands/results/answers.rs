//! The schemas of answers while they are made, and the files that they come to.

use std::collections::{BTreeMap, BTreeSet};

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::references::{MANIFEST, named, reference, referenced};
use super::tidy::tidy;
use crate::failure::FailureJson;
use crate::render::SCHEMA_VERSION;

/// The schema of what several results have in common.
const COMMON: &str = "common";

/// The schemas, as far as they are made.
pub(super) struct Results {
    generator: SchemaGenerator,
    definitions: Map<String, Value>,
    files: BTreeMap<&'static str, Value>,
}

impl Results {
    /// Begins with what each answer has.
    pub(super) fn begin() -> Self {
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

    /// Makes an answer that only one verb has.
    pub(super) fn own<T: JsonSchema>(&mut self) -> Value {
        let mut answer = T::json_schema(&mut self.generator).to_value();
        answer["properties"]["schemaVersion"] = reference("schemaVersion");
        let mut required = vec![json!("schemaVersion")];
        required.extend(answer["required"].as_array().cloned().unwrap_or_default());
        answer["required"] = required.into();
        answer
    }

    /// Makes an answer that several verbs have.
    pub(super) fn shared<T: JsonSchema>(&mut self, name: &str) -> Value {
        let answer = self.own::<T>();
        self.definitions.insert(name.to_owned(), answer);
        reference(name)
    }

    /// Takes the answers of a verb, which can also fail.
    pub(super) fn verb(&mut self, verb: &'static str, answers: &[&Value]) {
        let failure = reference("failure");
        let answers = [answers, &[&failure]].concat();
        let title = format!("solution {}", verb.replace('-', " "));
        let schema = json!({ "title": title, "anyOf": answers });
        self.file(verb, schema);
    }

    /// Takes the schema of a file.
    pub(super) fn file(&mut self, name: &'static str, schema: Value) {
        self.files.insert(name, schema);
    }

    /// Says more of a verb's answers.
    pub(super) fn describe(&mut self, verb: &'static str, description: &str) {
        let file = self.files.entry(verb);
        file.and_modify(|it| it["description"] = description.into());
    }

    /// Puts each definition where it is referred to: into the file, or into the common one if there are several.
    pub(super) fn finish(mut self) -> BTreeMap<String, Schema> {
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

    /// The names of all definitions that a schema needs.
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

/// An answer, described as what it is of one verb.
pub(super) fn said(description: &str, answer: &Value) -> Value {
    let mut answer = answer.clone();
    answer["description"] = description.into();
    answer
}
