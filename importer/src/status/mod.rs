//! The status of a site: its imported versions, and the operators that run in each environment. [`status()`] reads it
//! as far as the user's permissions allow. `describe` reports on one environment, `site` on site configurations, and
//! `support` collects diagnostics.

mod claims;
pub(crate) mod describe;
pub(crate) mod readiness;
pub(crate) mod site;
pub(crate) mod support;

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kubernetes::{Access, Cluster, Object, RolloutState, Selector};
use planner::vocabulary as v;
use schemars::JsonSchema;
use schemas::{EnvironmentName, Namespace, SolutionName, Version};
use serde::Serialize;
use store::Record;

use self::claims::{ClaimScope, claims};
use self::readiness::{Condition, OperatorStatus, operator_status};
use crate::limits;
use crate::model::error::Error;
use crate::objects::operator::operator_name;
use crate::records::namespace_record::{EnvironmentNamespace, NamespaceRecord};
use crate::records::receipt::ChangeReceipt;
use crate::records::receipts::Receipts;
use crate::records::state::{ClusterState, maps};
use crate::records::visibility::{UnreadablePart, UnreadableParts, UnreadableScope};

/// The status of a site: its imported versions, and the operators that run in each environment.
#[derive(Clone, Debug)]
pub struct Status {
    /// The imported versions.
    pub versions: Vec<VersionStatus>,
    /// The namespaces of the environments.
    pub environments: Vec<EnvironmentNamespace>,
    /// Every operator.
    pub operators: Vec<OperatorStatus>,
    /// The incomplete changes, the oldest first: they are running, were interrupted or failed, and no later change has
    /// completed them.
    pub incomplete: Vec<ChangeReceipt>,
    /// The labels and objects in the cluster that contradict the records of environments.
    pub notes: Vec<String>,
    /// The parts that the user may not see.
    pub unseen: Vec<UnreadablePart>,
}

/// An imported version.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionStatus {
    /// The record of its import.
    pub record: Record,
    /// Whether its CRDs are in the cluster.
    pub active: bool,
    /// The environments in which it is deployed.
    pub environments: Vec<EnvironmentName>,
}

impl Status {
    /// Checks whether every operator works and no change is incomplete. Returns `None` if the user's permissions do not
    /// suffice to confirm it.
    #[must_use]
    pub fn is_ready(&self) -> Option<bool> {
        let enough = !self.unseen.iter().any(|unseen| unseen.what.decides());
        all_ready(&self.operators, &self.incomplete).filter(|ready| enough || !ready)
    }
}

/// Checks whether all operators work and no change is incomplete. Returns `None` if an operator cannot be read and all
/// readable ones work.
fn all_ready<'a>(
    operators: impl IntoIterator<Item = &'a OperatorStatus>,
    incomplete: &[ChangeReceipt],
) -> Option<bool> {
    let (unseen, seen): (Vec<_>, Vec<_>) = operators
        .into_iter()
        .partition(|operator| operator.condition == Condition::Unseen);
    if !incomplete.is_empty() || !seen.into_iter().all(OperatorStatus::is_ready) {
        return Some(false);
    }
    unseen.is_empty().then_some(true)
}

/// Returns every namespace of every environment. Nothing is written.
pub async fn environments(cluster: &Cluster) -> Result<Vec<EnvironmentNamespace>, Error> {
    let state = ClusterState::of_records(&maps(cluster).await?)?;
    let labelled = match ClaimScope::Everything.labelled(cluster).await {
        Err(Error::Cluster(kubernetes::Error::Forbidden { .. })) => Vec::new(),
        labelled => labelled?,
    };
    Ok(with_going(&state, &labelled))
}

/// Returns the namespaces of environments, with a mark on those that are being deleted.
fn with_going(state: &ClusterState, labelled: &[Object]) -> Vec<EnvironmentNamespace> {
    let namespace = |record: &NamespaceRecord| {
        let mut live = labelled.iter().filter(|live| record.is_of(live));
        EnvironmentNamespace {
            going: live.any(Object::is_being_deleted),
            ..record.into()
        }
    };
    state.namespaces.iter().map(namespace).collect()
}

/// A status without operators. They are read separately, because reading all of them takes most of the time of a
/// status.
#[derive(Debug)]
pub struct Overview {
    /// The status. It has the operators that have been read so far.
    pub status: Status,
    state: ClusterState,
}

