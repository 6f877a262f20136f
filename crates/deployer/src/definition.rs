//! What a custom resource definition adds to the kinds that a cluster serves.

use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::Error;
use crate::object::{Gvk, Object};

impl Cluster {
    /// Whether clients find every version that a definition serves; what was known about them is asked for anew.
    pub(crate) async fn is_served(&self, definition: &Object) -> Result<bool, Error> {
        for gvk in served(definition.as_value()) {
            self.kinds.forget(&gvk.api_version());
            match self.resource(&gvk).await {
                Ok(_) => {}
                Err(Error::NoSuchKind(_)) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

fn served(definition: &Value) -> Vec<Gvk> {
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let versions = spec["versions"].as_array().into_iter().flatten();
    versions
        .filter(|version| version["served"] == true)
        .map(|version| Gvk {
            group: text(&spec["group"]),
            version: text(&version["name"]),
            kind: text(&spec["names"]["kind"]),
        })
        .collect()
}
