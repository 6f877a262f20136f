//! The prerequisites of a Solution, `spec.prerequisites`, which a site must meet before a deployment. A plan checks
//! them before the first change in a cluster.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    ApiName, KubernetesName, KubernetesVersion, Quantity, SolutionName, VersionRange, limits,
};

/// The numbers of minor versions of Kubernetes 1, and of patches of each, that are compared with a range: more than
/// there will be.
const MINORS: u64 = 200;
const PATCHES: u64 = 64;

/// What a site must provide before a Solution is deployed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Prerequisites {
    /// Other Solutions, which must be deployed and ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::NEEDED_SOLUTIONS))]
    pub solutions: Vec<NeededSolution>,
    /// The supported versions of Kubernetes, as a range. It is compared with the three numbers of the cluster's
    /// version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<VersionRange>,
    /// APIs that the cluster must serve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::NEEDED_APIS))]
    pub api_groups: Vec<ApiName>,
    /// A storage class that the cluster must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<NeededStorageClass>,
    /// The capacity that must be free on schedulable nodes. It is checked only for the first deployment.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub free: FreeResources,
    /// The minimum number of schedulable nodes: they are Ready, and have no taint that repels ordinary pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NonZeroU32>,
}

/// Prerequisites in `solution.yaml`. Versions of Kubernetes may have the `v` that `kubectl version` prints. An archive
/// has none, because earlier readers of its format reject it.
#[derive(Deserialize)]
#[serde(
    remote = "Prerequisites",
    rename_all = "camelCase",
    deny_unknown_fields
)]
pub(crate) struct SourcePrerequisites {
    #[serde(default)]
    solutions: Vec<NeededSolution>,
    #[serde(default, deserialize_with = "kubernetes_range")]
    kubernetes: Option<VersionRange>,
    #[serde(default)]
    api_groups: Vec<ApiName>,
    #[serde(default)]
    storage_class: Option<NeededStorageClass>,
    #[serde(default)]
    free: FreeResources,
    #[serde(default)]
    nodes: Option<NonZeroU32>,
}

/// Deserializes a range in which each version may have a `v`.
fn kubernetes_range<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<VersionRange>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let without = text.split(',').map(|comparison| {
        let version = comparison.trim_start_matches(['<', '>', '=', '~', '^', ' ']);
        let operator = &comparison[..comparison.len() - version.len()];
        let number = version
            .strip_prefix('v')
            .filter(|number| number.starts_with(|c: char| c.is_ascii_digit()));
        format!("{operator}{}", number.unwrap_or(version))
    });
    let range = without.collect::<Vec<_>>().join(",").parse();
    // The error has to quote the text as it was written.
    let range = range.or_else(|_| text.parse());
    range.map(Some).map_err(D::Error::custom)
}

/// Another Solution that must be deployed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NeededSolution {
    /// Its name.
    pub name: SolutionName,
    /// The supported versions.
    pub version: VersionRange,
    /// The environment in which it must be deployed.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub scope: NeededScope,
}

/// The environment in which another Solution must be deployed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NeededScope {
    /// The same environment.
    #[default]
    Environment,
    /// Any environment of the cluster.
    Cluster,
}

/// A storage class that the cluster must have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NeededStorageClass {
    /// The name of the class.
    Name(KubernetesName),
    /// Always `true`: the default class of the cluster, whatever its name.
    Default(
        #[serde(deserialize_with = "only_true")]
        #[schemars(extend("const" = true))]
        bool,
    ),
}

fn only_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let value = bool::deserialize(deserializer)?;
    let refuse = || D::Error::custom("`default` must be `true` or absent");
    value.then_some(true).ok_or_else(refuse)
}

/// The free capacity of schedulable nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FreeResources {
    /// CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Quantity>,
    /// Memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
}

