//! Which objects of a whole release belong to the whole cluster.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::document::text;
use crate::scope::is_cluster_scoped;

/// The kinds of the whole cluster: Kubernetes' own, and those of some definitions. Of other kinds only a cluster can
/// tell; they count as belonging to a namespace.
#[derive(Debug, Default)]
pub struct Scopes<'a>(BTreeSet<(&'a str, &'a str)>);

impl<'a> Scopes<'a> {
    /// With the kinds that these definitions define.
    pub fn new(definitions: impl IntoIterator<Item = &'a Value>) -> Self {
        let cluster = definitions
            .into_iter()
            .filter(|definition| text(definition, "/spec/scope") == "Cluster");
        let kind = |definition| {
            let group = text(definition, "/spec/group");
            (group, text(definition, "/spec/names/kind"))
        };
        Self(cluster.map(kind).collect())
    }

    /// Whether an object belongs to the whole cluster.
    #[must_use]
    pub fn is_cluster(&self, object: &Value) -> bool {
        let api_version = text(object, "/apiVersion");
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        self.0.contains(&(group, text(object, "/kind"))) || is_cluster_scoped(object, &[])
    }

    /// Whether an object is outside of these namespaces: its name, and what refers to it, cannot be made anew for each
    /// site. The namespaces themselves are not.
    #[must_use]
    pub fn reaches_out(&self, object: &Value, own: &BTreeSet<&str>) -> bool {
        if text(object, "/apiVersion") == "v1" && text(object, "/kind") == "Namespace" {
            return !own.contains(text(object, "/metadata/name"));
        }
        let namespace = text(object, "/metadata/namespace");
        let elsewhere = !namespace.is_empty() && !own.contains(namespace);
        elsewhere || self.is_cluster(object)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_outside_of_the_releases_namespaces_reaches_out() {
        let definition = json!({
            "spec": { "group": "shop.test", "scope": "Cluster", "names": { "kind": "Region" } },
        });
        let scopes = Scopes::new([&definition]);
        let own = BTreeSet::from(["shop"]);
        let reaches_out = |api_version: &str, kind: &str, metadata: Value| {
            let object = json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata });
            scopes.reaches_out(&object, &own)
        };
        for (api_version, kind, metadata) in [
            (
                "v1",
                "Service",
                json!({ "name": "a", "namespace": "kube-system" }),
            ),
            ("v1", "Namespace", json!({ "name": "other" })),
            ("shop.test/v1", "Region", json!({ "name": "shop" })),
            (
                "shop.test/v1",
                "Namespace",
                json!({ "name": "a", "namespace": "other" }),
            ),
        ] {
            assert!(
                reaches_out(api_version, kind, metadata),
                "{api_version} {kind}"
            );
        }
        for (api_version, kind, metadata) in [
            ("v1", "Service", json!({ "name": "a", "namespace": "shop" })),
            ("v1", "Service", json!({ "name": "a" })),
            ("v1", "Namespace", json!({ "name": "shop" })),
            ("shop.test/v1", "Cart", json!({ "name": "a" })),
        ] {
            assert!(
                !reaches_out(api_version, kind, metadata),
                "{api_version} {kind}"
            );
        }
    }
}
