//! The comparison of two versions by their archives alone, without a cluster: images and their sizes, CRDs, rights, and
//! all documents. The entry point is [`VersionComparison::make`], a pure function of the archives.
//!
//! CRDs are compared as an import would do it in a cluster in which only the first version has been activated.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::Object;
use schemars::JsonSchema;
use schemas::{Digest, Image, ImagePlace};
use serde::Serialize;
use serde_json::{Value, json};
use validator::AcceptedArchive;

use crate::model::error::Error;
use crate::objects::changes::PlannedNarrowing;
use crate::objects::crd::{self, Judged, Users};
use crate::objects::{diff, schema};
use crate::plan::outline::{self, DefinedResource};
use crate::plan::summary::PlannedRight;

/// The differences of two versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionComparison {
    /// The content that only the second version has.
    pub brings: BroughtBytes,
    /// The images that differ, by place.
    pub images: Vec<ComparedImage>,
    /// The custom resources with different definitions, by name.
    pub definitions: Vec<ComparedDefinition>,
    /// The rights that only the second version has, in an environment and a namespace that are both called `any`.
    pub rights_gained: Vec<PlannedRight>,
    /// The rights that only the first version has.
    pub rights_lost: Vec<PlannedRight>,
    /// The documents that differ, by kind and name.
    pub documents: Vec<ComparedDocument>,
}

/// New content of images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BroughtBytes {
    /// The number of configurations, layers and documents.
    pub contents: usize,
    /// Their size in bytes.
    pub bytes: u64,
}

/// An image that differs between the versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComparedImage {
    /// Its place in the Solution, `NAME:TAG`.
    pub image: ImagePlace,
    /// Its place in the first version, if it is different: an image with the same name that the second version no longer has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub former: Option<ImagePlace>,
    /// Its content in the first version; null if it is added.
    pub before: Option<ComparedContents>,
    /// Its content in the second version; null if it is removed.
    pub after: Option<ComparedContents>,
    /// The content that is in no image of the first version.
    pub brings: BroughtBytes,
}

/// The content of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ComparedContents {
    /// The digest of the tag.
    pub digest: Digest,
    /// The number of configurations, layers and documents.
    pub contents: usize,
    /// Their size in bytes.
    pub bytes: u64,
}

/// A custom resource with a different definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ComparedDefinition {
    /// Its content in the first version; null if it is added.
    pub before: Option<DefinedResource>,
    /// Its content in the second version; null if it is removed.
    pub after: Option<DefinedResource>,
    /// The reason why an import over the first version would refuse it; missing if it would not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The possible losses of objects of the first version. An import checks each object.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub narrowed: Vec<PlannedNarrowing>,
}

/// A document that differs between the versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ComparedDocument {
    /// The kind of document.
    pub kind: DocumentKind,
    /// Its name among those of its kind.
    pub name: String,
    /// The change.
    pub action: DocumentAction,
    /// A unified diff in YAML. Values of Secrets and sensitive defaults are left out.
    pub diff: String,
}

/// The kind of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DocumentKind {
    /// The operator or another section of the manifest.
    Manifest,
    /// A parameter.
    Parameter,
    /// A set of manifests in the manifest.
    Set,
    /// An object of a set of manifests.
    Object,
    /// A chart in the manifest.
    Chart,
    /// The publisher's values of a chart.
    ChartValues,
}

/// The change of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DocumentAction {
    /// Only the second version has it.
    Added,
    /// Only the first version has it.
    Removed,
    /// Both versions have it, with different content.
    Changed,
}

impl VersionComparison {
    /// Compares the second version with the first.
    pub fn make(before: &AcceptedArchive, after: &AcceptedArchive) -> Result<Self, Error> {
        let [old, new] = [before, after].map(|accepted| contents(accepted.images()));
        let rights = rules::compare(&outline::rights(before)?, &outline::rights(after)?);
        let [old_documents, new_documents] = [before, after].map(documents);
        Ok(Self {
            brings: brought(&new, &old),
            images: compare_images(before.images(), after.images(), &old),
            definitions: compare_definitions(before, after)?,
            rights_gained: outline::planned(&rights.gained),
            rights_lost: outline::planned(&rights.lost),
            documents: compare_documents(&old_documents, &new_documents),
        })
    }

    /// Checks whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The contents of images: size by digest.
type Contents = BTreeMap<Digest, u64>;

fn contents<'a>(images: impl IntoIterator<Item = &'a Image>) -> Contents {
    let images = images.into_iter();
    let all = images.flat_map(|image| {
        let documents = image.documents();
        let documents = documents.map(|document| (document.digest, document.bytes.len() as u64));
        let blobs = image.blobs.iter().map(|(digest, size)| (*digest, *size));
        documents.chain(blobs)
    });
    all.collect()
}

