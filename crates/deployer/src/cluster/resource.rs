//! Which URL an object has: kinds are looked up once per API version and kept.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;

use super::Cluster;
use super::wire::escape;
use crate::error::Error;
use crate::object::{Gvk, ObjectRef};

/// A kind as the server names it in URLs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ApiResource {
    /// The plural, as in URLs and rules.
    #[serde(rename = "name")]
    pub(crate) plural: String,
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
}

#[derive(Debug, Deserialize)]
struct ResourceList {
    resources: Vec<ApiResource>,
}

/// What the server has, by API version.
#[derive(Debug, Default)]
pub(crate) struct Kinds(Mutex<HashMap<String, Vec<ApiResource>>>);

impl Kinds {
    fn find(&self, gvk: &Gvk) -> Option<ApiResource> {
        self.lock()
            .get(&gvk.api_version())?
            .iter()
            .find(|resource| resource.kind == gvk.kind)
            .cloned()
    }

    fn keep(&self, api_version: String, resources: Vec<ApiResource>) {
        self.lock().insert(api_version, resources);
    }

    /// Forgets everything, so that a kind that went or changed is seen.
    pub(crate) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<ApiResource>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cluster {
    /// Looks a kind up. A kind that is not known is asked for again each time, for it may have come.
    pub(crate) async fn resource(&self, gvk: &Gvk) -> Result<ApiResource, Error> {
        if let Some(resource) = self.kinds.find(gvk) {
            return Ok(resource);
        }
        let doing = format!("look up {gvk}");
        let list: ResourceList = match self.read_json(&root(gvk), &doing).await {
            Err(Error::NotFound { .. }) => return Err(Error::NoSuchKind(gvk.clone())),
            other => other?,
        };
        // Subresources stand in the same list with the kind of their body.
        let resources = list
            .resources
            .into_iter()
            .filter(|resource| !resource.plural.contains('/'))
            .collect();
        self.kinds.keep(gvk.api_version(), resources);
        self.kinds
            .find(gvk)
            .ok_or_else(|| Error::NoSuchKind(gvk.clone()))
    }

    /// Whether the server has a kind.
    pub async fn serves(&self, gvk: &Gvk) -> Result<bool, Error> {
        match self.resource(gvk).await {
            Ok(_) => Ok(true),
            Err(Error::NoSuchKind(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The path of one object.
    pub(crate) async fn object_path(&self, object: &ObjectRef) -> Result<String, Error> {
        let resource = self.resource(&object.gvk).await?;
        let problem = match (resource.namespaced, &object.namespace) {
            (true, None) => Some("needs a namespace"),
            (false, Some(_)) => Some("is cluster-scoped and has no namespace"),
            // These two are never names, and an HTTP client or proxy may resolve them.
            _ if matches!(object.name.as_str(), "." | "..") => Some("has an invalid name"),
            _ => None,
        };
        if let Some(problem) = problem {
            return Err(Error::Scope {
                object: Box::new(object.clone()),
                problem,
            });
        }
        Ok(format!(
            "{}/{}",
            collection(&object.gvk, &resource, object.namespace.as_deref()),
            escape(&object.name)
        ))
    }

    /// The path of all objects of a kind, in one namespace or everywhere.
    pub(crate) async fn collection_path(
        &self,
        gvk: &Gvk,
        namespace: Option<&str>,
    ) -> Result<String, Error> {
        Ok(collection(gvk, &self.resource(gvk).await?, namespace))
    }
}

fn root(gvk: &Gvk) -> String {
    if gvk.group.is_empty() {
        format!("/api/{}", escape(&gvk.version))
    } else {
        format!("/apis/{}/{}", escape(&gvk.group), escape(&gvk.version))
    }
}

fn collection(gvk: &Gvk, resource: &ApiResource, namespace: Option<&str>) -> String {
    match namespace.filter(|_| resource.namespaced) {
        Some(namespace) => format!(
            "{}/namespaces/{}/{}",
            root(gvk),
            escape(namespace),
            escape(&resource.plural)
        ),
        None => format!("{}/{}", root(gvk), escape(&resource.plural)),
    }
}
