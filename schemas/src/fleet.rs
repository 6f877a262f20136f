//! Fleets, kind `SolutionFleet`: the clusters that one administrator maintains, the Solutions and values that they get,
//! and the order of changes. [`SolutionFleet::from_slice`] parses a file. Unknown fields are errors. References within
//! the file are checked by the crate `fleet`, which reports all problems at once.

mod names;
mod selector;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::names::{
    ClusterName, ClusterUid, FactName, FactPath, GroupName, KindName, ServedVersion, WaveName,
};
pub use self::selector::{LabelRequirement, LabelSelector, RequirementError, SelectorOperator};
use crate::manifest::{ManifestError, check_kind};
use crate::{
    API_VERSION, EnvironmentName, KubernetesName, LabelName, LabelValue, Namespace, SolutionName,
    Timeout, Version, limits, yaml,
};

/// A fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SolutionFleet {
    /// Always the project's API group and version.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Always `SolutionFleet`.
    #[schemars(extend("const" = "SolutionFleet"))]
    pub kind: String,
    /// The fleet's metadata.
    pub metadata: FleetMetadata,
    /// Clusters, groups, Solutions and waves.
    #[serde(default)]
    pub spec: FleetSpec,
}

/// The fleet's metadata.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetMetadata {
    /// The fleet's name. Clusters record it as the owner of their deployments.
    pub name: KubernetesName,
}

/// The content of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FleetSpec {
    /// Additional facts that expressions can use, read from each cluster.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = limits::FLEET_FACTS))]
    pub facts: BTreeMap<FactName, FactQuery>,
    /// The clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::FLEET_CLUSTERS))]
    pub clusters: Vec<FleetCluster>,
    /// Groups of clusters, selected by label. A cluster may be in multiple groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::FLEET_GROUPS))]
    pub groups: Vec<FleetGroup>,
    /// The Solutions to deploy, and their clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::FLEET_SOLUTIONS))]
    pub solutions: Vec<FleetSolution>,
    /// The settings of all clusters, as in the `spec` of a `site.yaml`: `parameters`, `charts`, `workloads`, `patches`,
    /// `pullSecret`. In a string, `${…}` is an expression (CEL) over the facts of the cluster. Write `$${` for a
    /// literal `${`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub site: Map<String, Value>,
    /// The order in which clusters are changed. Each cluster must be in exactly one wave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::FLEET_WAVES))]
    pub waves: Vec<FleetWave>,
    /// Whether the rollout is paused: no other cluster is changed.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub paused: bool,
    /// The ids of accepted effects, as shown in plans.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::FLEET_ACCEPTED))]
    pub accept: Vec<String>,
}

/// The source of a fact: a field of an object in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FactQuery {
    /// The API group and version of the object.
    pub api_version: ServedVersion,
    /// The kind of the object; not `Secret`, since plans show facts.
    pub kind: KindName,
    /// The namespace of the object, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// The name of the object.
    pub name: KubernetesName,
    /// The field as a JSON Pointer (RFC 6901), such as `/data/domain`. Empty means the whole object.
    pub path: FactPath,
}

/// A cluster of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FleetCluster {
    /// Its name in the fleet.
    pub name: ClusterName,
    /// The kubeconfig file. A relative path starts at the directory of this document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub kubeconfig: Option<String>,
    /// The context in the kubeconfig. Default: the current context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub context: Option<String>,
    /// The Cluster API object of the cluster, instead of a kubeconfig.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_api: Option<ClusterApiName>,
    /// The UID of its namespace kube-system, or of its Cluster API object. A cluster with a different UID is not
    /// changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<ClusterUid>,
    /// The labels by which groups select the cluster.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<LabelName, LabelValue>,
    /// The registry that images are pushed to, `HOST[:PORT][/PREFIX]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry: Option<String>,
    /// The registry that nodes pull from, if they use a different address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_registry: Option<String>,
    /// The certificate authority (PEM) that signed the registry's certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_authority: Option<String>,
    /// The Secret with which its nodes log in to the registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_secret: Option<KubernetesName>,
    /// YAML files with values of sensitive parameters, as maps by name, for each Solution. They override those of
    /// `solutions`. A relative path starts at the directory of this document.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<SolutionName, String>,
    /// The settings of this cluster, which override those of its groups.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub site: Map<String, Value>,
}

/// The name of a `Cluster` of Cluster API.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterApiName {
    /// The namespace of the object.
    pub namespace: Namespace,
    /// The name of the object.
    pub name: KubernetesName,
}

