//! The status of a deployed Solution: its operator, and the sets and charts of its version. It is compared with the
//! record of the namespace. The entry points are [`operator_status`] and [`readiness`].

mod parts;

use kubernetes::{Access, AwaitedCondition, Cluster, Object, RolloutState};
use schemars::JsonSchema;
use schemas::{EnvironmentName, Namespace, ReleaseName, SolutionName, Version};
use serde::Serialize;
use store::Record;

use self::parts::DeployedParts;
use crate::model::error::Error;
use crate::objects::operator::operator_name;
use crate::records::namespace_record::{DeployedSolution, NamespaceRecord};
use crate::records::state::ClusterState;
use crate::records::visibility::{UnreadableParts, UnreadableScope};

/// The label of an operator's objects with its version.
const VERSION_LABEL: &str = "app.kubernetes.io/version";

/// An operator in a namespace.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorStatus {
    /// The Solution.
    pub solution: SolutionName,
    /// The expected version.
    pub version: Version,
    /// The environment.
    pub environment: EnvironmentName,
    /// The namespace.
    pub namespace: Namespace,
    /// The version of the operator's Deployment if it is not the expected one and the Deployment has a version label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<Version>,
    /// Ready pods and wanted pods of this version; null if the Deployment is missing or cannot be read. Each
    /// workload of a set or a chart counts as one.
    pub ready: Option<[u64; 2]>,
    /// Ready pods and wanted pods of the operator and of all workloads of sets and charts; missing if they
    /// are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<[u64; 2]>,
    /// The condition of the operator.
    pub condition: Condition,
    /// The reason why it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The current state of the releases of charts that are installed once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<RunningRelease>,
    /// The condition that a Deployment of the expected version waits for.
    #[serde(skip)]
    pub awaited: Option<AwaitedCondition>,
}

/// The current state of a release of a chart that is installed once and may then be upgraded by the site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunningRelease {
    /// The release.
    pub release: ReleaseName,
    /// Its namespace.
    pub namespace: Namespace,
    /// The name of the running chart.
    pub chart: String,
    /// The version of the running chart.
    pub version: String,
    /// The running revision.
    pub revision: u32,
    /// The installed version of the chart.
    pub installed: String,
}

/// The condition of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OperatorCondition")]
pub enum Condition {
    /// All pods have the expected version and are ready.
    Ready,
    /// Pods of the expected version are missing or not ready.
    NotReady,
    /// The Deployment or a release of a chart has another version.
    OtherVersion,
    /// An object of a chart was changed after the installation.
    Changed,
    /// The Deployment does not exist.
    Gone,
    /// This user does not have the right to read it.
    Unseen,
}

/// Returns the status of a Solution in a namespace, as far as this user may read it; `None` if the Solution is not
/// deployed there.
pub(crate) async fn readiness(
    cluster: &Cluster,
    state: &ClusterState,
    space: &NamespaceRecord,
    solution: &SolutionName,
) -> Result<Option<OperatorStatus>, Error> {
    let Some(deployed) = space.solutions.get(solution) else {
        return Ok(None);
    };
    let sight = &mut UnreadableParts::default();
    let status = operator_status(cluster, state, space, solution, deployed, None, sight);
    Ok(Some(status.await?))
}

/// Returns the status of a deployed Solution. `found` is its operator's Deployment, if the caller has listed it
/// already.
pub(crate) async fn operator_status(
    cluster: &Cluster,
    state: &ClusterState,
    space: &NamespaceRecord,
    solution: &SolutionName,
    deployed: &DeployedSolution,
    found: Option<(Object, RolloutState)>,
    sight: &mut UnreadableParts,
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
        // If the operator is not ready, its status explains the problem better than that of the objects that it serves.
        Some(carried) if operator.is_ready() => {
            Ok(operator.with(carried.status(cluster, sight).await?))
        }
        _ => Ok(operator),
    }
}

/// Returns the status of an operator. If it was not found by its label, it is read by its name, since a tenant may have
/// removed the label.
async fn operator(
    cluster: &Cluster,
    state: &ClusterState,
    space: &NamespaceRecord,
    solution: &SolutionName,
    deployed: &DeployedSolution,
    found: Option<(Object, RolloutState)>,
    sight: &mut UnreadableParts,
) -> Result<OperatorStatus, Error> {
    let name = operator_name(solution.as_str());
    let namespace = space.namespace.as_str();
    let found = match found {
        Some(found) => Ok(Some(found)),
        None => cluster.rollout_state(namespace, &name).await,
    };
    let right = Access::new("get", "apps", "deployments").namespace(namespace);
    let found = sight.of(
        found,
        UnreadableScope::Operators(space.namespace.clone()),
        &right,
    )?;
    let mut operator = OperatorStatus {
        solution: solution.clone(),
        version: deployed.version.clone(),
        environment: space.environment.clone(),
        namespace: space.namespace.clone(),
        runs: None,
        ready: None,
        pods: None,
        condition: Condition::Gone,
        why: None,
        releases: Vec::new(),
        awaited: None,
    };
    let Some(found) = found else {
        operator.condition = Condition::Unseen;
        operator.why = Some("this user may not read its Deployment".to_owned());
        return Ok(operator);
    };
    let record = state.record(solution, &deployed.version);
    let version = UnreadableScope::Version(solution.clone(), deployed.version.clone());
    if found.is_none() && record.is_none() && sight.hides(&version) {
        // The version may have no operator.
        operator.condition = Condition::Unseen;
        operator.why = Some("this user may not read the record of its version".to_owned());
        return Ok(operator);
    }
    Ok(operator.judged(found.as_ref(), record))
}

