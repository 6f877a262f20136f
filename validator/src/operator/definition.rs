//! One `CustomResourceDefinition` a file, of the kind that an API server accepts (`apiextensions.k8s.io/v1`).

use std::collections::{BTreeMap, BTreeSet};

use schemas::is_kubernetes_group;
use serde_json::Value;

use super::{Definition, text};
use crate::catalogue::operator::{
    CRD_CONVERSION, CRD_GROUP, CRD_KIND, CRD_METADATA, CRD_NAME, CRD_REPEATED, CRD_SHAPE,
    CRD_VERSIONS,
};
use crate::finding::Findings;
use crate::limits::WITHHELD;
use crate::rules::{is_of_kubernetes, metadata};

const APPROVAL: &str = "api-approved.kubernetes.io";

/// Checks each definition, and that no two define the same resource.
pub(super) fn check_all(definitions: &[Definition], findings: &mut Findings) {
    let mut names: BTreeMap<&str, &Definition> = BTreeMap::new();
    for definition in definitions {
        if !check(definition, findings) {
            continue;
        }
        let Some(name) = text(&definition.document, "/metadata/name") else {
            continue;
        };
        if let Some(first) = names.insert(name, definition) {
            let message = format_args!("defines `{name}`, as {} does", first.path);
            findings.add(&CRD_REPEATED, &definition.path, message);
        }
    }
}

/// Whether it is a definition at all.
fn check(definition: &Definition, findings: &mut Findings) -> bool {
    let Definition { path, document } = definition;
    let kind = text(document, "/kind").unwrap_or_default();
    let api_version = text(document, "/apiVersion").unwrap_or_default();
    if kind != "CustomResourceDefinition" || api_version != "apiextensions.k8s.io/v1" {
        let message = format_args!("holds `{api_version}` `{kind}`");
        findings.add(&CRD_KIND, path, message);
        return false;
    }
    for problem in shape(document) {
        findings.add(&CRD_SHAPE, path, problem);
    }
    let group = text(document, "/spec/group").filter(|group| !group.is_empty());
    if let Some(group) = group.filter(|group| is_kubernetes_group(group)) {
        findings.add(&CRD_GROUP, path, format_args!("spec.group is `{group}`"));
    }
    for problem in versions(document) {
        findings.add(&CRD_VERSIONS, path, problem);
    }
    if let Some(problem) = name(document) {
        findings.add(&CRD_NAME, path, problem);
    }
    if text(document, "/spec/conversion/strategy") == Some("Webhook")
        || document.pointer("/spec/conversion/webhook").is_some()
    {
        findings.add(&CRD_CONVERSION, path, "spec.conversion names a webhook");
    }
    if let Some(parts) = withheld(document) {
        let message = format_args!("of its metadata is not applied: {parts}");
        findings.add(&CRD_METADATA, path, message);
    }
    true
}

fn shape(document: &Value) -> Vec<String> {
    let required = [
        "/metadata/name",
        "/spec/group",
        "/spec/scope",
        "/spec/names/plural",
        "/spec/names/kind",
    ];
    let mut problems: Vec<String> = required
        .iter()
        .filter(|pointer| text(document, pointer).is_none_or(str::is_empty))
        .map(|pointer| format!("`{}` is missing or not a text", dotted(pointer)))
        .collect();
    if let Some(scope) = text(document, "/spec/scope")
        && !matches!(scope, "Namespaced" | "Cluster")
    {
        problems.push(format!(
            "spec.scope is `{scope}`, not Namespaced or Cluster"
        ));
    }
    if text(document, "/spec/group").is_some_and(|group| is_unapproved(group, document)) {
        problems.push(format!(
            "spec.group is the Kubernetes community's: it needs the annotation {APPROVAL}, with a URL or \"unapproved\""
        ));
    }
    problems.extend(list(document).iter().filter_map(schema));
    problems
}

fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
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

/// What of its metadata is left out, in words.
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

fn list(document: &Value) -> &[Value] {
    document
        .pointer("/spec/versions")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn versions(document: &Value) -> Vec<String> {
    let versions = list(document);
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

fn name(document: &Value) -> Option<String> {
    let name = text(document, "/metadata/name")?;
    let plural = text(document, "/spec/names/plural")?;
    let group = text(document, "/spec/group")?;
    let expected = format!("{plural}.{group}");
    (name != expected).then(|| format!("the name is `{name}`, not `{expected}`"))
}
