//! The direction of dependencies, as docs/architecture.md draws it, compared with what cargo sees; what may be depended
//! on at all; the direction inside each package; what libraries must not know though no arrow shows it: the command
//! line; that no function takes a tuple; that a name is one type's; and that commands are short. A new arrow needs a line
//! here, and so a reason in review.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What each package may depend on among the packages of the workspace.
const ARROWS: &[(&str, &[&str])] = &[
    ("schemas", &[]),
    ("iso9660", &[]),
    ("files", &["schemas"]),
    ("signing", &["schemas"]),
    ("watch", &[]),
    ("archive", &["iso9660", "schemas", "signing", "watch"]),
    // Who else could change what is remembered of uploads.
    ("registry", &["files", "schemas", "watch"]),
    ("serve", &["schemas"]),
    ("deployer", &["watch"]),
    // It decides from what others have read: no function of it waits for anything.
    ("change", &["deployer", "helm", "manifests", "schemas"]),
    ("charts", &["schemas"]),
    // It computes from what others have read and asked.
    ("fleet", &["schemas"]),
    ("helm", &["process", "schemas", "watch"]),
    ("manifests", &["files", "schemas"]),
    ("mount", &["archive", "schemas"]),
    // It knows no program.
    ("process", &["watch"]),
    ("rules", &["manifests", "schemas"]),
    // What carries an SBOM is what an archive has.
    ("sbom", &["archive", "files", "process", "schemas", "watch"]),
    (
        "release",
        &[
            "archive",
            "files",
            "iso9660",
            "manifests",
            "rules",
            "schemas",
            "watch",
        ],
    ),
    (
        "sources",
        &["charts", "files", "registry", "schemas", "watch"],
    ),
    // Pack writes nothing that validate refuses, by the same rules.
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
            "watch",
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
            "watch",
        ],
    ),
    // What archives have at a registry; no cluster.
    (
        "shelf",
        &[
            "archive",
            "registry",
            "schemas",
            "serve",
            "validator",
            "watch",
        ],
    ),
    (
        "importer",
        &[
            "archive",
            "change",
            // Values that a site gives are read as a chart's own.
            "charts",
            "deployer",
            // What is found out about clusters is what expressions may use.
            "fleet",
            "helm",
            "manifests",
            "registry",
            "rules",
            "schemas",
            "shelf",
            "validator",
            "watch",
        ],
    ),
    (
        "solution",
        &[
            "archive",
            "charts",
            "deployer",
            "files",
            "fleet",
            "helm",
            "importer",
            "manifests",
            "mount",
            "packager",
            "registry",
            "release",
            "rules",
            "sbom",
            "schemas",
            "serve",
            "shelf",
            "signing",
            "sources",
            "validator",
            "watch",
        ],
    ),
    ("fixtures", &[]),
    ("example-operator", &[]),
    ("example-server", &[]),
];

