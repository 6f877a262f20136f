//! Reading of objects: single objects, lists in pages, and nodes. Lists are read in pages and with limits, so that a
//! large cluster does not exhaust the memory.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use futures::stream::{self, StreamExt};
use serde::Deserialize;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::cluster::request::{Reply, escape};
use crate::error::Error;
use crate::limits;
use crate::object::{Gvk, Object, ObjectRef, condition};

/// The labels that an object must have. There is at least one, so that a selector never matches everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector(String);

impl Selector {
    /// Selects objects with this value of a label.
    #[must_use]
    pub fn label(key: &str, value: &str) -> Self {
        Self(format!("{key}={value}"))
    }

    /// Selects objects that have a label, with any value.
    #[must_use]
    pub fn has(key: &str) -> Self {
        Self(key.to_owned())
    }

    /// Adds a label that objects must have too.
    #[must_use]
    pub fn and(self, key: &str, value: &str) -> Self {
        Self(format!("{},{key}={value}", self.0))
    }
}

/// A node of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The name of the node.
    pub name: String,
    /// The operating system as in OCI images, for example `linux`.
    pub os: String,
    /// The architecture as in OCI images, for example `amd64`.
    pub architecture: String,
    /// Indicates whether it is ready to run pods.
    pub ready: bool,
    /// Indicates whether it accepts new pods (it is not cordoned).
    pub schedulable: bool,
    /// The labels of the node.
    pub labels: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMetadata,
    #[serde(default)]
    items: Option<Vec<Value>>,
}

#[derive(Debug, Default, Deserialize)]
struct PageMetadata {
    #[serde(default, rename = "continue")]
    next: Option<String>,
}

impl Cluster {
    /// Reads one object; `None` if it does not exist. Fails with [`Error::NoSuchKind`] if the cluster does not have the
    /// kind.
    pub async fn get(&self, object: &ObjectRef) -> Result<Option<Object>, Error> {
        if let Some(known) = self.seen(object) {
            return Ok(known.0);
        }
        let path = self.object_path(object).await?;
        let doing = format!("read {object}");
        let live = match self.read_json::<Value>(&path, &doing).await {
            Ok(value) => Some(validated(value, &doing)?),
            Err(Error::NotFound { .. }) => None,
            Err(error) => return Err(error),
        };
        self.note_seen(object, live.as_ref());
        Ok(live)
    }

    /// Reads objects like [`Cluster::get`], concurrently. If there are many of a kind in a namespace, they are read as
    /// a list, if the user may list them.
    pub async fn get_all(&self, objects: &[&ObjectRef]) -> Result<Vec<Option<Object>>, Error> {
        self.get_each(objects).await?.into_iter().collect()
    }

    /// Reads each object, with a separate result for each. Fails as a whole only if the server does not answer.
    pub async fn get_each(
        &self,
        objects: &[&ObjectRef],
    ) -> Result<Vec<Result<Option<Object>, Error>>, Error> {
        let mut groups: BTreeMap<(&Gvk, Option<&str>), Vec<usize>> = BTreeMap::new();
        let mut found = Vec::new();
        for (place, object) in objects.iter().enumerate() {
            let seen = self.seen(object);
            if seen.is_none() {
                let group = (&object.gvk, object.namespace.as_deref());
                groups.entry(group).or_default().push(place);
            }
            found.push(Ok(seen.and_then(|known| known.0)));
        }
        let mut single = Vec::new();
        for ((gvk, namespace), places) in groups {
            let mut names: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
            for place in &places {
                names.entry(&objects[*place].name).or_default().push(*place);
            }
            if places.len() < limits::LISTED_FROM
                || !self.find(gvk, namespace, &names, &mut found).await?
            {
                single.extend(places);
                continue;
            }
            for place in places {
                if let Ok(live) = &found[place] {
                    self.note_seen(objects[place], live.as_ref());
                }
            }
        }
        let gets = single
            .into_iter()
            .map(async |place| (place, self.get(objects[place]).await));
        let mut gets = stream::iter(gets).buffer_unordered(limits::PARALLEL);
        while let Some((place, live)) = gets.next().await {
            found[place] = match live {
                Err(error) if error.is_about_the_server() => return Err(error),
                live => live,
            };
        }
        Ok(found)
    }

