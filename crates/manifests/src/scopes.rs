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
}
