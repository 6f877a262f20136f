//! Targets of patches, as in kustomize: each text is a regular expression that must match the whole value, and labels
//! and annotations are selected with the syntax of Kubernetes.
//!
//! Known attacks, and their defences: matching takes linear time, and a large expression is rejected.

use regex::{Regex, RegexBuilder};
use schemas::PatchTarget;
use serde_json::Value;

use crate::document::text;
use crate::error::PatchError;
use crate::limits;

/// A parsed target.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    said: PatchTarget,
    group: Option<Pattern>,
    version: Option<Pattern>,
    kind: Option<Pattern>,
    name: Option<Pattern>,
    namespace: Option<Pattern>,
    labels: Vec<Requirement>,
    annotations: Vec<Requirement>,
}

impl Target {
    pub(crate) fn read(said: PatchTarget, texts: TextMatch) -> Result<Self, PatchError> {
        let pattern = |text: &Option<String>| {
            let text = text.as_deref();
            text.map(|text| Pattern::read(text, texts)).transpose()
        };
        Ok(Self {
            group: pattern(&said.group)?,
            version: pattern(&said.version)?,
            kind: pattern(&said.kind)?,
            name: pattern(&said.name)?,
            namespace: pattern(&said.namespace)?,
            labels: requirements(said.label_selector.as_deref())?,
            annotations: requirements(said.annotation_selector.as_deref())?,
            said,
        })
    }

    /// Checks whether an object matches the target.
    pub(crate) fn is_for(&self, object: &Value) -> bool {
        let namespace = text(object, "/metadata/namespace");
        self.is_for_anywhere(object) && is_match(self.namespace.as_ref(), namespace)
    }

    /// Checks whether an object matches the target, ignoring its namespace.
    pub(crate) fn is_for_anywhere(&self, object: &Value) -> bool {
        let api_version = text(object, "/apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let has_all = |pointer: &str, wanted: &[Requirement]| {
            let marks = object.pointer(pointer);
            wanted.iter().all(|requirement| requirement.is_met(marks))
        };
        is_match(self.kind.as_ref(), text(object, "/kind"))
            && is_match(self.group.as_ref(), group)
            && is_match(self.version.as_ref(), version)
            && is_match(self.name.as_ref(), text(object, "/metadata/name"))
            && has_all("/metadata/labels", &self.labels)
            && has_all("/metadata/annotations", &self.annotations)
    }

    /// Describes the matching objects for messages.
    pub(crate) fn described(&self) -> String {
        let said = &self.said;
        let kind = said.kind.as_deref().unwrap_or("object of any kind");
        let mut words = match &said.group {
            Some(group) if !group.is_empty() => format!("a {kind} of {group}"),
            _ => format!("a {kind}"),
        };
        for (before, text) in [
            (" `", &said.name),
            (" in namespace `", &said.namespace),
            (" with the labels `", &said.label_selector),
            (" with the annotations `", &said.annotation_selector),
        ] {
            if let Some(text) = text {
                words.extend([before, text, "`"]);
            }
        }
        words
    }
}

/// The interpretation of a target's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextMatch {
    /// As regular expressions.
    Expressions,
    /// As literal values.
    Plain,
}

#[derive(Clone, Debug)]
enum Pattern {
    /// A literal value. Almost every target is literal, and comparing it is faster than matching an expression.
    Plain(String),
    Expression(Regex),
}

impl Pattern {
    fn read(text: &str, texts: TextMatch) -> Result<Self, PatchError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if texts == TextMatch::Plain || text.bytes().all(is_plain) {
            return Ok(Self::Plain(text.to_owned()));
        }
        // The group extends the anchors to all alternatives of the expression.
        let mut builder = RegexBuilder::new(&format!("^(?:{text})$"));
        let built = builder.size_limit(limits::EXPRESSION_SIZE).build();
        built
            .map(Self::Expression)
            .map_err(|_| PatchError::Expression(crate::display_text(text)))
    }
}

fn is_match(wanted: Option<&Pattern>, is: &str) -> bool {
    wanted.is_none_or(|wanted| match wanted {
        Pattern::Plain(wanted) => wanted == is,
        Pattern::Expression(wanted) => wanted.is_match(is),
    })
}

/// The condition of a selector for one label or annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    demand: RequiredText,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RequiredText {
    Exists,
    IsMissing,
    In(Vec<String>),
    NotIn(Vec<String>),
}

