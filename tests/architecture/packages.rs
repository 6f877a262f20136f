//! The dependencies between packages, as docs/development/architecture.md draws them, and the allowed external
//! dependencies, both compared with cargo's metadata. A new dependency needs a line here, and so a reason in review.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The allowed dependencies of each package among the packages of the workspace.
pub(crate) const ARROWS: &[(&str, &[&str])] = &[
    ("schemas", &[]),
    ("iso9660", &[]),
    ("files", &["schemas"]),
    ("signing", &["schemas"]),
    ("progress", &[]),
    ("archive", &["iso9660", "schemas", "signing", "progress"]),
    // It stores the state of uploads in files, which other users must not be able to change.
    ("registry", &["files", "schemas", "tls", "progress"]),
    ("serve", &["schemas"]),
    ("tls", &[]),
    // Client certificates are presented in the same way everywhere.
    ("kubernetes", &["tls", "progress"]),
    // It decides from data that its callers have read. None of its functions is async.
    ("planner", &["kubernetes", "helm", "manifests", "schemas"]),
    ("charts", &["schemas"]),
    // It computes from data that its callers have read.
    ("fleet", &["schemas"]),
    ("helm", &["process", "schemas", "progress"]),
    ("manifests", &["files", "schemas"]),
    ("mount", &["archive", "schemas"]),
    // It does not know the programs that it runs.
    ("process", &["progress"]),
    ("rules", &["manifests", "schemas"]),
    // An SBOM describes the content of an archive.
    (
        "sbom",
        &["archive", "files", "process", "schemas", "progress"],
    ),
    (
        "release",
        &[
            "archive",
            "files",
            "iso9660",
            "manifests",
            "rules",
            "schemas",
            "progress",
        ],
    ),
    (
        "sources",
        &["charts", "files", "registry", "schemas", "progress"],
    ),
    // `pack` and `validate` share their rules, so that `pack` writes only valid archives.
    (
        "packager",
        &[
            "archive",
            "charts",
            "files",
            "helm",
            "manifests",
            "rules",
            "sbom",
            "schemas",
            "signing",
            "sources",
            "validator",
            "progress",
        ],
    ),
    (
        "validator",
        &[
            "archive",
            "charts",
            "manifests",
            "rules",
            "schemas",
            "signing",
            "progress",
        ],
    ),
    // The content of archives in a registry; no access to a cluster.
    (
        "store",
        &[
            "archive",
            "registry",
            "schemas",
            "serve",
            "validator",
            "progress",
        ],
    ),
    (
        "importer",
        &[
            "archive",
            "planner",
            // A site's values are parsed like those of a chart.
            "charts",
            "kubernetes",
            // Expressions can use the facts about clusters.
            "fleet",
            "helm",
            "manifests",
            "registry",
            "rules",
            "schemas",
            "store",
            "validator",
            "progress",
        ],
    ),
    // It shows plans and applies them. It decides nothing.
    (
        "webconsole",
        &[
            "importer",
            "kubernetes",
            "progress",
            "registry",
            "schemas",
            "store",
            "validator",
        ],
    ),
    (
        "solution",
        &[
            "archive",
            "charts",
            "webconsole",
            "kubernetes",
            "files",
            "fleet",
            "helm",
            "importer",
            "manifests",
            "mount",
            "packager",
            "process",
            "registry",
            "release",
            "rules",
            "sbom",
            "schemas",
            "serve",
            "store",
            "signing",
            "sources",
            "validator",
            "progress",
        ],
    ),
    ("fixtures", &[]),
    ("example-operator", &[]),
    ("example-server", &[]),
];

/// External crates that only one package may use directly.
const ONLY: &[(&str, &[&str])] = &[
    ("axum", &["webconsole"]),
    ("cel", &["fleet"]),
    ("clap", &["solution", "fixtures"]),
    ("clap_complete", &["solution"]),
    ("clap_mangen", &["solution"]),
    ("ed25519-dalek", &["signing"]),
    ("fuser", &["mount"]),
    // An independent reader of images, for tests only.
    ("hadris-iso", &[]),
    ("indicatif", &["solution"]),
    ("k8s-openapi", &["kubernetes", "example-operator"]),
    ("kube", &["kubernetes", "example-operator"]),
    ("maud", &["webconsole"]),
    ("nix", &["mount"]),
    ("pkcs8", &["signing"]),
    ("reqwest", &["registry", "webconsole"]),
    ("ring", &["webconsole"]),
];

/// Crates that must not be below a package: checking an archive needs no network and no async runtime.
const NEVER_BELOW: &[(&str, &[&str])] = &[
    ("archive", &["hyper", "reqwest", "tokio"]),
    ("iso9660", &["serde", "sha2"]),
    ("schemas", &["hyper", "reqwest", "tokio"]),
    ("validator", &["hyper", "reqwest", "tokio"]),
];

