//! A name is one type's within a package, and among the libraries if it is public.

use std::collections::{BTreeMap, BTreeSet};

use crate::packages::{self, ARROWS};
use crate::source::{files, spaced};

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

/// Whether other packages may see a type.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Visibility {
    Public,
    Private,
}

/// The names of the types of each package, as often as types have them, but for the conventional ones.
fn type_names() -> BTreeMap<String, Vec<(String, Visibility)>> {
    let folders = packages::folders().into_iter();
    let names = folders.map(|(package, source)| {
        let files = files(&source);
        let types = files.values().flat_map(|text| text.lines());
        let types = types.filter_map(declared_type);
        let types = types.filter(|(name, _)| !CONVENTIONAL.contains(name));
        let types = types.map(|(name, visibility)| (name.to_owned(), visibility));
        (package, types.collect())
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