/// Crates from outside that only one package may use directly.
const ONLY: &[(&str, &[&str])] = &[
    ("cel", &["fleet"]),
    ("clap", &["solution", "fixtures"]),
    ("clap_complete", &["solution"]),
    ("clap_mangen", &["solution"]),
    ("ed25519-dalek", &["signing"]),
    ("fuser", &["mount"]),
    // Another reader of images, for tests only.
    ("hadris-iso", &[]),
    ("indicatif", &["solution"]),
    ("k8s-openapi", &["deployer", "example-operator"]),
    ("kube", &["deployer", "example-operator"]),
    ("nix", &["mount"]),
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

/// What must not be compiled in, not even far below.
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

/// What the notices of packages are made with; its licences are those that are accepted here.
const ABOUT: &str = include_str!("../about.toml");

/// The one place that dependencies come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Files of libraries that may name the program and its flags, and why.
const SPOKEN: &[(&str, &str)] = &[
    ("crates/archive/src/readme.rs", "README.txt of archives"),
    (
        "crates/sources/src/cache/mod.rs",
        "CACHEDIR.TAG says whose it is",
    ),
    ("crates/release/src/charts.rs", NOTES),
    ("crates/release/src/operator.rs", NOTES),
    ("crates/release/src/write.rs", NOTES),
    ("crates/rules/src/catalogue.rs", FINDINGS),
];
const NOTES: &str = "what it writes is NOTES.md and the comments of a drafted solution.yaml";
const FINDINGS: &str =
    "docs/findings.md is made of it: what to do stands beside the id, for every tool";

/// Names of types that every package may have, and several times.
const CONVENTIONAL: &[&str] = &["Arguments", "Command", "Error", "Event"];

/// The names that public types of several libraries have all the same, and which. To be shortened, never extended.
const SHARED_AMONG: &[(&str, &[&str])] = &[
    ("Condition", &["importer", "schemas"]),
    ("Goal", &["deployer", "importer"]),
    ("Grant", &["deployer", "importer"]),
    ("Leaving", &["deployer", "importer"]),
    ("Part", &["change", "schemas"]),
    ("Plan", &["change", "importer"]),
    ("Policy", &["change", "signing"]),
    ("ReleaseChange", &["change", "importer"]),
    ("Resources", &["importer", "schemas"]),
];

/// Lines of code that a file of a command may have: arguments, one request, one call, one rendering.
const LINES: usize = 120;

/// Files of commands that have more. None comes to these, and one that is short enough goes.
const LONG: &[&str] = &[
    "apply/configuration/plan.rs",
    "apply/configuration/show.rs",
    "import/arguments.rs",
    "import/mod.rs",
    "import/plan.rs",
    "import/request.rs",
    "kept.rs",
    "login.rs",
    "serve/log.rs",
    "sign/mod.rs",
    "watch.rs",
];

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
            // Several versions of one package count as one.
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
        // What other platforms need is not there when nothing was fetched for them.
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
    for package in array(&metadata["packages"]).filter(|it| resolved.contains(text(&it["id"]))) {
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

/// Whether each part of a licence expression has an allowed alternative. Of nested ones, more is asked than need be.
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

#[test]
fn definitions_lie_below_their_users() {
    let metadata = metadata();
    let ours = array(&metadata["packages"]).filter(|package| package["source"].is_null());
    let mut wrong = Vec::new();
    for package in ours {
        let name = text(&package["name"]);
        let directory = Path::new(text(&package["manifest_path"])).parent().unwrap();
        let found = circle(arrows(&directory.join("src")));
        wrong.extend(found.map(|circle| format!("{name}: {circle}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn files_lie_below_their_users() {
    let metadata = metadata();
    let ours = array(&metadata["packages"]).filter(|package| package["source"].is_null());
    for package in ours {
        let name = text(&package["name"]);
        let directory = Path::new(text(&package["manifest_path"])).parent().unwrap();
        let found = circle(file_arrows(&directory.join("src")));
        assert_eq!(found, None, "{name}");
    }
}

#[test]
fn paths_are_read_as_they_are_written() {
    let text = "use crate :: a :: { b , c :: { D , self } } ; super :: e :: F ; self :: g ;";
    let text = text.replace("::", ": :");
    let words: Vec<&str> = text.split_whitespace().collect();
    let paths = used_paths(&words, "x::y").into_iter();
    let paths: Vec<String> = paths.map(|path| path.join("::")).collect();
    assert_eq!(
        paths,
        ["a::b", "a::c::D", "a::c::self", "x::e::F", "x::y::g"]
    );
}

#[test]
fn a_change_is_decided_without_asking_a_cluster() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/change/src");
    for file in fs::read_dir(source).unwrap() {
        let path = file.unwrap().path();
        let text = read(&path.with_extension(""));
        for word in ["async", "await", "Cluster"] {
            let found = text.split_whitespace().any(|it| it == word);
            assert!(!found, "`{word}` in {}", path.display());
        }
    }
}

/// Every argument stands for itself. Functions of tests are not looked at.
#[test]
fn no_argument_is_a_tuple() {
    let metadata = metadata();
    let ours = array(&metadata["packages"]).filter(|package| package["source"].is_null());
    let mut wrong = Vec::new();
    for package in ours {
        let name = text(&package["name"]);
        let directory = Path::new(text(&package["manifest_path"])).parent().unwrap();
        let source = directory.join("src");
        let mut files = modules(&source);
        files.insert("lib".to_owned(), root(&source));
        for (file, text) in &files {
            let words: Vec<&str> = text.split_whitespace().collect();
            let found = taking_tuples(&words).into_iter();
            wrong.extend(found.map(|function| format!("{name}: {function} in {file}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn arguments_are_read_as_they_are_written() {
    for (parameters, found) in [
        ("", false),
        ("(a, b): (A, B)", true),
        ("&self, (a, b): &Pair, c: C", true),
        ("place: &'a mut (A, B)", true),
        ("tell: &(dyn Fn(A, B) + 'a), done: ()", false),
        ("all: &[(A, B)], made: impl Fn(A, B) -> (A, B)", false),
        ("Pair { a, b }: model::Pair<A, B>", false),
    ] {
        for generics in ["", "<T: Into<A>, F: Fn() -> B>"] {
            let text = spaced(&format!(
                "pub fn one{generics}({parameters}) -> (A, B) {{}}"
            ));
            let words: Vec<&str> = text.split_whitespace().collect();
            let expected: &[&str] = if found { &["one"] } else { &[] };
            assert_eq!(taking_tuples(&words), expected, "{text}");
        }
    }
}

#[test]
fn a_name_is_one_type_within_a_package() {
    let mut shared: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (package, types) in type_names() {
        let mut seen = BTreeSet::new();
        for (name, _) in types {
            if !seen.insert(name.clone()) {
                shared.entry(package.clone()).or_default().insert(name);
            }
        }
    }
    assert_eq!(shared, BTreeMap::new(), "names of several types");
}

#[test]
fn a_public_name_is_one_type_among_the_libraries() {
    let mut owners: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (package, types) in type_names() {
        let is_library = ARROWS.iter().any(|(_, on)| on.contains(&package.as_str()));
        for (name, visibility) in types {
            if is_library && visibility == Visibility::Public {
                owners.entry(name).or_default().insert(package.clone());
            }
        }
    }
    owners.retain(|_, owners| owners.len() > 1);
    assert_eq!(owners, listed(SHARED_AMONG), "names of several types");
}

fn listed(list: &[(&str, &[&str])]) -> BTreeMap<String, BTreeSet<String>> {
    let owned = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
    let list = list.iter();
    list.map(|(key, all)| ((*key).to_owned(), owned(all)))
        .collect()
}

#[test]
fn types_are_read_as_they_are_written() {
    let text = "pub struct A<'a> {\n    type B: C;\n}\npub(crate) enum D {}\ntrait E: F {}\n\
                pub type G = H;\nimpl E for A {\n    type I = J;\n}\nfn k() {\n    struct L;\n}\n";
    let text = spaced(text);
    let types: Vec<(&str, Visibility)> = text.lines().filter_map(declared_type).collect();
    let (public, private) = (Visibility::Public, Visibility::Private);
    assert_eq!(
        types,
        [("A", public), ("D", private), ("E", private), ("G", public)]
    );
}

#[test]
fn a_file_of_a_command_is_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/commands");
    let files = files_below(vec![root.clone()]).into_iter();
    // Those are tests from their first line.
    let files = files.filter(|path| {
        path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs")
    });
    let long = files.filter(|path| lines_of_code(&fs::read_to_string(path).unwrap()) > LINES);
    let long: BTreeSet<String> = long.map(|path| name_below(&root, &path)).collect();
    let known: BTreeSet<String> = LONG.iter().map(|it| (*it).to_owned()).collect();
    let of = |one: &BTreeSet<String>, other| one.difference(other).cloned().collect::<Vec<_>>();
    assert_eq!(of(&long, &known), [""; 0], "more than {LINES} lines");
    assert_eq!(of(&known, &long), [""; 0], "no longer needed in LONG");
}

#[test]
fn lines_of_code_are_counted_as_they_are_written() {
    let text = "//! A file.\n\nuse a::b;\n\n/// One.\nfn one() {\n    // Why.\n    b() // so\n}\n";
    assert_eq!(lines_of_code(text), 4);
    let tests = "\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n";
    assert_eq!(lines_of_code(&format!("{text}{tests}")), 4);
}

/// A circle among modules, as `a → b → a`.
fn circle(mut arrows: BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    // What uses nothing that is left is in no circle.
    while let Some((lowest, _)) = arrows.iter().find(|(_, used)| used.is_empty()) {
        let lowest = lowest.clone();
        arrows.remove(&lowest);
        for used in arrows.values_mut() {
            used.remove(&lowest);
        }
    }
    let mut path = vec![arrows.keys().next()?.as_str()];
    loop {
        let next = arrows[path[path.len() - 1]].first()?.as_str();
        let begin = path.iter().position(|module| *module == next);
        path.push(next);
        if let Some(begin) = begin {
            return Some(path[begin..].join(" → "));
        }
    }
}

/// Which top-level modules of a package use which others, as its own source says.
fn arrows(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let root = root(source);
    let root: Vec<&str> = root.split_whitespace().collect();
    let exported = exported(&root);
    let mut arrows = BTreeMap::new();
    for module in declared(&root) {
        let mut used = BTreeSet::new();
        let mut open = vec![(source.join(module), 1)];
        while let Some((path, depth)) = open.pop() {
            let text = read(&path);
            let words: Vec<&str> = text.split_whitespace().collect();
            open.extend(declared(&words).map(|child| (path.join(child), depth + 1)));
            let names = reached(&words, depth).into_iter();
            used.extend(names.map(|name| exported.get(name).unwrap_or(&name).to_string()));
        }
        used.remove(module);
        arrows.insert(module.to_owned(), used);
    }
    // What the root itself defines is in no module.
    let modules: BTreeSet<String> = arrows.keys().cloned().collect();
    for used in arrows.values_mut() {
        used.retain(|name| modules.contains(name));
    }
    arrows
}

/// Which files of a package use which others, but for those that they lie in and those that lie in them.
fn file_arrows(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let files = modules(source);
    let lies_in = |one: &str, other: &str| format!("{one}::").starts_with(&format!("{other}::"));
    let mut arrows = BTreeMap::new();
    for (module, text) in &files {
        let words: Vec<&str> = text.split_whitespace().collect();
        let paths = used_paths(&words, module).into_iter();
        let used = paths.filter_map(|path| {
            let longest = (1..=path.len())
                .rev()
                .map(|length| path[..length].join("::"));
            longest.into_iter().find(|it| files.contains_key(it))
        });
        let used = used.filter(|it| !lies_in(it, module) && !lies_in(module, it));
        arrows.insert(module.clone(), used.collect());
    }
    arrows
}

/// The paths below the root of the package that a module names.
fn used_paths<'a>(words: &[&'a str], module: &'a str) -> Vec<Vec<&'a str>> {
    let mut found = Vec::new();
    for at in 0..words.len() {
        let begins = (at == 0 || words[at - 1] != ":") && words.get(at + 1) == Some(&":");
        let mut base: Vec<&str> = module.split("::").collect();
        let mut rest = &words[at..];
        match rest[0] {
            "crate" if begins => base.clear(),
            "self" if begins => {}
            "super" if begins => {
                base.pop();
                while rest.starts_with(&["super", ":", ":", "super"]) {
                    base.pop();
                    rest = &rest[3..];
                }
            }
            _ => continue,
        }
        expand(base, &rest[1..], &mut found);
    }
    found
}

/// Adds each path that begins with `base` and goes on with `words`, which may branch. Returns the words behind it.
fn expand<'w, 'a>(
    mut base: Vec<&'a str>,
    mut words: &'w [&'a str],
    found: &mut Vec<Vec<&'a str>>,
) -> &'w [&'a str] {
    while let [":", ":", rest @ ..] = words {
        words = rest;
        if let ["{", rest @ ..] = words {
            words = rest;
            while let [first, rest @ ..] = words {
                words = match *first {
                    "}" => return rest,
                    "," => rest,
                    name => expand([&base[..], &[name]].concat(), rest, found),
                };
            }
            return words;
        }
        let [name, rest @ ..] = words else {
            return words;
        };
        base.push(name);
        words = rest;
    }
    found.push(base);
    words
}

/// The functions of a file that take a tuple.
fn taking_tuples<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let begins = (0..words.len()).filter(|at| words[*at] == "fn");
    let functions = begins.filter_map(|at| {
        let (name, mut rest) = words[at + 1..].split_first()?;
        if rest.starts_with(&["<"]) {
            rest = parts(rest).1;
        }
        // What has no name is a type.
        let is_declared = *name != "(" && rest.starts_with(&["("]);
        let taken = is_declared.then(|| parts(rest).0)?;
        taken.into_iter().any(takes_tuple).then_some(*name)
    });
    functions.collect()
}

/// Whether the pattern of a parameter is a tuple, or its type.
fn takes_tuple(parameter: &[&str]) -> bool {
    let mut words = parameter.windows(3);
    let colon = words.position(|it| it[0] != ":" && it[1] == ":" && it[2] != ":");
    is_tuple(parameter) || colon.is_some_and(|before| is_tuple(&parameter[before + 2..]))
}

fn is_tuple(mut words: &[&str]) -> bool {
    while let ["&" | "mut", rest @ ..] | ["'", _, rest @ ..] = words {
        words = rest;
    }
    words.starts_with(&["("]) && parts(words).0.len() > 1
}

/// What stands between the commas of the brackets that open here, and the words behind them.
fn parts<'w, 'a>(words: &'w [&'a str]) -> (Vec<&'w [&'a str]>, &'w [&'a str]) {
    let (mut depth, mut begin, mut parts) = (0, 1, Vec::new());
    for (at, word) in words.iter().enumerate() {
        match *word {
            "(" | "[" | "{" | "<" => depth += 1,
            // An arrow closes nothing.
            ">" if words[at - 1] == "-" => {}
            ")" | "]" | "}" | ">" => depth -= 1,
            "," if depth == 1 => {
                parts.push(&words[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
        if depth == 0 {
            parts.push(&words[begin..at]);
            return (parts, &words[at + 1..]);
        }
    }
    (parts, &[])
}

/// Whether other packages may see a type.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Visibility {
    Public,
    Private,
}

/// The names of the types of each package, as often as types have them, but for the conventional ones.
fn type_names() -> BTreeMap<String, Vec<(String, Visibility)>> {
    let metadata = metadata();
    let ours = array(&metadata["packages"]).filter(|package| package["source"].is_null());
    let names = ours.map(|package| {
        let directory = Path::new(text(&package["manifest_path"])).parent().unwrap();
        let source = directory.join("src");
        let mut files = modules(&source);
        files.insert("lib".to_owned(), root(&source));
        let types = files.values().flat_map(|text| text.lines());
        let types = types.filter_map(declared_type);
        let types = types.filter(|(name, _)| !CONVENTIONAL.contains(name));
        let types = types.map(|(name, visibility)| (name.to_owned(), visibility));
        (text(&package["name"]).to_owned(), types.collect())
    });
    names.collect()
}

/// The type that a line of [`spaced`] declares for a module. What belongs to a trait or a function is indented.
fn declared_type(line: &str) -> Option<(&str, Visibility)> {
    if line.starts_with("  ") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let (visibility, declaration) = match &words[..] {
        ["pub", "(", _, ")", rest @ ..] => (Visibility::Private, rest),
        ["pub", rest @ ..] => (Visibility::Public, rest),
        rest => (Visibility::Private, rest),
    };
    match declaration {
        ["struct" | "enum" | "trait" | "type", name, ..] => Some((name, visibility)),
        _ => None,
    }
}

/// What the root of a package says.
fn root(source: &Path) -> String {
    let roots = [source.join("lib"), source.join("main")];
    let root = roots.iter().find(|root| root.with_extension("rs").exists());
    read(root.expect("a package has a root"))
}

/// Every module of a package below its root, and what it says.
fn modules(source: &Path) -> BTreeMap<String, String> {
    let root = root(source);
    let root: Vec<&str> = root.split_whitespace().collect();
    let mut open: Vec<String> = declared(&root).map(str::to_owned).collect();
    let mut modules = BTreeMap::new();
    while let Some(module) = open.pop() {
        let text = read(&source.join(module.replace("::", "/")));
        let words: Vec<&str> = text.split_whitespace().collect();
        open.extend(declared(&words).map(|child| format!("{module}::{child}")));
        modules.insert(module, text);
    }
    modules
}

/// How many lines a file has without blank ones, comments and its tests.
fn lines_of_code(text: &str) -> usize {
    let code = shipped_code(text);
    code.lines().filter(|line| !line.trim().is_empty()).count()
}

/// A module's words and marks, with a space between any two, without comments and what is only for tests.
fn read(module: &Path) -> String {
    let text = fs::read_to_string(module.with_extension("rs"));
    let text = text.or_else(|_| fs::read_to_string(module.join("mod.rs")));
    let text = text.expect("a module that is declared has a file");
    spaced(&shipped_code(&text))
}

/// What a file says without comments and what is only for tests.
fn shipped_code(text: &str) -> String {
    let mut parts = text.split("#[cfg(test)]");
    let mut shipped = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (item, rest) = part.split_at(part.find([';', '{']).unwrap_or(part.len()));
        // One that is no file of its own comes last, or clippy complains.
        if item.contains("mod ") && rest.starts_with('{') {
            break;
        }
        shipped += rest;
    }
    let code = shipped
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    let code: Vec<&str> = code.collect();
    code.join("\n")
}

/// A text with a space between any two of its words and marks.
fn spaced(text: &str) -> String {
    let apart = |c: char| match c {
        '_' | 'a'..='z' | 'A'..='Z' | '0'..='9' => c.to_string(),
        mark => format!(" {mark} "),
    };
    text.chars().map(apart).collect()
}

/// The modules that a file declares.
fn declared<'a>(words: &[&'a str]) -> impl Iterator<Item = &'a str> {
    let declarations = words.windows(3).filter(|it| it[0] == "mod" && it[2] == ";");
    declarations.map(|it| it[1])
}

/// What the root of a package hands on, and the module that has it.
fn exported<'a>(root: &[&'a str]) -> BTreeMap<&'a str, &'a str> {
    let uses = root.split(|word| *word == "use").skip(1);
    let names = uses.flat_map(|path| {
        let end = path.iter().position(|word| *word == ";").unwrap_or(0);
        let ends = path[..=end].windows(2);
        let ends = ends.filter(|it| ",};".contains(it[1]) && it[0] != "}");
        ends.map(|it| (it[0], path[0]))
    });
    names.collect()
}

