//! `values.schema.json`: Helm compiles it before it renders, and fetches what it refers to elsewhere, which a site without
//! internet does not have; then it judges the values by it.
//!
//! Known attacks and where they stop: references to elsewhere: refused, and nothing fetches; patterns that take for ever:
//! an engine that is linear, and a bound on what they compile to; schemas that name parts of themselves so often that
//! applying them never ends: [`Walk`] counts what would be applied before it is.

use std::collections::{BTreeMap, BTreeSet};

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use schemas::{DocumentCost, json, printable_within};
use serde_json::{Map, Value};

use crate::error::{ChartProblem, UnfitValues};
use crate::limits;

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

/// The schema of a chart's values.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    document: Value,
    validator: Validator,
}

impl Schema {
    /// Reads a schema; refuses one that is no JSON, no schema, or needs another one.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ChartProblem> {
        let wrong = |words: String| Err(ChartProblem::Schema(words));
        if bytes.len() > limits::SCHEMA {
            let (size, most) = (bytes.len(), limits::SCHEMA);
            return wrong(format!("has {size} bytes; at most {most} are read"));
        }
        let document: Value = match json::from_slice(bytes) {
            Ok(document) => document,
            Err(error) => return wrong(format!("cannot be read: {error}")),
        };
        if !document.is_object() && !document.is_boolean() {
            return wrong("is no schema".to_owned());
        }
        let (mut patterns, mut references) = (BTreeSet::new(), 0);
        for fields in objects(&document) {
            if let Some(remote) = remote(fields) {
                return wrong(format!("refers to `{remote}`, which it does not hold"));
            }
            let keys = REFERENCES.iter();
            references += keys.filter(|key| fields.contains_key(**key)).count();
            patterns.extend(fields.get("pattern").and_then(Value::as_str));
            let more = fields.get("patternProperties").and_then(Value::as_object);
            patterns.extend(more.into_iter().flatten().map(|(key, _)| key.as_str()));
        }
        if patterns.len() > limits::PATTERNS {
            let (count, most) = (patterns.len(), limits::PATTERNS);
            return wrong(format!("has {count} patterns; at most {most} are read"));
        }
        if references > limits::SCHEMA_REFERENCES {
            let most = limits::SCHEMA_REFERENCES;
            return wrong(format!(
                "has {references} references; at most {most} are read"
            ));
        }
        let patterns = PatternOptions::regex().size_limit(limits::PATTERN);
        // Programs differ in what they know of formats.
        let options = jsonschema::options()
            .with_pattern_options(patterns)
            .should_validate_formats(false)
            .offline();
        match options.build(&document) {
            Ok(validator) => Ok(Self {
                document,
                validator,
            }),
            Err(error) => wrong(format!("is no schema: {}", said(&error))),
        }
    }

    /// Judges values as Helm does before it renders, but for what nobody can tell yet: placeholders are texts of which only
    /// the site knows the rest, and nulls go while values are merged.
    pub(crate) fn judge(&self, values: &Value) -> Result<(), UnfitValues> {
        if !Walk::new(&self.document).ends(values) {
            return Err(UnfitValues::Endless);
        }
        if self.validator.is_valid(values) {
            return Ok(());
        }
        let mut errors = self.validator.iter_errors(values);
        let error = errors.find(|error| !is_unsure(error));
        error.map_or(Ok(()), |error| Err(UnfitValues::Unfit(said(&error))))
    }
}

/// Where a document is not what a schema says, without the document's own words, which may be long and secret.
fn said(error: &ValidationError<'_>) -> String {
    let words = error.masked().to_string();
    let words = printable_within(&words, limits::WORDS);
    match error.instance_path().as_str() {
        "" => words,
        path => format!("{}: {words}", printable_within(path, limits::WORDS)),
    }
}

/// Whether values may turn out to fit once everything is filled in: all but their shape depends on their texts.
fn is_unsure(error: &ValidationError<'_>) -> bool {
    let of_shape = matches!(
        error.kind(),
        Kind::AdditionalItems { .. }
            | Kind::AdditionalProperties { .. }
            | Kind::FalseSchema
            | Kind::MaxItems { .. }
            | Kind::MaxProperties { .. }
            | Kind::MinItems { .. }
            | Kind::MinProperties { .. }
            | Kind::Required { .. }
            | Kind::Type { .. }
    );
    let instance: &Value = error.instance();
    let is_open = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.contains("$(image"),
        _ => false,
    };
    if of_shape {
        return instance.is_null();
    }
    all(instance).any(is_open)
}

/// A value and everything in it.
fn all(value: &Value) -> impl Iterator<Item = &Value> {
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
    all(value).filter_map(Value::as_object)
}