/// Reads the status of a site without its operators, as far as the user's permissions allow. Nothing is written.
pub async fn overview(cluster: &Cluster) -> Result<Overview, Error> {
    let mut sight = UnreadableParts::default();
    let mut overview = Overview::read(cluster, None, &mut sight).await?;
    overview.status.unseen = sight.unseen();
    Ok(overview)
}

/// Reads the status of one namespace or of all, as far as the user's permissions allow. Nothing is written.
pub async fn status(cluster: &Cluster, only: Option<&Namespace>) -> Result<Status, Error> {
    let mut sight = UnreadableParts::default();
    let overview = Overview::read(cluster, only, &mut sight).await?;
    let mut found = match only {
        None => found_in(cluster, None).await?,
        Some(_) => OperatorDeployments::new(),
    };
    let Overview { mut status, state } = overview;
    for space in &state.namespaces {
        let solutions = space.solutions.keys();
        let operators = operators_of(cluster, &state, space, solutions, &mut found, &mut sight);
        status.operators.extend(operators.await?);
    }
    status.unseen = sight.unseen();
    Ok(status)
}

impl Overview {
    async fn read(
        cluster: &Cluster,
        only: Option<&Namespace>,
        sight: &mut UnreadableParts,
    ) -> Result<Self, Error> {
        let mut state = sight.state(cluster, only).await?;
        let (notes, labelled) = said(cluster, &state, only, sight).await?;
        if let Some(namespace) = only {
            sight.own(cluster, namespace, &mut state).await?;
        }
        let versions = state.records.iter();
        let status = Status {
            versions: versions.map(|record| version(&state, record)).collect(),
            environments: with_going(&state, &labelled),
            operators: Vec::new(),
            incomplete: incomplete(cluster, only, sight).await?,
            notes,
            unseen: Vec::new(),
        };
        Ok(Self { status, state })
    }

    /// Reads the operators of some Solutions, by their namespace. Multiple namespaces are read at the same time.
    pub async fn read_operators(
        &mut self,
        cluster: &Cluster,
        wanted: &BTreeMap<Namespace, BTreeSet<SolutionName>>,
    ) -> Result<(), Error> {
        let state = &self.state;
        let read = async |space: &NamespaceRecord| {
            let mut sight = UnreadableParts::default();
            let mut found = found_in(cluster, Some(&space.namespace)).await?;
            let solutions = wanted[&space.namespace].iter();
            let operators = operators_of(cluster, state, space, solutions, &mut found, &mut sight);
            Ok::<_, Error>((operators.await?, sight.unseen()))
        };
        let spaces = state.namespaces.iter();
        let spaces = spaces.filter(|space| wanted.contains_key(&space.namespace));
        let read = stream::iter(spaces.map(read)).buffered(limits::SIDE_BY_SIDE);
        for (operators, unseen) in read.try_collect::<Vec<_>>().await? {
            self.status.operators.extend(operators);
            self.status.unseen.extend(unseen);
        }
        Ok(())
    }
}

/// Reads the operators of Solutions in a namespace. Solutions that are not deployed there are skipped.
async fn operators_of<'a>(
    cluster: &Cluster,
    state: &ClusterState,
    space: &NamespaceRecord,
    solutions: impl Iterator<Item = &'a SolutionName>,
    found: &mut OperatorDeployments,
    sight: &mut UnreadableParts,
) -> Result<Vec<OperatorStatus>, Error> {
    let mut operators = Vec::new();
    for solution in solutions {
        let Some(deployed) = space.solutions.get(solution) else {
            continue;
        };
        let name = operator_name(solution.as_str());
        let found = found.remove(&(space.namespace.to_string(), name));
        let operator = operator_status(cluster, state, space, solution, deployed, found, sight);
        operators.push(operator.await?);
    }
    Ok(operators)
}

/// The Deployments of operators by namespace and name, each with the state of its rollout.
type OperatorDeployments = BTreeMap<(String, String), (Object, RolloutState)>;

/// Returns every Deployment with the label of a Solution, in one namespace or in all. One request reads all of them,
/// however many environments there are. Returns none if the user may not list them.
async fn found_in(
    cluster: &Cluster,
    namespace: Option<&Namespace>,
) -> Result<OperatorDeployments, Error> {
    let namespace = namespace.map(Namespace::as_str);
    let selector = Selector::has(v::SOLUTION);
    let all = match cluster.rollout_states(namespace, &selector).await {
        Err(kubernetes::Error::Forbidden { .. }) => return Ok(OperatorDeployments::new()),
        all => all?,
    };
    let place = |operator: &Object| {
        (
            operator.namespace().unwrap_or_default().to_owned(),
            operator.name().to_owned(),
        )
    };
    Ok(all
        .into_iter()
        .map(|found| (place(&found.0), found))
        .collect())
}

