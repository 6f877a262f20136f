//! The status of the objects of sets and charts: [`DeployedParts::status`]. Objects are checked against the site's
//! inventory: whether they exist, whether their workloads are ready, and whether a chart's objects still have the fields
//! of the recorded manifests. The comparison makes no dry run, since a user who reads the status may not write.

use helm::StoredRevision;
use kubernetes::{Cluster, Drift, Object, ObjectRef, Readiness, pods, readiness};
use planner::{Entry, Inventory, ReleaseEntry, Stage};
use schemas::{SolutionName, SolutionSpec, Strategy};

use crate::limits::STORED_CHART;
use crate::model::error::Error;
use crate::objects::releases::stored::StoredRelease;
use crate::objects::releases::{DriftedObject, applied, manager, sent};
use crate::records::inventory;
use crate::records::namespace_record::{DeployedSolution, NamespaceRecord};
use crate::records::visibility::{UnreadableParts, UnreadableScope};
use crate::status::readiness::{Condition, OperatorStatus, RunningRelease};

/// The kinds of a chart's workloads that run permanently.
const RUNNING: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];

/// A deployed Solution and the specification of its version.
pub(super) struct DeployedParts<'a> {
    pub(super) space: &'a NamespaceRecord,
    pub(super) solution: &'a SolutionName,
    pub(super) deployed: &'a DeployedSolution,
    pub(super) spec: &'a SolutionSpec,
}

/// The totals of a Solution's workloads.
#[derive(Debug, PartialEq, Eq)]
struct WorkloadTally {
    /// The number of ready workloads, and the number of all.
    ready: Option<[u64; 2]>,
    /// The number of ready pods, and the number of wanted pods.
    pods: Option<[u64; 2]>,
    condition: Condition,
    /// The reason why the first workload that is not ready is not.
    why: Option<String>,
    /// The current state of the releases that are installed once.
    releases: Vec<RunningRelease>,
}

/// The condition of a part that is not ready, with the reason.
type PartState = (Condition, String);

/// A workload and the strategy of its set or chart.
struct Workload {
    object: ObjectRef,
    strategy: Strategy,
}