/// The names that a file, so many modules below the root, takes out of the root.
fn reached<'a>(words: &[&'a str], depth: usize) -> Vec<&'a str> {
    let root = ["crate", ":", ":"];
    let up = ["super", ":", ":"].repeat(depth);
    let mut found = Vec::new();
    for at in 0..words.len() {
        let path = &words[at..];
        match path.strip_prefix(&root).or(path.strip_prefix(&up[..])) {
            Some(path @ ["{", ..]) => {
                let end = path.iter().position(|word| *word == ";").unwrap_or(0);
                let begin = path[..end].windows(2).filter(|it| "{,".contains(it[0]));
                found.extend(begin.map(|it| it[1]));
            }
            Some([name, ..]) => found.push(*name),
            _ => {}
        }
    }
    found
}

/// Every source file of the libraries, without those of tests, with its path as in [`SPOKEN`].
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = fs::read_dir(root.join("crates")).unwrap();
    let mut open: Vec<PathBuf> = crates
        .map(|entry| entry.unwrap().path().join("src"))
        .collect();
    open.extend(
        ["importer", "packager", "schemas", "validator"].map(|name| root.join(name).join("src")),
    );
    let named = files_below(open).into_iter().map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        (name_below(root, &path), text)
    });
    named.filter(|(name, _)| !name.contains("/test")).collect()
}

