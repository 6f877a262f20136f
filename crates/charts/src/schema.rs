//! Validation of `values.schema.json`. Helm compiles the schema before it renders, and fetches remote references, which
//! a site without internet access cannot do.
//!
//! Values are validated only by Helm, in a process with a time limit. The time for validation cannot be bounded by
//! properties of the schema, since each schema in a chain of `allOf` may refer to the next one twice.
//!
//! Known attacks, and their defences:
//!
//! - Remote references: reported, and Helm does not validate the values of such a chart.
//! - Patterns with exponential matching time: a linear engine, with limits on the text, the Unicode classes and the
//!   compiled size of all patterns together.
//! - Chains of references: limited in number.

use std::collections::BTreeSet;

use jsonschema::{PatternOptions, ValidationError};
use schemas::json::Kind;
use schemas::{json, pattern_weight, printable_within};
use serde_json::{Map, Value};

use crate::error::ChartProblem;
use crate::limits;
use crate::values::ParsedContent;

/// The keywords that refer to another schema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The drafts that Helm includes.
const DRAFTS: [&str; 5] = [
    "json-schema.org/draft-04/schema",
    "json-schema.org/draft-06/schema",
    "json-schema.org/draft-07/schema",
    "json-schema.org/draft/2019-09/schema",
    "json-schema.org/draft/2020-12/schema",
];

/// The address of the latest draft.
const LATEST: &str = "json-schema.org/schema";

/// Checks a schema, and returns its first remote reference. Remote references are removed before the rest is compiled.
///
/// # Errors
///
/// Fails if the document is not JSON, not a schema, or exceeds a limit.
pub(crate) fn check(bytes: &[u8]) -> Result<ParsedContent<Option<String>>, ChartProblem> {
    let wrong = |words: String| Err(ChartProblem::Schema(words));
    if bytes.len() > limits::SCHEMA {
        let (size, most) = (bytes.len(), limits::SCHEMA);
        return wrong(format!("has {size} bytes; at most {most} are read"));
    }
    // Of equal keys, Go's reader uses the last one, and so does this one.
    let strict = json::from_slice(bytes).ok();
    let is_strict = strict.is_some();
    let read = strict.map_or_else(|| json::from_loose_slice_of(bytes, Kind::Plain), Ok);
    let mut document: Value = match read {
        Ok(document) => document,
        Err(error) => return wrong(format!("cannot be read: {error}")),
    };
    if !document.is_object() && !document.is_boolean() {
        return wrong("is not a valid schema".to_owned());
    }
    let elsewhere = cut_remote(&mut document);
    let (mut patterns, mut references) = (BTreeSet::new(), 0);
    for fields in objects(&document) {
        let keys = REFERENCES.iter();
        references += keys.filter(|key| fields.contains_key(**key)).count();
        patterns.extend(fields.get("pattern").and_then(Value::as_str));
        let more = fields.get("patternProperties").and_then(Value::as_object);
        patterns.extend(more.into_iter().flatten().map(|(key, _)| key.as_str()));
    }
    check_patterns(&patterns)?;
    if references > limits::SCHEMA_REFERENCES {
        let most = limits::SCHEMA_REFERENCES;
        return wrong(format!(
            "has {references} references; at most {most} are read"
        ));
    }
    let share = limits::PATTERNS_COMPILED / patterns.len().max(1);
    let patterns = PatternOptions::regex().size_limit(share.min(limits::PATTERN));
    // Implementations support different formats.
    let options = jsonschema::options()
        .with_pattern_options(patterns)
        .should_validate_formats(false)
        .offline();
    match options.build(&document) {
        Ok(_) => Ok(ParsedContent {
            as_helm: !is_strict || elsewhere.is_some(),
            value: elsewhere,
        }),
        Err(error) => wrong(format!("is not a valid schema: {}", describe_error(&error))),
    }
}

/// Rejects patterns that cost too much before the limit of their compiled size applies.
fn check_patterns(patterns: &BTreeSet<&str>) -> Result<(), ChartProblem> {
    let text: usize = patterns.iter().map(|pattern| pattern.len()).sum();
    let weight: usize = patterns.iter().map(|pattern| pattern_weight(pattern)).sum();
    for (count, most, what) in [
        (patterns.len(), limits::PATTERNS, "patterns"),
        (text, limits::PATTERNS_TEXT, "bytes of patterns"),
        (
            weight,
            limits::PATTERNS_WEIGHT,
            "Unicode classes in its patterns",
        ),
    ] {
        if count > most {
            let words = format!("has {count} {what}; at most {most} are read");
            return Err(ChartProblem::Schema(words));
        }
    }
    Ok(())
}

/// Returns the address of a draft without its scheme and fragment, which have multiple spellings.
fn draft_address(draft: &str) -> Option<&str> {
    let draft = draft.strip_suffix('#').unwrap_or(draft);
    let bare = draft.strip_prefix("http://");
    bare.or_else(|| draft.strip_prefix("https://"))
}

/// Returns the message and position of a validation error.
fn describe_error(error: &ValidationError<'_>) -> String {
    let words = printable_within(&error.to_string(), limits::WORDS);
    match error.instance_path().as_str() {
        "" => words,
        path => format!("{}: {words}", printable_within(path, limits::WORDS)),
    }
}

/// Returns a value and all values within it.
fn nested_values(value: &Value) -> impl Iterator<Item = &Value> {
    let mut left = vec![value];
    std::iter::from_fn(move || {
        let next = left.pop()?;
        match next {
            Value::Array(list) => left.extend(list),
            Value::Object(fields) => left.extend(fields.values()),
            _ => {}
        }
        Some(next)
    })
}

fn objects(value: &Value) -> impl Iterator<Item = &Map<String, Value>> {
    nested_values(value).filter_map(Value::as_object)
}

/// Removes the keywords with remote references, and returns the first reference.
fn cut_remote(schema: &mut Value) -> Option<String> {
    let mut first = None;
    let mut left = vec![schema];
    while let Some(next) = left.pop() {
        match next {
            Value::Array(list) => left.extend(list),
            Value::Object(fields) => {
                while let Some(keyword) = remote(fields) {
                    let reference = fields.remove(keyword);
                    let reference = reference.as_ref().and_then(Value::as_str);
                    let shown = |text| printable_within(text, limits::WORDS);
                    first = first.or_else(|| reference.map(shown));
                }
                left.extend(fields.values_mut());
            }
            _ => {}
        }
    }
    first
}

/// Returns a keyword of an object whose reference leads out of the schema.
fn remote(fields: &Map<String, Value>) -> Option<&'static str> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let is_elsewhere = |key: &&str| text(key).is_some_and(|reference| !reference.starts_with('#'));
    let known = |draft: &str| DRAFTS.contains(&draft) || draft == LATEST;
    let unknown = |draft: &str| !draft_address(draft).is_some_and(known);
    let draft = text("$schema").is_some_and(unknown).then_some("$schema");
    REFERENCES.into_iter().find(is_elsewhere).or(draft)
}
