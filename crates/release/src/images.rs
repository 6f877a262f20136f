//! The images that a release names, and their names in the Solution. [`FoundImages`] collects references from
//! documents; [`FoundImages::named`] gives each a unique name and tag.

use std::collections::{BTreeMap, BTreeSet};

use manifests::KnownImages;
use manifests::reference::{EXAMPLE, Hint, normal, path, references};
use schemas::{ImageName, ImagePlace, ImageReference, ImageSource, SourceImage, Tag};
use serde_json::{Map, Value};

/// The texts of a document in which references are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchScope {
    /// All texts, for documents that run or configure containers.
    All,
    /// Texts in fields whose name suggests an image.
    Fields,
}

/// Returns the hint that a field's name gives about its value. For the `value` of an environment variable, the
/// variable's name gives it.
fn field_hint(key: &str, fields: &Map<String, Value>, searched: SearchScope) -> Hint {
    match (key, searched) {
        ("image", SearchScope::All) => Hint::Image,
        ("value", SearchScope::All) => Hint::from_name(
            fields
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default(),
        ),
        _ => Hint::from_name(key),
    }
}

/// Maximum number of objects that are listed for an image.
const ASKERS: usize = 5;

/// The images found so far, in the order of discovery, each with the objects that name it.
#[derive(Debug, Default)]
pub(crate) struct FoundImages {
    found: Vec<(ImageReference, Vec<String>)>,
    index: BTreeMap<String, usize>,
    /// The number of references found, including repeated ones.
    named: usize,
}

impl FoundImages {
    /// Searches a text for references, and records the object that names them.
    pub(crate) fn scan(&mut self, text: &str, hint: Hint, asker: &str) {
        for range in references(text, hint) {
            self.add(&text[range], asker);
        }
    }

    /// Searches the texts of a document for references. The traversal is iterative, so deep documents do not exhaust
    /// the stack.
    pub(crate) fn scan_document(&mut self, document: &Value, searched: SearchScope, asker: &str) {
        let mut open = vec![(document, Hint::None)];
        while let Some((value, hint)) = open.pop() {
            match value {
                Value::String(text) if searched == SearchScope::All || hint != Hint::None => {
                    self.scan(text, hint, asker);
                }
                Value::Array(list) => {
                    // An argument may be the value of the flag before it, as in `--image NAME`.
                    let flags = list
                        .iter()
                        .map(|argument| argument.as_str().map_or(Hint::None, Hint::from_argument));
                    let before = [Hint::None].into_iter().chain(flags);
                    let items: Vec<_> = list.iter().zip(before).collect();
                    let items = items.into_iter().rev();
                    open.extend(items.map(|(value, of_flag)| (value, hint.or(of_flag))));
                }
                Value::Object(map) => {
                    let fields = map.iter().rev().filter(|(key, _)| *key != EXAMPLE);
                    open.extend(fields.map(|(key, value)| (value, field_hint(key, map, searched))));
                }
                _ => {}
            }
        }
    }

    /// Searches the default values of a schema for references, by the names of the properties. Returns whether it found
    /// any.
    pub(crate) fn scan_defaults(&mut self, schema: &Value, asker: &str) -> bool {
        let before = self.named;
        manifests::default_texts(schema, &mut |text, hint| self.scan(text, hint, asker));
        self.named > before
    }

    fn add(&mut self, written: &str, asker: &str) {
        let Some(reference) = normal(written) else {
            return;
        };
        self.named += 1;
        let next = self.found.len();
        let index = *self.index.entry(reference.to_string()).or_insert(next);
        if index == next {
            self.found.push((reference, Vec::new()));
        }
        let askers = &mut self.found[index].1;
        if askers.len() < ASKERS && !askers.iter().any(|known| known.starts_with(asker)) {
            askers.push(asker.to_owned());
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.found.len()
    }

    /// Gives every image a unique name, and a tag.
    pub(crate) fn named(self) -> DraftImages {
        let references: Vec<&ImageReference> =
            self.found.iter().map(|(reference, _)| reference).collect();
        let names = names(&references);
        let images = self
            .found
            .iter()
            .zip(names)
            .map(|((reference, askers), name)| NamedImage {
                image: SourceImage {
                    name,
                    tag: tag(reference),
                    source: ImageSource::Docker(reference.clone()),
                    reference: Some(reference.clone()),
                    platforms: Vec::new(),
                },
                askers: askers.clone(),
            });
        DraftImages {
            images: images.collect(),
        }
    }
}

/// An image of the draft.
#[derive(Clone, Debug)]
pub(crate) struct NamedImage {
    pub(crate) image: SourceImage,
    /// The objects that name the image, at most [`ASKERS`].
    pub(crate) askers: Vec<String>,
}

/// The images of the draft.
#[derive(Debug)]
pub(crate) struct DraftImages {
    pub(crate) images: Vec<NamedImage>,
}

impl DraftImages {
    /// Returns the images for `solution.yaml`.
    pub(crate) fn sources(&self) -> Vec<SourceImage> {
        let images = self.images.iter();
        images.map(|named| named.image.clone()).collect()
    }

