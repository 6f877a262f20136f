//! The kinds that a server has, the kinds that custom resource definitions add to it, and the URLs of objects. Kinds
//! are looked up once per API version and cached.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;

use super::Cluster;
use super::request::escape;
use crate::error::Error;
use crate::limits;
use crate::object::{Gvk, Object, ObjectRef};

/// A kind with its name in URLs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ApiResource {
    /// The plural, as used in URLs and rules.
    #[serde(rename = "name")]
    pub(crate) plural: String,
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
}

/// A kind that the server serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedKind {
    /// The plural, as used in URLs and rules.
    pub plural: String,
    /// Indicates whether its objects are in namespaces.
    pub namespaced: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupVersion {
    group_version: String,
}

#[derive(Debug, Deserialize)]
struct Group {
    versions: Vec<GroupVersion>,
}

/// The API version of the core group, which every server has.
const CORE: &str = "v1";

#[derive(Debug, Deserialize)]
struct Groups {
    groups: Vec<Group>,
}

#[derive(Debug, Deserialize)]
struct ResourceList {
    resources: Vec<ApiResource>,
}

/// The cache of kinds by API version. An API version that the server does not have has an empty list.
#[derive(Debug, Default)]
pub(crate) struct KindCache {
    known: Mutex<HashMap<String, Vec<ApiResource>>>,
    /// The lock for a lookup, so that concurrent lookups of the same API version send one request.
    lookup_lock: tokio::sync::Mutex<()>,
}

impl KindCache {
    fn is_known(&self, api_version: &str) -> bool {
        self.lock().contains_key(api_version)
    }

    /// Checks whether an API version that was looked up has any kinds.
    fn has(&self, api_version: &str) -> bool {
        self.lock()
            .get(api_version)
            .is_some_and(|kinds| !kinds.is_empty())
    }

    fn find(&self, gvk: &Gvk) -> Option<ApiResource> {
        let known = self.lock();
        let mut resources = known.get(&gvk.api_version())?.iter();
        resources
            .find(|resource| resource.kind == gvk.kind)
            .cloned()
    }

    fn insert(&self, api_version: String, resources: Vec<ApiResource>) {
        self.lock().insert(api_version, resources);
    }