    /// Finds objects with these names in a list and stores them in `found`. Returns `false` if they must be read
    /// individually: the user may lack the permission to list, the list may be too long or too large, or individual
    /// errors are more precise.
    async fn find(
        &self,
        gvk: &Gvk,
        namespace: Option<&str>,
        places: &BTreeMap<&str, Vec<usize>>,
        found: &mut [Result<Option<Object>, Error>],
    ) -> Result<bool, Error> {
        // An individual request reports a wrong scope or a missing kind more precisely.
        match self.resource(gvk).await {
            Ok(resource) if resource.namespaced == namespace.is_some() => {}
            Err(error) if error.is_about_the_server() => return Err(error),
            Ok(_) | Err(_) => return Ok(false),
        }
        let keep = |object: Object| {
            for place in places.get(object.name()).into_iter().flatten() {
                found[*place] = Ok(Some(object.clone()));
            }
        };
        match self.visit(gvk, namespace, None, keep).await {
            // If the definition of a kind was deleted, there are no objects.
            Ok(()) | Err(Error::NotFound { .. }) => Ok(true),
            Err(error) if error.is_about_the_server() => Err(error),
            Err(_) => Ok(false),
        }
    }

    /// Lists the objects of a kind with certain labels, in one namespace or in all.
    pub async fn list(
        &self,
        gvk: &Gvk,
        namespace: Option<&str>,
        selector: Option<&Selector>,
    ) -> Result<Vec<Object>, Error> {
        let (query, doing) = self.listing(gvk, namespace, selector).await?;
        self.all_pages(gvk, &query, &doing).await
    }

    /// Visits the same objects one by one without keeping them, for kinds with very many objects.
    pub async fn visit(
        &self,
        gvk: &Gvk,
        namespace: Option<&str>,
        selector: Option<&Selector>,
        show: impl FnMut(Object),
    ) -> Result<(), Error> {
        let (query, doing) = self.listing(gvk, namespace, selector).await?;
        self.each_page(gvk, &query, &doing, limits::MAX_VISITED, show)
            .await
    }

    /// Lists the objects of a kind with this name in all namespaces.
    pub async fn named(&self, gvk: &Gvk, name: &str) -> Result<Vec<Object>, Error> {
        let (query, doing) = self.listing(gvk, None, None).await?;
        let field = escape(&format!("metadata.name={name}"));
        let query = format!("{query}&fieldSelector={field}");
        self.all_pages(gvk, &query, &doing).await
    }

    /// Returns the path of the first page, and the operation for messages.
    async fn listing(
        &self,
        gvk: &Gvk,
        namespace: Option<&str>,
        selector: Option<&Selector>,
    ) -> Result<(String, String), Error> {
        let doing = format!(
            "list {gvk}{}",
            namespace
                .map(|n| format!(", namespace {n}"))
                .unwrap_or_default()
        );
        let mut query = format!(
            "{}?limit={}",
            self.collection_path(gvk, namespace).await?,
            limits::PAGE
        );
        if let Some(selector) = selector {
            write!(query, "&labelSelector={}", escape(&selector.0))
                .expect("writing to a string never fails");
        }
        Ok((query, doing))
    }

    pub(crate) async fn all_pages(
        &self,
        gvk: &Gvk,
        query: &str,
        doing: &str,
    ) -> Result<Vec<Object>, Error> {
        let mut objects = Vec::new();
        let keep = |object| objects.push(object);
        self.each_page(gvk, query, doing, limits::MAX_LISTED, keep)
            .await?;
        Ok(objects)
    }

