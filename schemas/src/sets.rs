//! Sets of manifests in `spec.manifests`: [`ObjectSet`] in an archive, and [`SourceSet`] in `solution.yaml` with its
//! files and patches. Each set has its own namespace and strategy.

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
    /// Returns the group and version, as in `apiVersion`, and the kind if there is one.
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

/// A set of manifests: `/manifests/<name>/` of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObjectSet {
    /// Its name.
    pub name: SetName,
    /// The namespaces that belong to the set. Objects without a namespace are created in the first one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<OwnNamespace>,
    /// The sets that must be ready before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<SetName>,
    /// Whether later deployments change the objects of the set.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub strategy: Strategy,
    /// The condition under which the set is installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
    /// The time at which the set is applied.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub phase: Phase,
}

/// A namespace that belongs to a set or chart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnNamespace {
    /// Its name in the manifests.
    pub name: Namespace,
    /// Whether it has this name at every site. Otherwise the environment determines its name.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub fixed: bool,
}

impl OwnNamespace {
    /// Returns the namespace at a site: its own name if it is fixed, else that of the environment.
    #[must_use]
    pub fn in_environment<'a>(&'a self, environments: &'a Namespace) -> &'a Namespace {
        if self.fixed { &self.name } else { environments }
    }
}

/// Whether later deployments change a set or chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Every deployment applies the objects as they are in the archive.
    #[default]
    Managed,
    /// It is installed once. Later deployments only report differences.
    BootstrapOnly,
}

/// The condition under which a set or chart is installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Condition {
    /// A boolean parameter is true.
    Parameter(ParameterName),
    /// The cluster serves an API.
    Api(ApiName),
}

/// The time at which a set is applied.
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
    /// Files, or directories with `.yaml`, `.yml` and `.json` files, below the directory of `solution.yaml`.
    pub files: Vec<PathBuf>,
    /// The namespaces that belong to the set. Objects without a namespace are created in the first one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<SourceNamespace>,
    /// The patches, applied in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<Patch>,
    /// The fields of custom resources that contain pod templates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pod_templates: Vec<PodTemplatePath>,
    /// The sets that must be ready before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<SetName>,
    /// Whether later deployments change the objects of the set.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub strategy: Strategy,
    /// The condition under which the set is installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
    /// The time at which the set is applied.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub phase: Phase,
}

/// A namespace that belongs to a set or chart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceNamespace {
    /// Its name in the manifests.
    pub name: Namespace,
    /// Whether it has this name at every site. Default: true if objects of the set are cluster-scoped or in other
    /// namespaces, because these may refer to the namespace by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<bool>,
}

/// A patch, as in the `patches` of kustomize.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// The objects to patch; at least one must match. Default: the object that the patch names.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub target: PatchTarget,
    /// The patch, inline or as a string in YAML or JSON. A list is a JSON Patch (RFC 6902). A mapping is a strategic
    /// merge patch for built-in kinds of Kubernetes, and a JSON merge patch (RFC 7396) for all other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Value>,
    /// The former form of a JSON merge patch (RFC 7396).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Value>,
    /// The former form of a JSON Patch (RFC 6902).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
}

/// The target of a patch. Strings are regular expressions that must match the whole text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchTarget {
    /// The API group. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The API version, without the group. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The kind. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The name. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The namespace in the manifest. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// A label selector for the labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,
    /// A label selector for the annotations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotation_selector: Option<String>,
}

/// The pod template of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PodTemplatePath {
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// A JSON Pointer (RFC 6901) to the pod template, whose `spec` is a pod's.
    pub path: String,
}
