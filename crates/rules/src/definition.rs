//! Validation of CRDs (`apiextensions.k8s.io/v1`), with one definition in each file.
//!
//! [`refusals`] validates a definition as the API server does when it is created, except for CEL expressions. Each
//! submodule covers one part: the types of all fields (`shape`), everything but schemas (`spec`, `version`,
//! `conversion`), and schemas (`structural`, `openapi`, `validations`, `defaults`).
//!
//! The rules follow functions of `k8s.io/apiextensions-apiserver` 0.36, below `pkg/`. Each file names its functions, so
//! that it can be compared with a newer version. No code is copied.

mod conversion;
mod defaults;
mod field_path;
mod format;
mod openapi;
mod pattern;
mod place;
mod schema;
mod shape;
mod spec;
mod structural;
mod validations;
mod value;
mod version;

use std::collections::BTreeMap;

use manifests::Definition;
use schemas::{KubernetesName, LabelName, LabelValue, is_kubernetes_group};
use serde_json::Value;

use self::place::{Faults, Place};
use super::metadata::{is_of_kubernetes, metadata};
use super::{Problem, kind_of, text};
use crate::limits::WITHHELD;
pub use manifests::is_definition;

const APPROVAL: &str = "api-approved.kubernetes.io";
/// The API server's limit for the total size of all annotations, in bytes.
const ANNOTATIONS: usize = 256 * 1024;

/// Returns the name of a CustomResourceDefinition, or `None` for other documents.
#[must_use]
pub fn definition_name(document: &Value) -> Option<&str> {
    text(document, "/metadata/name").filter(|_| is_definition(document))
}

/// Checks whether a definition requires a conversion webhook. A webhook is in one namespace, but an operator's
/// definition is shared by many environments.
#[must_use]
pub fn converts_by_webhook(document: &Value) -> bool {
    text(document, "/spec/conversion/strategy") == Some("Webhook")
        || document.pointer("/spec/conversion/webhook").is_some()
}

/// Returns the API group and plural name of a cluster-scoped kind.
pub(super) fn cluster_scoped(definition: &Value) -> Option<(&str, &str)> {
    let definition = Definition(definition);
    let (group, plural) = (definition.group(), definition.plural());
    let is_one = definition.is_cluster_scoped() && !group.is_empty() && !plural.is_empty();
    is_one.then_some((group, plural))
}

/// Returns the only document of a definition's file.
pub fn only_document(documents: Vec<Value>) -> Result<Value, Problem> {
    let [document] = <[Value; 1]>::try_from(documents)
        .map_err(|documents| Problem::Documents(documents.len()))?;
    Ok(document)
}

/// Returns the problems of a definition's kind, name and conversion.
#[must_use]
fn identify_definition(document: &Value) -> Vec<Problem> {
    if !is_definition(document) {
        let (api_version, kind) = kind_of(document);
        return vec![Problem::NotADefinition(
            api_version.to_owned(),
            kind.to_owned(),
        )];
    }
    let named = ["/metadata/name", "/spec/group", "/spec/names/plural"];
    let mut problems: Vec<Problem> = missing(document, &named).collect();
    problems.extend(name(document));
    problems.extend(converts_by_webhook(document).then_some(Problem::Conversion));
    problems
}

/// Returns the problems of an operator's definition, which many environments share.
#[must_use]
pub fn definition(document: &Value) -> Vec<Problem> {
    if is_definition(document) && converts_by_webhook(document) {
        // Details of a conversion webhook are not reported, since the webhook has to be removed.
        return [Problem::Conversion]
            .into_iter()
            .chain(problems_but_conversion(document))
            .collect();
    }
    definition_of_chart(document)
}

/// Returns the problems of a chart's definition. A conversion webhook is allowed, because one environment owns the
/// definition.
#[must_use]
pub fn definition_of_chart(document: &Value) -> Vec<Problem> {
    if !is_definition(document) {
        return identify_definition(document);
    }
    let mut problems = conversion_refusals(document);
    problems.extend(problems_but_conversion(document));
    problems
}

fn problems_but_conversion(document: &Value) -> Vec<Problem> {
    let mut problems = refusals_but_conversion(document);
    let group = text(document, "/spec/group")
        .filter(|group| !group.is_empty())
        .filter(|group| is_kubernetes_group(group));
    problems.extend(group.map(|group| Problem::Group(group.to_owned())));
    let mut versions = Definition(document).versions().iter();
    let is_served = |version: &Value| version.get("served") == Some(&Value::Bool(true));
    if versions.len() > 0 && !versions.any(is_served) {
        problems.push(Problem::Versions("no version is served".to_owned()));
    }
    problems.extend(withheld(document).map(Problem::Withheld));
    problems
}

