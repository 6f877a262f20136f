//! Waiting until a custom resource definition can be used.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::cluster::wire::endure;
use crate::error::{Error, bounded};
use crate::limits;
use crate::object::{Gvk, Object, ObjectRef, condition};

impl Cluster {
    /// Waits until a definition is established and every version it serves is found by clients, which comes a moment
    /// later. A name that another definition has taken ends the wait at once.
    pub async fn wait_crd_established(&self, name: &str, deadline: Duration) -> Result<(), Error> {
        let reference =
            ObjectRef::cluster_scoped("apiextensions.k8s.io/v1", "CustomResourceDefinition", name);
        let end = Instant::now() + deadline;
        loop {
            if endure(self.is_usable(&reference).await, end)? == Some(true) {
                return Ok(());
            }
            if Instant::now() >= end {
                let doing =
                    format!("wait for the custom resource definition {name} to be established");
                return Err(Error::Timeout {
                    doing,
                    after: deadline,
                });
            }
            tokio::time::sleep(limits::POLL.min(deadline)).await;
        }
    }

    async fn is_usable(&self, reference: &ObjectRef) -> Result<bool, Error> {
        let Some(definition) = self.get(reference).await? else {
            return Ok(false);
        };
        refused_name(&definition)?;
        Ok(is_established(&definition) && self.is_served(&definition).await?)
    }

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

fn is_established(definition: &Object) -> bool {
    condition(definition.as_value(), "Established")
        .is_some_and(|condition| condition["status"] == "True")
}

fn refused_name(definition: &Object) -> Result<(), Error> {
    match condition(definition.as_value(), "NamesAccepted") {
        Some(condition) if condition["status"] == "False" => Err(Error::NotEstablished {
            name: definition.name().to_owned(),
            message: bounded(condition["message"].as_str().unwrap_or_default()),
        }),
        _ => Ok(()),
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