    async fn each_page(
        &self,
        gvk: &Gvk,
        query: &str,
        doing: &str,
        limit: usize,
        mut show: impl FnMut(Object),
    ) -> Result<(), Error> {
        let mut path = query.to_owned();
        let mut shown = 0;
        loop {
            let page: Page = self.read_json(&path, doing).await?;
            let items = page.items.unwrap_or_default();
            shown += items.len();
            if shown > limit {
                let doing = doing.to_owned();
                return Err(Error::TooMany { doing, limit });
            }
            for item in items {
                show(validated(with_type(item, gvk), doing)?);
            }
            match page.metadata.next.filter(|next| !next.is_empty()) {
                Some(next) => path = format!("{query}&continue={}", escape(&next)),
                None => return Ok(()),
            }
        }
    }

    /// Reads the nodes of the cluster.
    pub async fn nodes(&self) -> Result<Vec<Node>, Error> {
        let nodes = match self.seen_nodes() {
            Some(seen) => seen,
            None => self.list(&Gvk::new("v1", "Node"), None, None).await?,
        };
        self.note_nodes(&nodes);
        Ok(nodes.iter().map(node).collect())
    }
}

/// Validates an object from the server.
pub(crate) fn validated(value: Value, doing: &str) -> Result<Object, Error> {
    Object::new(value).map_err(|error| Error::Answer {
        doing: doing.to_owned(),
        problem: error.to_string(),
    })
}

/// Returns the object in a reply.
pub(crate) fn object_in(reply: &Reply, doing: &str) -> Result<Object, Error> {
    validated(reply.parse(doing)?, doing)
}

/// Adds the type to an item of a list, because items of built-in kinds omit it.
fn with_type(mut item: Value, gvk: &Gvk) -> Value {
    if let Some(fields) = item.as_object_mut() {
        fields
            .entry("apiVersion")
            .or_insert_with(|| gvk.api_version().into());
        fields
            .entry("kind")
            .or_insert_with(|| gvk.kind.clone().into());
    }
    item
}