impl DeployedParts<'_> {
    /// Returns the status of the Solution's sets and charts. Objects that this user may not read are recorded in
    /// `sight`.
    pub(super) async fn status(
        &self,
        cluster: &Cluster,
        sight: &mut UnreadableParts,
    ) -> Result<OperatorStatus, Error> {
        let tally = match self.judged(cluster).await {
            Err(Error::Cluster(kubernetes::Error::Forbidden { doing, .. })) => {
                let (solution, namespace) = (self.solution.clone(), self.space.namespace.clone());
                sight.misses(UnreadableScope::Carried(solution, namespace), doing);
                let why = "this user may not read its manifests and charts".to_owned();
                WorkloadTally {
                    ready: None,
                    pods: None,
                    condition: Condition::Unseen,
                    why: Some(why),
                    releases: Vec::new(),
                }
            }
            judged => judged?,
        };
        Ok(OperatorStatus {
            solution: self.solution.clone(),
            version: self.deployed.version.clone(),
            environment: self.space.environment.clone(),
            namespace: self.space.namespace.clone(),
            runs: None,
            ready: tally.ready,
            pods: tally.pods,
            condition: tally.condition,
            why: tally.why,
            releases: tally.releases,
            awaited: None,
        })
    }

    /// Compares the recorded workloads and releases with the cluster.
    async fn judged(&self, cluster: &Cluster) -> Result<WorkloadTally, Error> {
        let recorded = inventory::read(cluster, self.solution, self.space).await?;
        let workloads = recorded.entries.iter().filter(|entry| entry.is_running());
        // The operator belongs to no part; its status is determined separately.
        let workloads = workloads.filter_map(|entry| {
            let part = entry.part.as_ref()?;
            Some(Workload {
                object: entry.reference(),
                strategy: strategy(self.spec, part.as_str()),
            })
        });
        let mut workloads: Vec<Workload> = workloads.collect();
        let all: Vec<&ObjectRef> = workloads.iter().map(|workload| &workload.object).collect();
        let mut live = cluster.get_all(&all).await?;
        let mut changed = self.missed(cluster, &recorded).await?;
        let mut releases = Vec::new();
        for release in &recorded.releases {
            let strategy = strategy(self.spec, release.name.as_str());
            let mut judged = judged_release(cluster, release, strategy).await?;
            if judged.is_other() {
                // A change may have recorded its revision after this record was read.
                let now = inventory::read(cluster, self.solution, self.space)
                    .await?
                    .releases
                    .into_iter()
                    .find(|entry| entry.is(&release.namespace, &release.name));
                if let Some(now) = now.filter(|now| now != release) {
                    judged = judged_release(cluster, &now, strategy).await?;
                }
            }
            changed.extend(judged.found);
            releases.extend(judged.once);
            for (object, found) in judged.running {
                workloads.push(Workload { object, strategy });
                live.push(found);
            }
        }
        let tally = summed(changed, &workloads, &live);
        Ok(WorkloadTally { releases, ..tally })
    }

    /// Returns the missing or replaced objects of managed sets, except workloads, as far as this user may read them.
    /// Objects with data and CRDs do not count, since they may be kept from earlier versions.
    async fn missed(
        &self,
        cluster: &Cluster,
        recorded: &Inventory,
    ) -> Result<Vec<PartState>, Error> {
        let is_kept = |entry: &&Entry| {
            let mut sets = self.spec.manifests.iter();
            let set = sets.find(|set| entry.part.as_ref() == Some(&set.name));
            let stays = entry.keeps_data() || entry.stage == Stage::Definition;
            set.is_some_and(|set| set.strategy == Strategy::Managed)
                && !stays
                && entry.inputs.is_none()
                && !entry.is_running()
        };
        let entries: Vec<&Entry> = recorded.entries.iter().filter(is_kept).collect();
        let references: Vec<ObjectRef> = entries.iter().map(|entry| entry.reference()).collect();
        let references: Vec<&ObjectRef> = references.iter().collect();
        let live = cluster.get_each(&references).await?;
        let found = entries.iter().zip(live).map(|(entry, live)| match live {
            Ok(live) => Ok(missing(entry, live.as_ref(), self.solution)),
            Err(kubernetes::Error::Forbidden { .. } | kubernetes::Error::NoSuchKind(_)) => Ok(None),
            Err(error) => Err(Error::from(error)),
        });
        let found: Vec<Option<PartState>> = found.collect::<Result<_, _>>()?;
        Ok(found.into_iter().flatten().collect())
    }
}

/// Returns the finding that the object of an entry was deleted, or is not the one that was applied.
fn missing(entry: &Entry, live: Option<&Object>, solution: &SolutionName) -> Option<PartState> {
    let object = entry.reference();
    match live {
        None => Some((Condition::Gone, format!("{object} is gone"))),
        Some(live) => {
            let checked = entry.check(live, solution);
            let words = || format!("{object} is not the object that was applied");
            checked.err().map(|_| (Condition::Changed, words()))
        }
    }
}

