//! Values that somebody gives a chart, compared with those that it names: Helm says nothing of one that no template reads.

use std::collections::BTreeSet;

use schemas::limits::YAML_DEPTH;
use schemas::{ValuePath, by_path, json, merge_values, nearest};
use serde_json::{Map, Value};

use crate::Chart;

/// The names that charts share values by, and turn charts in them on by, whatever they name themselves.
const SHARED: [&str; 2] = ["global", "tags"];
/// Changes of a letter between a name and the one that may have been meant.
const NEAR: usize = 2;
/// The keywords with which a schema names properties in another place.
const COMBINED: [&str; 6] = ["$ref", "allOf", "anyOf", "oneOf", "if", "$dynamicRef"];

/// A value that a chart names nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnnamedValue {
    /// The place of the value.
    pub path: ValuePath,
    /// The key on the way to it that the chart does not name.
    pub key: String,
    /// What may have been meant: a key beside it, or a place at which the chart has the same key.
    pub near: Option<String>,
}

impl Chart {
    /// Returns the given values at places that the chart names neither in its default values, nor in a comment beside
    /// them, nor in its schema or templates, and its publisher nowhere in his: at most one for each place. A map in which
    /// nothing is named takes any.
    #[must_use]
    pub fn unnamed(
        &self,
        published: &Map<String, Value>,
        given: &Map<String, Value>,
    ) -> Vec<UnnamedValue> {
        let mut defaults = self.default_values();
        merge_values(&mut defaults, published);
        let given = by_path(given);
        let unknown = given
            .keys()
            .filter_map(|path| Some((path, unknown(path, &defaults)?)));
        let unknown: Vec<_> = unknown.collect();
        let wanted = unknown.iter().map(|(_, (keys, _))| keys.clone()).collect();
        let commented = commented(self.values_text(), &wanted);
        let schema = json::from_slice(self.schema_text().as_bytes()).unwrap_or(Value::Null);
        let mut told = BTreeSet::new();
        let mut all = Vec::new();
        for (path, (keys, siblings)) in unknown {
            if commented.contains(&keys)
                || is_in_schema(&schema, &keys)
                || self.turns_on(&keys)
                || self.reads(&keys)
            {
                continue;
            }
            let key = keys[keys.len() - 1].to_owned();
            let near = nearest(&key, siblings.keys(), NEAR).cloned();
            let near = near.or_else(|| elsewhere(&defaults, &key));
            if told.insert(keys.join(".")) {
                all.push(UnnamedValue {
                    path: path.clone(),
                    key,
                    near,
                });
            }
        }
        all
    }

    /// Whether a value at this place turns on a chart in it.
    fn turns_on(&self, keys: &[&str]) -> bool {
        let conditions = self.metadata.dependencies.iter();
        let mut conditions = conditions.flat_map(|it| it.condition.split(','));
        conditions.any(|condition| condition.trim() == keys.join("."))
    }

    /// Whether a template of it reads the value at this place, or one within it.
    fn reads(&self, keys: &[&str]) -> bool {
        let read = format!(".Values.{}", keys.join("."));
        self.templates().any(|text| {
            text.match_indices(&read).any(|(at, _)| {
                let next = text[at + read.len()..].chars().next();
                !next.is_some_and(|it| it.is_alphanumeric() || it == '_')
            })
        })
    }
}

/// Returns the keys of a path up to the first that the values beside it do not have, and these.
fn unknown<'a>(
    path: &'a ValuePath,
    defaults: &'a Map<String, Value>,
) -> Option<(Vec<&'a str>, &'a Map<String, Value>)> {
    let mut values = defaults;
    let mut keys = Vec::new();
    for key in path.keys() {
        if keys.is_empty() && SHARED.contains(&key) || values.is_empty() {
            return None;
        }
        keys.push(key);
        match values.get(key) {
            None => return Some((keys, values)),
            Some(Value::Object(below)) => values = below,
            Some(_) => return None,
        }
    }
    None
}

