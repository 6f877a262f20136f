//! Values files of charts and releases. A chart's own files are read with the project's strict YAML parser first, and
//! with the rules of Helm's parser if it fails.

use schemas::yaml::{self, YamlError};
use serde_json::{Map, Value};

/// The reason why a text is not a values file.
#[derive(Debug, thiserror::Error)]
pub enum ValuesError {
    /// The text is not valid YAML.
    #[error("is not valid YAML")]
    Yaml(#[from] YamlError),
    /// The text is not a single mapping.
    #[error("is not a mapping")]
    Shape,
}

/// Reads a values file, which contains one mapping or is empty.
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

/// Content of a chart, and the parser that could read it.
pub(crate) struct ParsedContent<T> {
    pub(crate) value: T,
    /// True if only Helm's own parser can read the content, so that the chart requires `charts-1.1.0`.
    pub(crate) as_helm: bool,
}

/// Reads a YAML file of a chart with the strict parser, or else by Helm's rules.
pub(crate) fn read_foreign(bytes: &[u8]) -> Result<ParsedContent<Vec<Value>>, YamlError> {
    let (value, as_helm) = match yaml::documents(bytes) {
        Ok(documents) => (documents, false),
        Err(_) => (yaml::go::documents(bytes)?, true),
    };
    Ok(ParsedContent { value, as_helm })
}

/// Reads the documents of a YAML file of a chart without the empty ones.
pub fn read_documents(bytes: &[u8]) -> Result<Vec<Value>, YamlError> {
    Ok(read_foreign(bytes)?.value)
}

/// Reads the default values of a chart.
pub(crate) fn read_own_values(
    bytes: &[u8],
) -> Result<ParsedContent<Map<String, Value>>, ValuesError> {
    let ParsedContent { value, as_helm } = read_foreign(bytes)?;
    let value = one_mapping(value)?;
    Ok(ParsedContent { value, as_helm })
}
