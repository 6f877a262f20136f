//! Checks of CRDs (`apiextensions.k8s.io/v1`), with one definition in each file.
//!
//! [`refusals`] finds the problems that a publisher could not correct after the release: names, group, scope, versions,
//! structural schemas and conversion. Everything else, for example patterns, defaults and CEL rules, is left to the API
//! server: an import dry-runs each definition there before it writes anything.
//!
//! The rules follow functions of `k8s.io/apiextensions-apiserver` 0.36, below `pkg/`. Each file names its functions, so
//! that it can be compared with a newer version. The API server rejects every definition that is rejected here.

mod conversion;
mod field_path;
mod field_types;
mod fields;
pub(crate) mod metadata;
mod schema;
mod spec;

use std::collections::BTreeMap;

use manifests::Definition;
use schemas::{KubernetesName, is_kubernetes_group};
use serde_json::Value;

use self::field_path::{FieldPath, ProblemList};
use crate::definition::metadata::{is_of_kubernetes, metadata};
use crate::document::{kind_of, text};
use crate::finding::problem::Problem;
use crate::limits::WITHHELD;
pub use manifests::is_definition;

const APPROVAL: &str = "api-approved.kubernetes.io";

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
pub(crate) fn cluster_scoped(definition: &Value) -> Option<(&str, &str)> {
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
    let mut problems = ProblemList::new(Problem::Shape);
    conversion::check(&document["spec"], &mut problems);
    problems.into_problems()
}

fn refusals_but_conversion(document: &Value) -> Vec<Problem> {
    let spec = &document["spec"];
    let mut problems = ProblemList::new(Problem::Shape);
    field_types::check(spec, &mut problems);
    let is_shaped = problems.is_empty();
    check_metadata(document, &mut problems);
    let mut problems = problems.into_problems();
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

/// Checks that the name is present, and the approval of a group.
fn check_metadata(document: &Value, problems: &mut ProblemList) {
    if text(document, "/metadata/name").is_none_or(str::is_empty) {
        problems.add(&FieldPath::root("metadata").field("name"), "is missing");
    }
    if text(document, "/spec/group").is_some_and(|group| is_unapproved(group, document)) {
        let words = format_args!(
            "is a group of the Kubernetes community and requires the annotation {APPROVAL} with a URL or \"unapproved\""
        );
        problems.add(&FieldPath::root("spec").field("group"), words);
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

    fn messages(document: &Value) -> Vec<String> {
        definition(document)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn all_problems_are_reported_with_their_paths() {
        let mut document = with(&json!({
            "type": "object",
            "properties": {
                "a/b": {"type": "array"},
                "size": {"type": "int"},
                "mode": {"type": "string", "anyOf": [{"type": "string"}]},
            },
        }));
        document["spec"]["names"]["shortNames"] = json!(["c", "C"]);
        let spec = "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties";
        let expected = [
            "spec.names.shortNames[1]: `C` is not a DNS label that begins with a letter: lower-case letters, digits and `-`, at most 63".to_owned(),
            format!("{spec}[a/b].items: is missing: an array must define its items"),
            format!("{spec}[mode].anyOf[0].type: is not allowed in allOf, anyOf, oneOf or not: a structural schema defines it outside"),
            format!("{spec}[size].type: is `int`; expected one of string, number, integer, boolean, array, object"),
        ];
        assert_eq!(messages(&document), expected);
    }

    #[test]
    fn a_field_of_another_type_is_reported_before_anything_else() {
        let mut document = with(&json!({"type": "object", "nullable": 1, "properties": {"a": 5}}));
        document["spec"]["scope"] = json!(["Cluster"]);
        let spec = "spec.versions[0].schema.openAPIV3Schema.properties[spec]";
        let expected = [
            "spec.scope: is not text".to_owned(),
            format!("{spec}.nullable: is not true or false"),
            format!("{spec}.properties[a]: is not a mapping"),
        ];
        assert_eq!(messages(&document), expected);
        document["spec"] = Value::Null;
        assert!(messages(&document).contains(&"spec.group: is missing".to_owned()));
    }

    #[test]
    fn the_number_and_length_of_messages_are_limited() {
        let fields = (0..50).map(|number| (format!("{number}{}", "x".repeat(1000)), json!({})));
        let fields: serde_json::Map<String, Value> = fields.collect();
        let messages = messages(&with(&json!({"type": "object", "properties": fields})));
        assert_eq!(messages.len(), 21);
        assert_eq!(messages[20], "and 30 more of the same kind");
        assert!(
            messages.iter().all(|words| words.chars().count() <= 301),
            "{messages:?}"
        );
    }
}
