//! The detailed description of one environment ([`describe`]): the recorded and the actual state of its namespaces, and
//! its operators with the consent to their external effects. [`Identity`] distinguishes a recorded namespace from
//! another one of the same name.

use kubernetes::{Cluster, Gvk, Object};
use schemars::JsonSchema;
use schemas::{ClusterName, EnvironmentName, KubernetesName, Namespace};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::model::parameters::ParameterValues;
use crate::records::namespace_record::{
    Consent, DeployedSolution, NamespaceRecord, Origin, namespace_reference,
};
use crate::records::receipt::{ChangeReceipt, Transition};
use crate::records::receipts::Receipts;
use crate::records::state::ClusterState;
use crate::records::visibility::UnreadableParts;
use crate::status::all_ready;
use crate::status::claims::{ClaimScope, claims};
use crate::status::readiness::{OperatorStatus, operator_status};

/// The label of a namespace with the Pod Security level that it enforces.
const POD_SECURITY: &str = "pod-security.kubernetes.io/enforce";

/// An environment, in detail.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// The name of the environment.
    pub environment: EnvironmentName,
    /// The namespaces of the environment.
    pub namespaces: Vec<NamespaceDescription>,
    /// The incomplete changes, the oldest first: they are running, were interrupted or failed, and no later change
    /// has completed them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<ChangeReceipt>,
    /// Labels and objects in the cluster that contradict the records.
    pub notes: Vec<String>,
}

/// A namespace of an environment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceDescription {
    /// The namespace.
    pub namespace: Namespace,
    /// The purpose of the environment.
    pub description: String,
    /// Whether it was created for the environment.
    pub origin: Origin,
    /// The recorded UID; null until its creation has finished.
    pub uid: Option<String>,
    /// Whether it is still the recorded namespace.
    pub identity: Identity,
    /// The `PodSecurity` level that the cluster enforces there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_security: Option<String>,
    /// Its quotas. They are missing if this user may not read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quotas: Option<Vec<Quota>>,
    /// The operators that are deployed in it.
    pub operators: Vec<DeployedOperator>,
}

/// Whether a namespace is the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Identity {
    /// It is the recorded namespace.
    Recorded,
    /// Its creation was interrupted.
    Unfinished,
    /// It is being deleted.
    Going,
    /// It was deleted, and another namespace with its name was created.
    Replaced,
    /// It was deleted.
    Gone,
}

/// A `ResourceQuota`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Quota {
    /// Its name.
    pub name: String,
    /// The limit of each resource.
    pub hard: Map<String, Value>,
    /// The use of each resource.
    pub used: Map<String, Value>,
}

/// An operator and its settings.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeployedOperator {
    /// The condition of the operator.
    #[serde(flatten)]
    pub operator: OperatorStatus,
    /// The pull secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_secret: Option<KubernetesName>,
    /// The chosen values of parameters, except sensitive ones.
    #[serde(skip_serializing_if = "ParameterValues::is_empty")]
    pub parameters: ParameterValues,
    /// The name of the cluster in the fleet that deployed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet_cluster: Option<ClusterName>,
    /// The consent to the effects outside the environment, with its author and time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Consent>,
}

impl Description {
    /// Checks whether everything that is deployed works and no change is incomplete. Returns `None` if the user's
    /// permissions do not suffice to confirm it.
    #[must_use]
    pub fn is_ready(&self) -> Option<bool> {
        let spaces = self.namespaces.iter();
        let operators = spaces.flat_map(|space| &space.operators);
        all_ready(
            operators.map(|deployed| &deployed.operator),
            &self.incomplete,
        )
    }
}

/// Describes an environment. Nothing is written.
pub async fn describe(
    cluster: &Cluster,
    environment: &EnvironmentName,
) -> Result<Description, Error> {
    let state = ClusterState::read(cluster).await?;
    let mut namespaces = Vec::new();
    for space in state.environment(environment) {
        namespaces.push(of_namespace(cluster, &state, space).await?);
    }
    if namespaces.is_empty() {
        return Err(Blocker::NoEnvironment {
            environment: environment.clone(),
        }
        .into());
    }
    let of_it = |place: &Transition| place.environment == *environment;
    let mut incomplete = Receipts::read_incomplete(cluster).await?.all;
    incomplete.retain(|change| change.subject.places.iter().any(of_it));
    let about = ClaimScope::Environment(environment);
    let labelled = about.labelled(cluster).await?;
    Ok(Description {
        environment: environment.clone(),
        namespaces,
        incomplete,
        notes: claims(cluster, &state, about, &labelled).await?,
    })
}

