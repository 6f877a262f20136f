//! The memory cost of parsed documents. A small file can contain very many values, and aliases can multiply its text.

use serde_json::Value;

/// The number of values and the size of the text of any number of documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DocumentCost {
    /// The number of values and of keys in maps.
    pub values: usize,
    /// The size of the text of both in bytes.
    pub text: usize,
}

impl DocumentCost {
    /// Adds a document.
    pub fn add(&mut self, document: &Value) {
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
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_and_values_cost() {
        let mut cost = DocumentCost::default();
        cost.add(&json!({"ab": ["cde", 1, null], "f": {}}));
        assert_eq!(cost, DocumentCost { values: 8, text: 6 });
    }
}
