//! A simulated cluster without a network: a small server below the HTTP client ([`Cluster::simulated`]). It has the
//! configured kinds and no objects, grants all permissions and accepts every dry run. It shows which requests a cluster
//! would receive if there is none.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use kube::client::Body;
use progress::Listener;
use serde_json::{Value, json};

use crate::cluster::{Cluster, ServerVersion};
use crate::error::{Error, Source};
use crate::limits;
use crate::object::Gvk;

/// The address of every simulated cluster. No real host has this name (RFC 2606).
const SERVER: &str = "https://imagined.invalid";

/// The properties of a simulated cluster.
#[derive(Clone, Debug)]
pub struct SimulatedCluster {
    /// The version of its server.
    pub version: ServerVersion,
    /// Its kinds.
    pub kinds: Vec<SimulatedKind>,
}

/// A kind of a simulated cluster.
#[derive(Clone, Debug)]
pub struct SimulatedKind {
    /// The kind.
    pub gvk: Gvk,
    /// Its name in URLs.
    pub plural: String,
    /// Indicates whether its objects are in namespaces.
    pub namespaced: bool,
}

impl Cluster {
    /// Connects to a simulated cluster.
    pub async fn simulated(simulated: SimulatedCluster) -> Result<Self, Error> {
        let simulated = Arc::new(simulated);
        let service = tower::service_fn(move |request: Request<Body>| {
            let simulated = Arc::clone(&simulated);
            async move {
                let (parts, body) = request.into_parts();
                let body = Limited::new(body, limits::MAX_OBJECT).collect().await;
                let body = body?.to_bytes();
                let received = SimulatedRequest {
                    method: parts.method,
                    path: parts.uri.path().to_owned(),
                    body: serde_json::from_slice(&body).unwrap_or_default(),
                };
                let (status, answer) = simulated.answer(&received);
                let answer = Response::builder()
                    .status(status)
                    .header("content-type", "application/json")
                    .body(Body::from(answer.to_string().into_bytes()));
                Ok::<_, Source>(answer?)
            }
        });
        let client = kube::Client::new(service, "default");
        let server = SERVER.to_owned();
        Self::with_client(client, Duration::MAX, Listener::default(), None, server).await
    }
}

/// A request to a simulated cluster.
struct SimulatedRequest {
    method: Method,
    path: String,
    body: Value,
}

