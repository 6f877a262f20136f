//! The JSON Schemas of results: whatever the program answers as JSON must be inside that of its verb.

use std::error::Error;
use std::path::{Path, PathBuf};

use jsonschema::{Retrieve, Uri};
use serde_json::Value;

/// Where the names of the schemas begin.
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

/// Whether results of a verb have a schema.
fn has_schema(verb: &str) -> bool {
    folder().join(file_of(verb)).is_file()
}

fn file_of(verb: &str) -> String {
    format!("results/{verb}.schema.json")
}

/// The verb of a command line, as its schema is named: `import`, `trust-add`. A wrong command line may have none.
fn verb(arguments: &[String]) -> Option<String> {
    let pairs = arguments.windows(2).map(|pair| pair.join("-"));
    let verbs = pairs.chain(arguments.iter().cloned());
    verbs.into_iter().find(|verb| has_schema(verb))
}

/// What of an answer is outside the schema of its verb.
pub(crate) fn outside(arguments: &[String], answer: &Value) -> Vec<String> {
    let schema = match verb(arguments) {
        Some(verb) => file_of(&verb),
        None => "results/common.schema.json#/$defs/failure".to_owned(),
    };
    outside_of(&schema, answer)
}

/// What of a value is outside a schema.
fn outside_of(schema: &str, value: &Value) -> Vec<String> {
    let schema = serde_json::json!({ "$ref": format!("{BASE}{schema}") });
    let options = jsonschema::options().with_retriever(Committed);
    let validator = options.build(&schema).unwrap();
    let errors = validator.iter_errors(value);
    let words =
        |error: jsonschema::ValidationError<'_>| format!("{}: {error}", error.instance_path());
    errors.map(words).collect()
}

/// What was told (`--progress`): each line inside its schema.
#[track_caller]
pub(crate) fn events(text: &str) -> Vec<Value> {
    let read = |line| serde_json::from_str(line).unwrap();
    let events: Vec<Value> = text.lines().map(read).collect();
    for event in &events {
        let outside = outside_of("results/event.schema.json", event);
        assert!(outside.is_empty(), "{outside:#?} in {event}");
    }
    events
}

/// What a push alone has told: each line inside the schema of those, and the bytes never going back.
#[track_caller]
pub(crate) fn push_events(text: &str) -> Vec<Value> {
    let events = events(text);
    let mut before = 0;
    for event in &events {
        let outside = outside_of("results/push-event.schema.json", event);
        assert!(outside.is_empty(), "{outside:#?} in {event}");
        let [done, total] = ["bytesDone", "bytesTotal"].map(|name| event[name].as_u64().unwrap());
        assert!((before..=total).contains(&done), "{before} before {event}");
        before = done;
    }
    let begins = events.first().map(|event| &event["event"]);
    assert_eq!(begins, Some(&Value::from("planned")), "{text}");
    events
}