    /// Returns the objects that name each image.
    pub(crate) fn named_by(&self) -> BTreeMap<ImagePlace, Vec<String>> {
        let images = self.images.iter();
        let named = images.map(|named| (named.image.place(), named.askers.clone()));
        named.collect()
    }

    /// Returns the images in the form that the compiler of manifests takes.
    pub(crate) fn known(&self) -> KnownImages {
        let places = self.images.iter().map(|named| &named.image);
        KnownImages::new(
            places.filter_map(|image| Some((image.place(), image.reference.as_ref()?))),
        )
    }
}

fn digest(reference: &ImageReference) -> Option<&str> {
    reference
        .as_str()
        .split_once("@sha256:")
        .map(|(_, hex)| hex)
}

/// Returns the reference's tag. Without one, it is derived from the digest, or from a hash of the reference.
fn tag(reference: &ImageReference) -> Tag {
    let own = reference.tag().and_then(|tag| tag.parse().ok());
    own.unwrap_or_else(|| {
        let hex = digest(reference).map_or_else(
            || files::digest(reference.as_str().as_bytes()).hex(),
            str::to_owned,
        );
        format!("sha256-{}", &hex[..12])
            .parse()
            .expect("`sha256-` and twelve digits are a tag")
    })
}

/// Returns a unique name for each reference.
///
/// The name is the last part of the repository. Clashing names get the preceding part, then the tag, then both, and at
/// last a hash of the whole reference. Each round raises the level of the clashing names, so the loop ends.
fn names(references: &[&ImageReference]) -> Vec<ImageName> {
    let mut levels = vec![0_usize; references.len()];
    loop {
        let names: Vec<ImageName> = references
            .iter()
            .zip(&levels)
            .map(|(reference, level)| name(reference, *level))
            .collect();
        let mut seen: BTreeMap<&ImageName, Vec<usize>> = BTreeMap::new();
        for (index, name) in names.iter().enumerate() {
            seen.entry(name).or_default().push(index);
        }
        let clashing: Vec<Vec<usize>> = seen.into_values().filter(|same| same.len() > 1).collect();
        if clashing.is_empty() {
            return names;
        }
        for group in clashing {
            let paths: BTreeSet<&str> =
                group.iter().map(|index| path(references[*index])).collect();
            for index in group {
                // The preceding part does not distinguish two tags of one repository.
                levels[index] = match levels[index] {
                    0 if paths.len() == 1 => 2,
                    level => level + 1,
                };
            }
        }
    }
}

/// The level at which a name is a hash of the reference.
const LEVELS: usize = 4;

fn name(reference: &ImageReference, level: usize) -> ImageName {
    let path = path(reference);
    let (before, last) = path.rsplit_once('/').unwrap_or(("", path));
    let parent = before.rsplit('/').next().unwrap_or_default();
    let tag = tag(reference).as_str().to_lowercase();
    let text = match level {
        0 => last.to_owned(),
        1 if parent.is_empty() => last.to_owned(),
        1 => format!("{parent}-{last}"),
        2 => format!("{last}-{tag}"),
        3 => format!("{parent}-{last}-{tag}"),
        _ => String::new(),
    };
    let hashed = || {
        let hash = &files::digest(reference.as_str().as_bytes()).hex()[..12];
        format!("image-{hash}")
            .parse()
            .expect("`image-` and twelve digits are a name")
    };
    if level >= LEVELS {
        return hashed();
    }
    // A tag may contain characters that a name may not, and the combination may be too long.
    text.parse()
        .or_else(|_| tidy(&text).parse())
        .unwrap_or_else(|_| hashed())
}

/// Replaces every run of characters that are invalid in an image name with one `-`.
fn tidy(text: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let parts = text.split(|c| !plain(c)).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-")
}