fn brought(contents: &Contents, known: &Contents) -> BroughtBytes {
    let new = contents
        .iter()
        .filter(|(digest, _)| !known.contains_key(digest));
    BroughtBytes {
        contents: new.clone().count(),
        bytes: new.map(|(_, size)| size).sum(),
    }
}

/// Returns the images that differ. An image whose tag alone has changed is one entry with its former place, not a
/// removed and an added image.
fn compare_images(before: &[Image], after: &[Image], known: &Contents) -> Vec<ComparedImage> {
    let roots = |images: &[Image]| {
        let placed = images
            .iter()
            .map(|image| (image.place.clone(), image.root.digest));
        placed.collect::<BTreeMap<_, _>>()
    };
    let former = former_places(&roots(before), &roots(after));
    let [before, after] = [before, after].map(|images| {
        let placed = images.iter().map(|image| (&image.place, image));
        placed.collect::<BTreeMap<_, _>>()
    });
    let moved: BTreeSet<&ImagePlace> = former.values().collect();
    let places: BTreeSet<&ImagePlace> = before.keys().chain(after.keys()).copied().collect();
    let places = places.into_iter().filter(|place| !moved.contains(place));
    let compared = places.map(|place| {
        let former = former.get(place);
        let old = before.get(former.unwrap_or(place)).copied();
        let new = after.get(place).copied();
        let told = |image: &Image| {
            let contents = contents([image]);
            ComparedContents {
                digest: image.root.digest,
                contents: contents.len(),
                bytes: contents.values().sum(),
            }
        };
        ComparedImage {
            image: place.clone(),
            former: former.cloned(),
            before: old.map(told),
            after: new.map(told),
            brings: brought(&contents(new), known),
        }
    });
    compared
        .filter(|image| image.before != image.after || image.former.is_some())
        .collect()
}

/// Returns the former places of images that have another tag in the second version. They have the same name and
/// content, or are the only changed image of their name in both versions.
fn former_places(
    before: &BTreeMap<ImagePlace, Digest>,
    after: &BTreeMap<ImagePlace, Digest>,
) -> BTreeMap<ImagePlace, ImagePlace> {
    let gone = before
        .iter()
        .filter(|(place, _)| !after.contains_key(place));
    let mut gone: BTreeMap<&ImagePlace, &Digest> = gone.collect();
    let new = after
        .iter()
        .filter(|(place, _)| !before.contains_key(place));
    let mut new: BTreeMap<&ImagePlace, &Digest> = new.collect();
    let mut former = BTreeMap::new();
    for (place, digest) in new.clone() {
        let mut alike = gone.iter().filter(|(old, _)| old.name == place.name);
        let same = alike.find(|(_, of)| **of == digest).map(|(old, _)| *old);
        if let Some(old) = same {
            gone.remove(old);
            new.remove(place);
            former.insert(place.clone(), old.clone());
        }
    }
    let names: BTreeSet<_> = new.keys().map(|place| &place.name).collect();
    for name in names {
        let of_name = |all: &BTreeMap<&ImagePlace, &Digest>| {
            let mut places = all.keys().filter(|place| place.name == *name);
            places
                .next()
                .filter(|_| places.next().is_none())
                .map(|place| (*place).clone())
        };
        if let (Some(place), Some(old)) = (of_name(&new), of_name(&gone)) {
            former.insert(place, old);
        }
    }
    former
}

/// Returns the CRDs that differ, with the problems that an import of the second version over the first would have.
fn compare_definitions(
    before: &AcceptedArchive,
    after: &AcceptedArchive,
) -> Result<Vec<ComparedDefinition>, Error> {
    let by_name = |accepted| {
        let all = outline::definitions(accepted);
        let all = all.map(|definition| {
            (
                manifests::text(definition.document, "/metadata/name"),
                definition,
            )
        });
        all.collect::<BTreeMap<_, _>>()
    };
    let (old, new) = (by_name(before), by_name(after));
    let names: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    let mut compared = Vec::new();
    for name in names {
        let (old, new) = (old.get(name), new.get(name));
        let mut found = ComparedDefinition {
            before: old.map(|definition| definition.document.into()),
            after: new.map(|definition| definition.document.into()),
            refused: None,
            narrowed: Vec::new(),
        };
        if let (Some(old), Some(new)) = (old, new) {
            if old.document["spec"] == new.document["spec"] {
                continue;
            }
            found.refused = refusal(before, after, old.document, new.document, new.users)?;
            let narrowings = schema::narrowings(old.document, new.document);
            found.narrowed = narrowings.iter().map(PlannedNarrowing::from).collect();
        }
        compared.push(found);
    }
    Ok(compared)
}

