//! The status of a site: its imported versions, and the operators that run in each environment.

mod carried;
mod claims;
pub(crate) mod describe;
pub(crate) mod site;

use std::collections::BTreeMap;

use change::vocabulary as v;
use deployer::{Access, Awaited, Cluster, Object, RolloutState, Selector};
use schemars::JsonSchema;
use schemas::{EnvironmentName, Namespace, SolutionName, Version};
use serde::Serialize;
use shelf::Record;

use crate::model::error::Error;
use crate::model::namespace_record::{Deployed, EnvironmentNamespace, NamespaceRecord};
use crate::model::receipt::ChangeReceipt;
use crate::model::receipts::Receipts;
use crate::model::sight::{Hidden, Sight, Unseen};
use crate::model::state::{ClusterState, maps};
use crate::plan::operator::operator_name;
use crate::status::carried::DeployedParts;
use crate::status::claims::{About, claims};

/// The label of an operator's objects that says of which version they are.
const VERSION_LABEL: &str = "app.kubernetes.io/version";

/// The status of a site: its imported versions, and the operators that run in each environment.
#[derive(Clone, Debug)]
pub struct Status {
    /// The imported versions.
    pub versions: Vec<VersionStatus>,
    /// The namespaces of the environments.
    pub environments: Vec<EnvironmentNamespace>,
    /// Every operator.
    pub operators: Vec<OperatorStatus>,
    /// The changes of which a part may be there, the oldest first: they go on, were interrupted, or failed, and none since
    /// has made up for it.
    pub incomplete: Vec<ChangeReceipt>,
    /// The claims in the cluster about environments that are not so.
    pub notes: Vec<String>,
    /// The parts that this user may not see.
    pub unseen: Vec<Unseen>,
}

/// An imported version.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionStatus {
    /// The record of its import.
    pub record: Record,
    /// Whether its CRDs are in the cluster.
    pub active: bool,
    /// The environments that run it.
    pub environments: Vec<EnvironmentName>,
}

/// An operator in a namespace.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorStatus {
    /// The Solution.
    pub solution: SolutionName,
    /// The version that should run.
    pub version: Version,
    /// The environment.
    pub environment: EnvironmentName,
    /// The namespace.
    pub namespace: Namespace,
    /// Pods of this version that are ready, and those wanted; null if the Deployment is gone or may not be seen.
    pub ready: Option<[u64; 2]>,
    /// Whether it runs as it should.
    pub condition: Condition,
    /// The reason for which it does not run as it should.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The state that a Deployment of the right version waits for.
    #[serde(skip)]
    pub awaited: Option<Awaited>,
}

/// Whether an operator runs as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OperatorCondition")]
pub enum Condition {
    /// All pods are of the version that should run, and ready.
    Ready,
    /// Pods of that version are missing or not ready.
    NotReady,
    /// The Deployment, or a release of a chart, is of another version.
    OtherVersion,
    /// An object of a chart is not as it was installed.
    Changed,
    /// The Deployment is not there.
    Gone,
    /// This user may not look.
    Unseen,
}

impl Status {
    /// Whether every operator runs as it should; nothing where this user may not see enough to say yes.
    #[must_use]
    pub fn is_ready(&self) -> Option<bool> {
        let enough = !self.unseen.iter().any(|unseen| unseen.what.decides());
        all_ready(&self.operators).filter(|ready| enough || !ready)
    }
}

/// Whether all of these run as they should; nothing where one of them cannot be seen and the others do.
pub(crate) fn all_ready<'a>(
    operators: impl IntoIterator<Item = &'a OperatorStatus>,
) -> Option<bool> {
    let (unseen, seen): (Vec<_>, Vec<_>) = operators
        .into_iter()
        .partition(|it| it.condition == Condition::Unseen);
    if !seen.into_iter().all(OperatorStatus::is_ready) {
        return Some(false);
    }
    unseen.is_empty().then_some(true)
}

/// Returns every namespace of every environment. Nothing is written.
pub async fn environments(cluster: &Cluster) -> Result<Vec<EnvironmentNamespace>, Error> {
    let state = ClusterState::of_records(&maps(cluster).await?)?;
    let labelled = match About::Everything.labelled(cluster).await {
        Err(Error::Cluster(deployer::Error::Forbidden { .. })) => Vec::new(),
        labelled => labelled?,
    };
    Ok(with_going(&state, &labelled))
}

/// The namespaces of environments, with which of these is being deleted.
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