/// Returns the totals and the first finding. A missing workload of a part that is installed once was removed by the
/// site and is not counted, since no import recreates it.
fn summed(
    changed: Vec<PartState>,
    workloads: &[Workload],
    live: &[Option<Object>],
) -> WorkloadTally {
    let (mut unsettled, mut wanted) = (Vec::new(), 0);
    for (Workload { object, strategy }, live) in workloads.iter().zip(live) {
        let found = match live.as_ref().map(readiness) {
            None if *strategy == Strategy::BootstrapOnly => continue,
            None => Some((Condition::Gone, format!("{object} is gone"))),
            Some(Readiness::Ready) => None,
            Some(why) => Some((Condition::NotReady, format!("{object}: {why}"))),
        };
        wanted += 1;
        unsettled.extend(found);
    }
    let lacking = u64::try_from(unsettled.len()).unwrap_or(u64::MAX);
    let counted = live.iter().flatten().filter_map(pods);
    let sum = |[ready, wanted]: [u64; 2], [more, of]: [u64; 2]| [ready + more, wanted + of];
    let (condition, why) = match changed.into_iter().chain(unsettled).next() {
        Some((condition, why)) => (condition, Some(why)),
        None => (Condition::Ready, None),
    };
    WorkloadTally {
        ready: Some([wanted - lacking, wanted]),
        pods: Some(counted.fold([0, 0], sum)),
        condition,
        why,
        releases: Vec::new(),
    }
}

/// Returns the strategy of the set or chart with this name. The names of sets and charts are unique together.
fn strategy(spec: &SolutionSpec, name: &str) -> Strategy {
    let sets = spec
        .manifests
        .iter()
        .map(|set| (set.name.as_str(), set.strategy));
    let charts = spec
        .charts
        .iter()
        .map(|chart| (chart.name.as_str(), chart.strategy));
    let mut all = sets.chain(charts);
    all.find(|part| part.0 == name)
        .map_or_else(Strategy::default, |part| part.1)
}

/// The status of a release.
#[derive(Default)]
struct JudgedRelease {
    /// The first deviation from the record.
    found: Option<PartState>,
    /// The current workloads.
    running: Vec<(ObjectRef, Option<Object>)>,
    /// The current state of the release if it is installed once.
    once: Option<RunningRelease>,
}

impl JudgedRelease {
    fn is_other(&self) -> bool {
        let found = self.found.as_ref();
        found.is_some_and(|(condition, _)| *condition == Condition::OtherVersion)
    }
}

/// Compares a release with its record and reads its workloads.
async fn judged_release(
    cluster: &Cluster,
    release: &ReleaseEntry,
    strategy: Strategy,
) -> Result<JudgedRelease, Error> {
    let mut judged = JudgedRelease::default();
    let stored = StoredRelease::find(cluster, &release.namespace, &release.name).await?;
    let Some(stored) = stored else {
        judged.found = Some((Condition::Gone, format!("{release} is gone")));
        return Ok(judged);
    };
    judged.once = (strategy == Strategy::BootstrapOnly).then(|| runs_of(release, &stored.newest));
    let known = &release.revisions;
    let content = if known.is_empty() {
        Content::Unrecorded
    } else if stored.is_known(known) {
        Content::Recorded
    } else {
        Content::Other
    };
    judged.found = other_revision(release, strategy, stored.revision(), content);
    // A release that is installed once belongs to the site afterwards, which may change it.
    let is_kept = strategy == Strategy::Managed && stored.is_known(known) && judged.found.is_none();
    let runs = |object: &Object| RUNNING.contains(&object.gvk().kind.as_str());
    let mut looked = applied(&sent(cluster, &stored.newest, release).await?, release);
    looked.retain(|object| is_kept || runs(object));
    let references: Vec<&ObjectRef> = looked.iter().map(Object::reference).collect();
    let live = cluster.get_each(&references).await?;
    for (object, live) in looked.iter().zip(live) {
        let live = match live {
            // The kind is not served, so the object cannot be read.
            Err(kubernetes::Error::NoSuchKind(_)) => continue,
            live => live?,
        };
        if is_kept && judged.found.is_none() {
            judged.found = drifted(object, live.as_ref());
        }
        if runs(object) {
            judged.running.push((object.reference().clone(), live));
        }
    }
    Ok(judged)
}

/// Returns the current state of a release that is installed once.
fn runs_of(release: &ReleaseEntry, newest: &StoredRevision) -> RunningRelease {
    let text = |text: &str| text.chars().take(STORED_CHART).collect();
    RunningRelease {
        release: release.name.clone(),
        namespace: release.namespace.clone(),
        chart: text(&newest.chart),
        version: text(&newest.chart_version),
        revision: newest.revision,
        installed: release.version.to_string(),
    }
}