/// Returns the reason why an import would refuse a CRD over an active one. Objects are assumed to be stored in the
/// active CRD's storage version.
fn refusal(
    before: &AcceptedArchive,
    after: &AcceptedArchive,
    old: &Value,
    new: &Value,
    users: Users,
) -> Result<Option<String>, Error> {
    let [older, newer] =
        [before, after].map(|accepted| accepted.statement().predicate.id.version());
    let mut active = old.clone();
    let stored = crd::versions(old).filter(|version| version["storage"] == true);
    let stored: Vec<&Value> = stored.map(|version| &version["name"]).collect();
    active["status"] = json!({ "storedVersions": stored });
    let active = Object::new(active)?;
    let judged = crd::judge(newer, new, &active, Some(older.clone()), users);
    Ok(match judged {
        Ok(Judged::Replaced | Judged::Kept(_)) => None,
        Err(blocker) => Some(blocker.to_string()),
    })
}

/// Documents by kind and name.
type Documents = BTreeMap<(DocumentKind, String), Value>;

/// Returns the documents of a version, without images, CRDs and roles.
fn documents(accepted: &AcceptedArchive) -> Documents {
    let mut all = Documents::new();
    let spec = json!(accepted.manifest().spec);
    let spec = spec.as_object().into_iter().flatten();
    for (field, value) in spec {
        let mut each_of = |kind| {
            let list = value.as_array().into_iter().flatten();
            all.extend(list.map(|item| {
                (
                    (kind, manifests::text(item, "/name").to_owned()),
                    item.clone(),
                )
            }));
        };
        match field.as_str() {
            "version" | "images" => {}
            "manifests" => each_of(DocumentKind::Set),
            "charts" => each_of(DocumentKind::Chart),
            "parameters" => {
                let each = value.as_object().into_iter().flatten();
                all.extend(
                    each.map(|(name, value)| {
                        ((DocumentKind::Parameter, name.clone()), value.clone())
                    }),
                );
            }
            _ => {
                all.insert((DocumentKind::Manifest, field.clone()), value.clone());
            }
        }
    }
    let metadata = json!(accepted.manifest().metadata);
    all.insert((DocumentKind::Manifest, "metadata".to_owned()), metadata);
    for set in accepted.sets() {
        let objects = set.objects.iter();
        let objects = objects.filter(|object| !manifests::is_definition(&object.document));
        all.extend(objects.map(|object| {
            let text = |pointer| manifests::text(&object.document, pointer);
            let namespace = text("/metadata/namespace");
            let slash = if namespace.is_empty() { "" } else { "/" };
            let (kind, name) = (text("/kind"), text("/metadata/name"));
            // Kinds of two groups may have the same name.
            let group = text("/apiVersion").split_once('/').map(|(group, _)| group);
            let group = group.map(|group| format!(".{group}")).unwrap_or_default();
            let name = format!("{} {kind}{group} {namespace}{slash}{name}", set.set.name);
            ((DocumentKind::Object, name), object.document.clone())
        }));
    }
    all.extend(accepted.charts().iter().map(|chart| {
        let name = chart.release.name.to_string();
        ((DocumentKind::ChartValues, name), json!(chart.values))
    }));
    all
}

fn compare_documents(before: &Documents, after: &Documents) -> Vec<ComparedDocument> {
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let compared = keys.into_iter().filter_map(|key| {
        let [mut old, mut new] = [before, after].map(|all| all.get(key).cloned());
        if old == new {
            return None;
        }
        let action = match (&old, &new) {
            (None, _) => DocumentAction::Added,
            (_, None) => DocumentAction::Removed,
            _ => DocumentAction::Changed,
        };
        let (kind, name) = key;
        hide(*kind, &mut old, &mut new);
        Some(ComparedDocument {
            kind: *kind,
            name: name.clone(),
            action,
            diff: diff::of_documents(old.as_ref(), new.as_ref()),
        })
    });
    compared.collect()
}

