//! Values of a release, as a file has them.

use schemas::yaml::{self, YamlError};
use serde_json::{Map, Value};

/// The reason why a text is not that of values.
#[derive(Debug, thiserror::Error)]
pub enum ValuesError {
    /// Not YAML.
    #[error("is not usable YAML")]
    Yaml(#[from] YamlError),
    /// Not one mapping.
    #[error("is not one mapping")]
    Shape,
}

/// Reads a file of values: one mapping, or nothing at all.
pub fn read_values(bytes: &[u8]) -> Result<Map<String, Value>, ValuesError> {
    let mut documents = yaml::documents(bytes)?;
    match (documents.pop(), documents.is_empty()) {
        (None, _) => Ok(Map::new()),
        (Some(Value::Object(values)), true) => Ok(values),
        _ => Err(ValuesError::Shape),
    }
}
