//! Values that somebody gives a chart, compared with those that it names: Helm says nothing of one that no template reads.

use schemas::{ValuePath, by_path, merge_values, nearest};
use serde_json::{Map, Value};

use crate::Chart;

/// The name that charts share values by, whatever they name themselves.
const GLOBAL: &str = "global";
/// Changes of a letter between a name and the one that may have been meant.
const NEAR: usize = 2;

/// A value that a chart names nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnnamedValue {
    /// The place of the value.
    pub path: ValuePath,
    /// The key on the way to it that the chart does not name.
    pub key: String,
    /// The key that may have been meant.
    pub near: Option<String>,
}

impl Chart {
    /// Returns the given values that the chart names neither in its default values, nor in a comment beside them, nor in its
    /// schema, and its publisher nowhere in his: at most one for each key. A map in which nothing is named takes any.
    #[must_use]
    pub fn unnamed(
        &self,
        published: &Map<String, Value>,
        given: &Map<String, Value>,
    ) -> Vec<UnnamedValue> {
        let mut defaults = self.default_values();
        merge_values(&mut defaults, published);
        let text = self.values_text();
        let mut all: Vec<UnnamedValue> = Vec::new();
        for (path, _) in by_path(given) {
            let Some((key, siblings)) = unknown(&path, &defaults) else {
                continue;
            };
            let is_told = all.iter().any(|told| told.key == key);
            if !is_told && !is_mentioned(text, key) && !is_mentioned(self.schema_text(), key) {
                all.push(UnnamedValue {
                    key: key.to_owned(),
                    near: nearest(key, siblings.keys(), NEAR).cloned(),
                    path,
                });
            }
        }
        all
    }
}

/// Returns the first key of a path that the values beside it do not have, with these.
fn unknown<'a>(
    path: &'a ValuePath,
    defaults: &'a Map<String, Value>,
) -> Option<(&'a str, &'a Map<String, Value>)> {
    let mut values = defaults;
    for (depth, key) in path.keys().enumerate() {
        if depth == 0 && key == GLOBAL || values.is_empty() {
            return None;
        }
        match values.get(key) {
            None => return Some((key, values)),
            Some(Value::Object(below)) => values = below,
            Some(_) => return None,
        }
    }
    None
}

/// Whether a text of YAML or JSON has this as a key, in a comment too.
fn is_mentioned(text: &str, key: &str) -> bool {
    text.match_indices(key).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + key.len()..].trim_start_matches(['"', '\'', ' ']);
        let is_part = |it: char| it.is_alphanumeric() || it == '_' || it == '-';
        !before.is_some_and(is_part) && after.starts_with(':')
    })
}
