//! The JSON Schemas of results: every JSON result of the program must match the schema of its command.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::{Retrieve, Uri, Validator};
use serde_json::Value;

/// The prefix of the schemas' names.
const BASE: &str = "https://solutions.metalk8s.scality.com/v1alpha1/";

/// The committed schemas, by their names.
struct Committed;

impl Retrieve for Committed {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        let path = uri.as_str().strip_prefix(BASE).ok_or("it is not ours")?;
        Ok(serde_json::from_slice(&std::fs::read(
            folder().join(path),
        )?)?)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas")
}

/// Returns whether the results of a command have a schema.
fn has_schema(verb: &str) -> bool {
    folder().join(file_of(verb)).is_file()
}

fn file_of(verb: &str) -> String {
    format!("results/{verb}.schema.json")
}

/// Returns the command of a command line, as in the name of its schema: `import`, `trust-add`. A wrong command line may
/// have none.
fn verb(arguments: &[String]) -> Option<String> {
    let pairs = arguments.windows(2).map(|pair| pair.join("-"));
    let verbs = pairs.chain(arguments.iter().cloned());
    verbs.into_iter().find(|verb| has_schema(verb))
}

/// Returns the violations of a command's schema in an answer.
pub(crate) fn schema_violations(arguments: &[String], answer: &Value) -> Vec<String> {
    let schema = match verb(arguments) {
        Some(verb) => file_of(&verb),
        None => "results/common.schema.json#/$defs/failure".to_owned(),
    };
    violations(&schema, answer)
}

/// Returns the violations of a schema in a value.
fn violations(schema: &str, value: &Value) -> Vec<String> {
    let validator = validator(schema);
    let errors = validator.iter_errors(value);
    let words =
        |error: jsonschema::ValidationError<'_>| format!("{}: {error}", error.instance_path());
    errors.map(words).collect()
}

/// Returns the validator of a schema. It is built once, which takes far longer than a validation.
fn validator(schema: &str) -> Arc<Validator> {
    static VALIDATORS: Mutex<BTreeMap<String, Arc<Validator>>> = Mutex::new(BTreeMap::new());
    // A test that panics while it builds one leaves none behind.
    let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    let build = || {
        let schema = serde_json::json!({ "$ref": format!("{BASE}{schema}") });
        let options = jsonschema::options().with_retriever(Committed);
        Arc::new(options.build(&schema).unwrap())
    };
    validators
        .entry(schema.to_owned())
        .or_insert_with(build)
        .clone()
}

/// Parses the events of `--progress`, and asserts that each line matches its schema.
#[track_caller]
pub(crate) fn events(text: &str) -> Vec<Value> {
    let read = |line| serde_json::from_str(line).unwrap();
    let events: Vec<Value> = text.lines().map(read).collect();
    for event in &events {
        let outside = violations("results/event.schema.json", event);
        assert!(outside.is_empty(), "{outside:#?} in {event}");
    }
    events
}

/// Parses the events of a push, and asserts that each line matches its schema, and that the number of bytes never
/// decreases.
#[track_caller]
pub(crate) fn push_events(text: &str) -> Vec<Value> {
    let events = events(text);
    let mut before = 0;
    for event in &events {
        let outside = violations("results/push-event.schema.json", event);
        assert!(outside.is_empty(), "{outside:#?} in {event}");
        let [done, total] = ["bytesDone", "bytesTotal"].map(|name| event[name].as_u64().unwrap());
        assert!((before..=total).contains(&done), "{before} before {event}");
        before = done;
    }
    let begins = events.first().map(|event| &event["event"]);
    assert_eq!(begins, Some(&Value::from("planned")), "{text}");
    events
}
