//! CRDs as documents, regardless of their source: an archive, a release or a cluster.
//! [`Definition`] gives access to their fields without validation.

use serde_json::Value;

use crate::document::{list, text};

/// Checks whether a document is a CustomResourceDefinition of `apiextensions.k8s.io/v1`. A kind with this name in
/// another group is unrelated.
#[must_use]
pub fn is_definition(document: &Value) -> bool {
    text(document, "/apiVersion") == "apiextensions.k8s.io/v1"
        && text(document, "/kind") == "CustomResourceDefinition"
}

/// A document that is known to be a CustomResourceDefinition. Missing fields read as empty.
#[derive(Clone, Copy, Debug)]
pub struct Definition<'a>(pub &'a Value);

impl<'a> Definition<'a> {
    /// Returns the API group of the defined kind.
    #[must_use]
    pub fn group(self) -> &'a str {
        text(self.0, "/spec/group")
    }

    /// Returns the defined kind.
    #[must_use]
    pub fn kind(self) -> &'a str {
        text(self.0, "/spec/names/kind")
    }

    /// Returns the plural name of the kind, as in URLs and RBAC rules.
    #[must_use]
    pub fn plural(self) -> &'a str {
        text(self.0, "/spec/names/plural")
    }

    /// Returns all names of the kind.
    #[must_use]
    pub fn names(self) -> &'a Value {
        &self.0["spec"]["names"]
    }

    /// Returns true if the kind is cluster-scoped.
    #[must_use]
    pub fn is_cluster_scoped(self) -> bool {
        text(self.0, "/spec/scope") == "Cluster"
    }

    /// Returns the versions of the kind, including those that are not served.
    #[must_use]
    pub fn versions(self) -> &'a [Value] {
        list(self.0, "/spec/versions")
    }

    /// Returns the names of the served versions.
    pub fn served(self) -> impl Iterator<Item = &'a str> {
        let served = self
            .versions()
            .iter()
            .filter(|version| version["served"] == true);
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