impl Requirement {
    /// Checks whether labels or annotations fulfil the condition. As in Kubernetes, `notin` also matches a missing key.
    fn is_met(&self, marks: Option<&Value>) -> bool {
        let value = marks
            .and_then(|marks| marks.get(&self.key))
            .and_then(Value::as_str);
        let is_in =
            |values: &[String]| value.is_some_and(|value| values.iter().any(|one| one == value));
        match &self.demand {
            RequiredText::Exists => value.is_some(),
            RequiredText::IsMissing => value.is_none(),
            RequiredText::In(values) => is_in(values),
            RequiredText::NotIn(values) => !is_in(values),
        }
    }

    fn read(text: &str) -> Option<Self> {
        let (key, demand) = if let Some(key) = text.strip_prefix('!') {
            (key, RequiredText::IsMissing)
        } else if let Some((key, values)) = text.split_once(" notin ") {
            (key, RequiredText::NotIn(values_of(values)?))
        } else if let Some((key, values)) = text.split_once(" in ") {
            (key, RequiredText::In(values_of(values)?))
        } else if let Some((key, value)) = text.split_once("!=") {
            (key, RequiredText::NotIn(vec![value.trim().to_owned()]))
        } else if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
            (key, RequiredText::In(vec![value.trim().to_owned()]))
        } else {
            (text, RequiredText::Exists)
        };
        let key = key.trim();
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        (!key.is_empty() && key.chars().all(is_name)).then(|| Self {
            key: key.to_owned(),
            demand,
        })
    }
}

/// Returns the values of a list, as `(a, b)`.
fn values_of(text: &str) -> Option<Vec<String>> {
    let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    Some(
        inner
            .split(',')
            .map(|value| value.trim().to_owned())
            .collect(),
    )
}

/// Parses a selector: conditions separated by commas outside of parentheses.
fn requirements(selector: Option<&str>) -> Result<Vec<Requirement>, PatchError> {
    let selector = selector.unwrap_or_default().trim();
    if selector.is_empty() {
        return Ok(Vec::new());
    }
    let mut is_open = false;
    let parts = selector.split(|c: char| {
        is_open = (is_open || c == '(') && c != ')';
        c == ',' && !is_open
    });
    let read: Option<Vec<Requirement>> = parts
        .map(|requirement| Requirement::read(requirement.trim()))
        .collect();
    read.ok_or_else(|| PatchError::Selector(crate::display_text(selector)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_target(target: &str) -> Result<bool, PatchError> {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "web-1", "namespace": "prod",
                "labels": { "app": "web", "tier": "front" }, "annotations": { "a.b/c": "d" },
            },
        });
        let said = schemas::yaml::from_slice(target.as_bytes()).unwrap();
        Ok(Target::read(said, TextMatch::Expressions)?.is_for(&object))
    }

    #[test]
    fn texts_are_expressions_for_the_whole_and_selectors_are_those_of_kubernetes() {
        for (target, expected) in [
            ("{}", true),
            ("{kind: Deployment, group: apps, version: v1}", true),
            ("{kind: Deploy}", false),
            ("{name: web}", false),
            ("{name: web-.*, namespace: prod|test}", true),
            ("{name: '.*'}", true),
            ("{namespace: prod|test, name: e}", false),
            ("{kind: 'Deployment|StatefulSet'}", true),
            ("{version: v1beta1}", false),
            ("{group: ''}", false),
            ("{labelSelector: app=web}", true),
            ("{labelSelector: 'app == web, tier!=back'}", true),
            ("{labelSelector: 'app in (api, web),!old'}", true),
            ("{labelSelector: 'app notin (api, web)'}", false),
            ("{labelSelector: 'old notin (a)'}", true),
            ("{labelSelector: tier}", true),
            ("{labelSelector: old}", false),
            ("{annotationSelector: a.b/c=d}", true),
            ("{annotationSelector: a.b/c=e}", false),
        ] {
            assert_eq!(is_target(target).unwrap(), expected, "{target}");
        }
    }

    #[test]
    fn what_is_no_expression_and_no_selector_is_refused() {
        for target in [
            "{name: '('}",
            "{name: '(?:a{1000}){1000}'}",
            "{labelSelector: 'a in b'}",
            "{labelSelector: '=a'}",
        ] {
            assert!(is_target(target).is_err(), "{target}");
        }
    }
}
