//! Values of a release, as a file has them.

use schemas::yaml::{self, YamlError};
use serde_json::{Map, Value};

/// The reason why a text is not that of values.
#[derive(Debug, thiserror::Error)]
pub enum ValuesError {
    /// Not YAML.
    #[error("is not valid YAML")]
    Yaml(#[from] YamlError),
    /// Not one mapping.
    #[error("is not a mapping")]
    Shape,
}

/// Reads a file of values: one mapping, or nothing at all.
pub fn read_values(bytes: &[u8]) -> Result<Map<String, Value>, ValuesError> {
    one_mapping(yaml::documents(bytes)?)
}

fn one_mapping(mut documents: Vec<Value>) -> Result<Map<String, Value>, ValuesError> {
    match (documents.pop(), documents.is_empty()) {
        (None, _) => Ok(Map::new()),
        (Some(Value::Object(values)), true) => Ok(values),
        _ => Err(ValuesError::Shape),
    }
}

/// Something of a chart that was read.
pub(crate) struct AsRead<T> {
    pub(crate) value: T,
    /// Whether only Helm's readers read it, and not those of `charts-1.0.0`.
    pub(crate) as_helm: bool,
}

/// Reads a YAML file of a chart by the rules for our own files, or else by Helm's.
pub(crate) fn read_foreign(bytes: &[u8]) -> Result<AsRead<Vec<Value>>, YamlError> {
    let (value, as_helm) = match yaml::documents(bytes) {
        Ok(documents) => (documents, false),
        Err(_) => (yaml::go::documents(bytes)?, true),
    };
    Ok(AsRead { value, as_helm })
}

/// Reads the documents of a YAML file of a chart, leaving out empty ones.
pub fn read_documents(bytes: &[u8]) -> Result<Vec<Value>, YamlError> {
    Ok(read_foreign(bytes)?.value)
}

/// Reads the values that a chart has of its own.
pub(crate) fn read_own_values(bytes: &[u8]) -> Result<AsRead<Map<String, Value>>, ValuesError> {
    let AsRead { value, as_helm } = read_foreign(bytes)?;
    let value = one_mapping(value)?;
    Ok(AsRead { value, as_helm })
}