impl SimulatedCluster {
    fn answer(&self, received: &SimulatedRequest) -> (StatusCode, Value) {
        let segments: Vec<&str> = received.path.trim_matches('/').split('/').collect();
        let found = match (&received.method, segments.as_slice()) {
            (&Method::GET, ["version"]) => Some(json!({
                "major": self.version.major.to_string(),
                "minor": self.version.minor.to_string(),
                "gitVersion": self.version.text,
            })),
            (&Method::GET, ["api"]) => Some(json!({ "kind": "APIVersions", "versions": ["v1"] })),
            (&Method::GET, ["apis"]) => Some(self.groups()),
            (&Method::GET, ["apis", group]) => self.group(group),
            (&Method::GET, ["api", "v1"]) => self.resources("v1"),
            (&Method::GET, ["apis", group, version]) => {
                self.resources(&format!("{group}/{version}"))
            }
            (&Method::POST, [.., "selfsubjectrulesreviews"]) => {
                let every = json!([{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }]);
                let rules = json!({ "resourceRules": every, "nonResourceRules": [] });
                Some(json!({ "status": rules }))
            }
            (&Method::POST, [.., "selfsubjectaccessreviews"]) => {
                Some(json!({ "status": { "allowed": true } }))
            }
            // A dry run is accepted unchanged.
            (&Method::PATCH, _) => Some(received.body.clone()),
            (&Method::GET, ["api", rest @ ..]) => self.list("", rest),
            (&Method::GET, ["apis", group, rest @ ..]) => self.list(group, rest),
            _ => None,
        };
        let absent = || {
            let message = format!("{} does not exist in a simulated cluster", received.path);
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound",
                "code": 404, "message": message,
            });
            (StatusCode::NOT_FOUND, status)
        };
        found.map_or_else(absent, |found| (StatusCode::OK, found))
    }

    /// Returns all API versions as `GROUP/VERSION`.
    fn api_versions(&self) -> BTreeSet<String> {
        let of_kinds = self.kinds.iter().map(|kind| kind.gvk.api_version());
        of_kinds.collect()
    }

    fn groups(&self) -> Value {
        let versions = self.api_versions();
        let groups = versions
            .iter()
            .filter_map(|version| Some(version.split_once('/')?.0));
        let groups: BTreeSet<&str> = groups.collect();
        let groups: Vec<Value> = groups
            .into_iter()
            .filter_map(|group| self.group(group))
            .collect();
        json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
    }

    fn group(&self, name: &str) -> Option<Value> {
        let all = self.api_versions();
        let versions = all.iter().filter_map(|version| version.split_once('/'));
        let versions = versions.filter(|(group, _)| *group == name);
        let versions = versions.map(
            |(group, version)| json!({ "groupVersion": format!("{group}/{version}"), "version": version }),
        );
        let versions: Vec<Value> = versions.collect();
        // Kubernetes prefers the newest stable version. All beta versions here are older.
        let is_stable = |version: &&Value| {
            version["version"]
                .as_str()
                .is_some_and(|version| !version.contains("beta"))
        };
        let preferred = versions
            .iter()
            .rfind(is_stable)
            .or(versions.first())?
            .clone();
        Some(json!({
            "kind": "APIGroup", "apiVersion": "v1", "name": name,
            "versions": versions, "preferredVersion": preferred,
        }))
    }

    fn resources(&self, api_version: &str) -> Option<Value> {
        if !self.api_versions().contains(api_version) {
            return None;
        }
        let kinds = self.kinds.iter();
        let kinds = kinds.filter(|kind| kind.gvk.api_version() == api_version);
        let resources = kinds.map(|kind| {
            json!({
                "name": kind.plural, "singularName": kind.gvk.kind.to_lowercase(), "kind": kind.gvk.kind,
                "namespaced": kind.namespaced,
                "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
            })
        });
        let resources: Vec<Value> = resources.collect();
        Some(json!({
            "kind": "APIResourceList", "apiVersion": "v1",
            "groupVersion": api_version, "resources": resources,
        }))
    }

    /// Returns the empty list of a kind's objects, or `None` for the path of a single object.
    fn list(&self, group: &str, below: &[&str]) -> Option<Value> {
        let ([version, plural] | [version, "namespaces", _, plural]) = below else {
            return None;
        };
        let is_meant = |kind: &&SimulatedKind| {
            kind.plural == *plural && kind.gvk.group == group && kind.gvk.version == *version
        };
        let kind = self.kinds.iter().find(is_meant)?;
        Some(json!({
            "kind": format!("{}List", kind.gvk.kind), "apiVersion": kind.gvk.api_version(),
            "metadata": { "resourceVersion": "0" }, "items": [],
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{Object, ObjectRef};
    use crate::permissions::Access;
    use crate::write::apply::{ConflictPolicy, DryRunResult, FieldManager};

    async fn cluster() -> Cluster {
        let kind = |api_version: &str, kind: &str, plural: &str, namespaced| SimulatedKind {
            gvk: Gvk::new(api_version, kind),
            plural: plural.to_owned(),
            namespaced,
        };
        let simulated = SimulatedCluster {
            version: ServerVersion {
                major: 1,
                minor: 34,
                text: "v1.34.0".to_owned(),
            },
            kinds: vec![
                kind("v1", "ConfigMap", "configmaps", true),
                kind("v1", "Namespace", "namespaces", false),
                kind("apps/v1", "Deployment", "deployments", true),
            ],
        };
        Cluster::simulated(simulated).await.unwrap()
    }

    #[tokio::test]
    async fn it_has_the_kinds_that_it_is_given_and_no_object() {
        let cluster = cluster().await;
        assert_eq!((cluster.version().major, cluster.version().minor), (1, 34));
        let versions = cluster.api_versions().await.unwrap();
        let expected = [
            "apps/v1",
            "apps/v1/Deployment",
            "v1",
            "v1/ConfigMap",
            "v1/Namespace",
        ];
        assert_eq!(versions, expected);
        assert!(!cluster.serves(&Gvk::new("batch/v1", "Job")).await.unwrap());
        let kinds = ["v1beta1", "v1", "v2"].map(|version| SimulatedKind {
            gvk: Gvk::new(&format!("a.test/{version}"), "Thing"),
            plural: "things".to_owned(),
            namespaced: true,
        });
        let version = cluster.version().clone();
        let kinds = kinds.into();
        let group = SimulatedCluster { version, kinds }.group("a.test").unwrap();
        assert_eq!(group["preferredVersion"]["version"], "v2");
        let map = ObjectRef::namespaced("v1", "ConfigMap", "a", "b");
        assert_eq!(cluster.get(&map).await.unwrap(), None);
        let space = ObjectRef::cluster_scoped("v1", "Namespace", "a");
        assert_eq!(cluster.get(&space).await.unwrap(), None);
        for namespace in [None, Some("a")] {
            let all = cluster.list(&map.gvk, namespace, None).await.unwrap();
            assert_eq!(all, []);
        }
    }

    #[tokio::test]
    async fn it_lets_us_do_everything_and_takes_what_it_is_to_try() {
        let cluster = cluster().await;
        let access = Access::new("delete", "apps", "deployments").namespace("a");
        assert_eq!(cluster.denied(&[access]).await.unwrap(), []);
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "b", "namespace": "a" },
            "data": { "key": "value" },
        });
        let map = Object::new(map).unwrap();
        let manager = FieldManager::new("test").unwrap();
        let tried = cluster.dry_run(std::slice::from_ref(&map), &manager, ConflictPolicy::Refuse);
        let tried = tried.await.unwrap();
        assert!(
            matches!(&tried[0].1, DryRunResult::Would(would) if would.after == map),
            "{tried:?}"
        );
        assert_eq!(cluster.get(map.reference()).await.unwrap(), None);
    }
}