fn name_below(folder: &Path, path: &Path) -> String {
    let name = path.strip_prefix(folder).unwrap();
    name.to_str().unwrap().to_owned()
}

/// Every file in these folders, and in those below them.
fn files_below(mut open: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(path).unwrap();
            open.extend(entries.map(|entry| entry.unwrap().path()));
        } else {
            files.push(path);
        }
    }
    files
}

/// The flags in a text.
fn flags(text: &str) -> impl Iterator<Item = &str> {
    let rest = |start: usize| {
        let text = &text[start..];
        let end = text.find(|c: char| c != '-' && !c.is_ascii_lowercase());
        &text[..end.unwrap_or(text.len())]
    };
    let begins =
        |start: &usize| !text[..*start].ends_with(|c: char| c == '-' || c.is_alphanumeric());
    text.match_indices("--")
        .map(|(start, _)| start)
        .filter(begins)
        .map(rest)
}

#[test]
fn libraries_do_not_speak_the_command_line() {
    let reference =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli-reference.md"));
    let reference = reference.unwrap();
    let options = reference
        .lines()
        .filter(|line| line.trim_start().starts_with('-'));
    let ours: BTreeSet<&str> = options.filter_map(|line| flags(line).next()).collect();
    assert!(
        ours.contains("--pull-secret") && ours.len() > 40,
        "{ours:?}"
    );
    let mut silent: BTreeMap<&str, &str> = SPOKEN.iter().copied().collect();
    let mut spoken = Vec::new();
    for (name, text) in &sources() {
        let code = text.split("mod tests {").next().unwrap();
        for line in code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
        {
            let ours_in = |text: &str| flags(text).any(|flag| ours.contains(flag));
            // Commands of other programs may have a flag of the same name.
            let mut quoted = line.split('`').filter(|text| !text.starts_with("skopeo "));
            let says = quoted.any(ours_in) || line.contains("`solution ");
            if says
                && silent.remove(name.as_str()).is_none()
                && !SPOKEN.iter().any(|(file, _)| file == name)
            {
                spoken.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    assert!(
        spoken.is_empty(),
        "the program says what to do, in src/failure:\n{}",
        spoken.join("\n")
    );
    assert!(silent.is_empty(), "no longer needed in SPOKEN: {silent:?}");
}