/// Masks the values of Secrets and the defaults of sensitive parameters, as a plan does.
fn hide(kind: DocumentKind, old: &mut Option<Value>, new: &mut Option<Value>) {
    let known = old.clone();
    let secret = |document: &Option<Value>| {
        document
            .as_ref()
            .is_some_and(|document| document["kind"] == "Secret")
    };
    match kind {
        DocumentKind::Object if secret(old) || secret(new) => {
            diff::mask(old.as_mut(), None);
            diff::mask(new.as_mut(), known.as_ref());
        }
        DocumentKind::Parameter => {
            let sensitive = |parameter: &Value| parameter["sensitive"] == true;
            let is_sensitive = old.iter().chain(new.iter()).any(sensitive);
            for (parameter, words) in [(old, "(secret)"), (new, "(another secret)")] {
                let parameter = parameter
                    .as_mut()
                    .filter(|parameter| is_sensitive && !parameter["default"].is_null());
                let Some(parameter) = parameter else { continue };
                let same = known
                    .as_ref()
                    .is_none_or(|known| known["default"] == parameter["default"]);
                parameter["default"] = json!(if same { "(secret)" } else { words });
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(kind: DocumentKind, before: &Value, after: &Value) -> Vec<String> {
        let one = |value: &Value| {
            let key = (kind, "a".to_owned());
            let some = (!value.is_null()).then(|| (key, value.clone()));
            some.into_iter().collect::<Documents>()
        };
        let compared = compare_documents(&one(before), &one(after)).into_iter();
        compared
            .map(|document| format!("{:?} {}", document.action, document.diff.replace('\n', "|")))
            .collect()
    }

    #[test]
    fn documents_are_added_removed_and_changed() {
        let set = DocumentKind::Set;
        let (one, two) = (json!({ "a": 1 }), json!({ "a": 2 }));
        assert_eq!(compared(set, &one, &one), Vec::<String>::new());
        let found = [
            compared(set, &Value::Null, &one),
            compared(set, &one, &Value::Null),
            compared(set, &one, &two),
        ];
        assert_eq!(
            found.concat(),
            [
                "Added @@ -0,0 +1 @@|+a: 1|",
                "Removed @@ -1 +0,0 @@|-a: 1|",
                "Changed @@ -1 +1 @@|-a: 1|+a: 2|",
            ]
        );
    }

    #[test]
    fn what_is_secret_is_only_seen_to_differ() {
        let secret = |value: &str| json!({ "kind": "Secret", "data": { "a": value, "b": "same" } });
        let parameter = |value: &str| json!({ "sensitive": true, "default": value });
        for (kind, before, after) in [
            (DocumentKind::Object, secret("b2xk"), secret("bmV3")),
            (
                DocumentKind::Parameter,
                parameter("b2xk"),
                parameter("bmV3"),
            ),
        ] {
            for (before, after) in [
                (&before, &after),
                (&Value::Null, &after),
                (&before, &Value::Null),
            ] {
                let found = compared(kind, before, after).concat();
                assert!(found.contains("secret)"), "{found}");
                for value in ["b2xk", "bmV3", "same"] {
                    assert!(!found.contains(value), "{found}");
                }
                let both = !before.is_null() && !after.is_null();
                assert_eq!(found.contains("(another secret)"), both, "{found}");
            }
        }
    }

    #[test]
    fn an_image_is_found_again_under_another_tag() {
        let placed = |images: &[(&str, u8)]| {
            let images = images.iter();
            let placed =
                images.map(|(place, byte)| (place.parse().unwrap(), Digest::new([*byte; 32])));
            placed.collect::<BTreeMap<ImagePlace, Digest>>()
        };
        let former = |before: &[(&str, u8)], after: &[(&str, u8)]| {
            let former = former_places(&placed(before), &placed(after)).into_iter();
            let former = former.map(|(place, old)| format!("{old} → {place}"));
            former.collect::<Vec<_>>().join(", ")
        };
        // Images with the same content match first, regardless of the order of their tags.
        let before = [("web:0.3.0", 1), ("web:0.4.0", 2)];
        let after = [("web:0.5.0", 2), ("web:0.6.0", 1)];
        let both = "web:0.4.0 → web:0.5.0, web:0.3.0 → web:0.6.0";
        assert_eq!(former(&before, &after), both);
        // An image with other content matches if no other image has the name.
        assert_eq!(former(&[("web:1", 1)], &[("web:2", 2)]), "web:1 → web:2");
        assert_eq!(former(&before, &[("web:1.0.0", 3)]), "");
        // Another name does not match, nor does an image that still exists.
        assert_eq!(former(&[("web:1", 1)], &[("app:1", 1)]), "");
        assert_eq!(former(&[("web:1", 1)], &[("web:1", 1), ("web:2", 1)]), "");
    }

    #[test]
    fn only_what_nothing_has_yet_is_brought() {
        let digest = |byte| Digest::new([byte; 32]);
        let old = Contents::from([(digest(1), 10), (digest(2), 20)]);
        let new = Contents::from([(digest(2), 20), (digest(3), 30), (digest(4), 40)]);
        let expected = BroughtBytes {
            contents: 2,
            bytes: 70,
        };
        assert_eq!(brought(&new, &old), expected);
    }
}
