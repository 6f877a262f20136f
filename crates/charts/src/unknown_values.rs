//! The comparison of given values with those that a chart knows. Helm silently ignores values that no template reads,
//! so that a misspelled name has no effect. [`Chart::unnamed`] finds such values and proposes a similar name.

use std::collections::BTreeSet;

use schemas::limits::YAML_DEPTH;
use schemas::{ValuePath, by_path, json, merge_values, nearest};
use serde_json::{Map, Value};

use crate::Chart;

/// The top-level keys that have a meaning in Helm for every chart.
const SHARED: [&str; 2] = ["global", "tags"];
/// The maximal number of edits between a key and a similar one that is proposed.
const NEAR: usize = 2;
/// The keywords by which a schema may define properties elsewhere.
const COMBINED: [&str; 6] = ["$ref", "allOf", "anyOf", "oneOf", "if", "$dynamicRef"];

/// A given value that the chart does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnnamedValue {
    /// The path of the value.
    pub path: ValuePath,
    /// The key in the path that the chart does not know.
    pub key: String,
    /// The similar key at the same place, or another place with the same key.
    pub near: Option<String>,
}

impl Chart {
    /// Returns the given values at places that neither the chart nor the publisher knows: not in the default values, in
    /// a comment next to them, in the schema, in a template, or in `published`. Each place is reported once. An empty
    /// map in the default values accepts any key.
    #[must_use]
    pub fn unnamed(
        &self,
        published: &Map<String, Value>,
        given: &Map<String, Value>,
    ) -> Vec<UnnamedValue> {
        let mut defaults = self.default_values();
        merge_values(&mut defaults, published);
        let given = by_path(given);
        let unknown: Vec<_> = given
            .keys()
            .filter_map(|path| Some((path, unknown(path, &defaults)?)))
            .collect();
        let wanted = unknown.iter().map(|(_, (keys, _))| keys.clone()).collect();
        let commented = find_commented(self.values_text(), &wanted);
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
            let near = nearest(&key, siblings.keys(), NEAR)
                .cloned()
                .or_else(|| find_elsewhere(&defaults, &key));
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

    /// Checks whether a value at this place is the condition of a subchart.
    fn turns_on(&self, keys: &[&str]) -> bool {
        let mut conditions = self
            .metadata
            .dependencies
            .iter()
            .flat_map(|dependency| dependency.condition.split(','));
        conditions.any(|condition| condition.trim() == keys.join("."))
    }

    /// Checks whether one of the chart's templates reads the value at this place, or a part of it.
    fn reads(&self, keys: &[&str]) -> bool {
        let read = format!(".Values.{}", keys.join("."));
        self.templates().any(|text| {
            text.match_indices(&read).any(|(at, _)| {
                // The key must end here: `.Values.tag` does not read `.Values.tags`.
                let next = text[at + read.len()..].chars().next();
                !next.is_some_and(|c| c.is_alphanumeric() || c == '_')
            })
        })
    }
}

/// Returns the keys of a path up to the first unknown one, and the known values next to that one.
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

/// Returns the place with the fewest keys at which the values have this key.
fn find_elsewhere(values: &Map<String, Value>, key: &str) -> Option<String> {
    // Each map is stored with its name and the position of its parent. Complete paths of all maps would take a multiple
    // of the size of the values.
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
        let below: Vec<_> = values
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), at, value.as_object()?)))
            .collect();
        all.extend(below);
        at += 1;
    }
    None
}

/// Checks whether a schema has a property at this place, or allows any property there.
fn is_in_schema(schema: &Value, keys: &[&str]) -> bool {
    let Some((key, rest)) = keys.split_first() else {
        return true;
    };
    let Some(fields) = schema.as_object() else {
        return *schema == Value::Bool(true);
    };
    let properties = fields.get("properties").and_then(Value::as_object);
    if let Some(property) = properties.and_then(|properties| properties.get(*key)) {
        return is_in_schema(property, rest) || is_open(property);
    }
    let takes_any = fields
        .get("additionalProperties")
        .is_some_and(|value| *value != Value::Bool(false));
    takes_any
        || fields.contains_key("patternProperties")
        || COMBINED.iter().any(|keyword| fields.contains_key(*keyword))
}

/// Checks whether a schema defines no properties.
fn is_open(schema: &Value) -> bool {
    !["properties", "additionalProperties"]
        .iter()
        .any(|keyword| schema.get(keyword).is_some())
}

/// Returns those of the wanted places that comments name: commented-out examples, placed by their indentation, and
/// `@param` documentation.
fn find_commented<'a>(text: &'a str, wanted: &BTreeSet<Vec<&'a str>>) -> BTreeSet<Vec<&'a str>> {
    let mut all = BTreeSet::new();
    // The keys that are open at the current line, with their indentation. Within a comment, `within` also contains
    // commented-out keys.
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
        // The first space belongs to the comment mark.
        let indent = indent + (comment.len() - content.len()).saturating_sub(1);
        if let Some(documented) = content.strip_prefix("@param ") {
            let path = documented.split_whitespace().next().unwrap_or_default();
            all.extend(find_wanted(wanted, &path.split('.')));
        } else if let Some(key) = key(content) {
            let open = within.get_or_insert_with(|| open.clone());
            enter(open, indent, key);
            let above = open.iter().map(|(_, key)| *key);
            all.extend(find_wanted(wanted, &above.flat_map(|key| key.split('.'))));
        }
    }
    all
}

/// Returns the wanted place with these keys.
fn find_wanted<'a>(
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
    // Values are never nested deeper.
    if open.len() < YAML_DEPTH {
        open.push((indent, key));
    }
}

/// Returns the key at the beginning of a line of YAML.
fn key(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let key = key.trim_matches(['"', '\'']);
    let is_part = |c: char| c.is_alphanumeric() || "._-/".contains(c);
    let is_key = !key.is_empty() && key.chars().all(is_part);
    (is_key && (rest.is_empty() || rest.starts_with(' '))).then_some(key)
}
