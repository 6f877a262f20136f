//! What is different between the objects of two releases.

use std::collections::BTreeMap;

use manifests::{ManifestFile, Object, Objects, shown};
use schemars::JsonSchema;
use serde::Serialize;

use crate::paths::is_manifest;

/// What is different between two releases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Changes {
    /// What only the next has.
    pub added: Vec<String>,
    /// What both have, differently.
    pub changed: Vec<String>,
    /// What only the last had.
    pub removed: Vec<String>,
}

/// The release's files among those of a tree.
pub(crate) fn manifests(files: &BTreeMap<String, Vec<u8>>) -> Vec<ManifestFile> {
    let manifests = files.iter().filter(|(path, _)| is_manifest(path));
    let file = |(path, bytes): (&String, &Vec<u8>)| ManifestFile {
        name: path.clone(),
        bytes: bytes.clone(),
    };
    manifests.map(file).collect()
}

/// The objects that are different.
pub(crate) fn of(before: &Objects<'_>, after: &Objects<'_>) -> Changes {
    let (before, after) = (by_identity(before), by_identity(after));
    let changed = after.iter().filter(|(key, object)| {
        let last = before.get(*key);
        last.is_some_and(|last| last.value != object.value)
    });
    Changes {
        added: only(&after, &before),
        changed: changed.map(|(_, object)| title(object)).collect(),
        removed: only(&before, &after),
    }
}

/// Objects by kind, group, namespace and name.
type ByIdentity<'a> = BTreeMap<[&'a str; 4], &'a Object<'a>>;

fn by_identity<'a>(objects: &'a Objects<'_>) -> ByIdentity<'a> {
    let key = |it: &'a Object<'_>| [it.kind(), it.group(), it.namespace(), it.name()];
    objects.all.iter().map(|it| (key(it), it)).collect()
}

/// The objects of one release that another has not.
fn only(one: &ByIdentity<'_>, other: &ByIdentity<'_>) -> Vec<String> {
    let only = one.iter().filter(|(key, _)| !other.contains_key(*key));
    only.map(|(_, object)| title(object)).collect()
}

fn title(object: &Object<'_>) -> String {
    let name = [object.namespace(), object.name()].map(shown);
    let name = match &name[..] {
        [namespace, name] if !namespace.is_empty() => format!("{namespace}/{name}"),
        _ => name[1].clone(),
    };
    format!("{} {name}", shown(object.kind()))
}
