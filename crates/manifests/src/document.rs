//! The documents of manifest files as Kubernetes objects, each with its position. [`parse`] stops at the first error,
//! [`parse_all`] reports all of them.
//!
//! Known attacks, and their defences:
//!
//! - Alias bombs, deep nesting and oversized documents: the YAML limits of `schemas`.
//! - Too many documents or files: limits in this module.
//! - Too much text from aliases across many documents: a total over all documents in this module.
//! - Two objects with the same name: rejected in this module, unless they are equal.
//! - Names that are paths: never used as file names without a check.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemas::DocumentCost;
use schemas::yaml::{self, DocumentText};
use serde_json::Value;

use crate::error::{DocumentPlace, ManifestsError};
use crate::{ManifestFile, display_text, limits};

/// An object in a manifest file.
#[derive(Clone, Debug)]
pub struct ManifestObject<'a> {
    /// The position of the object.
    pub place: DocumentPlace,
    /// The source text of the object, if the object does not share it with others.
    pub text: Option<&'a str>,
    /// The content of the object.
    pub value: Value,
}

impl ManifestObject<'_> {
    /// Returns the kind, or an empty text if it is missing.
    #[must_use]
    pub fn kind(&self) -> &str {
        text(&self.value, "/kind")
    }

    /// Returns the API group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        let api_version = text(&self.value, "/apiVersion");
        api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Returns the name, or an empty text if it is missing.
    #[must_use]
    pub fn name(&self) -> &str {
        text(&self.value, "/metadata/name")
    }

    /// Returns the namespace, or an empty text if none is given.
    #[must_use]
    pub fn namespace(&self) -> &str {
        text(&self.value, "/metadata/namespace")
    }

    /// Returns the kind and name for messages.
    #[must_use]
    pub fn title(&self) -> String {
        format!(
            "{} `{}`",
            display_text(self.kind()),
            display_text(self.name())
        )
    }
}

/// Returns the text at a JSON pointer, or an empty text.
#[must_use]
pub fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Returns the list at a JSON pointer, or an empty list.
#[must_use]
pub fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The objects of manifest files.
#[derive(Debug, Default)]
pub struct ManifestObjects<'a> {
    /// The objects in file order. Of equal objects with the same name, only the first is kept.
    pub all: Vec<ManifestObject<'a>>,
    /// The documents without a kind, which are not objects.
    pub kindless: Vec<(DocumentPlace, Value)>,
    /// The objects that are left out because an equal one precedes them.
    pub repeated: Vec<RepeatedObject>,
    cost: DocumentCost,
}

/// An object that occurs twice with the same content.
#[derive(Clone, Debug)]
pub struct RepeatedObject {
    /// The position of the kept object.
    pub one: DocumentPlace,
    /// The position of the repeated object.
    pub other: DocumentPlace,
    /// The kind and name of the object.
    pub what: String,
}

/// Reads the objects of all files in order.
///
/// # Errors
///
/// Fails with the first error that [`parse_all`] finds.
pub fn parse(files: &[ManifestFile]) -> Result<ManifestObjects<'_>, ManifestsError> {
    let (objects, errors) = parse_all(files);
    errors.into_iter().next().map_or(Ok(objects), Err)
}

/// Reads the objects of all files in order, and returns them with the errors of all documents that cannot be read, up
/// to [`limits::ERRORS`].
#[must_use]
pub fn parse_all(files: &[ManifestFile]) -> (ManifestObjects<'_>, Vec<ManifestsError>) {
    let mut objects = ManifestObjects::default();
    let mut errors = Vec::new();
    for file in files {
        let name: Arc<str> = display_text(&file.name).into();
        let parts = yaml::parts(&file.bytes).unwrap_or_else(|source| {
            let file = name.to_string();
            errors.push(ManifestsError::Stream(file, source));
            Vec::new()
        });
        for part in parts {
            let place = DocumentPlace {
                file: Arc::clone(&name),
                document: part.number,
                line: part.line,
            };
            let read = objects.read(&place, part);
            // All further documents would exceed the limit as well.
            let is_full = matches!(read, Err(ManifestsError::Weight { .. }));
            errors.extend(read.err());
            if is_full || errors.len() >= limits::ERRORS {
                return (objects, errors);
            }
        }
    }
    errors.extend(objects.drop_repeated());
    (objects, errors)
}

impl<'a> ManifestObjects<'a> {
    fn read(
        &mut self,
        place: &DocumentPlace,
        part: DocumentText<'a>,
    ) -> Result<(), ManifestsError> {
        let document = part
            .document()
            .map_err(|source| ManifestsError::Yaml(place.clone(), source))?;
        if let Some(value) = document {
            self.cost.add(&value);
            let DocumentCost { values, text } = self.cost;
            ManifestsError::check(place, values, limits::VALUES, "values")?;
            ManifestsError::check(place, text, limits::TEXT, "bytes of text")?;
            self.take(place, own_text(part.text), value);
            ManifestsError::check(place, self.all.len(), limits::OBJECTS, "objects")?;
        }
        Ok(())
    }

    /// Adds a document, or each item if it is a list of objects.
    fn take(&mut self, place: &DocumentPlace, text: Option<&'a str>, mut value: Value) {
        let kind = self::text(&value, "/kind");
        let items = value.get("items").is_some_and(Value::is_array);
        // A custom kind may end in `List` too. Only one with `items` is a list of objects.
        if kind.ends_with("List") && items {
            let Some(Value::Array(items)) = value.get_mut("items").map(Value::take) else {
                return;
            };
            for item in items {
                self.push(place, None, item);
            }
        } else {
            self.push(place, text, value);
        }
    }

    fn push(&mut self, place: &DocumentPlace, text: Option<&'a str>, value: Value) {
        let object = ManifestObject {
            place: place.clone(),
            text,
            value,
        };
        if object.kind().is_empty() {
            self.kindless.push((object.place, object.value));
        } else {
            self.all.push(object);
        }
    }

    /// Keeps one of multiple equal objects with the same name, and returns an error for each one that differs.
    fn drop_repeated(&mut self) -> Vec<ManifestsError> {
        let mut different = Vec::new();
        let mut seen: BTreeMap<[String; 4], usize> = BTreeMap::new();
        let mut kept: Vec<ManifestObject<'a>> = Vec::new();
        for object in std::mem::take(&mut self.all) {
            if object.name().is_empty() {
                kept.push(object);
                continue;
            }
            let key = [
                object.group(),
                object.kind(),
                object.namespace(),
                object.name(),
            ]
            .map(str::to_owned);
            match seen.get(&key).map(|index| &kept[*index]) {
                None => {
                    seen.insert(key, kept.len());
                    kept.push(object);
                }
                Some(one) if one.value == object.value => {
                    self.repeated.push(RepeatedObject {
                        one: one.place.clone(),
                        what: object.title(),
                        other: object.place,
                    });
                }
                Some(one) => {
                    different.push(ManifestsError::Twice {
                        one: one.place.clone(),
                        other: object.place.clone(),
                        what: object.title(),
                    });
                }
            }
        }
        self.all = kept;
        different
    }
}

/// Returns the text of a document if it can be the content of a separate file, which means that no content is on the
/// line of the document marker.
fn own_text(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let first = first.trim();
    if first.is_empty() {
        Some(rest)
    } else if first.starts_with('#') || !text.starts_with([' ', '\t']) {
        Some(text.trim_start_matches([' ', '\t']))
    } else {
        None
    }
}
