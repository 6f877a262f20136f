//! Identities of objects: no two objects of an archive may have the same identity at any site. A site chooses
//! namespaces, so [`ObjectNames`] treats two chosen namespaces as the same one.

use std::collections::BTreeMap;

use manifests::ObjectKinds;
use schemas::ObjectSet;
use serde_json::Value;

use crate::document::{group_of, kind_of, text};
use crate::finding::problem::Problem;

/// The location of an object at a site.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ObjectHome {
    /// No namespace.
    Cluster,
    /// The namespace with this name.
    Namespace(String),
    /// A namespace that the site chooses. Two such namespaces may be the same.
    Chosen,
}

/// The API group, kind, location and name of an object.
type ObjectAddress = (String, String, ObjectHome, String);

/// The objects of an archive with their files, to find duplicates.
#[derive(Debug, Default)]
pub struct ObjectNames(BTreeMap<ObjectAddress, String>);

impl ObjectNames {
    /// Adds an object of a set, and returns a problem if another file contains it too. `kinds` determines which objects
    /// are cluster-scoped.
    pub fn add(
        &mut self,
        document: &Value,
        set: &ObjectSet,
        kinds: &ObjectKinds,
        file: &str,
    ) -> Option<Problem> {
        let home = match text(document, "/metadata/namespace") {
            _ if kinds.is_cluster_scoped(document) => ObjectHome::Cluster,
            written => home(written, set),
        };
        self.insert(document, home, file)
    }

    /// Adds a CustomResourceDefinition.
    pub fn add_definition(&mut self, document: &Value, file: &str) -> Option<Problem> {
        self.insert(document, ObjectHome::Cluster, file)
    }

    fn insert(&mut self, document: &Value, home: ObjectHome, file: &str) -> Option<Problem> {
        let (group, kind) = (group_of(document), kind_of(document).1);
        let name = text(document, "/metadata/name").unwrap_or_default();
        let identity = (group.to_owned(), kind.to_owned(), home, name.to_owned());
        let first = self.0.insert(identity, file.to_owned())?;
        Some(Problem::ObjectTwice(
            kind.to_owned(),
            name.to_owned(),
            first,
        ))
    }
}

/// Returns the location of a namespaced object. An object without a namespace is in the first one of the set.
fn home(written: Option<&str>, set: &ObjectSet) -> ObjectHome {
    let first = set
        .namespaces
        .first()
        .map(|namespace| namespace.name.as_str());
    let Some(written) = written.or(first) else {
        return ObjectHome::Chosen;
    };
    let own = written.strip_prefix("$(namespace:");
    let named = own
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or(written);
    let own = set
        .namespaces
        .iter()
        .find(|namespace| namespace.name.as_str() == named);
    match own {
        Some(own) if !own.fixed => ObjectHome::Chosen,
        _ => ObjectHome::Namespace(named.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use schemas::yaml;

    use super::*;

    #[test]
    fn namespaces_that_a_site_chooses_may_be_one() {
        let set: ObjectSet = yaml::from_slice(
            b"{name: s, namespaces: [{name: a}, {name: b}, {name: c, fixed: true}]}",
        )
        .unwrap();
        let twice = |one: &str, other: &str| {
            let mut names = ObjectNames::default();
            let kinds = ObjectKinds::default();
            let object = |text: &str| {
                yaml::from_slice::<Value>(format!("{{apiVersion: v1, {text}}}").as_bytes()).unwrap()
            };
            assert_eq!(names.add(&object(one), &set, &kinds, "one"), None);
            names.add(&object(other), &set, &kinds, "other").is_some()
        };
        let service = |namespace: &str| {
            format!("kind: Service, metadata: {{name: web, namespace: {namespace}}}")
        };
        let none = "kind: Service, metadata: {name: web}";
        let a = service("'$(namespace:a)'");
        assert!(twice(&a, &service("'$(namespace:b)'")));
        assert!(twice(&a, &service("b")));
        assert!(
            twice(&a, none),
            "the first namespace is that of objects that name none"
        );
        assert!(twice(&service("c"), &service("'$(namespace:c)'")));
        assert!(!twice(&a, &service("c")));
        assert!(!twice(&service("c"), &service("d")));
        assert!(!twice(&a, "kind: Service, metadata: {name: other}"));
        assert!(!twice(&a, "kind: ConfigMap, metadata: {name: web}"));
        let of_cluster = |namespace: &str| {
            format!("kind: Namespace, metadata: {{name: web, namespace: {namespace}}}")
        };
        assert!(twice(&of_cluster("c"), &of_cluster("d")));
    }
}