/// Reads the status, of one namespace or of all, as far as this user may see it. Nothing is written.
pub async fn status(cluster: &Cluster, only: Option<&Namespace>) -> Result<Status, Error> {
    let mut sight = Sight::default();
    let mut state = sight.state(cluster, only).await?;
    let (notes, labelled) = said(cluster, &state, only, &mut sight).await?;
    if let Some(namespace) = only {
        sight.own(cluster, namespace, &mut state).await?;
    }
    let mut operators = Vec::new();
    let mut found = match only {
        None => found_at_once(cluster).await?,
        Some(_) => OperatorDeployments::new(),
    };
    for space in &state.namespaces {
        for (solution, deployed) in &space.solutions {
            let name = operator_name(solution.as_str());
            let found = found.remove(&(space.namespace.to_string(), name));
            let operator = standing(
                cluster, &state, space, solution, deployed, found, &mut sight,
            );
            operators.push(operator.await?);
        }
    }
    let versions = state
        .records
        .iter()
        .map(|record| version(&state, record))
        .collect();
    Ok(Status {
        versions,
        environments: with_going(&state, &labelled),
        operators,
        incomplete: incomplete(cluster, only, &sight).await?,
        notes,
        unseen: sight.unseen(),
    })
}

/// Deployments by namespace and name, each with how it stands.
type OperatorDeployments = BTreeMap<(String, String), (Object, RolloutState)>;

/// Returns every operator's Deployment that says whose it is, read at once so that many environments take no more
/// requests than one; none where this user may only look into single namespaces.
async fn found_at_once(cluster: &Cluster) -> Result<OperatorDeployments, Error> {
    let all = match cluster.rollout_states(&Selector::has(v::SOLUTION)).await {
        Err(deployer::Error::Forbidden { .. }) => return Ok(OperatorDeployments::new()),
        all => all?,
    };
    let place = |it: &Object| {
        (
            it.namespace().unwrap_or_default().to_owned(),
            it.name().to_owned(),
        )
    };
    Ok(all.into_iter().map(|it| (place(&it.0), it)).collect())
}

/// The changes that are incomplete, of one namespace or all. They lie beside the records: who may not list those may not
/// list these, and has been told so.
async fn incomplete(
    cluster: &Cluster,
    only: Option<&Namespace>,
    sight: &Sight,
) -> Result<Vec<ChangeReceipt>, Error> {
    if sight.hides(&Hidden::Records) || sight.hides(&Hidden::OtherRecords) {
        return Ok(Vec::new());
    }
    let mut incomplete = Receipts::read_incomplete(cluster).await?.all;
    if let Some(only) = only {
        incomplete.retain(|it| it.subject.places.iter().any(|at| at.namespace == *only));
    }
    Ok(incomplete)
}

/// Returns the claims about environments that are not so, and the namespaces that are labelled as theirs. Without the
/// records nobody can tell.
async fn said(
    cluster: &Cluster,
    state: &ClusterState,
    only: Option<&Namespace>,
    sight: &mut Sight,
) -> Result<(Vec<String>, Vec<Object>), Error> {
    let about = only.map_or(About::Everything, About::Namespace);
    let hidden = only.map_or(Hidden::Records, |it| Hidden::Deployed(it.clone()));
    if sight.hides(&hidden) {
        return Ok((Vec::new(), Vec::new()));
    }
    let right = Access::new("list", "", "namespaces");
    let labelled = sight.of(about.labelled(cluster).await, Hidden::Labels, &right)?;
    let mut notes = Vec::new();
    if let Some(labelled) = &labelled {
        let claimed = claims(cluster, state, about, labelled).await;
        let claimed = sight.of(claimed, Hidden::Labels, &right)?;
        notes.extend(claimed.into_iter().flatten());
    }
    if let (Some(namespace), []) = (only, state.namespaces.as_slice()) {
        notes.push(format!("namespace {namespace} belongs to no environment"));
    }
    Ok((notes, labelled.unwrap_or_default()))
}

/// Whether what is deployed runs as the record of its namespace says: its operator, and what it carries as it is.
async fn standing(
    cluster: &Cluster,
    state: &ClusterState,
    space: &NamespaceRecord,
    solution: &SolutionName,
    deployed: &Deployed,
    found: Option<(Object, RolloutState)>,
    sight: &mut Sight,
) -> Result<OperatorStatus, Error> {
    let record = state.record(solution, &deployed.version);
    let spec = record.map(|record| &record.manifest.spec);
    let carried = spec
        .filter(|spec| spec.carries())
        .map(|spec| DeployedParts {
            space,
            solution,
            deployed,
            spec,
        });
    if let (Some(carried), Some(None)) = (&carried, spec.map(|spec| &spec.operator)) {
        return carried.status(cluster, sight).await;
    }
    let operator = operator(cluster, state, space, solution, deployed, found, sight).await?;
    match carried {
        // An operator that is not ready says more than what it serves.
        Some(carried) if operator.is_ready() => {
            Ok(operator.with(carried.status(cluster, sight).await?))
        }
        _ => Ok(operator),
    }
}

