//! The kinds that custom resource definitions add to a cluster.

use crate::cluster::Cluster;
use crate::error::Error;
use crate::object::{Gvk, Object};

impl Cluster {
    /// Checks whether clients can use every kind that a definition adds; `true` for other objects. The kinds are looked
    /// up again.
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

/// Returns the kinds that a definition adds, one per served version; empty for other objects.
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