/// Returns the first version of each minor version of Kubernetes in a range. Returns none if there are more than
/// [`limits::KUBERNETES_VERSIONS`].
pub(crate) fn versions_in(range: &VersionRange) -> Vec<KubernetesVersion> {
    let first = |minor| {
        let patch = (0..PATCHES).find(|patch| range.contains_numbers([1, minor, *patch]))?;
        Some(match patch {
            0 => format!("1.{minor}"),
            patch => format!("1.{minor}.{patch}"),
        })
    };
    let found: Vec<String> = (0..MINORS).filter_map(first).collect();
    if found.len() > limits::KUBERNETES_VERSIONS {
        return Vec::new();
    }
    let parsed = found.iter().map(|version| version.parse());
    parsed
        .collect::<Result<_, _>>()
        .expect("1 and numbers of up to three digits are a version of Kubernetes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SolutionSource, yaml};

    fn read(text: &str) -> Result<Prerequisites, yaml::YamlError> {
        yaml::from_slice(text.as_bytes())
    }

    #[test]
    fn a_range_of_kubernetes_takes_the_v_of_kubectl_in_a_source_and_not_in_an_archive() {
        let of_source = |range: &str| {
            let needed = format!("{{kubernetes: '{range}'}}");
            let text = format!(
                "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: SolutionSource\nmetadata: {{name: demo}}\n\
                 spec: {{version: 1.0.0, images: [], prerequisites: {needed}}}\n"
            );
            SolutionSource::from_slice(text.as_bytes()).map(|source| source.spec.prerequisites)
        };
        for (range, same) in [
            (">=v1.30", ">=1.30"),
            (">= v1.30.2, <v1.36", ">=1.30.2, <1.36"),
            ("~v1.36,^v1", "~1.36, ^1"),
            ("v1.36", "1.36"),
            (">=1.30", ">=1.30"),
        ] {
            let expected = read(&format!("kubernetes: '{same}'")).unwrap();
            assert_eq!(of_source(range).unwrap(), expected, "{range}");
        }
        let refused = of_source("~v1.36,!=v1").unwrap_err().to_string();
        assert!(refused.contains("`~v1.36,!=v1` is not a"), "{refused}");
        for range in [">=vv1.30", ">=v", "v*", ">=V1.30", ""] {
            assert!(of_source(range).is_err(), "{range}");
        }
        for text in [
            "kubernetes: '>=v1.30'",
            "solutions: [{name: a, version: '>=v1'}]",
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("without `v`"), "{error}");
        }
    }

    #[test]
    fn what_is_needed_is_read_with_its_defaults() {
        let all = "{solutions: [{name: db, version: '>=1.2, <2'}, {name: cni, version: '*', scope: cluster}], \
            kubernetes: '>=1.30', apiGroups: [monitoring.coreos.com/v1, v1/Pod], storageClass: {name: fast}, \
            free: {cpu: '2', memory: 4Gi}, nodes: 3}";
        let all = read(all).unwrap();
        let scopes: Vec<NeededScope> = all.solutions.iter().map(|needed| needed.scope).collect();
        assert_eq!(scopes, [NeededScope::Environment, NeededScope::Cluster]);
        assert_eq!(read(&yaml::to_string(&all)).unwrap(), all);
        assert_eq!(read("{}").unwrap(), Prerequisites::default());
        let default = read("{storageClass: {default: true}}").unwrap();
        assert_eq!(
            default.storage_class,
            Some(NeededStorageClass::Default(true))
        );
        assert_eq!(read(&yaml::to_string(&default)).unwrap(), default);
    }

    #[test]
    fn what_nobody_could_meet_or_understand_is_refused() {
        for text in [
            "{solution: []}",
            "{solutions: [{name: db}]}",
            "{solutions: [{name: db, version: about 2}]}",
            "{solutions: [{name: db, version: '1', scope: node}]}",
            "{solutions: [{name: db, version: '1', optional: true}]}",
            "{kubernetes: newest}",
            "{apiGroups: [Pod]}",
            "{storageClass: fast}",
            "{storageClass: {default: false}}",
            "{storageClass: {name: fast, default: true}}",
            "{free: {disk: 1Gi}}",
            "{free: {cpu: much}}",
            "{nodes: 0}",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_range_of_kubernetes_has_the_first_of_each_minor_version() {
        for (range, expected) in [
            (">=1.34, <1.37", vec!["1.34", "1.35", "1.36"]),
            (">=1.34.2, <1.36", vec!["1.34.2", "1.35"]),
            ("~1.36.5", vec!["1.36.5"]),
            (">=1.30", vec![]),
            (">=1.20, <1.30", vec![]),
            (">=2", vec![]),
        ] {
            let found = versions_in(&range.parse().unwrap());
            let found: Vec<&str> = found.iter().map(KubernetesVersion::as_str).collect();
            assert_eq!(found, expected, "{range}");
        }
    }
}