/// Returns the place with the fewest keys at which values have this one.
fn elsewhere(values: &Map<String, Value>, key: &str) -> Option<String> {
    // Each map with its name and the place of the map around it: whole paths of all would cost many times the values.
    let mut all = vec![("", 0, values)];
    let mut at = 0;
    while let Some((_, _, values)) = all.get(at) {
        if values.contains_key(key) {
            let mut keys = vec![key];
            while at > 0 {
                let (name, around, _) = all[at];
                keys.push(name);
                at = around;
            }
            keys.reverse();
            return Some(keys.join("."));
        }
        let below = values
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), at, value.as_object()?)));
        let below: Vec<_> = below.collect();
        all.extend(below);
        at += 1;
    }
    None
}

/// Whether a schema of values has a property at this place, or takes any there.
fn is_in_schema(schema: &Value, keys: &[&str]) -> bool {
    let Some((key, rest)) = keys.split_first() else {
        return true;
    };
    let Some(fields) = schema.as_object() else {
        return *schema == Value::Bool(true);
    };
    let properties = fields.get("properties").and_then(Value::as_object);
    if let Some(property) = properties.and_then(|it| it.get(*key)) {
        return is_in_schema(property, rest) || is_open(property);
    }
    let takes_any = fields
        .get("additionalProperties")
        .is_some_and(|it| *it != Value::Bool(false));
    takes_any
        || fields.contains_key("patternProperties")
        || COMBINED.iter().any(|it| fields.contains_key(*it))
}

/// Whether a schema names no properties at all.
fn is_open(schema: &Value) -> bool {
    !["properties", "additionalProperties"]
        .iter()
        .any(|it| schema.get(it).is_some())
}

/// Those of the places that comments name: examples that are commented out, below what their indent says, and what is
/// documented by `@param`.
fn commented<'a>(text: &'a str, wanted: &BTreeSet<Vec<&'a str>>) -> BTreeSet<Vec<&'a str>> {
    let mut all = BTreeSet::new();
    // The keys that are open at a line, with their indents; in a comment also those that are commented out.
    let mut open: Vec<(usize, &str)> = Vec::new();
    let mut within: Option<Vec<(usize, &str)>> = None;
    for line in text.lines() {
        let content = line.trim_start_matches(' ');
        let indent = line.len() - content.len();
        let Some(comment) = content.strip_prefix('#') else {
            within = None;
            if let Some(key) = key(content) {
                enter(&mut open, indent, key);
            }
            continue;
        };
        let comment = comment.trim_start_matches('#');
        let content = comment.trim_start_matches(' ');
        // The first space belongs to the mark.
        let indent = indent + (comment.len() - content.len()).saturating_sub(1);
        if let Some(documented) = content.strip_prefix("@param ") {
            let path = documented.split_whitespace().next().unwrap_or_default();
            all.extend(among(wanted, &path.split('.')));
        } else if let Some(key) = key(content) {
            let open = within.get_or_insert_with(|| open.clone());
            enter(open, indent, key);
            let above = open.iter().map(|(_, key)| *key);
            all.extend(among(wanted, &above.flat_map(|key| key.split('.'))));
        }
    }
    all
}

/// Returns the one of these places that has these keys.
fn among<'a>(
    wanted: &BTreeSet<Vec<&'a str>>,
    keys: &(impl Iterator<Item = &'a str> + Clone),
) -> Option<Vec<&'a str>> {
    let mut wanted = wanted.iter();
    wanted
        .find(|place| place.iter().copied().eq(keys.clone()))
        .cloned()
}

fn enter<'a>(open: &mut Vec<(usize, &'a str)>, indent: usize, key: &'a str) {
    open.truncate(open.partition_point(|(above, _)| *above < indent));
    // No value is deeper.
    if open.len() < YAML_DEPTH {
        open.push((indent, key));
    }
}

/// The key with which a line of YAML begins.
fn key(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let key = key.trim_matches(['"', '\'']);
    let is_part = |it: char| it.is_alphanumeric() || "._-/".contains(it);
    let is_key = !key.is_empty() && key.chars().all(is_part);
    (is_key && (rest.is_empty() || rest.starts_with(' '))).then_some(key)
}