/// Returns the problems for which the API server rejects the applied part of a definition.
#[must_use]
pub fn refusals(document: &Value) -> Vec<Problem> {
    let mut problems = conversion_refusals(document);
    problems.extend(refusals_but_conversion(document));
    problems
}

fn conversion_refusals(document: &Value) -> Vec<Problem> {
    let mut faults = Faults::new(Problem::Shape);
    conversion::check(&document["spec"], &mut faults);
    faults.into_problems()
}

fn refusals_but_conversion(document: &Value) -> Vec<Problem> {
    let spec = &document["spec"];
    let mut faults = Faults::new(Problem::Shape);
    shape::check(spec, &mut faults);
    let is_shaped = faults.is_empty();
    check_metadata(document, &mut faults);
    let mut problems = faults.into_problems();
    problems.extend(name(document));
    // As in the API server, further checks require that all fields have the right types.
    if is_shaped {
        problems.extend(spec::check(spec));
    }
    problems
}

/// The names of definitions with their files, to find duplicates.
#[derive(Debug, Default)]
pub struct DefinitionNames(BTreeMap<String, String>);

impl DefinitionNames {
    /// Adds a definition, and returns a problem if another file contains it too.
    pub fn add(&mut self, document: &Value, file: &str) -> Option<Problem> {
        let name = definition_name(document)?;
        let first = self.0.insert(name.to_owned(), file.to_owned())?;
        Some(Problem::DefinedTwice(name.to_owned(), first))
    }
}

/// Returns the problem of a definition's name, which must be PLURAL.GROUP.
fn name(document: &Value) -> Option<Problem> {
    let field = |pointer| text(document, pointer);
    let (name, plural, group) = (
        field("/metadata/name")?,
        field("/spec/names/plural")?,
        field("/spec/group")?,
    );
    let expected = format!("{plural}.{group}");
    if name != expected {
        Some(Problem::DefinitionName(name.to_owned(), expected))
    } else if name.parse::<KubernetesName>().is_err() {
        Some(Problem::ObjectName(name.to_owned()))
    } else {
        None
    }
}

/// Checks the labels and annotations that are applied, and the approval of a group.
fn check_metadata(document: &Value, faults: &mut Faults) {
    let place = Place::root("metadata");
    if text(document, "/metadata/name").is_none_or(str::is_empty) {
        faults.add(&place.field("name"), "is missing");
    }
    let applied = metadata(document);
    let labels = place.field("labels");
    for (key, value) in applied.labels {
        if key.parse::<LabelName>().is_err() || value.parse::<LabelValue>().is_err() {
            faults.add(
                &labels.key(key),
                format_args!("`{value}` is not a valid label value"),
            );
        }
    }
    let annotations = place.field("annotations");
    let mut size = 0;
    for (key, value) in applied.annotations {
        size += key.len() + value.len();
        if key.to_lowercase().parse::<LabelName>().is_err() {
            faults.add(&annotations.key(key), "is not a valid annotation key");
        }
    }
    if size > ANNOTATIONS {
        faults.add(
            &annotations,
            format_args!("have more than {ANNOTATIONS} bytes"),
        );
    }
    if text(document, "/spec/group").is_some_and(|group| is_unapproved(group, document)) {
        let words = format_args!(
            "is a group of the Kubernetes community and requires the annotation {APPROVAL} with a URL or \"unapproved\""
        );
        faults.add(&Place::root("spec").field("group"), words);
    }
}

fn missing(document: &Value, pointers: &[&str]) -> impl Iterator<Item = Problem> {
    let absent = |pointer: &&&str| text(document, pointer).is_none_or(str::is_empty);
    let words = |pointer: &&str| {
        let field = pointer.trim_start_matches('/').replace('/', ".");
        Problem::Shape(format!("`{field}` is missing or not a string"))
    };
    pointers.iter().filter(absent).map(words)
}

/// Checks whether a definition uses a group of the Kubernetes community without the required approval (KEP 2337), which
/// is a URL or a reason that begins with `unapproved`.
fn is_unapproved(group: &str, document: &Value) -> bool {
    let approval = document
        .pointer("/metadata/annotations")
        .and_then(|annotations| annotations.get(APPROVAL)?.as_str())
        .unwrap_or_default();
    let is_url = approval.split_once("://").is_some_and(|(scheme, rest)| {
        !scheme.is_empty() && !rest.is_empty() && !rest.starts_with('/')
    });
    is_of_kubernetes(group)
        && !is_kubernetes_group(group)
        && !is_url
        && !approval.starts_with("unapproved")
}

