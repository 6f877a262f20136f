//! Definitions of custom resources, read where they are documents: an archive's, a release's, a cluster's.

use serde_json::Value;

use crate::document::{list, text};

/// Whether a document is a definition of a custom resource, of the kind that clusters take. A kind of this name in another
/// group is somebody's own.
#[must_use]
pub fn is_definition(document: &Value) -> bool {
    text(document, "/apiVersion") == "apiextensions.k8s.io/v1"
        && text(document, "/kind") == "CustomResourceDefinition"
}

/// A document that is known to be a definition of a custom resource. What it lacks is empty.
#[derive(Clone, Copy, Debug)]
pub struct Definition<'a>(pub &'a Value);

impl<'a> Definition<'a> {
    /// Returns the API group that it adds a kind to.
    #[must_use]
    pub fn group(self) -> &'a str {
        text(self.0, "/spec/group")
    }

    /// Returns the kind.
    #[must_use]
    pub fn kind(self) -> &'a str {
        text(self.0, "/spec/names/kind")
    }

    /// Returns what URLs and rules call the kind.
    #[must_use]
    pub fn plural(self) -> &'a str {
        text(self.0, "/spec/names/plural")
    }

    /// Returns all that the kind is called.
    #[must_use]
    pub fn names(self) -> &'a Value {
        &self.0["spec"]["names"]
    }

    /// Whether its objects belong to the whole cluster.
    #[must_use]
    pub fn is_cluster_scoped(self) -> bool {
        text(self.0, "/spec/scope") == "Cluster"
    }

    /// Returns the versions that it lists.
    #[must_use]
    pub fn versions(self) -> &'a [Value] {
        list(self.0, "/spec/versions")
    }

    /// Returns the names of those that clients can use.
    pub fn served(self) -> impl Iterator<Item = &'a str> {
        let served = self.versions().iter().filter(|it| it["served"] == true);
        served.filter_map(|version| version["name"].as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(api_version: &str) -> Value {
        json!({
            "apiVersion": api_version,
            "kind": "CustomResourceDefinition",
            "spec": {
                "group": "shop.test",
                "scope": "Cluster",
                "names": { "kind": "Cart", "plural": "carts" },
                "versions": [
                    { "name": "v1", "served": true },
                    { "name": "v2", "served": false },
                    { "name": "v3", "served": true },
                ],
            },
        })
    }

    #[test]
    fn a_definition_says_what_it_adds_to_a_cluster() {
        let document = document("apiextensions.k8s.io/v1");
        assert!(is_definition(&document));
        let definition = Definition(&document);
        assert_eq!(
            (definition.group(), definition.kind(), definition.plural()),
            ("shop.test", "Cart", "carts")
        );
        assert!(definition.is_cluster_scoped());
        assert_eq!(definition.served().collect::<Vec<_>>(), ["v1", "v3"]);
        assert_eq!(definition.versions().len(), 3);
    }

    #[test]
    fn its_kind_alone_makes_no_definition() {
        for of_others in ["shop.test/v1", "apiextensions.k8s.io/v1beta1", "v1"] {
            assert!(!is_definition(&document(of_others)), "{of_others}");
        }
    }
}
