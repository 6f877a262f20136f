//! What parsed documents cost in memory: a small file may hold very many values, and through aliases much text.

use std::fmt;

use serde_json::Value;

use crate::limits::{OPERATOR_TEXT, OPERATOR_VALUES};

/// Values and bytes of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Weight {
    values: usize,
    text: usize,
}

impl Weight {
    /// Adds a document: each value, each key of a map, and the text of both.
    pub(super) fn add(&mut self, document: &Value) {
        let mut open = vec![document];
        while let Some(value) = open.pop() {
            self.values += 1;
            match value {
                Value::String(text) => self.text += text.len(),
                Value::Array(list) => open.extend(list),
                Value::Object(map) => {
                    self.values += map.len();
                    self.text += map.keys().map(String::len).sum::<usize>();
                    open.extend(map.values());
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }

    /// Why this is too much.
    pub(super) fn excess(self) -> Option<Excess> {
        (self.values > OPERATOR_VALUES || self.text > OPERATOR_TEXT).then_some(Excess(self))
    }
}

/// More than may be kept in memory.
pub(super) struct Excess(Weight);

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.values > OPERATOR_VALUES {
            write!(f, "the files hold more than {OPERATOR_VALUES} values")
        } else {
            write!(f, "the files hold more than {OPERATOR_TEXT} bytes of text")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_and_values_weigh() {
        let mut weight = Weight::default();
        weight.add(&json!({"ab": ["cde", 1, null], "f": {}}));
        assert_eq!(weight, Weight { values: 8, text: 6 });
    }
}