fn node(object: &Object) -> Node {
    let value = object.as_value();
    let info = |name: &str| {
        value["status"]["nodeInfo"][name]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    Node {
        name: object.name().to_owned(),
        os: info("operatingSystem"),
        architecture: info("architecture"),
        ready: condition(value, "Ready").is_some_and(|ready| ready["status"] == "True"),
        schedulable: value["spec"]["unschedulable"] != true,
        labels: object
            .labels()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mock::{Answer, cluster};

    #[tokio::test]
    async fn pages_are_joined() {
        let item = |name: &str| json!({"metadata": {"name": name, "namespace": "n"}});
        let (cluster, seen) = cluster(move |request| {
            if request.path.contains("continue=") {
                Answer::json(200, &json!({"metadata": {}, "items": [item("b")]}))
            } else {
                Answer::json(
                    200,
                    &json!({"metadata": {"continue": "a+/="}, "items": [item("a")]}),
                )
            }
        })
        .await;
        let gvk = Gvk::new("v1", "ConfigMap");
        let selector = Selector::label("a/b", "c").and("d", "e");
        let objects = cluster
            .list(&gvk, Some("n"), Some(&selector))
            .await
            .unwrap();
        let refs: Vec<String> = objects
            .iter()
            .map(|object| object.reference().to_string())
            .collect();
        assert_eq!(refs, ["ConfigMap n/a", "ConfigMap n/b"]);
        let first = "/api/v1/namespaces/n/configmaps?limit=250&labelSelector=a%2Fb%3Dc%2Cd%3De";
        let seen = seen.lock().unwrap();
        assert_eq!(seen[0].path, first);
        assert_eq!(seen[1].path, format!("{first}&continue=a%2B%2F%3D"));
    }

    #[tokio::test]
    async fn a_list_without_end_is_ended() {
        let items: Vec<Value> = (0..10_000)
            .map(|i| json!({"metadata": {"name": i.to_string()}}))
            .collect();
        let page = Answer::json(
            200,
            &json!({"metadata": {"continue": "more"}, "items": items}),
        );
        let (cluster, _) = cluster(move |_| page.clone()).await;
        let result = cluster.list(&Gvk::new("v1", "Node"), None, None).await;
        assert!(matches!(result, Err(Error::TooMany { .. })));
        let mut shown = 0;
        let nodes = Gvk::new("v1", "Node");
        let result = cluster.visit(&nodes, None, None, |_| shown += 1).await;
        assert!(matches!(result, Err(Error::TooMany { .. })));
        assert_eq!(shown, limits::MAX_VISITED);
    }

    #[tokio::test]
    async fn nodes_are_told_with_what_they_run() {
        let node = |name: &str, ready: &str, cordoned: bool| {
            json!({"metadata": {"name": name}, "spec": {"unschedulable": cordoned}, "status": {
                "nodeInfo": {"operatingSystem": "linux", "architecture": "arm64"},
                "conditions": [{"type": "DiskPressure", "status": "True"}, {"type": "Ready", "status": ready}]}})
        };
        let list = json!({"items": [node("a", "True", false), node("b", "Unknown", true)]});
        let (cluster, _) = cluster(move |_| Answer::json(200, &list)).await;
        let nodes = cluster.nodes().await.unwrap();
        assert_eq!(nodes[0].architecture, "arm64");
        assert_eq!(
            nodes
                .iter()
                .map(|node| (node.ready, node.schedulable))
                .collect::<Vec<_>>(),
            [(true, true), (false, false)]
        );
    }

    #[tokio::test]
    async fn scopes_and_kinds_are_checked_before_anything_is_asked() {
        let (cluster, seen) = cluster(|_| Answer(500, None, Vec::new())).await;
        for object in [
            ObjectRef::cluster_scoped("v1", "ConfigMap", "a"),
            ObjectRef::namespaced("v1", "Node", "n", "a"),
            ObjectRef::namespaced("v1", "ConfigMap", "n", ".."),
        ] {
            assert!(
                matches!(cluster.get(&object).await, Err(Error::Scope { .. })),
                "{object}"
            );
        }
        let unknown = ObjectRef::cluster_scoped("v1", "Unknown", "a");
        assert!(matches!(
            cluster.get(&unknown).await,
            Err(Error::NoSuchKind(_))
        ));
        assert!(seen.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn many_are_read_by_one_list_or_one_by_one_where_listing_is_not_allowed() {
        let map = |name: &str| json!({"metadata": {"name": name, "namespace": "n"}});
        for (listing, requests) in [(200, 1), (403, 1 + limits::LISTED_FROM)] {
            let (cluster, seen) = cluster(move |request| {
                let (path, _) = request.path.split_once('?').unwrap_or((&request.path, ""));
                match path.rsplit('/').next().unwrap() {
                    "configmaps" => Answer::json(
                        listing,
                        &json!({"items": [map("other"), map("a1"), map("a0")]}),
                    ),
                    name @ ("a0" | "a1") => {
                        let mut map = map(name);
                        map["apiVersion"] = json!("v1");
                        map["kind"] = json!("ConfigMap");
                        Answer::json(200, &map)
                    }
                    _ => Answer(404, None, Vec::new()),
                }
            })
            .await;
            let names = (0..limits::LISTED_FROM).map(|i| format!("a{i}"));
            let references: Vec<ObjectRef> = names
                .map(|name| ObjectRef::namespaced("v1", "ConfigMap", "n", &name))
                .collect();
            let references: Vec<&ObjectRef> = references.iter().collect();
            let found = cluster.get_all(&references).await.unwrap();
            let names: Vec<_> = found
                .iter()
                .map(|object| object.as_ref().map(Object::name))
                .collect();
            assert_eq!(names[..3], [Some("a0"), Some("a1"), None]);
            assert_eq!(names.len(), limits::LISTED_FROM);
            assert_eq!(seen.lock().unwrap().len(), requests);
        }
    }
}
