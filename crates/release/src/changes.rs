//! Differences between two releases, in their objects ([`of`]) and in their images ([`of_images`]).

use std::collections::BTreeMap;

use manifests::{ManifestObject, ManifestObjects, display_text};
use schemars::JsonSchema;
use schemas::{ImageReference, SourceImage};
use serde::Serialize;

/// The differences between two releases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Changes {
    /// Objects that only the next release has.
    pub added: Vec<String>,
    /// Objects that differ.
    pub changed: Vec<String>,
    /// Objects that only the previous release has.
    pub removed: Vec<String>,
}

/// Returns the objects that were added, changed or removed.
pub(crate) fn of(before: &ManifestObjects<'_>, after: &ManifestObjects<'_>) -> Changes {
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

/// Returns the images that were added, changed or removed. An image with the same name and another reference has
/// changed.
pub(crate) fn of_images(before: &[SourceImage], after: &[SourceImage]) -> Changes {
    let (gone, come) = (without(before, after), without(after, before));
    let mut changes = Changes::default();
    for image in &come {
        let reference = reference(image);
        match gone.iter().find(|gone| gone.name == image.name) {
            Some(gone) => changes
                .changed
                .push(format!("{} is now {reference}", self::reference(gone))),
            None => changes.added.push(reference),
        }
    }
    let same_name = |gone: &&&SourceImage| !come.iter().any(|image| image.name == gone.name);
    let removed = gone.iter().filter(same_name);
    changes.removed = removed.map(|image| reference(image)).collect();
    changes
}

fn reference(image: &SourceImage) -> String {
    let reference = image.known_reference().map(ImageReference::to_string);
    reference.unwrap_or_else(|| image.place().to_string())
}

/// Returns the images whose reference is not in the other list.
fn without<'a>(images: &'a [SourceImage], others: &[SourceImage]) -> Vec<&'a SourceImage> {
    let others: Vec<String> = others.iter().map(reference).collect();
    let images = images.iter();
    images
        .filter(|image| !others.contains(&reference(image)))
        .collect()
}

/// Objects by kind, group, namespace and name. The version is no part of the identity, because an object can be served
/// in several.
type ByIdentity<'a> = BTreeMap<[&'a str; 4], &'a ManifestObject<'a>>;

fn by_identity<'a>(objects: &'a ManifestObjects<'_>) -> ByIdentity<'a> {
    let key = |object: &'a ManifestObject<'_>| {
        [
            object.kind(),
            object.group(),
            object.namespace(),
            object.name(),
        ]
    };
    let objects = objects.all.iter();
    objects.map(|object| (key(object), object)).collect()
}

/// Returns the objects that only one release has.
fn only(one: &ByIdentity<'_>, other: &ByIdentity<'_>) -> Vec<String> {
    let only = one.iter().filter(|(key, _)| !other.contains_key(*key));
    only.map(|(_, object)| title(object)).collect()
}

fn title(object: &ManifestObject<'_>) -> String {
    let name = [object.namespace(), object.name()].map(display_text);
    let name = match &name[..] {
        [namespace, name] if !namespace.is_empty() => format!("{namespace}/{name}"),
        _ => name[1].clone(),
    };
    format!("{} {name}", display_text(object.kind()))
}