/// What an object of a schema refers to that is not in the schema.
fn remote(fields: &Map<String, Value>) -> Option<&str> {
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

/// Follows a schema through values, wherever a validator could, and counts.
struct Walk<'a> {
    /// The schema, and those in it that are whole for themselves.
    roots: Vec<&'a Value>,
    /// Schemas that have a name.
    named: BTreeMap<&'a str, Vec<&'a Value>>,
    left: usize,
}

impl<'a> Walk<'a> {
    fn new(document: &'a Value) -> Self {
        let mut walk = Self {
            roots: vec![document],
            named: BTreeMap::new(),
            left: limits::SCHEMA_STEPS,
        };
        for value in all(document) {
            let text = |key: &str| value.get(key).and_then(Value::as_str);
            for id in ["$id", "id"].into_iter().filter_map(text) {
                match id.strip_prefix('#') {
                    Some(name) => walk.named.entry(name).or_default().push(value),
                    None => walk.roots.push(value),
                }
            }
            for name in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
                walk.named.entry(name).or_default().push(value);
            }
        }
        walk
    }

    /// Whether applying the schema to these values comes to an end.
    fn ends(mut self, values: &Value) -> bool {
        let whole = self.roots[0];
        self.apply(whole, values, 0).is_some()
    }

    fn pay(&mut self, steps: usize) -> Option<()> {
        self.left = self.left.checked_sub(steps)?;
        Some(())
    }

    fn apply(&mut self, schema: &'a Value, value: &Value, depth: usize) -> Option<()> {
        let Value::Object(fields) = schema else {
            return self.pay(1);
        };
        if depth == limits::SCHEMA_DEPTH {
            return None;
        }
        // An error keeps what it is about.
        self.pay(1 + fields.len() + cost(value))?;
        for key in ["enum", "const"] {
            self.pay(fields.get(key).map_or(0, cost))?;
        }
        let again = fields.keys().any(|key| key.starts_with("unevaluated"));
        for (key, part) in fields {
            // What is evaluated is found out by applying the rest once more.
            for _ in 0..=usize::from(again) {
                self.keyword((key, part), value, depth + 1)?;
            }
        }
        Some(())
    }

    fn keyword(
        &mut self,
        (key, part): (&str, &'a Value),
        value: &Value,
        depth: usize,
    ) -> Option<()> {
        match (key, part, value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference), _) => {
                for target in self.targets(reference) {
                    self.apply(target, value, depth)?;
                }
            }
            ("not" | "if" | "then" | "else", schema, _) => self.apply(schema, value, depth)?,
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas), _) => {
                for schema in schemas {
                    self.apply(schema, value, depth)?;
                }
            }
            ("dependentSchemas" | "dependencies", Value::Object(schemas), _) => {
                for schema in schemas.values() {
                    self.apply(schema, value, depth)?;
                }
            }
            ("properties", Value::Object(schemas), Value::Object(values)) => {
                for (name, schema) in schemas {
                    if let Some(value) = values.get(name) {
                        self.apply(schema, value, depth)?;
                    }
                }
            }
            ("patternProperties", Value::Object(schemas), Value::Object(values)) => {
                for schema in schemas.values() {
                    self.each(schema, values.values(), depth)?;
                }
            }
            ("propertyNames", schema, Value::Object(values)) => {
                self.each(schema, values.values().map(|_| &Value::Null), depth)?;
            }
            ("additionalProperties" | "unevaluatedProperties", schema, Value::Object(values)) => {
                self.each(schema, values.values(), depth)?;
            }
            ("items" | "prefixItems", Value::Array(schemas), Value::Array(values)) => {
                for (schema, value) in schemas.iter().zip(values) {
                    self.apply(schema, value, depth)?;
                }
            }
            (
                "items" | "additionalItems" | "unevaluatedItems" | "contains",
                schema,
                Value::Array(values),
            ) => self.each(schema, values.iter(), depth)?,
            _ => {}
        }
        Some(())
    }

    fn each<'v>(
        &mut self,
        schema: &'a Value,
        mut values: impl Iterator<Item = &'v Value>,
        depth: usize,
    ) -> Option<()> {
        values.try_for_each(|value| self.apply(schema, value, depth))
    }

    /// All schemas that a reference could mean.
    fn targets(&self, reference: &str) -> Vec<&'a Value> {
        let name = reference.trim_start_matches('#');
        if !name.is_empty() && !name.starts_with('/') {
            return self.named.get(name).cloned().unwrap_or_default();
        }
        let pointer = unescaped(name);
        let roots = self.roots.iter();
        roots.filter_map(|root| root.pointer(&pointer)).collect()
    }
}

/// What a value costs to compare, or to keep.
fn cost(value: &Value) -> usize {
    let mut cost = DocumentCost::default();
    cost.add(value);
    cost.values + cost.text / 64
}

/// The pointer that a fragment of a URI spells.
fn unescaped(fragment: &str) -> String {
    let mut parts = fragment.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let byte = part
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => bytes.extend_from_slice(format!("%{part}").as_bytes()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
