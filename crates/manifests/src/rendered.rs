//! Documents that `helm` renders from a chart, or stores in a release, each with its template file.
//!
//! Known attacks, and their defences: too much text, too many documents, alias bombs and deep nesting are limited by
//! `schemas::yaml`. Too much content from aliases across many documents is limited in this module.

use std::collections::BTreeSet;
use std::sync::Arc;

use schemas::DocumentCost;
use schemas::yaml::{self, StreamError, YamlCause, YamlError};
use serde_json::Value;

use crate::document::text;
use crate::{display_text, limits};

/// An object of a rendering.
#[derive(Clone, Debug)]
pub struct RenderedObject {
    /// The template file of the object, which is safe to show.
    pub file: Arc<str>,
    /// The content of the object.
    pub value: Value,
}

/// The reason why a rendering cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RenderedError {
    /// The rendering is too large, or not text.
    #[error("cannot be split into documents")]
    Stream(#[from] StreamError),
    /// A template renders to invalid YAML, or to too much content.
    #[error("`{0}` renders to invalid YAML")]
    Yaml(Arc<str>, #[source] YamlError),
}

impl RenderedError {
    /// Returns the line in the rendering, if it is known.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Stream(StreamError::Size(_)) => None,
            Self::Stream(
                StreamError::Encoding(line, _)
                | StreamError::Marker(line)
                | StreamError::Documents(line),
            ) => Some(*line),
            Self::Yaml(_, source) => source.place().map(|place| place.line as usize),
        }
    }
}

/// A line of a rendering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedLine {
    /// The template file of the line, as Helm names it.
    pub file: String,
    /// The trimmed text of the line.
    pub text: String,
}

/// Returns a line of a rendering by its number from 1. Returns `None` before the first template file.
#[must_use]
pub fn rendered_line(rendering: &[u8], number: usize) -> Option<RenderedLine> {
    let rendering = String::from_utf8_lossy(rendering);
    let mut file = None;
    for (at, line) in (1..=number).zip(rendering.lines()) {
        file = line.strip_prefix(SOURCE).or(file);
        if at == number {
            return Some(RenderedLine {
                file: file?.to_owned(),
                text: line.trim().to_owned(),
            });
        }
    }
    None
}

/// The beginning of the comment in which Helm names the template file of a document.
const SOURCE: &str = "# Source: ";

/// Returns the objects of a rendering in order. Lists of objects are split into their items, and empty documents are
/// left out.
pub fn rendered(rendering: &[u8]) -> Result<Vec<RenderedObject>, RenderedError> {
    let mut objects = Vec::new();
    let mut cost = DocumentCost::default();
    for part in yaml::parts(rendering)? {
        let file: Arc<str> = display_text(source(part.text)).into();
        let unusable = |source| RenderedError::Yaml(Arc::clone(&file), source);
        if let Some(value) = part.document().map_err(unusable)? {
            cost.add(&value);
            if cost.values > limits::RENDERED_VALUES || cost.text > limits::RENDERED_TEXT {
                let words = format!(
                    "together with the documents before it, it has more than {} values or {} bytes of text",
                    limits::RENDERED_VALUES,
                    limits::RENDERED_TEXT
                );
                return Err(unusable(YamlError::Document {
                    words,
                    place: None,
                    cause: YamlCause::Limit,
                }));
            }
            objects.extend(taken_apart(value).into_iter().map(|value| RenderedObject {
                file: Arc::clone(&file),
                value,
            }));
        }
    }
    Ok(objects)
}

/// Returns the objects that another rendering does not contain in the same form.
#[must_use]
pub fn differing<'a>(
    objects: &'a [RenderedObject],
    other: &[RenderedObject],
) -> Vec<&'a RenderedObject> {
    let written = |object: &RenderedObject| (Arc::clone(&object.file), object.value.to_string());
    let other: BTreeSet<_> = other.iter().map(written).collect();
    let differs = |object: &&RenderedObject| !other.contains(&written(object));
    objects.iter().filter(differs).collect()
}

/// Returns the template file that Helm names in a comment before each document.
fn source(text: &str) -> &str {
    let mut lines = text.lines().map(|line| line.strip_prefix(SOURCE));
    lines.find_map(|file| file).unwrap_or("a template")
}

fn taken_apart(mut value: Value) -> Vec<Value> {
    let is_list = text(&value, "/kind").ends_with("List");
    match value.get_mut("items") {
        Some(Value::Array(items)) if is_list => std::mem::take(items),
        _ => vec![value],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rendering_has_no_more_values_than_memory_for_them() {
        let list = format!("a: [{}]\n---\n", "{a: }, ".repeat(40_000));
        let read = |count: usize| rendered(list.repeat(count).as_bytes());
        assert_eq!(read(2).unwrap().len(), 2);
        let error = read(3).unwrap_err();
        let RenderedError::Yaml(_, source) = error else {
            panic!("{error}");
        };
        assert!(source.to_string().contains("more than 350000 values"));
    }

    #[test]
    fn what_differs_between_two_renderings_is_found() {
        let text = "# Source: web/templates/a.yaml\n{kind: A, metadata: {name: a}}\n---\n\
            # Source: web/templates/b.yaml\n{kind: B, metadata: {name: b}}\n";
        let of = |text: &str| rendered(text.as_bytes()).unwrap();
        let one = of(text);
        assert!(differing(&one, &of(text)).is_empty());
        let other = of(&text.replace("name: b}", "name: b}, data: {password: x}"));
        let differing = differing(&one, &other);
        assert_eq!(differing.len(), 1);
        assert_eq!(differing[0].value["metadata"]["name"], "b");
    }
}