/// A group of clusters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetGroup {
    /// Its name.
    pub name: GroupName,
    /// The selector of the group's clusters.
    pub selector: LabelSelector,
    /// The settings of the group's clusters, which override the fleet's. Groups of one cluster must not conflict.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub site: Map<String, Value>,
}

/// A Solution and the environment in which some clusters run it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FleetSolution {
    /// The Solution's name.
    pub name: SolutionName,
    /// Its version.
    pub version: Version,
    /// The archive. A relative path starts at the directory of this document. Without it, the clusters must already
    /// have imported the version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub archive: Option<String>,
    /// The environment.
    pub environment: EnvironmentName,
    /// A YAML file with values of its sensitive parameters, as a map by name, for all clusters. A relative path starts
    /// at the directory of this document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub secrets: Option<String>,
    /// The groups whose clusters run it. Default: all clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::FLEET_GROUPS))]
    pub groups: Vec<GroupName>,
    /// The settings of the Solution in this environment, which override the fleet's but not the groups'.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub site: Map<String, Value>,
}

impl fmt::Display for FleetSolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PlacedVersion::from(self).fmt(f)
    }
}

/// A version of a Solution in an environment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacedVersion {
    /// The Solution.
    pub solution: SolutionName,
    /// The version.
    pub version: Version,
    /// The environment.
    pub environment: EnvironmentName,
}

impl From<&FleetSolution> for PlacedVersion {
    fn from(entry: &FleetSolution) -> Self {
        Self {
            solution: entry.name.clone(),
            version: entry.version.clone(),
            environment: entry.environment.clone(),
        }
    }
}

/// As `NAME VERSION in ENVIRONMENT`.
impl fmt::Display for PlacedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (solution, version) = (&self.solution, &self.version);
        write!(f, "{solution} {version} in {}", self.environment)
    }
}

/// Clusters that are changed together, before those of the next wave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FleetWave {
    /// Its name.
    pub name: WaveName,
    /// The groups of the wave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::FLEET_GROUPS))]
    pub groups: Vec<GroupName>,
    /// Additional clusters of the wave, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::FLEET_CLUSTERS))]
    pub clusters: Vec<ClusterName>,
    /// The number of clusters that are changed at a time.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = limits::FLEET_PARALLEL))]
    pub parallel: usize,
    /// The number of clusters that may fail before the rollout stops.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub max_failures: usize,
    /// How long all clusters of the wave must be healthy before the next wave begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<Timeout>,
    /// Whether the wave needs an approval before it begins.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub approve: bool,
}

fn one() -> usize {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes what it skips by reference"
)]
fn is_one(number: &usize) -> bool {
    *number == 1
}

/// The error of bytes that are not a fleet.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The file is larger than [`limits::FLEET_SIZE`].
    #[error("has {0} bytes; at most {max} are read", max = limits::FLEET_SIZE)]
    Size(usize),
    /// The bytes are not a document of this kind.
    #[error(transparent)]
    Document(#[from] ManifestError),
    /// A list exceeds its limit.
    #[error("has {count} entries in `{list}`; at most {most} are read")]
    Many {
        /// The list.
        list: &'static str,
        /// The number of its entries.
        count: usize,
        /// The limit.
        most: usize,
    },
    /// The number of clusters that a wave changes at a time is 0 or exceeds the limit.
    #[error("the wave `{wave}` has `parallel: {parallel}`; it may be 1 to {max}", max = limits::FLEET_PARALLEL)]
    Parallel {
        /// The wave.
        wave: WaveName,
        /// The number.
        parallel: usize,
    },
    /// A requirement of a group's selector has values that are not valid for its operator.
    #[error("the selector of the group `{0}`")]
    Selector(GroupName, #[source] RequirementError),
}

impl SolutionFleet {
    /// Parses a fleet.
    ///
    /// # Errors
    ///
    /// Fails if the file is too large, not a document of this kind, or exceeds a limit.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, FleetError> {
        if bytes.len() as u64 > limits::FLEET_SIZE {
            return Err(FleetError::Size(bytes.len()));
        }
        let fleet: Self = yaml::from_slice(bytes).map_err(ManifestError::from)?;
        check_kind(&fleet.api_version, &fleet.kind, "SolutionFleet")?;
        fleet.spec.check()?;
        Ok(fleet)
    }
}