impl OperatorStatus {
    /// Returns the status of the operator combined with that of the sets and charts.
    fn with(self, carried: Self) -> Self {
        let sum = |[ready, wanted]: [u64; 2], [more, of]: [u64; 2]| [ready + more, wanted + of];
        Self {
            ready: self.ready.zip(carried.ready).map(|(a, b)| sum(a, b)),
            pods: self.pods.zip(carried.pods).map(|(a, b)| sum(a, b)),
            ..carried
        }
    }

    /// Checks whether it is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.condition == Condition::Ready
    }

    /// Checks whether it is an operator that was scaled to zero.
    #[must_use]
    pub fn is_scaled_to_zero(&self) -> bool {
        self.condition == Condition::NotReady && self.ready == Some([0, 0])
    }

    /// Completes the status by comparing the Deployment with the expected version.
    fn judged(mut self, found: Option<&(Object, RolloutState)>, record: Option<&Record>) -> Self {
        let Some((live, state)) = found else {
            self.why = Some("its Deployment is gone".to_owned());
            return self;
        };
        let RolloutState { progress, awaited } = state;
        let mut ready = progress.ready();
        (self.condition, self.why) = if let Some(why) = other_version(live, &self.version, record) {
            ready = 0;
            self.runs = labelled_version(live).filter(|runs| *runs != self.version);
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
        self.pods = Some([progress.ready(), progress.wanted]);
        self
    }
}

/// Returns the version in a Deployment's label.
fn labelled_version(live: &Object) -> Option<Version> {
    live.labels().get(VERSION_LABEL)?.parse().ok()
}

/// Returns the reason why a Deployment is not of this version: its label, or the digest of its image.
fn other_version(live: &Object, version: &Version, record: Option<&Record>) -> Option<String> {
    let labels = live.labels();
    let label = labels.get(VERSION_LABEL).copied();
    if label != Some(version.to_string().as_str()) {
        return Some(match label {
            Some(other) => format!("its Deployment belongs to version {other}"),
            None => "its Deployment has no version label".to_owned(),
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
    use kubernetes::RolloutProgress;
    use serde_json::json;

    use super::*;
    use crate::records::record::tests::record;

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

    /// Returns a record whose operator has the image `web:7`.
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
            runs: None,
            ready: None,
            pods: None,
            condition: Condition::Gone,
            why: None,
            releases: Vec::new(),
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
    fn a_deployment_of_another_version_is_shown_with_that_version_and_its_pods() {
        let of = |label: &str, image: &str| {
            let found = found(label, image, complete(2));
            operator().judged(Some(&found), Some(&recorded()))
        };
        let older = of("1.0.0", &image(3));
        assert_eq!(older.runs, Some("1.0.0".parse().unwrap()));
        assert_eq!((older.ready, older.pods), (Some([0, 2]), Some([2, 2])));
        let right = of("1.1.0", &image(3));
        assert_eq!((right.runs, right.pods), (None, Some([2, 2])));
        // A tenant can write any label.
        for label in ["1.1.0", "nonsense"] {
            let other = of(label, &image(9));
            assert_eq!(
                (other.runs, other.condition),
                (None, Condition::OtherVersion)
            );
        }
    }

    #[test]
    fn what_is_not_ready_says_why() {
        let state = RolloutState {
            awaited: Some(AwaitedCondition::Pods),
            ..complete(1)
        };
        let (condition, _, why) = judged("1.1.0", &image(3), state);
        assert_eq!(condition, Condition::NotReady);
        assert_eq!(why, "no pod of this version has been created yet");
        let (condition, ready, why) = judged("1.1.0", &image(3), complete(0));
        assert_eq!((condition, ready), (Condition::NotReady, Some([0, 0])));
        assert!(why.contains("scaled to zero pods"), "{why}");
        // The pod of the previous version may take some time to be deleted.
        let mut stopping = complete(1);
        stopping.progress.wanted = 0;
        for state in [complete(0), stopping] {
            let stopped = found("1.1.0", &image(3), state);
            assert!(operator().judged(Some(&stopped), None).is_scaled_to_zero());
        }
        let gone = operator().judged(None, None);
        assert_eq!((gone.condition, gone.ready), (Condition::Gone, None));
    }
}
