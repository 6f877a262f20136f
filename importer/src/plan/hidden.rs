//! The sensitive values that must not be shown in objects and messages: [`HiddenTexts`].
//!
//! Only values that the site chose or that were generated are hidden, never a value in the archive. Otherwise a
//! publisher could hide arbitrary text from the administrator who reviews a plan.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The replacement of a hidden value in a message.
pub(crate) const SHOWN: &str = "***";
/// The minimum length of texts that are hidden within longer ones. Shorter ones occur in many words by chance, and are
/// hidden only if they are the whole value.
const WITHIN: usize = 4;

/// The texts to hide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HiddenTexts(BTreeSet<String>);

impl HiddenTexts {
    /// Hides these values and all texts and numbers within them. Base64 and JSON-quoted forms are hidden too, because
    /// charts write values in these forms.
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

    /// Masks every value that contains a hidden text. Values that differ from those of `other` get a different
    /// placeholder.
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

    /// Returns the message without hidden texts.
    pub(crate) fn say(&self, message: &str) -> String {
        let long = self.0.iter().filter(|text| text.len() >= WITHIN);
        let mut long: Vec<&String> = long.collect();
        // A text may be the beginning of a longer one, which must be replaced as a whole.
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
        Value::Array(items) => items.iter().for_each(|item| each_text(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| each_text(field, texts)),
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

/// Returns a value as it appears within a text.
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
