//! Sets of objects that a Solution carries as they are, `spec.manifests`, and where `solution.yaml` takes them from.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::name::checked_name;
use crate::{Namespace, ParameterName, pattern};

checked_name! {
    /// The name of a set of objects in its Solution: a DNS label.
    SetName, "name of a set", "a DNS label: lower-case letters, digits and `-`, at most 63, no `-` at either end",
    crate::name::is_dns_label, pattern::DNS_LABEL
}
checked_name! {
    /// An API of a cluster: `GROUP/VERSION`, or one kind of it.
    ApiName, "name of an API", "GROUP/VERSION or GROUP/VERSION/KIND, or v1 and v1/KIND",
    is_api_name
}

fn is_api_name(text: &str) -> bool {
    let parts: Vec<&str> = text.split('/').collect();
    let version = |text: &str| text.starts_with('v') && crate::name::is_dns_label(text);
    let kind = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.len() <= 63
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    match parts[..] {
        [core] => version(core),
        [core, of] if version(core) => kind(of),
        [group, of] => crate::name::is_dns_subdomain(group) && version(of),
        [group, of, last] => crate::name::is_dns_subdomain(group) && version(of) && kind(last),
        _ => false,
    }
}

impl ApiName {
    /// Returns the group and version, as in `apiVersion`, and the kind if one is named.
    #[must_use]
    pub fn parts(&self) -> (&str, Option<&str>) {
        let text = self.as_str();
        match text.rsplit_once('/') {
            Some((before, last)) if last.starts_with(|c: char| c.is_ascii_uppercase()) => {
                (before, Some(last))
            }
            _ => (text, None),
        }
    }
}

/// A set of objects: `/manifests/<name>/` of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObjectSet {
    /// Its name.
    pub name: SetName,
    /// The namespaces that the release calls its own, the first for objects that name none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<OwnNamespace>,
    /// The sets that are there before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<SetName>,
    /// Whether the set is kept as the archive has it.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub strategy: Strategy,
    /// On what it depends whether the set is installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
    /// When the set is applied.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub phase: Phase,
}

/// A namespace that a release calls its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnNamespace {
    /// Its name in the release.
    pub name: Namespace,
    /// Whether it has this name at every site; else the environment says which namespace it is.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub fixed: bool,
}

impl OwnNamespace {
    /// The namespace that is meant where this one is the environment's.
    #[must_use]
    pub fn in_environment<'a>(&'a self, environments: &'a Namespace) -> &'a Namespace {
        if self.fixed { &self.name } else { environments }
    }
}

/// Whether a set is kept as the archive has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Every deployment makes its objects what the archive says.
    #[default]
    Managed,
    /// It is installed once; after that only what differs is told.
    BootstrapOnly,
}

/// On what it depends whether a set is installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Condition {
    /// A parameter of type boolean is true.
    Parameter(ParameterName),
    /// The cluster serves an API.
    Api(ApiName),
}

/// When a set is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// When the Solution is deployed.
    #[default]
    Install,
    /// Before the Solution is removed.
    Remove,
}

/// A set of `solution.yaml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceSet {
    /// Its name.
    pub name: SetName,
    /// Files, and directories whose `.yaml`, `.yml` and `.json` files are taken, below the directory of `solution.yaml`.
    pub files: Vec<PathBuf>,
    /// The namespaces that the release calls its own, the first for objects that name none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<SourceNamespace>,
    /// What is changed about the objects, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<Patch>,
    /// Where kinds of others have pod templates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pod_templates: Vec<PodTemplatePath>,
    /// The sets that are there before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<SetName>,
    /// Whether the set is kept as the archive has it.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub strategy: Strategy,
    /// On what it depends whether the set is installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
    /// When the set is applied.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub phase: Phase,
}

/// A namespace that a release calls its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceNamespace {
    /// Its name in the release.
    pub name: Namespace,
    /// Whether it has this name at every site. By default it has if objects of the set belong to the whole cluster or to
    /// other namespaces, for which the name is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<bool>,
}

/// A change of objects, as the `patches` of kustomize have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// Which objects; there must be one at least. Without it the one that the patch names.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub target: PatchTarget,
    /// The change, inline or as text in YAML or JSON. A list is a JSON Patch (RFC 6902). A map is a strategic merge patch
    /// for Kubernetes' own kinds, and a JSON merge patch (RFC 7396) for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Value>,
    /// The former form of a JSON merge patch (RFC 7396).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Value>,
    /// The former form of a JSON Patch (RFC 6902).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
}

/// Which objects a patch changes. Texts are regular expressions for the whole of what they are compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchTarget {
    /// Their API group; by default any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Their API version, without the group; by default any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Their kind; by default any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Their name; by default any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The namespace that they name; by default any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// What Kubernetes calls a label selector, for their labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,
    /// The same for their annotations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotation_selector: Option<String>,
}

/// Where a kind has a pod template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PodTemplatePath {
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// A JSON pointer (RFC 6901) to the template, whose `spec` is a pod's.
    pub path: String,
}