/// Whether an operator runs as the record of its namespace says. What was not found with all others is looked for by
/// its name: whoever may write in the namespace may have taken its label away.
async fn operator(
    cluster: &Cluster,
    state: &ClusterState,
    space: &NamespaceRecord,
    solution: &SolutionName,
    deployed: &Deployed,
    found: Option<(Object, RolloutState)>,
    sight: &mut Sight,
) -> Result<OperatorStatus, Error> {
    let name = operator_name(solution.as_str());
    let namespace = space.namespace.as_str();
    let found = match found {
        Some(found) => Ok(Some(found)),
        None => cluster.rollout_state(namespace, &name).await,
    };
    let right = Access::new("get", "apps", "deployments").namespace(namespace);
    let found = sight.of(found, Hidden::Operators(space.namespace.clone()), &right)?;
    let mut operator = OperatorStatus {
        solution: solution.clone(),
        version: deployed.version.clone(),
        environment: space.environment.clone(),
        namespace: space.namespace.clone(),
        ready: None,
        condition: Condition::Gone,
        why: None,
        awaited: None,
    };
    let Some(found) = found else {
        operator.condition = Condition::Unseen;
        operator.why = Some("this user may not read its Deployment".to_owned());
        return Ok(operator);
    };
    let record = state.record(solution, &deployed.version);
    let version = Hidden::Version(solution.clone(), deployed.version.clone());
    if found.is_none() && record.is_none() && sight.hides(&version) {
        // It may be one that only carries objects as they are.
        operator.condition = Condition::Unseen;
        operator.why = Some("this user may not read what its version consists of".to_owned());
        return Ok(operator);
    }
    Ok(operator.judged(found.as_ref(), record))
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

impl OperatorStatus {
    /// Returns the same status with that of the carried objects beside it.
    fn with(self, carried: Self) -> Self {
        let sum = |[ready, wanted]: [u64; 2], [more, of]: [u64; 2]| [ready + more, wanted + of];
        Self {
            ready: self.ready.zip(carried.ready).map(|(a, b)| sum(a, b)),
            ..carried
        }
    }

    /// Whether it runs as it should.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.condition == Condition::Ready
    }

    /// Whether it is an operator that somebody has stopped.
    #[must_use]
    pub fn is_scaled_to_zero(&self) -> bool {
        self.condition == Condition::NotReady && self.ready == Some([0, 0])
    }

    /// Judges what was found against what should run.
    fn judged(mut self, found: Option<&(Object, RolloutState)>, record: Option<&Record>) -> Self {
        let Some((live, state)) = found else {
            self.why = Some("its Deployment is gone".to_owned());
            return self;
        };
        let RolloutState { progress, awaited } = state;
        let mut ready = progress.ready();
        (self.condition, self.why) = if let Some(why) = other_version(live, &self.version, record) {
            ready = 0;
            (Condition::OtherVersion, Some(why))
        } else if let Some(awaited) = awaited {
            self.awaited = Some(awaited.clone());
            (Condition::NotReady, Some(awaited.to_string()))
        } else if progress.wanted == 0 {
            let why = "its Deployment is scaled to zero pods".to_owned();
            (Condition::NotReady, Some(why))
        } else {
            (Condition::Ready, None)
        };
        self.ready = Some([ready, progress.wanted]);
        self
    }
}

/// Returns the sign that a Deployment is not of this version: its label, or the digest of its image.
fn other_version(live: &Object, version: &Version, record: Option<&Record>) -> Option<String> {
    let labels = live.labels();
    let label = labels.get(VERSION_LABEL).copied();
    if label != Some(version.to_string().as_str()) {
        return Some(match label {
            Some(other) => format!("its Deployment belongs to version {other}"),
            None => "its Deployment does not say which version it belongs to".to_owned(),
        });
    }
    let record = record?;
    let place = record.manifest.spec.operator.as_ref()?.image.place();
    let image = record.images.iter().find(|image| image.image == place)?;
    let suffix = format!("@{}", image.digest);
    let containers = live.as_value()["spec"]["template"]["spec"]["containers"].as_array();
    let mut runs = containers
        .into_iter()
        .flatten()
        .filter_map(|container| container["image"].as_str());
    let right = runs.clone().any(|image| image.ends_with(&suffix));
    (!right).then(|| {
        format!(
            "its Deployment runs {}, which is not the image of version {version}",
            runs.next().unwrap_or("no image")
        )
    })
}