    /// Removes an API version from the cache, so that added, removed or changed kinds are noticed.
    pub(crate) fn forget(&self, api_version: &str) {
        self.lock().remove(api_version);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<ApiResource>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cluster {
    /// Looks up a kind. A missing kind is cached too, until the program waits for its definition: decisions that are
    /// made twice must be based on the same kinds.
    pub(crate) async fn resource(&self, gvk: &Gvk) -> Result<ApiResource, Error> {
        if !self.kinds.is_known(&gvk.api_version()) {
            let _asking = self.kinds.lookup_lock.lock().await;
            if !self.kinds.is_known(&gvk.api_version()) {
                let resources = self.resources(gvk).await?;
                self.kinds.insert(gvk.api_version(), resources);
            }
        }
        let found = self.kinds.find(gvk);
        found.ok_or_else(|| Error::NoSuchKind(gvk.clone()))
    }

    /// Returns the kinds of an API version; empty if the server does not have it.
    async fn resources(&self, gvk: &Gvk) -> Result<Vec<ApiResource>, Error> {
        let doing = match gvk.kind.as_str() {
            "" => format!("look up the kinds of {}", gvk.api_version()),
            _ => format!("look up {gvk}"),
        };
        let list: ResourceList = match self.read_json(&root(gvk), &doing).await {
            Err(Error::NotFound { .. }) => return Ok(Vec::new()),
            other => other?,
        };
        // Subresources are in the same list, with the kind of their body.
        let resources = list.resources.into_iter();
        Ok(resources
            .filter(|resource| !resource.plural.contains('/'))
            .collect())
    }

    /// Returns the name of a kind in URLs and whether its objects are in namespaces, or `None` if the server does not
    /// have the kind.
    pub async fn served(&self, gvk: &Gvk) -> Result<Option<ServedKind>, Error> {
        match self.resource(gvk).await {
            Ok(found) => Ok(Some(ServedKind {
                plural: found.plural,
                namespaced: found.namespaced,
            })),
            Err(Error::NoSuchKind(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Checks whether the server has any kind of an API version.
    pub async fn serves_version(&self, api_version: &str) -> Result<bool, Error> {
        let any = Gvk::new(api_version, "");
        match self.resource(&any).await {
            Ok(_) | Err(Error::NoSuchKind(_)) => Ok(self.kinds.has(api_version)),
            Err(error) => Err(error),
        }
    }

    /// Returns the other versions of a kind that the server has, as `GROUP/VERSION`.
    pub async fn other_versions(&self, gvk: &Gvk) -> Result<Vec<String>, Error> {
        if gvk.group.is_empty() {
            // The core group has only one version.
            return Ok(Vec::new());
        }
        let (path, doing) = (
            format!("/apis/{}", escape(&gvk.group)),
            format!("look up the versions of {gvk}"),
        );
        let group: Group = match self.read_json(&path, &doing).await {
            Err(Error::NotFound { .. }) => return Ok(Vec::new()),
            other => other?,
        };
        let mut others = Vec::new();
        let versions = group.versions.into_iter().take(limits::MAX_API_VERSIONS);
        for GroupVersion { group_version } in versions {
            let other = Gvk::new(&group_version, &gvk.kind);
            if other != *gvk && other.group == gvk.group && self.serves(&other).await? {
                others.push(group_version);
            }
        }
        Ok(others)
    }

    /// Returns every API version of the server as `GROUP/VERSION`, and every kind as `GROUP/VERSION/KIND`, sorted.
    /// Charts receive this list. As in Helm, an aggregated API that does not answer correctly is skipped, so that it
    /// cannot block all charts.
    pub async fn api_versions(&self) -> Result<Vec<String>, Error> {
        let groups: Groups = self.read_json("/apis", "look up all API versions").await?;
        let versions = groups.groups.into_iter().flat_map(|group| group.versions);
        let versions = versions
            .map(|version| version.group_version)
            .take(limits::API_VERSIONS);
        let core = CORE.to_owned();
        let lookups = std::iter::once(core).chain(versions).map(async |version| {
            let any = Gvk::new(&version, "");
            match self.resources(&any).await {
                Ok(kinds) => Ok((version, kinds)),
                // The core API is served by the API server itself. If it does not answer, the server is unavailable.
                Err(error) if version == CORE => Err(error),
                Err(_) => Ok((version, Vec::new())),
            }
        });
        let lookups = stream::iter(lookups).buffered(limits::PARALLEL);
        let served: Vec<(String, Vec<ApiResource>)> = lookups.try_collect().await?;
        let mut all = BTreeSet::new();
        for (version, kinds) in served.into_iter().filter(|(_, kinds)| !kinds.is_empty()) {
            all.extend(kinds.iter().map(|kind| format!("{version}/{}", kind.kind)));
            all.insert(version);
        }
        Ok(all.into_iter().collect())
    }

    /// Checks whether the server has a kind.
    pub async fn serves(&self, gvk: &Gvk) -> Result<bool, Error> {
        Ok(self.served(gvk).await?.is_some())
    }

    /// Returns the path of one object.
    pub(crate) async fn object_path(&self, object: &ObjectRef) -> Result<String, Error> {
        let resource = self.resource(&object.gvk).await?;
        let problem = match (resource.namespaced, &object.namespace) {
            (true, None) => Some("needs a namespace"),
            (false, Some(_)) => Some("is cluster-scoped and must not have a namespace"),
            // These names are never valid, and an HTTP client or proxy may resolve them.
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

    /// Returns the path of all objects of a kind, in one namespace or in all.
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use serde_json::json;

    use super::*;
    use crate::mock::{Answer, cluster};

    #[tokio::test]
    async fn a_kind_that_is_not_there_is_asked_for_once_until_its_definition_is_waited_for() {
        static SERVED: AtomicBool = AtomicBool::new(false);
        let kind = json!({"name": "things", "kind": "Thing", "namespaced": true});
        let (cluster, seen) = cluster(move |_| {
            if SERVED.load(Ordering::SeqCst) {
                Answer::json(200, &json!({"resources": [kind]}))
            } else {
                Answer(404, None, Vec::new())
            }
        })
        .await;
        let thing = Gvk::new("example.test/v1", "Thing");
        for _ in 0..2 {
            assert!(!cluster.serves(&thing).await.unwrap());
        }
        SERVED.store(true, Ordering::SeqCst);
        assert!(!cluster.serves(&thing).await.unwrap());
        assert_eq!(seen.lock().unwrap().len(), 1);
        cluster.kinds.forget(&thing.api_version());
        assert!(cluster.serves(&thing).await.unwrap());
        let other = Gvk::new("example.test/v1", "Other");
        assert!(!cluster.serves(&other).await.unwrap());
        assert_eq!(seen.lock().unwrap().len(), 2);
    }

    #[tokio::test]
    async fn other_versions_are_those_that_have_the_kind() {
        let (cluster, _) = cluster(|request| {
            let version = |name: &str| json!({"groupVersion": format!("example.test/{name}"), "version": name});
            let kinds = |kind: &str| json!({"resources": [{"name": "x", "kind": kind, "namespaced": true}]});
            match request.path.as_str() {
                "/apis/example.test" => {
                    let versions = ["v1", "v2", "v3"].map(version);
                    Answer::json(200, &json!({"versions": versions}))
                }
                "/apis/example.test/v1" | "/apis/example.test/v3" => Answer::json(200, &kinds("Thing")),
                "/apis/example.test/v2" => Answer::json(200, &kinds("Other")),
                _ => Answer(404, None, Vec::new()),
            }
        })
        .await;
        let others = |api_version: &str| {
            let (cluster, kind) = (cluster.clone(), Gvk::new(api_version, "Thing"));
            async move { cluster.other_versions(&kind).await.unwrap() }
        };
        assert_eq!(
            others("example.test/v9").await,
            ["example.test/v1", "example.test/v3"]
        );
        assert_eq!(others("example.test/v1").await, ["example.test/v3"]);
        assert_eq!(others("other.test/v1").await, [""; 0]);
        assert_eq!(others("v1").await, [""; 0]);
    }

    #[tokio::test]
    async fn all_versions_are_told_but_those_that_do_not_answer() {
        let (cluster, _) = cluster(|request| {
            let version = |name: &str| json!({"groupVersion": name, "version": "v1"});
            let names = [
                "batch/v1",
                "gone.test/v1",
                "away.test/v1",
                "odd.test/v1",
                "no.test/v1",
            ];
            let versions = names.map(version);
            match request.path.as_str() {
                "/apis" => Answer::json(200, &json!({"groups": [{"versions": versions}]})),
                "/apis/away.test/v1" => Answer(503, None, Vec::new()),
                "/apis/odd.test/v1" => Answer(200, None, b"ok".to_vec()),
                "/apis/no.test/v1" => Answer(403, None, Vec::new()),
                _ => Answer(404, None, Vec::new()),
            }
        })
        .await;
        let all = cluster.api_versions().await.unwrap();
        let expected = ["batch/v1", "batch/v1/Job", "v1", "v1/ConfigMap"];
        assert_eq!(all[..4], expected);
        assert!(
            !all.iter().any(|version| version.contains(".test")),
            "{all:?}"
        );
    }

    #[tokio::test]
    async fn many_who_ask_for_kinds_of_one_version_at_the_same_time_cost_one_question() {
        let kind = json!({"name": "things", "kind": "Thing", "namespaced": true});
        let (cluster, seen) =
            cluster(move |_| Answer::json(200, &json!({"resources": [kind]}))).await;
        let kinds = ["Thing", "Other", "Third"].map(|kind| Gvk::new("example.test/v1", kind));
        let served = futures::future::join_all(kinds.iter().map(|kind| cluster.serves(kind))).await;
        let served: Vec<bool> = served.into_iter().map(Result::unwrap).collect();
        assert_eq!(served, [true, false, false]);
        assert_eq!(seen.lock().unwrap().len(), 1);
    }
}