/// Returns the finding that an object was deleted or changed since it was applied.
fn drifted(applied: &Object, live: Option<&Object>) -> Option<PartState> {
    let drift = match live {
        None => Drift::deleted(),
        Some(live) => Drift::from_managed_fields(applied, live, &manager())?,
    };
    let object = applied.reference().clone();
    let drifted = DriftedObject { object, drift };
    let condition = if drifted.is_gone() {
        Condition::Gone
    } else {
        Condition::Changed
    };
    Some((condition, drifted.to_string()))
}

/// The content of a revision, compared with the recorded revisions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// No revision is recorded: the record is older than the field.
    Unrecorded,
    /// A recorded revision, possibly of a change that has not ended.
    Recorded,
    Other,
}

/// Returns the finding that a release has a revision that no import of this site created. A release that is installed
/// once belongs to the site afterwards, which may upgrade it.
fn other_revision(
    release: &ReleaseEntry,
    strategy: Strategy,
    revision: u32,
    content: Content,
) -> Option<PartState> {
    let is_sites = strategy == Strategy::BootstrapOnly && release.revision.is_some();
    let is_current = release.revision == Some(revision);
    match content {
        _ if is_sites => None,
        Content::Recorded | Content::Unrecorded if is_current => None,
        Content::Recorded => {
            let words = format!("{release} is being changed: revision {revision} is incomplete");
            Some((Condition::NotReady, words))
        }
        Content::Unrecorded | Content::Other => {
            let words =
                format!("{release} is at revision {revision}, which was not created by an import");
            Some((Condition::OtherVersion, words))
        }
    }
}

#[cfg(test)]
mod tests {
    use manifests::ObjectKinds;
    use planner::{DesiredObject, vocabulary as v};
    use serde_json::{Value, json};

    use super::*;
    use crate::records::inventory::tests::release;

    #[test]
    fn a_release_that_is_installed_once_may_be_upgraded_by_the_site() {
        let (managed, once) = (Strategy::Managed, Strategy::BootstrapOnly);
        for (recorded_at, strategy, revision, is_other) in [
            (Some(1), managed, 1, false),
            (Some(1), managed, 4, true),
            (Some(1), once, 4, false),
            (None, once, 1, true),
        ] {
            let found = other_revision(
                &release("web", recorded_at),
                strategy,
                revision,
                Content::Unrecorded,
            );
            assert_eq!(
                found.is_some(),
                is_other,
                "{recorded_at:?} {strategy:?} {revision}"
            );
        }
    }

    #[test]
    fn a_release_that_is_installed_once_is_told_as_it_runs_now() {
        let newest = StoredRevision {
            name: "web".to_owned(),
            namespace: "prod".to_owned(),
            revision: 4,
            status: helm::ReleaseStatus::Deployed,
            description: String::new(),
            chart: "web".to_owned(),
            chart_version: "2".repeat(1000),
            manifest: String::new(),
            hooks: Vec::new(),
            config: serde_json::Map::new(),
        };
        let runs = runs_of(&release("web", Some(1)), &newest);
        assert_eq!(
            json!(runs),
            json!({
                "release": "web", "namespace": "prod", "chart": "web", "version": "2".repeat(STORED_CHART),
                "revision": 4, "installed": "1.0.0",
            })
        );
    }

    #[test]
    fn a_revision_of_a_change_that_has_not_ended_is_not_called_foreign() {
        let told = |recorded_at, content| {
            let release = release("web", recorded_at);
            other_revision(&release, Strategy::Managed, 2, content).map(|(condition, _)| condition)
        };
        for before in [None, Some(1)] {
            assert_eq!(told(before, Content::Recorded), Some(Condition::NotReady));
            assert_eq!(told(before, Content::Other), Some(Condition::OtherVersion));
        }
        assert_eq!(told(Some(2), Content::Recorded), None);
        assert_eq!(told(Some(2), Content::Other), Some(Condition::OtherVersion));
    }