/// Describes the metadata of a definition that is not applied.
fn withheld(document: &Value) -> Option<String> {
    let withheld = metadata(document).withheld;
    let mut parts: Vec<String> = withheld
        .iter()
        .take(WITHHELD)
        .map(ToString::to_string)
        .collect();
    if withheld.len() > WITHHELD {
        parts.push(format!("and {} more", withheld.len() - WITHHELD));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    /// Returns a definition with this schema of its `spec`.
    fn with(spec: &Value) -> Value {
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "carts.shop.test"},
            "spec": {
                "group": "shop.test",
                "scope": "Namespaced",
                "names": {"kind": "Cart", "plural": "carts"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
            },
        })
    }

    fn told(document: &Value) -> Vec<String> {
        definition(document)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn all_problems_are_told_with_their_places() {
        let mut document = with(&json!({
            "type": "object",
            "properties": {
                "a/b": {"type": "array"},
                "size": {"type": "integer", "default": "big"},
                "mode": {"type": "string", "anyOf": [{"type": "string", "pattern": "("}]},
            },
        }));
        document["spec"]["names"]["shortNames"] = json!(["c", "C"]);
        document["spec"]["versions"][0]["additionalPrinterColumns"] =
            json!([{"name": "Size", "type": "int", "jsonPath": "spec.size"}]);
        let spec = "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties";
        let expected = [
            "spec.names.shortNames[1]: `C` is not a DNS label that begins with a letter: lower-case letters, digits and `-`, at most 63".to_owned(),
            "spec.versions[0].additionalPrinterColumns[0].type: `int` is not one of integer, number, string, boolean, date".to_owned(),
            "spec.versions[0].additionalPrinterColumns[0].jsonPath: is not a path that begins with `.`".to_owned(),
            format!("{spec}[a/b].items: is missing: an array must define its items"),
            format!("{spec}[mode].anyOf[0].type: is not allowed in allOf, anyOf, oneOf or not: a structural schema defines it outside"),
            format!("{spec}[mode].anyOf[0].pattern: is not a valid regular expression for Go: a group is not closed"),
        ];
        assert_eq!(told(&document), expected);
        // Defaults are validated only against valid schemas.
        let document = with(&json!({"type": "integer", "default": "big"}));
        let place = "spec.versions[0].schema.openAPIV3Schema.properties[spec].default";
        assert_eq!(
            told(&document),
            [format!("{place}: is not of the type integer")]
        );
    }

    #[test]
    fn a_field_of_another_type_is_told_before_anything_else() {
        let mut document =
            with(&json!({"type": "object", "maxProperties": 1.5, "properties": {"a": 5}}));
        document["spec"]["scope"] = json!(["Cluster"]);
        let spec = "spec.versions[0].schema.openAPIV3Schema.properties[spec]";
        let expected = [
            "spec.scope: is not text".to_owned(),
            format!("{spec}.maxProperties: is not an integer of 64 bits"),
            format!("{spec}.properties[a]: is not a mapping"),
        ];
        assert_eq!(told(&document), expected);
        document["spec"] = Value::Null;
        assert!(told(&document).contains(&"spec.group: is missing".to_owned()));
    }

    #[test]
    fn what_is_told_has_a_limit() {
        let fields = (0..50).map(|number| (format!("{number}{}", "x".repeat(1000)), json!({})));
        let fields: serde_json::Map<String, Value> = fields.collect();
        let told = told(&with(&json!({"type": "object", "properties": fields})));
        assert_eq!(told.len(), 21);
        assert_eq!(told[20], "and 30 more of the same kind");
        assert!(
            told.iter().all(|words| words.chars().count() <= 301),
            "{told:?}"
        );
    }

    /// Without the limit, each item of each default would be validated by each clause.
    #[test]
    fn defaults_are_judged_within_a_limit() {
        let clauses: Vec<Value> = (0..20_000)
            .map(|number| json!({"pattern": format!("^(a|{number})*$")}))
            .collect();
        let list: Vec<Value> = (0..20_000).map(|_| json!("aaaa")).collect();
        let items = json!({"type": "string", "allOf": clauses});
        let document = with(&json!({"type": "array", "default": list, "items": items}));
        let began = Instant::now();
        assert_eq!(told(&document), [""; 0]);
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{:?}",
            began.elapsed()
        );
    }
}