/// Describes one namespace of an environment and the operators in it.
async fn of_namespace(
    cluster: &Cluster,
    state: &ClusterState,
    space: &NamespaceRecord,
) -> Result<NamespaceDescription, Error> {
    let live = cluster.get(&namespace_reference(&space.namespace)).await?;
    let mut operators = Vec::new();
    // An operator that this user may not see has a condition that says so, so the notes of `sight` are not needed.
    let mut sight = UnreadableParts::default();
    for (solution, deployed) in &space.solutions {
        let DeployedSolution {
            pull_secret,
            parameters,
            fleet_cluster,
            accepted,
            ..
        } = deployed.clone();
        operators.push(DeployedOperator {
            operator: operator_status(cluster, state, space, solution, deployed, None, &mut sight)
                .await?,
            pull_secret,
            parameters,
            fleet_cluster,
            accepted,
        });
    }
    let labels = live.as_ref().map(Object::labels).unwrap_or_default();
    Ok(NamespaceDescription {
        namespace: space.namespace.clone(),
        description: space.description.clone(),
        origin: space.origin,
        uid: space.uid.clone(),
        identity: Identity::check(space, live.as_ref()),
        pod_security: labels.get(POD_SECURITY).map(ToString::to_string),
        quotas: quotas(cluster, &space.namespace).await?,
        operators,
    })
}

impl Identity {
    fn check(space: &NamespaceRecord, live: Option<&Object>) -> Self {
        match live {
            None => Self::Gone,
            Some(_) if space.uid.is_none() => Self::Unfinished,
            Some(live) if !space.is_of(live) => Self::Replaced,
            Some(live) if live.is_being_deleted() => Self::Going,
            Some(_) => Self::Recorded,
        }
    }
}

/// Returns the quotas of a namespace, or `None` if the user may not list them.
async fn quotas(cluster: &Cluster, namespace: &Namespace) -> Result<Option<Vec<Quota>>, Error> {
    let kind = Gvk::new("v1", "ResourceQuota");
    match cluster.list(&kind, Some(namespace.as_str()), None).await {
        Err(kubernetes::Error::Forbidden { .. }) => Ok(None),
        other => Ok(Some(other?.iter().map(quota).collect())),
    }
}

fn quota(object: &Object) -> Quota {
    let status = &object.as_value()["status"];
    let amounts = |field: &str| status[field].as_object().cloned().unwrap_or_default();
    Quota {
        name: object.name().to_owned(),
        hard: amounts("hard"),
        used: amounts("used"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::records::namespace_record::tests::namespace_record;

    #[test]
    fn a_namespace_is_the_recorded_one_by_its_uid() {
        let live = |uid: &str, deleted: Option<&str>| {
            let mut space = json!({"apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": "prod", "uid": uid}});
            if let Some(deleted) = deleted {
                space["metadata"]["deletionTimestamp"] = json!(deleted);
            }
            Object::new(space).unwrap()
        };
        let mut space = namespace_record("prod", "prod");
        let of = |space: &_, live: Option<Object>| Identity::check(space, live.as_ref());
        assert_eq!(of(&space, Some(live("a", None))), Identity::Unfinished);
        space.uid = Some("a".to_owned());
        assert_eq!(of(&space, None), Identity::Gone);
        assert_eq!(of(&space, Some(live("a", None))), Identity::Recorded);
        assert_eq!(of(&space, Some(live("b", None))), Identity::Replaced);
        let going = live("a", Some("2026-01-01T00:00:00Z"));
        assert_eq!(of(&space, Some(going)), Identity::Going);
    }

    #[test]
    fn a_quota_says_how_much_is_used_of_how_much() {
        let object = json!({"apiVersion": "v1", "kind": "ResourceQuota",
            "metadata": {"name": "q", "namespace": "prod"},
            "status": {"hard": {"pods": "4"}, "used": {"pods": "1"}}});
        let quota = quota(&Object::new(object).unwrap());
        assert_eq!(
            (&quota.hard["pods"], &quota.used["pods"]),
            (&json!("4"), &json!("1"))
        );
    }
}