impl FleetSpec {
    fn check(&self) -> Result<(), FleetError> {
        for (list, count, most) in [
            ("facts", self.facts.len(), limits::FLEET_FACTS),
            ("clusters", self.clusters.len(), limits::FLEET_CLUSTERS),
            ("groups", self.groups.len(), limits::FLEET_GROUPS),
            ("solutions", self.solutions.len(), limits::FLEET_SOLUTIONS),
            ("waves", self.waves.len(), limits::FLEET_WAVES),
            ("accept", self.accept.len(), limits::FLEET_ACCEPTED),
        ] {
            if count > most {
                return Err(FleetError::Many { list, count, most });
            }
        }
        for FleetWave { name, parallel, .. } in &self.waves {
            if !(1..=limits::FLEET_PARALLEL).contains(parallel) {
                let (wave, parallel) = (name.clone(), *parallel);
                return Err(FleetError::Parallel { wave, parallel });
            }
        }
        for group in &self.groups {
            group.selector.check().map_err(|source| {
                let group = group.name.clone();
                FleetError::Selector(group, source)
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(spec: &str) -> Result<SolutionFleet, FleetError> {
        let text = format!(
            "apiVersion: {API_VERSION}\nkind: SolutionFleet\nmetadata: {{name: shops}}\nspec: {spec}"
        );
        SolutionFleet::from_slice(text.as_bytes())
    }

    #[test]
    fn a_fleet_says_which_clusters_run_what_in_which_order() {
        let read = fleet(
            "{facts: {domain: {apiVersion: v1, kind: ConfigMap, namespace: kube-system, name: info, path: /data/domain}},
              clusters: [{name: paris, context: paris, labels: {tier: prod}, site: {parameters: {shop: {size: 3}}}},
                         {name: lab, clusterApi: {namespace: capi, name: lab}}],
              groups: [{name: prod, selector: {matchLabels: {tier: prod}}}],
              solutions: [{name: shop, version: 1.2.0, environment: prod, groups: [prod]}],
              waves: [{name: first, groups: [prod], soak: 10m}, {name: rest, clusters: [lab], parallel: 4}]}",
        )
        .unwrap();
        let waves = &read.spec.waves;
        assert_eq!((waves[0].parallel, waves[0].max_failures), (1, 0));
        assert_eq!(waves[0].soak.as_ref().unwrap().duration().as_secs(), 600);
        let paris = &read.spec.clusters[0];
        assert_eq!(paris.site["parameters"]["shop"]["size"], 3);
        let again: SolutionFleet =
            serde_json::from_value(serde_json::to_value(&read).unwrap()).unwrap();
        assert_eq!(again, read);
    }

    #[test]
    fn a_fleet_is_strict() {
        for (spec, words) in [
            ("{cluster: []}", "unknown field `cluster`"),
            ("{clusters: [{name: Paris}]}", "name of a cluster"),
            ("{clusters: [{name: a, uid: 1}]}", "UID"),
            ("{facts: {a-b: {}}}", "name of a fact"),
            (
                "{facts: {a: {apiVersion: v1, kind: Secret, name: a, path: /data}}}",
                "name of a kind",
            ),
            (
                "{facts: {a: {apiVersion: v1/b/c, kind: Node, name: a, path: /data}}}",
                "API version",
            ),
            (
                "{facts: {a: {apiVersion: v1, kind: Node, name: a, path: data}}}",
                "JSON Pointer",
            ),
            ("{waves: [{name: a, soak: 1d}]}", "timeout"),
            ("{waves: [{name: a, parallel: 0}]}", "`parallel: 0`"),
            ("{waves: [{name: a, parallel: 257}]}", "`parallel: 257`"),
        ] {
            let refused = fleet(spec).unwrap_err();
            assert!(refused.to_string().contains(words), "{spec}: {refused}");
        }
        let other = format!("apiVersion: {API_VERSION}\nkind: Site\nmetadata: {{name: shops}}");
        assert!(SolutionFleet::from_slice(other.as_bytes()).is_err());
    }

    #[test]
    fn a_fleet_is_bounded() {
        let clusters = |count: usize| {
            let all: Vec<String> = (0..count).map(|n| format!("{{name: c{n}}}")).collect();
            fleet(&format!("{{clusters: [{}]}}", all.join(", ")))
        };
        assert!(clusters(limits::FLEET_CLUSTERS).is_ok());
        let refused = clusters(limits::FLEET_CLUSTERS + 1).unwrap_err();
        assert!(refused.to_string().contains("`clusters`"), "{refused}");
        let large = vec![b'#'; usize::try_from(limits::FLEET_SIZE).unwrap() + 1];
        let refused = SolutionFleet::from_slice(&large).unwrap_err();
        assert!(matches!(refused, FleetError::Size(_)), "{refused}");
    }
}
