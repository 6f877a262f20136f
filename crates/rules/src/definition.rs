//! Definitions: one `CustomResourceDefinition` a file, of the kind that an API server accepts (`apiextensions.k8s.io/v1`).

use std::collections::{BTreeMap, BTreeSet};

use manifests::Definition;
use schemas::{KubernetesName, is_kubernetes_group};
use serde_json::Value;

use super::metadata::{is_of_kubernetes, metadata};
use super::{Problem, kind_of, text};
use crate::limits::WITHHELD;
pub use manifests::is_definition;

const APPROVAL: &str = "api-approved.kubernetes.io";

/// The name of a definition, as far as it is one.
#[must_use]
pub fn definition_name(document: &Value) -> Option<&str> {
    text(document, "/metadata/name").filter(|_| is_definition(document))
}

/// Whether a definition needs a webhook to convert its versions, which names one namespace where environments are many.
#[must_use]
pub fn converts_by_webhook(document: &Value) -> bool {
    text(document, "/spec/conversion/strategy") == Some("Webhook")
        || document.pointer("/spec/conversion/webhook").is_some()
}

/// The API group and plural of a definition whose resources are not in a namespace.
pub(super) fn cluster_scoped(definition: &Value) -> Option<(&str, &str)> {
    let definition = Definition(definition);
    let (group, plural) = (definition.group(), definition.plural());
    let is_one = definition.is_cluster_scoped() && !group.is_empty() && !plural.is_empty();
    is_one.then_some((group, plural))
}

/// Returns the one document of a definition's file.
pub fn only_document(documents: Vec<Value>) -> Result<Value, Problem> {
    let [document] = <[Value; 1]>::try_from(documents)
        .map_err(|documents| Problem::Documents(documents.len()))?;
    Ok(document)
}

/// Returns the problems of what a definition is, what it is called and how it converts.
#[must_use]
pub fn identify_definition(document: &Value) -> Vec<Problem> {
    if !is_definition(document) {
        let (api_version, kind) = kind_of(document);
        return vec![Problem::NotADefinition(
            api_version.to_owned(),
            kind.to_owned(),
        )];
    }
    let named = ["/metadata/name", "/spec/group", "/spec/names/plural"];
    let mut problems: Vec<Problem> = missing(document, &named).collect();
    problems.extend(names(document));
    problems
}

/// Returns every problem of a definition.
pub fn definition(document: &Value) -> Vec<Problem> {
    if !is_definition(document) {
        return identify_definition(document);
    }
    let mut problems = shape(document);
    let group = text(document, "/spec/group").filter(|group| !group.is_empty());
    let group = group.filter(|group| is_kubernetes_group(group));
    problems.extend(group.map(|group| Problem::Group(group.to_owned())));
    problems.extend(versions(document).into_iter().map(Problem::Versions));
    problems.extend(names(document));
    problems.extend(withheld(document).map(Problem::Withheld));
    problems
}

/// The names of definitions, each with its file, to find those that two files have.
#[derive(Debug, Default)]
pub struct DefinitionNames(BTreeMap<String, String>);

impl DefinitionNames {
    /// Adds a definition, and says whether another file has it too.
    pub fn add(&mut self, document: &Value, file: &str) -> Option<Problem> {
        let name = definition_name(document)?;
        let first = self.0.insert(name.to_owned(), file.to_owned())?;
        Some(Problem::DefinedTwice(name.to_owned(), first))
    }
}

fn names(document: &Value) -> Vec<Problem> {
    let field = |pointer| text(document, pointer);
    let mut problems = Vec::new();
    if let (Some(name), Some(plural), Some(group)) = (
        field("/metadata/name"),
        field("/spec/names/plural"),
        field("/spec/group"),
    ) {
        let expected = format!("{plural}.{group}");
        if name != expected {
            problems.push(Problem::DefinitionName(name.to_owned(), expected));
        } else if name.parse::<KubernetesName>().is_err() {
            problems.push(Problem::ObjectName(name.to_owned()));
        }
    }
    if converts_by_webhook(document) {
        problems.push(Problem::Conversion);
    }
    problems
}

fn missing(document: &Value, pointers: &[&str]) -> impl Iterator<Item = Problem> {
    let absent = |pointer: &&&str| text(document, pointer).is_none_or(str::is_empty);
    let words = |pointer: &&str| {
        let field = pointer.trim_start_matches('/').replace('/', ".");
        Problem::Shape(format!("`{field}` is missing or not a string"))
    };
    pointers.iter().filter(absent).map(words)
}

fn shape(document: &Value) -> Vec<Problem> {
    let required = [
        "/metadata/name",
        "/spec/group",
        "/spec/scope",
        "/spec/names/plural",
        "/spec/names/kind",
    ];
    let mut problems: Vec<Problem> = missing(document, &required).collect();
    if let Some(scope) = text(document, "/spec/scope")
        && !matches!(scope, "Namespaced" | "Cluster")
    {
        let words = format!("spec.scope is `{scope}`, not Namespaced or Cluster");
        problems.push(Problem::Shape(words));
    }
    if text(document, "/spec/group").is_some_and(|group| is_unapproved(group, document)) {
        problems.push(Problem::Shape(format!(
            "spec.group is the Kubernetes community's: it needs the annotation {APPROVAL}, with a URL or \"unapproved\""
        )));
    }
    let listed = Definition(document).versions().iter();
    problems.extend(listed.filter_map(schema).map(Problem::Shape));
    problems
}

/// Groups of the Kubernetes community need an approval to be used (KEP 2337), a URL or the word that there is none.
fn is_unapproved(group: &str, document: &Value) -> bool {
    let approval = document
        .pointer("/metadata/annotations")
        .and_then(|annotations| annotations.get(APPROVAL)?.as_str())
        .unwrap_or_default();
    let is_url = approval
        .split_once("://")
        .is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty());
    is_of_kubernetes(group)
        && !is_kubernetes_group(group)
        && !is_url
        && !approval.starts_with("unapproved")
}

/// Names the metadata of a definition that is left out, in words.
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

/// The API server wants a schema for each version whose root is an object.
fn schema(version: &Value) -> Option<String> {
    let name = text(version, "/name").unwrap_or_default();
    match text(version, "/schema/openAPIV3Schema/type") {
        Some("object") => None,
        _ => Some(format!("version `{name}` has no schema of type object")),
    }
}

fn versions(document: &Value) -> Vec<String> {
    let versions = Definition(document).versions();
    if versions.is_empty() {
        return vec!["spec.versions is missing or empty".to_owned()];
    }
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        match text(version, "/name") {
            None | Some("") => problems.push(format!("spec.versions[{index}] has no name")),
            Some(name) if !names.insert(name) => {
                problems.push(format!("version `{name}` occurs twice"));
            }
            Some(_) => {}
        }
        for field in ["served", "storage"] {
            if version.get(field).and_then(Value::as_bool).is_none() {
                problems.push(format!(
                    "spec.versions[{index}].{field} is not true or false"
                ));
            }
        }
    }
    let count = |field: &str| {
        let set = |version: &&Value| version.get(field) == Some(&Value::Bool(true));
        versions.iter().filter(set).count()
    };
    match count("storage") {
        1 => {}
        stored => problems.push(format!("{stored} versions are the storage version")),
    }
    if count("served") == 0 {
        problems.push("no version is served".to_owned());
    }
    problems
}
