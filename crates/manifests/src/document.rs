//! The documents of files as Kubernetes objects, each with the place where it stands.
//!
//! Known attacks and where they stop: alias bombs, depth and size of one document: the YAML budgets of `schemas`; very
//! many documents or files: counted here; much text by aliases over many documents: weighed here; two objects of one
//! name: refused here unless they are equal; names that are paths: never used as file names before they are checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemas::DocumentCost;
use schemas::yaml::{self, Part};
use serde_json::Value;

use crate::error::{DocumentPlace, ManifestsError};
use crate::{ManifestFile, limits, shown};

/// An object.
#[derive(Clone, Debug)]
pub struct ManifestObject<'a> {
    /// The place where it stands.
    pub place: DocumentPlace,
    /// The text of the object, when it has one of its own.
    pub text: Option<&'a str>,
    /// The content of the object.
    pub value: Value,
}

impl ManifestObject<'_> {
    /// Returns its kind; empty where it has none.
    #[must_use]
    pub fn kind(&self) -> &str {
        text(&self.value, "/kind")
    }

    /// Returns its API group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        let api_version = text(&self.value, "/apiVersion");
        api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Returns its name; empty where it has none.
    #[must_use]
    pub fn name(&self) -> &str {
        text(&self.value, "/metadata/name")
    }

    /// The namespace that it names; empty where it names none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        text(&self.value, "/metadata/namespace")
    }

    /// Returns the kind and name, for people.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} `{}`", shown(self.kind()), shown(self.name()))
    }
}

/// The text at a JSON pointer, or an empty one.
#[must_use]
pub fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The list at a JSON pointer, or an empty one.
#[must_use]
pub fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The objects that the files hold.
#[derive(Debug, Default)]
pub struct ManifestObjects<'a> {
    /// The objects, in order; of several equal ones of one name the first.
    pub all: Vec<ManifestObject<'a>>,
    /// Documents without a kind, which are no objects.
    pub kindless: Vec<(DocumentPlace, Value)>,
    /// Objects that are left out since another is the same.
    pub repeated: Vec<Repeated>,
    cost: DocumentCost,
}

/// An object that occurs twice, equal both times.
#[derive(Clone, Debug)]
pub struct Repeated {
    /// The place that it is taken from.
    pub one: DocumentPlace,
    /// The place where it stands again.
    pub other: DocumentPlace,
    /// The kind and name of the object.
    pub what: String,
}

/// Reads the objects of all files, in order.
pub fn parse(files: &[ManifestFile]) -> Result<ManifestObjects<'_>, ManifestsError> {
    let (objects, errors) = parse_all(files);
    errors.into_iter().next().map_or(Ok(objects), Err)
}

/// Reads the objects of all files, in order, as far as they can be read, and says what cannot.
#[must_use]
pub fn parse_all(files: &[ManifestFile]) -> (ManifestObjects<'_>, Vec<ManifestsError>) {
    let mut objects = ManifestObjects::default();
    let mut errors = Vec::new();
    for file in files {
        let name: Arc<str> = shown(&file.name).into();
        let parts = yaml::parts(&file.bytes).unwrap_or_else(|source| {
            let file = name.to_string();
            errors.push(ManifestsError::Stream { file, source });
            Vec::new()
        });
        for part in parts {
            let place = DocumentPlace {
                file: Arc::clone(&name),
                document: part.number,
                line: part.line,
            };
            let read = objects.read(&place, part);
            // More would only be more of it.
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
    fn read(&mut self, place: &DocumentPlace, part: Part<'a>) -> Result<(), ManifestsError> {
        let document = part.document().map_err(|source| ManifestsError::Yaml {
            place: place.clone(),
            source,
        })?;
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

    /// Takes a document, or the items of a list of objects.
    fn take(&mut self, place: &DocumentPlace, text: Option<&'a str>, mut value: Value) {
        let kind = self::text(&value, "/kind");
        let items = value.get("items").is_some_and(Value::is_array);
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

    /// Keeps one of several objects of one name, and says which of these are different.
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
                    self.repeated.push(Repeated {
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

/// The text of a document that can stand in a file of its own: nothing of it is on the line of its marker.
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
