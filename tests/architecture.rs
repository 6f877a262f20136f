//! The direction of dependencies, as docs/architecture.md draws it, compared with what cargo sees. A new arrow needs a
//! line here, and so a reason in review.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// What each package may depend on among the packages of the workspace.
const ARROWS: &[(&str, &[&str])] = &[
    ("schemas", &[]),
    ("iso9660", &[]),
    ("files", &["schemas"]),
    ("signing", &["schemas"]),
    ("archive", &["iso9660", "schemas", "signing"]),
    ("registry", &["schemas"]),
    ("deployer", &["schemas"]),
    ("release", &["archive", "files", "schemas", "validator"]),
    ("sources", &["archive", "files", "registry", "schemas"]),
    // Pack writes nothing that validate refuses, by the same rules.
    (
        "packager",
        &[
            "archive",
            "files",
            "registry",
            "schemas",
            "signing",
            "sources",
            "validator",
        ],
    ),
    ("validator", &["archive", "schemas", "signing"]),
    (
        "importer",
        &["archive", "deployer", "registry", "schemas", "validator"],
    ),
    (
        "solution",
        &[
            "archive",
            "deployer",
            "files",
            "importer",
            "packager",
            "registry",
            "release",
            "schemas",
            "signing",
            "sources",
            "validator",
        ],
    ),
    ("fixtures", &["schemas"]),
    ("example-operator", &[]),
    ("example-server", &[]),
];

/// Crates from outside that only one package may use directly.
const ONLY: &[(&str, &[&str])] = &[
    ("clap", &["solution", "fixtures"]),
    ("ed25519-dalek", &["signing"]),
    ("k8s-openapi", &["deployer", "example-operator"]),
    ("kube", &["deployer", "example-operator"]),
    ("pkcs8", &["signing"]),
    ("reqwest", &["registry"]),
];

/// Crates that must not lie anywhere below a package: checking an archive needs no network and no async runtime.
const NEVER_BELOW: &[(&str, &[&str])] = &[
    ("archive", &["hyper", "reqwest", "tokio"]),
    ("iso9660", &["serde", "sha2"]),
    ("schemas", &["hyper", "reqwest", "tokio"]),
    ("validator", &["hyper", "reqwest", "tokio"]),
];

struct Graph {
    workspace: BTreeSet<String>,
    direct: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    fn load() -> Self {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--locked", "--offline"])
            // What other platforms need is not there when nothing was fetched for them.
            .args(["--filter-platform", "host-tuple"])
            .output()
            .expect("cargo runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
        let names: BTreeMap<&str, &str> = array(&metadata["packages"])
            .map(|package| (text(&package["id"]), text(&package["name"])))
            .collect();
        let workspace = array(&metadata["workspace_members"])
            .map(|id| names[text(id)].to_owned())
            .collect();
        let direct = array(&metadata["resolve"]["nodes"])
            .map(|node| (names[text(&node["id"])].to_owned(), shipped(node, &names)))
            .collect();
        Self { workspace, direct }
    }

    fn below(&self, package: &str) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        let mut open = vec![package.to_owned()];
        while let Some(next) = open.pop() {
            for dependency in &self.direct[&next] {
                if seen.insert(dependency.clone()) {
                    open.push(dependency.clone());
                }
            }
        }
        seen
    }
}

/// The dependencies of a node that are not only for its tests or its build.
fn shipped(node: &Value, names: &BTreeMap<&str, &str>) -> BTreeSet<String> {
    array(&node["deps"])
        .filter(|dep| array(&dep["dep_kinds"]).any(|kind| kind["kind"].is_null()))
        .map(|dep| names[text(&dep["pkg"])].to_owned())
        .collect()
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value
        .as_array()
        .expect("cargo metadata has this array")
        .iter()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("cargo metadata has this text")
}

#[test]
fn packages_know_only_what_lies_below_them() {
    let graph = Graph::load();
    let drawn: BTreeSet<String> = ARROWS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(
        graph.workspace, drawn,
        "every package has its line in ARROWS"
    );
    for (package, allowed) in ARROWS {
        for dependency in graph.direct[*package].intersection(&graph.workspace) {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{package} must not depend on {dependency}: see docs/architecture.md"
            );
        }
    }
}

#[test]
fn one_package_owns_each_large_dependency() {
    let graph = Graph::load();
    for (dependency, owners) in ONLY {
        for package in &graph.workspace {
            assert!(
                !graph.direct[package].contains(*dependency) || owners.contains(&package.as_str()),
                "{package} must not use {dependency}: only {owners:?} may"
            );
        }
    }
}

#[test]
fn checking_an_archive_needs_no_network() {
    let graph = Graph::load();
    for (package, banned) in NEVER_BELOW {
        let below = graph.below(package);
        for dependency in *banned {
            assert!(
                !below.contains(*dependency),
                "{dependency} lies below {package}"
            );
        }
    }
}