/// Crates that must not be compiled in, even indirectly.
const BANNED: &[(&str, &str)] = &[
    (
        "aws-lc-rs",
        "one rustls provider (ring) for everything: two compile together and panic at run time",
    ),
    ("native-tls", "TLS is rustls"),
    ("openssl", "TLS is rustls, signatures are ed25519-dalek"),
    ("openssl-sys", "TLS is rustls, signatures are ed25519-dalek"),
    (
        "serde_yaml",
        "reads YAML 1.2 and lets the last duplicate win; kubectl reads 1.1: use `schemas::yaml`",
    ),
    ("serde_yml", "as serde_yaml"),
];

/// The configuration of the third-party notices. Its licences are the accepted ones.
const ABOUT: &str = include_str!("../../about.toml");

/// The only registry for dependencies.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

struct Graph {
    workspace: BTreeSet<String>,
    direct: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    fn load() -> Self {
        let metadata = metadata();
        let names: BTreeMap<&str, &str> = array(&metadata["packages"])
            .map(|package| (text(&package["id"]), text(&package["name"])))
            .collect();
        let workspace = array(&metadata["workspace_members"])
            .map(|id| names[text(id)].to_owned())
            .collect();
        let mut direct: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for node in array(&metadata["resolve"]["nodes"]) {
            // Multiple versions of one package count as one.
            let all = direct.entry(names[text(&node["id"])].to_owned());
            all.or_default().extend(shipped(node, &names));
        }
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

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        // Dependencies of other platforms may not have been fetched.
        .args(["--filter-platform", "host-tuple"])
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the dependencies of a node, except those for tests and builds.
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

/// Returns the source folder of each package of the workspace, by name.
pub(crate) fn folders() -> BTreeMap<String, PathBuf> {
    let metadata = metadata();
    let ours = array(&metadata["packages"]).filter(|package| package["source"].is_null());
    let folders = ours.map(|package| {
        let directory = Path::new(text(&package["manifest_path"])).parent().unwrap();
        (text(&package["name"]).to_owned(), directory.join("src"))
    });
    folders.collect()
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
                "{package} must not depend on {dependency}: see docs/development/architecture.md"
            );
        }
        for dependency in *allowed {
            assert!(
                graph.direct[*package].contains(*dependency),
                "{package} does not depend on {dependency}: ARROWS must not allow it"
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

#[test]
fn what_is_compiled_in_may_be_shipped() {
    let metadata = metadata();
    let resolved: BTreeSet<&str> = array(&metadata["resolve"]["nodes"])
        .map(|node| text(&node["id"]))
        .collect();
    for package in
        array(&metadata["packages"]).filter(|package| resolved.contains(text(&package["id"])))
    {
        let name = text(&package["name"]);
        if let Some((_, reason)) = BANNED.iter().find(|(banned, _)| *banned == name) {
            panic!("{name} must not be depended on: {reason}");
        }
        if package["source"].is_null() {
            for dependency in array(&package["dependencies"]) {
                let is_ours = dependency["path"].is_string();
                let (on, version) = (&dependency["name"], &dependency["req"]);
                assert!(
                    is_ours || version != "*",
                    "{name} takes any version of {on}"
                );
            }
        } else {
            assert_eq!(package["source"], REGISTRY, "where {name} comes from");
            let license = package["license"].as_str().unwrap_or("no licence");
            assert!(is_allowed(license), "{name} is under {license}");
        }
    }
}

/// Returns whether each part of a licence expression has an allowed alternative. For nested expressions the check is
/// stricter than necessary.
fn is_allowed(license: &str) -> bool {
    let (_, accepted) = ABOUT.split_once("accepted = [").unwrap();
    let (accepted, _) = accepted.split_once(']').unwrap();
    let accepted: Vec<&str> = accepted.split('"').skip(1).step_by(2).collect();
    let parts = license.replace('/', " OR ");
    let mut parts = parts.split(" AND ");
    parts.all(|part| {
        let mut names = part.trim_matches(['(', ')']).split(" OR ");
        names.any(|name| accepted.contains(&name.trim()))
    })
}

#[test]
fn licences_are_read_as_they_are_written() {
    for (license, allowed) in [
        ("MIT", true),
        ("GPL-3.0-only", false),
        ("GPL-2.0-only OR MIT", true),
        ("MIT/Apache-2.0", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("MIT AND GPL-3.0-only", false),
        ("no licence", false),
    ] {
        assert_eq!(is_allowed(license), allowed, "{license}");
    }
}