    #[test]
    fn an_object_that_others_changed_is_not_called_as_it_was_installed() {
        let map = |value: &str| {
            let metadata = json!({ "name": "web", "namespace": "prod" });
            let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "a": value } });
            Object::new(map).unwrap()
        };
        let found = |live: Option<&Object>| drifted(&map("1"), live);
        assert_eq!(found(Some(&map("1"))), None);
        let changed = "ConfigMap prod/web was changed (.data.a)".to_owned();
        assert_eq!(found(Some(&map("2"))), Some((Condition::Changed, changed)));
        let gone = "ConfigMap prod/web is gone".to_owned();
        assert_eq!(found(None), Some((Condition::Gone, gone)));
    }

    #[test]
    fn an_object_of_a_set_that_is_gone_or_another_one_is_told() {
        let map = |uid: &str| {
            let labels = json!({ v::SOLUTION: "shop" });
            let metadata =
                json!({ "name": "c", "namespace": "prod", "uid": uid, "labels": labels });
            let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
            Object::new(map).unwrap()
        };
        let entry =
            DesiredObject::of_part("main".parse().unwrap(), map("1"), &ObjectKinds::default());
        let entry = Entry {
            uid: Some("1".to_owned()),
            ..entry.to_entry()
        };
        let shop = "shop".parse().unwrap();
        let found = |live: Option<&Object>| missing(&entry, live, &shop);
        assert_eq!(found(Some(&map("1"))), None);
        let gone = "ConfigMap prod/c is gone".to_owned();
        assert_eq!(found(None), Some((Condition::Gone, gone)));
        let other = "ConfigMap prod/c is not the object that was applied".to_owned();
        assert_eq!(found(Some(&map("2"))), Some((Condition::Changed, other)));
    }

    #[test]
    fn what_the_site_removed_of_a_part_that_is_installed_once_is_not_missed() {
        let workload = |strategy| Workload {
            object: ObjectRef::namespaced("apps/v1", "Deployment", "prod", "web"),
            strategy,
        };
        let gone = |strategy| summed(Vec::new(), &[workload(strategy)], &[None]);
        let kept = gone(Strategy::BootstrapOnly);
        assert_eq!(
            (kept.ready, kept.condition, kept.why),
            (Some([0, 0]), Condition::Ready, None)
        );
        let missed = gone(Strategy::Managed);
        assert_eq!(
            (missed.ready, missed.condition),
            (Some([0, 1]), Condition::Gone)
        );
        assert!(missed.why.unwrap().contains("is gone"));
    }

    #[test]
    fn pods_of_workloads_are_counted_and_not_objects() {
        let deployment = |name: &str, wanted: u64, ready: u64| {
            Object::new(json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": name, "namespace": "prod"},
                "spec": {"replicas": wanted}, "status": {"readyReplicas": ready},
            }))
            .unwrap()
        };
        let live = [deployment("web", 3, 2), deployment("db", 2, 2)];
        let workloads = live.each_ref().map(|object| Workload {
            object: object.reference().clone(),
            strategy: Strategy::Managed,
        });
        let tally = summed(Vec::new(), &workloads, &live.map(Some));
        assert_eq!(tally.pods, Some([4, 5]));
    }

    #[test]
    fn sets_and_charts_are_kept_as_the_version_says() {
        let spec: Value = json!({"version": "1.0.0", "images": [],
            "charts": [{"name": "db", "chart": "db", "version": "1.0.0", "strategy": "bootstrap-only"}]});
        let spec: SolutionSpec = serde_json::from_value(spec).unwrap();
        assert_eq!(strategy(&spec, "db"), Strategy::BootstrapOnly);
        assert_eq!(strategy(&spec, "other"), Strategy::Managed);
    }
}
