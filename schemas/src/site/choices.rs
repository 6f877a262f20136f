//! Choices that a site can make for a workload.

use std::collections::BTreeMap;
use std::num::NonZeroU8;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::names::{LabelName, LabelValue, VariableName};
use crate::{KubernetesName, Quantity, SecurityContext};

/// What a site chooses for a workload. A field counts as a whole; only of maps, each key does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Choices {
    /// How many pods run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<NonZeroU8>,
    /// What the container may use, and what is kept free for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// Labels that a node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<LabelName, LabelValue>,
    /// Taints of nodes that are no obstacle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerations: Option<Vec<Toleration>>,
    /// Where pods run beside each other or apart, as Kubernetes has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// The `PriorityClass` of the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<KubernetesName>,
    /// The proxies between the pods and the world.
    #[serde(default, skip_serializing_if = "Proxy::is_empty")]
    pub proxy: Proxy,
    /// Further environment variables; of one that the manifest has too this value counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<VariableName, String>,
    /// Further labels of the workload and its pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<LabelName, LabelValue>,
    /// Further annotations of the workload and its pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<LabelName, String>,
    /// What containers do without, beyond what the manifest promises and what is always withheld.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub security_context: SecurityContext,
}

/// What a container may use, and what is kept free for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// What is kept free.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<LabelName, Quantity>,
    /// What it may use at most.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<LabelName, Quantity>,
}

/// A taint that is no obstacle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Toleration {
    /// The taint's key; without it every taint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<LabelName>,
    /// Whether the value must be equal, or the key only exist; `Equal` if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<TolerationOperator>,
    /// The taint's value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<LabelValue>,
    /// The taint's effect; without it every effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<TaintEffect>,
    /// How long a pod stays on a node that gets a `NoExecute` taint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<u32>,
}

/// How a toleration is compared with a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TolerationOperator {
    /// Key and value are equal.
    Equal,
    /// The key is there.
    Exists,
}

/// What a taint does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// No pod is put there.
    NoSchedule,
    /// No pod is put there if there is another place.
    PreferNoSchedule,
    /// Pods that are there go.
    NoExecute,
}

/// Where pods run beside each other or apart. The cluster itself checks what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Affinity {
    /// To nodes.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub node_affinity: Map<String, Value>,
    /// To other pods.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub pod_affinity: Map<String, Value>,
    /// Away from other pods.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub pod_anti_affinity: Map<String, Value>,
}

/// The proxies of a workload, as variables in upper and lower case. The API server is never asked through one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    /// For `http://`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// For `https://`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub https: Option<String>,
    /// Hosts that are asked directly, joined by commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no: Option<String>,
}

impl Proxy {
    /// Whether nothing is chosen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Choices {
    /// Returns the fields that are chosen and that make sense for one workload alone.
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

    /// Returns these choices, and of others what these leave open.
    #[must_use]
    pub fn over(self, other: Self) -> Self {
        fn both<K: Ord, V>(mine: BTreeMap<K, V>, other: BTreeMap<K, V>) -> BTreeMap<K, V> {
            let mut both = other;
            both.extend(mine);
            both
        }
        Self {
            replicas: self.replicas.or(other.replicas),
            resources: self.resources.or(other.resources),
            node_selector: both(self.node_selector, other.node_selector),
            tolerations: self.tolerations.or(other.tolerations),
            affinity: self.affinity.or(other.affinity),
            priority_class_name: self.priority_class_name.or(other.priority_class_name),
            proxy: Proxy {
                http: self.proxy.http.or(other.proxy.http),
                https: self.proxy.https.or(other.proxy.https),
                no: self.proxy.no.or(other.proxy.no),
            },
            env: both(self.env, other.env),
            labels: both(self.labels, other.labels),
            annotations: both(self.annotations, other.annotations),
            security_context: self.security_context.and(other.security_context),
        }
    }
}
