//! Kinds that a custom resource definition adds to those that a cluster serves.

use crate::cluster::Cluster;
use crate::error::Error;
use crate::object::{Gvk, Object};

impl Cluster {
    /// Whether clients find every kind that an object brings, if it is a definition; what was known about them is asked for
    /// anew.
    pub(crate) async fn is_served(&self, object: &Object) -> Result<bool, Error> {
        for gvk in defined_kinds(object) {
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

fn is_definition(object: &Object) -> bool {
    let gvk = object.gvk();
    gvk.group == "apiextensions.k8s.io" && gvk.kind == "CustomResourceDefinition"
}

/// The kinds that an object brings: one for each version that is served, if it is a definition.
pub(crate) fn defined_kinds(object: &Object) -> Vec<Gvk> {
    let spec = &object.as_value()["spec"];
    let (group, kind) = (spec["group"].as_str(), spec["names"]["kind"].as_str());
    let (true, Some(group), Some(kind)) = (is_definition(object), group, kind) else {
        return Vec::new();
    };
    let versions = spec["versions"].as_array().into_iter().flatten();
    let served = versions.filter(|version| version["served"] == true);
    let served = served.filter_map(|version| version["name"].as_str());
    served
        .map(|version| Gvk::new(&format!("{group}/{version}"), kind))
        .collect()
}
