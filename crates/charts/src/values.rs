//! Values of a release: the files that a publisher gives, merged as `helm install -f A -f B` does.

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

/// Lays the values of a later file over those of an earlier one: mappings are merged, everything else is replaced. A null
/// stays, since by it Helm removes what the chart's own values have there.
pub fn merge_values(below: &mut Map<String, Value>, above: Map<String, Value>) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge_values(below, above),
            (_, value) => drop(below.insert(key, value)),
        }
    }
}
