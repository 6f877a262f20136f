//! How what a site records lies in its cluster: ConfigMaps in the namespace of the records.

use deployer::{Object, ObjectRef};
use schemas::json;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::model::error::Error;
use crate::model::vocabulary as v;

/// A ConfigMap with these labels and ours.
pub(crate) fn config_map(name: &str, mut labels: Value, data: &impl Serialize) -> Value {
    labels[v::MANAGED_BY] = json!(v::MANAGER);
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": v::RECORDS_NAMESPACE, "labels": labels },
        "data": data,
    })
}

/// A ConfigMap that holds one record, as JSON under a key.
pub(crate) fn record(name: &str, labels: Value, key: &str, record: &impl Serialize) -> Value {
    let text = serde_json::to_string(record).expect("a record has a JSON form");
    config_map(name, labels, &json!({ key: text }))
}

/// Which ConfigMap has a name.
pub(crate) fn reference(name: &str) -> ObjectRef {
    ObjectRef::namespaced("v1", "ConfigMap", v::RECORDS_NAMESPACE, name)
}

/// What stands as strict JSON under a key.
pub(crate) fn parse<T: DeserializeOwned>(object: &Object, key: &str) -> Result<T, Error> {
    let text = object.as_value()["data"][key].as_str().unwrap_or_default();
    json::from_slice(text.as_bytes()).map_err(|source| Error::Record {
        object: object.reference().to_string(),
        source,
    })
}
