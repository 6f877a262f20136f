//! What has to be at a site before a Solution is deployed there, `spec.prerequisites`.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    ApiName, KubernetesName, KubernetesVersion, Quantity, SolutionName, VersionRange, limits,
};

/// Minor versions of Kubernetes 1, and patches of each, among which those of a range are looked for: more than there will
/// be.
const MINORS: u64 = 200;
const PATCHES: u64 = 64;

/// What has to be at a site before a Solution is deployed there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Prerequisites {
    /// Other Solutions, deployed and ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::NEEDED_SOLUTIONS))]
    pub solutions: Vec<NeededSolution>,
    /// The versions of Kubernetes that will do, as a range: only the three numbers of the cluster's version count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<VersionRange>,
    /// APIs that the cluster serves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::NEEDED_APIS))]
    pub api_groups: Vec<ApiName>,
    /// A storage class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<NeededStorageClass>,
    /// What no pod has asked for yet of the nodes that take pods, where the Solution is not deployed yet.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub free: FreeResources,
    /// How many nodes take pods: they are Ready, and nothing keeps pods away that do not say otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NonZeroU32>,
}

/// Another Solution that is needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NeededSolution {
    /// Its name.
    pub name: SolutionName,
    /// The versions of it that will do.
    pub version: VersionRange,
    /// Where it is deployed.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub scope: NeededScope,
}

/// Where a Solution that is needed is deployed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NeededScope {
    /// In the same environment.
    #[default]
    Environment,
    /// In any environment of the cluster.
    Cluster,
}

/// A storage class that is needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NeededStorageClass {
    /// The class of this name.
    Name(KubernetesName),
    /// Always `true`: the class that claims get which name none, whatever it is called.
    Default(
        #[serde(deserialize_with = "only_true")]
        #[schemars(extend("const" = true))]
        bool,
    ),
}

fn only_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let value = bool::deserialize(deserializer)?;
    let refuse = || D::Error::custom("`default` is `true`, or left out");
    value.then_some(true).ok_or_else(refuse)
}

/// What is free of the nodes that take pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FreeResources {
    /// Processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Quantity>,
    /// Memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
}

/// Returns one version of Kubernetes for each minor version in a range, the first one; none if there are more than charts
/// are rendered for.
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
    let parsed = found.iter().map(|it| it.parse());
    parsed
        .collect::<Result<_, _>>()
        .expect("1 and numbers of up to three digits are a version of Kubernetes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    fn read(text: &str) -> Result<Prerequisites, yaml::YamlError> {
        yaml::from_slice(text.as_bytes())
    }

    #[test]
    fn what_is_needed_is_read_with_its_defaults() {
        let all = "{solutions: [{name: db, version: '>=1.2, <2'}, {name: cni, version: '*', scope: cluster}], \
            kubernetes: '>=1.30', apiGroups: [monitoring.coreos.com/v1, v1/Pod], storageClass: {name: fast}, \
            free: {cpu: '2', memory: 4Gi}, nodes: 3}";
        let all = read(all).unwrap();
        let scopes: Vec<NeededScope> = all.solutions.iter().map(|it| it.scope).collect();
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