#[cfg(test)]
mod tests {
    use deployer::RolloutProgress;
    use serde_json::json;

    use super::*;
    use crate::model::record::tests::record;

    fn found(label: &str, image: &str, state: RolloutState) -> (Object, RolloutState) {
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "shop-operator", "namespace": "prod", "labels": {VERSION_LABEL: label}},
            "spec": {"template": {"spec": {"containers": [{"image": image}]}}}});
        (Object::new(deployment).unwrap(), state)
    }

    fn complete(wanted: u64) -> RolloutState {
        let progress = RolloutProgress {
            wanted,
            updated: wanted,
            available: wanted,
            existing: wanted,
        };
        RolloutState {
            progress,
            awaited: None,
        }
    }

    /// A record whose operator is the image `web:7`.
    fn recorded() -> Record {
        let manifest = "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Solution\nmetadata: {name: shop}\nspec: {version: 1.1.0, images: ['web:7'], operator: {image: {name: web, tag: '7'}}}\n";
        Record {
            manifest: schemas::Solution::from_slice(manifest.as_bytes()).unwrap(),
            ..record("1.1.0")
        }
    }

    fn image(byte: u8) -> String {
        format!("pull.test/web@{}", schemas::Digest::new([byte; 32]))
    }

    fn operator() -> OperatorStatus {
        OperatorStatus {
            solution: "shop".parse().unwrap(),
            version: "1.1.0".parse().unwrap(),
            environment: "prod".parse().unwrap(),
            namespace: "prod".parse().unwrap(),
            ready: None,
            condition: Condition::Gone,
            why: None,
            awaited: None,
        }
    }

    #[track_caller]
    fn judged(
        label: &str,
        image: &str,
        state: RolloutState,
    ) -> (Condition, Option<[u64; 2]>, String) {
        let found = found(label, image, state);
        let judged = operator().judged(Some(&found), Some(&recorded()));
        (
            judged.condition,
            judged.ready,
            judged.why.unwrap_or_default(),
        )
    }

    #[test]
    fn only_the_version_that_should_run_is_ready() {
        assert_eq!(
            judged("1.1.0", &image(3), complete(1)),
            (Condition::Ready, Some([1, 1]), String::new())
        );
        let (condition, ready, why) = judged("1.0.0", &image(3), complete(1));
        assert_eq!((condition, ready), (Condition::OtherVersion, Some([0, 1])));
        assert_eq!(why, "its Deployment belongs to version 1.0.0");
        let (condition, ready, why) = judged("1.1.0", &image(9), complete(1));
        assert_eq!((condition, ready), (Condition::OtherVersion, Some([0, 1])));
        assert!(
            why.contains("which is not the image of version 1.1.0"),
            "{why}"
        );
    }

    #[test]
    fn what_cannot_be_seen_is_not_called_ready() {
        let of = |condition| OperatorStatus {
            condition,
            ..operator()
        };
        let [ready, gone, unseen] = [Condition::Ready, Condition::Gone, Condition::Unseen].map(of);
        assert_eq!(all_ready([&ready, &ready]), Some(true));
        assert_eq!(all_ready([&ready, &unseen]), None);
        assert_eq!(all_ready([&gone, &unseen]), Some(false));
        let status = Status {
            versions: Vec::new(),
            environments: Vec::new(),
            operators: vec![unseen],
            incomplete: Vec::new(),
            notes: Vec::new(),
            unseen: Vec::new(),
        };
        assert_eq!(status.is_ready(), None);
    }

    #[test]
    fn what_is_not_ready_says_why() {
        let state = RolloutState {
            awaited: Some(Awaited::Pods),
            ..complete(1)
        };
        let (condition, _, why) = judged("1.1.0", &image(3), state);
        assert_eq!(condition, Condition::NotReady);
        assert_eq!(why, "no pod of this version has been created yet");
        let (condition, ready, why) = judged("1.1.0", &image(3), complete(0));
        assert_eq!((condition, ready), (Condition::NotReady, Some([0, 0])));
        assert!(why.contains("scaled to zero pods"), "{why}");
        let stopped = found("1.1.0", &image(3), complete(0));
        assert!(operator().judged(Some(&stopped), None).is_scaled_to_zero());
        let gone = operator().judged(None, None);
        assert_eq!((gone.condition, gone.ready), (Condition::Gone, None));
    }
}