/// Returns the incomplete changes of one namespace or of all. Receipts are stored with the records, so a user who may
/// not list the records may not list them either, and `sight` already reports that.
async fn incomplete(
    cluster: &Cluster,
    only: Option<&Namespace>,
    sight: &UnreadableParts,
) -> Result<Vec<ChangeReceipt>, Error> {
    if sight.hides(&UnreadableScope::Records) || sight.hides(&UnreadableScope::OtherRecords) {
        return Ok(Vec::new());
    }
    let mut incomplete = Receipts::read_incomplete(cluster).await?.all;
    if let Some(only) = only {
        incomplete.retain(|change| change.subject.places.iter().any(|at| at.namespace == *only));
    }
    Ok(incomplete)
}

/// Returns the notes that contradict the records, and the namespaces with the label of an environment. Without the
/// records, contradictions cannot be detected.
async fn said(
    cluster: &Cluster,
    state: &ClusterState,
    only: Option<&Namespace>,
    sight: &mut UnreadableParts,
) -> Result<(Vec<String>, Vec<Object>), Error> {
    let about = only.map_or(ClaimScope::Everything, ClaimScope::Namespace);
    let hidden = only.map_or(UnreadableScope::Records, |namespace| {
        UnreadableScope::Deployed(namespace.clone())
    });
    if sight.hides(&hidden) {
        return Ok((Vec::new(), Vec::new()));
    }
    let right = Access::new("list", "", "namespaces");
    let labelled = sight.of(
        about.labelled(cluster).await,
        UnreadableScope::Labels,
        &right,
    )?;
    let mut notes = Vec::new();
    if let Some(labelled) = &labelled {
        let claimed = claims(cluster, state, about, labelled).await;
        let claimed = sight.of(claimed, UnreadableScope::Labels, &right)?;
        notes.extend(claimed.into_iter().flatten());
    }
    if let (Some(namespace), []) = (only, state.namespaces.as_slice()) {
        notes.push(format!(
            "namespace {namespace} does not belong to an environment"
        ));
    }
    Ok((notes, labelled.unwrap_or_default()))
}

fn version(state: &ClusterState, record: &Record) -> VersionStatus {
    let runs = |(space, running): (&NamespaceRecord, &Version)| {
        (*running == record.version).then(|| space.environment.clone())
    };
    let mut environments: Vec<EnvironmentName> =
        state.deployments(&record.name).filter_map(runs).collect();
    environments.dedup();
    VersionStatus {
        active: state.active.get(&record.name) == Some(&record.version),
        environments,
        record: record.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_or_is_incomplete_is_not_called_ready() {
        let of = |condition| OperatorStatus {
            solution: "shop".parse().unwrap(),
            version: "1.1.0".parse().unwrap(),
            environment: "prod".parse().unwrap(),
            namespace: "prod".parse().unwrap(),
            runs: None,
            ready: None,
            pods: None,
            condition,
            why: None,
            releases: Vec::new(),
            awaited: None,
        };
        let [ready, gone, unseen] = [Condition::Ready, Condition::Gone, Condition::Unseen].map(of);
        assert_eq!(all_ready([&ready, &ready], &[]), Some(true));
        assert_eq!(all_ready([&ready, &unseen], &[]), None);
        assert_eq!(all_ready([&gone, &unseen], &[]), Some(false));
        let mut status = Status {
            versions: Vec::new(),
            environments: Vec::new(),
            operators: vec![unseen],
            incomplete: Vec::new(),
            notes: Vec::new(),
            unseen: Vec::new(),
        };
        assert_eq!(status.is_ready(), None);
        status.operators = vec![ready];
        assert_eq!(status.is_ready(), Some(true));
        let failed = serde_json::json!({
            "schemaVersion": 1, "revision": 7, "at": "2026-01-02T03:04:05Z", "by": "me@here", "verb": "deploy",
            "places": [], "written": [], "removed": [], "outcome": "failed", "reason": "no",
        });
        status.incomplete = vec![serde_json::from_value(failed).unwrap()];
        assert_eq!(status.is_ready(), Some(false), "a change failed");
    }
}
