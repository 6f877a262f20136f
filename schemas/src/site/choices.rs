//! The settings of a workload in a site configuration. They apply to the workloads that a rule of the site selects.

use std::collections::BTreeMap;
use std::num::NonZeroU8;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::names::{LabelName, LabelValue, VariableName};
use crate::{KubernetesName, Quantity, SecurityContext};

/// The settings of a workload. An entry replaces a field as a whole, except for mappings, which are merged by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Choices {
    /// The number of pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<NonZeroU8>,
    /// The resource requests and limits of the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// The labels that a node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<LabelName, LabelValue>,
    /// The tolerated taints of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerations: Option<Vec<Toleration>>,
    /// The affinity of the pods, as in Kubernetes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// The `PriorityClass` of the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<KubernetesName>,
    /// The proxies for outgoing connections.
    #[serde(default, skip_serializing_if = "Proxy::is_empty")]
    pub proxy: Proxy,
    /// Additional environment variables, which override variables of the manifest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<VariableName, String>,
    /// Additional labels of the workload and its pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<LabelName, LabelValue>,
    /// Additional annotations of the workload and its pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<LabelName, String>,
    /// Additional restrictions of the containers.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub security_context: SecurityContext,
}

/// The resource requests and limits of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// The requests.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<LabelName, Quantity>,
    /// The limits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<LabelName, Quantity>,
}

/// A toleration of a taint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Toleration {
    /// The taint's key. Default: every taint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<LabelName>,
    /// The operator: `Equal` compares the value, `Exists` only the key. Default: `Equal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<TolerationOperator>,
    /// The taint's value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<LabelValue>,
    /// The taint's effect. Default: every effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<TaintEffect>,
    /// How long a pod stays on a node after the node gets a `NoExecute` taint, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<u32>,
}

/// How a toleration is compared with a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TolerationOperator {
    /// The key and the value must be equal.
    Equal,
    /// The key must exist.
    Exists,
}

/// The effect of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// Pods are not scheduled to the node.
    NoSchedule,
    /// Pods are scheduled to the node only if no other node is available.
    PreferNoSchedule,
    /// Running pods are evicted.
    NoExecute,
}

/// The affinity of pods. The API server validates it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Affinity {
    /// Node affinity.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub node_affinity: Map<String, Value>,
    /// Pod affinity.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub pod_affinity: Map<String, Value>,
    /// Pod anti-affinity.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub pod_anti_affinity: Map<String, Value>,
}

/// The proxies of a workload, set as variables in upper and lower case. The API server is never reached through a
/// proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    /// The proxy for `http://`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// The proxy for `https://`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub https: Option<String>,
    /// Hosts that are reached without a proxy, separated by commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no: Option<String>,
}

impl Proxy {
    /// Returns whether no proxy is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Choices {
    /// Returns the fields that are set and that are valid for a single workload only.
    #[must_use]
    pub fn of_one_workload(&self) -> Vec<&'static str> {
        let fields = [
            ("replicas", self.replicas.is_some()),
            ("resources", self.resources.is_some()),
            ("env", !self.env.is_empty()),
        ];
        let chosen = fields.into_iter().filter(|(_, is_chosen)| *is_chosen);
        chosen.map(|(field, _)| field).collect()
    }

    /// Returns these choices, completed with the fields of `other` that they do not set.
    #[must_use]
    pub fn over(self, other: Self) -> Self {
        fn merge_maps<K: Ord, V>(mine: BTreeMap<K, V>, other: BTreeMap<K, V>) -> BTreeMap<K, V> {
            let mut both = other;
            both.extend(mine);
            both
        }
        Self {
            replicas: self.replicas.or(other.replicas),
            resources: self.resources.or(other.resources),
            node_selector: merge_maps(self.node_selector, other.node_selector),
            tolerations: self.tolerations.or(other.tolerations),
            affinity: self.affinity.or(other.affinity),
            priority_class_name: self.priority_class_name.or(other.priority_class_name),
            proxy: Proxy {
                http: self.proxy.http.or(other.proxy.http),
                https: self.proxy.https.or(other.proxy.https),
                no: self.proxy.no.or(other.proxy.no),
            },
            env: merge_maps(self.env, other.env),
            labels: merge_maps(self.labels, other.labels),
            annotations: merge_maps(self.annotations, other.annotations),
            security_context: self.security_context.and(other.security_context),
        }
    }
}
