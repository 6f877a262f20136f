//! Discovery responses of the API server, extended by the kinds of CRDs that are installed before a release. A plan
//! renders the templates of the release before anything is written, so the server does not serve these kinds yet.
//! [`with`] extends a response.

use manifests::Definition;
use serde_json::{Value, json};

/// Adds the kinds that these CRDs will serve to a discovery response, in the format that the server has chosen.
pub(super) fn with(
    definitions: &[Value],
    path: &str,
    mut status: u16,
    mut body: Value,
) -> (u16, Value) {
    for coming in definitions.iter().flat_map(Coming::all) {
        let of_version = format!("/apis/{}/{}", coming.group, coming.version);
        match body["kind"].as_str() {
            Some("APIGroupDiscoveryList") if path == "/apis" => coming.aggregated(&mut body),
            Some("APIGroupList") if path == "/apis" => coming.listed(&mut body),
            _ if path == of_version => coming.alone(&mut status, &mut body),
            _ => {}
        }
    }
    (status, body)
}

/// A version of a kind that will be served.
struct Coming<'a> {
    group: &'a str,
    version: &'a str,
    names: &'a Value,
    is_namespaced: bool,
}

impl<'a> Coming<'a> {
    fn all(definition: &'a Value) -> impl Iterator<Item = Self> {
        let definition = Definition(definition);
        definition.served().map(move |version| Self {
            group: definition.group(),
            version,
            names: definition.names(),
            is_namespaced: !definition.is_cluster_scoped(),
        })
    }

    fn kind(&self) -> &Value {
        &self.names["kind"]
    }

    fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }

    /// Adds the kind to a list of groups with their versions and kinds (aggregated discovery).
    fn aggregated(&self, body: &mut Value) {
        let Some(groups) = body["items"].as_array_mut() else {
            return;
        };
        let group = entry(
            groups,
            |group| group["metadata"]["name"] == self.group,
            || json!({ "metadata": { "name": self.group }, "versions": [] }),
        );
        let Some(versions) = group["versions"].as_array_mut() else {
            return;
        };
        let version = entry(
            versions,
            |version| version["version"] == self.version,
            || json!({ "version": self.version, "resources": [], "freshness": "Current" }),
        );
        let Some(resources) = version["resources"].as_array_mut() else {
            return;
        };
        let kind = json!({ "group": self.group, "version": self.version, "kind": self.kind() });
        entry(
            resources,
            |resource| resource["responseKind"]["kind"] == *self.kind(),
            || {
                json!({
                    "resource": self.names["plural"],
                    "singularResource": self.names["singular"],
                    "responseKind": kind,
                    "scope": if self.is_namespaced { "Namespaced" } else { "Cluster" },
                    "verbs": ["get", "list"],
                })
            },
        );
    }

    /// Adds the version to a list of groups with their versions.
    fn listed(&self, body: &mut Value) {
        let version = json!({ "groupVersion": self.api_version(), "version": self.version });
        let Some(groups) = body["groups"].as_array_mut() else {
            return;
        };
        let group = entry(
            groups,
            |group| group["name"] == self.group,
            || json!({ "name": self.group, "versions": [], "preferredVersion": version }),
        );
        if let Some(versions) = group["versions"].as_array_mut() {
            entry(versions, |known| *known == version, || version.clone());
        }
    }

    /// Adds the kind to the list of a version, which the server may not serve yet.
    fn alone(&self, status: &mut u16, body: &mut Value) {
        if *status != 200 {
            *status = 200;
            *body = json!({
                "kind": "APIResourceList", "apiVersion": "v1",
                "groupVersion": self.api_version(), "resources": [],
            });
        }
        if let Some(resources) = body["resources"].as_array_mut() {
            entry(
                resources,
                |resource| resource["kind"] == *self.kind(),
                || {
                    json!({
                        "name": self.names["plural"],
                        "singularName": self.names["singular"],
                        "namespaced": self.is_namespaced,
                        "kind": self.kind(),
                        "verbs": ["get", "list"],
                    })
                },
            );
        }
    }
}

/// Returns the matching entry of a list, and adds one if there is none.
fn entry(
    list: &mut Vec<Value>,
    is_meant: impl Fn(&Value) -> bool,
    made: impl Fn() -> Value,
) -> &mut Value {
    let at = list.iter().position(is_meant).unwrap_or(list.len());
    if at == list.len() {
        list.push(made());
    }
    &mut list[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> Value {
        json!({ "spec": {
            "group": "a.test", "scope": "Namespaced",
            "names": { "kind": "Cart", "plural": "carts", "singular": "cart" },
            "versions": [{ "name": "v1", "served": true }, { "name": "v0", "served": false }],
        } })
    }

    fn answer(path: &str, status: u16, body: &Value) -> (u16, Value) {
        with(&[definition()], path, status, body.clone())
    }

    #[test]
    fn groups_that_come_stand_among_those_that_are_there() {
        let other = json!({ "metadata": { "name": "b.test" }, "versions": [] });
        let all = json!({ "kind": "APIGroupDiscoveryList", "items": [other.clone()] });
        let (status, found) = answer("/apis", 200, &all);
        let cart = json!({
            "resource": "carts", "singularResource": "cart",
            "responseKind": { "group": "a.test", "version": "v1", "kind": "Cart" },
            "scope": "Namespaced", "verbs": ["get", "list"],
        });
        let version = json!({ "version": "v1", "resources": [cart], "freshness": "Current" });
        let group = json!({ "metadata": { "name": "a.test" }, "versions": [version] });
        assert_eq!((status, &found["items"]), (200, &json!([other, group])));
        // Nothing is added a second time.
        assert_eq!(answer("/apis", 200, &found), (200, found));

        let all = json!({ "kind": "APIGroupList", "groups": [] });
        let (_, found) = answer("/apis", 200, &all);
        let version = json!({ "groupVersion": "a.test/v1", "version": "v1" });
        let group = json!({ "name": "a.test", "versions": [version], "preferredVersion": version });
        assert_eq!(found["groups"], json!([group]));
        assert_eq!(answer("/apis", 200, &found), (200, found));
    }

    #[test]
    fn a_version_that_comes_has_its_kinds_and_nothing_else_becomes_another() {
        let none = json!({ "kind": "Status", "code": 404 });
        let (status, found) = answer("/apis/a.test/v1", 404, &none);
        assert_eq!(
            (status, &found["resources"][0]["kind"]),
            (200, &json!("Cart"))
        );
        let there = json!({ "kind": "APIResourceList", "resources": [{ "kind": "Other" }] });
        let (_, found) = answer("/apis/a.test/v1", 200, &there);
        assert_eq!(found["resources"][1]["name"], "carts");
        for path in ["/apis/a.test/v0", "/apis/b.test/v1", "/version", "/api/v1"] {
            assert_eq!(answer(path, 404, &none), (404, none.clone()), "{path}");
        }
    }
}
