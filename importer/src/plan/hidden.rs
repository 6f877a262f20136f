//! The values that nobody may see, wherever they stand in objects and messages that are shown.
//!
//! Only what the site chose or chance made is hidden, never a value that the archive has: else a publisher could have
//! whatever he likes left out of what an administrator reads.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The text that is shown in the place of a value.
pub(crate) const SHOWN: &str = "***";
/// The shortest text that is looked for within others: shorter ones stand in half of all words by chance, and are hidden
/// only where they stand alone.
const WITHIN: usize = 4;

/// Texts that nobody may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HiddenTexts(BTreeSet<String>);

impl HiddenTexts {
    /// Hides these values, and each text and number within one, also as charts write them into objects: in base64, and
    /// within quotes.
    pub(crate) fn of<'a>(values: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut texts = BTreeSet::new();
        for value in values {
            each_text(value, &mut texts);
        }
        Self(texts)
    }

    /// Hides more values.
    pub(crate) fn extend(&mut self, values: impl Iterator<Item = Value>) {
        let texts = values.map(|value| text(&value));
        self.0.extend(texts.filter(|text| !text.is_empty()));
    }

    /// Replaces whatever holds such a text by words, which differ from those of another object where the values do.
    pub(crate) fn mask(&self, value: &mut Value, other: Option<&Value>) {
        match value {
            Value::Object(fields) => {
                for (key, field) in fields {
                    self.mask(field, other.and_then(|other| other.get(key)));
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.mask(item, other.and_then(|other| other.get(index)));
                }
            }
            Value::Null => {}
            Value::String(_) | Value::Number(_) | Value::Bool(_) => {
                if self.is_in(&text(value)) {
                    let same = other.is_none_or(|other| other == value);
                    *value = Value::from(if same { "(secret)" } else { "(another secret)" });
                }
            }
        }
    }

    /// A message without them.
    pub(crate) fn say(&self, message: &str) -> String {
        let long = self.0.iter().filter(|text| text.len() >= WITHIN);
        let mut long: Vec<&String> = long.collect();
        // One may be the beginning of another.
        long.sort_by_key(|text| Reverse(text.len()));
        long.into_iter().fold(message.to_owned(), |message, text| {
            message.replace(text.as_str(), SHOWN)
        })
    }

    fn is_in(&self, shown: &str) -> bool {
        let mut texts = self.0.iter();
        texts.any(|text| shown == text || text.len() >= WITHIN && shown.contains(text.as_str()))
    }
}

fn each_text(value: &Value, texts: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|it| each_text(it, texts)),
        Value::Object(fields) => fields.values().for_each(|it| each_text(it, texts)),
        value => {
            let plain = text(value);
            if plain.is_empty() {
                return;
            }
            let quoted = value.to_string();
            let quoted = quoted.trim_matches('"').to_owned();
            texts.extend([STANDARD.encode(&plain), quoted, plain]);
        }
    }
}

/// A value as it stands within a text.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_charts_make_of_a_hidden_text_is_masked() {
        let hidden = HiddenTexts::of(&[json!({ "users": ["hunter\"2"], "port": 47110 })]);
        let mut object = json!({
            "data": STANDARD.encode("hunter\"2"), "json": "{\"p\": \"hunter\\\"2\"}",
            "port": "tcp:47110", "key": "users",
        });
        hidden.mask(&mut object, None);
        let secret = "(secret)";
        let expected = json!({ "data": secret, "json": secret, "port": secret, "key": "users" });
        assert_eq!(object, expected);
    }

    #[test]
    fn whatever_holds_a_hidden_text_is_masked() {
        let hidden = HiddenTexts::of(&[json!("hunter2"), json!(4711), json!("ab"), json!("")]);
        let mut object = json!({
            "url": "postgres://u:hunter2@db", "port": 4711, "short": "ab",
            "within": ["tab", 47, true, null, "postgres"],
        });
        let before = json!({ "url": "postgres://u:hunter1@db", "port": 4711 });
        hidden.mask(&mut object, Some(&before));
        let expected = json!({
            "url": "(another secret)", "port": "(secret)", "short": "(secret)",
            "within": ["tab", 47, true, null, "postgres"],
        });
        assert_eq!(object, expected);
        let message = "invalid value \"hunter2\": must be a cab";
        assert_eq!(hidden.say(message), "invalid value \"***\": must be a cab");
    }
}
