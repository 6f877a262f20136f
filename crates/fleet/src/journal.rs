//! What is remembered of a fleet between two runs: that it is paused, which plans of waves were approved, and since when
//! waves are good. It decides only whether something is begun, never what that is.

use std::collections::BTreeMap;
use std::time::Duration;

use schemas::{ClusterName, ClusterUid, FleetSpec, KubernetesName, StatementTime, WaveName};
use serde::{Deserialize, Serialize};

use crate::limits;

/// What is remembered of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FleetJournal {
    /// The name of the fleet.
    pub fleet: KubernetesName,
    /// By whom it was paused; none if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Decided>,
    /// The last approval of each wave.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    approvals: BTreeMap<WaveName, Approval>,
    /// Since when all clusters of a wave are as they were asked to be.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    good: BTreeMap<WaveName, Good>,
    /// The clusters that were made as the file says, by the UIDs that pin them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    clusters: BTreeMap<ClusterUid, ClusterName>,
}

/// A cluster that was made as the file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownCluster<'a> {
    /// The name that it had in the file.
    pub name: &'a ClusterName,
    /// The UID by which it is pinned.
    pub uid: &'a ClusterUid,
}

/// By whom something was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decided {
    /// The user and host.
    pub by: String,
    /// The time.
    pub at: StatementTime,
}

/// The approval of a wave's plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Approval {
    /// The id of the plan.
    plan: String,
    decided: Decided,
}

/// A wave that is as it was asked to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Good {
    /// The id of what was asked.
    goal: String,
    since: StatementTime,
}

impl FleetJournal {
    /// Returns the journal of a fleet of which nothing is remembered.
    #[must_use]
    pub fn new(fleet: KubernetesName) -> Self {
        Self {
            fleet,
            paused: None,
            approvals: BTreeMap::new(),
            good: BTreeMap::new(),
            clusters: BTreeMap::new(),
        }
    }

    /// Remembers that a cluster is made as the file says.
    pub fn know(&mut self, cluster: KnownCluster<'_>) {
        let KnownCluster { name, uid } = cluster;
        if self.clusters.len() < limits::KNOWN_CLUSTERS || self.clusters.contains_key(uid) {
            self.clusters.insert(uid.clone(), name.clone());
        }
    }

    /// Forgets a cluster: nothing of the fleet is left there.
    pub fn forget(&mut self, uid: &ClusterUid) {
        self.clusters.remove(uid);
    }

    /// Returns the known clusters that are no more in the file.
    pub fn gone<'a>(&'a self, spec: &'a FleetSpec) -> impl Iterator<Item = KnownCluster<'a>> {
        let all = self.clusters.iter();
        let all = all.map(|(uid, name)| KnownCluster { name, uid });
        all.filter(|it| !it.is_in(spec))
    }

    /// Forgets the known clusters that are no more in the file.
    pub fn forget_gone(&mut self, spec: &FleetSpec) {
        self.clusters
            .retain(|uid, name| KnownCluster { name, uid }.is_in(spec));
    }

    /// Remembers that a plan of a wave was approved. Only the last one counts.
    pub fn approve(&mut self, wave: WaveName, plan: String, decided: Decided) {
        self.approvals.insert(wave, Approval { plan, decided });
    }

    /// Returns who approved this plan of a wave, if somebody did.
    #[must_use]
    pub fn approved(&self, wave: &WaveName, plan: &str) -> Option<&Decided> {
        let approval = self.approvals.get(wave)?;
        (approval.plan == plan).then_some(&approval.decided)
    }

    /// Remembers that a wave is good now; `changed` if it was another one until now. A wave that was good for the same
    /// goal stays so since then.
    pub fn be_good(&mut self, wave: &WaveName, goal: &str, changed: bool, now: StatementTime) {
        // A time that has not come yet is of a clock that was put back since.
        let is_same = |it: &Good| it.goal == goal && it.since <= now;
        if changed || !self.good.get(wave).is_some_and(is_same) {
            let good = Good {
                goal: goal.to_owned(),
                since: now,
            };
            self.good.insert(wave.clone(), good);
        }
    }

    /// Forgets since when a wave is good: it is about to be changed, or is so no more.
    pub fn be_bad(&mut self, wave: &WaveName) {
        self.good.remove(wave);
    }

    /// Forgets all that is remembered of a wave: it goes back.
    pub fn go_back(&mut self, wave: &WaveName) {
        self.good.remove(wave);
        self.approvals.remove(wave);
    }

    /// Keeps what is remembered of these waves alone.
    pub fn retain(&mut self, is_known: impl Fn(&WaveName) -> bool) {
        self.good.retain(|wave, _| is_known(wave));
        self.approvals.retain(|wave, _| is_known(wave));
    }

    /// Returns how long a wave still has to be good until it was for so long; all of it if it is not known to be. A time
    /// that has not come yet counts as now.
    #[must_use]
    pub fn soaks(&self, wave: &WaveName, soak: Duration, now: StatementTime) -> Duration {
        let since = self.good.get(wave).map_or(now, |it| it.since);
        let passed = now.unix().saturating_sub(since.unix());
        soak.saturating_sub(Duration::from_secs(u64::try_from(passed).unwrap_or(0)))
    }
}

impl KnownCluster<'_> {
    /// Whether a file has it, perhaps under another name. One that is not pinned is known by its name alone.
    fn is_in(&self, spec: &FleetSpec) -> bool {
        let mut clusters = spec.clusters.iter();
        clusters.any(|it| match &it.uid {
            Some(uid) => uid == self.uid,
            None => it.name == *self.name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> StatementTime {
        StatementTime::from_unix(1_700_000_000 + seconds).unwrap()
    }

    fn journal() -> FleetJournal {
        FleetJournal::new("shops".parse().unwrap())
    }

    #[test]
    fn an_approval_is_of_one_plan() {
        let (mut journal, wave): (_, WaveName) = (journal(), "prod".parse().unwrap());
        let decided = Decided {
            by: "me@here".to_owned(),
            at: at(0),
        };
        journal.approve(wave.clone(), "a".to_owned(), decided.clone());
        assert_eq!(journal.approved(&wave, "a"), Some(&decided));
        assert_eq!(journal.approved(&wave, "b"), None);
        assert_eq!(journal.approved(&"other".parse().unwrap(), "a"), None);
        journal.approve(wave.clone(), "b".to_owned(), decided);
        assert_eq!(journal.approved(&wave, "a"), None);
        let other: WaveName = "other".parse().unwrap();
        let mut renamed = journal.clone();
        renamed.retain(|it| *it == other);
        assert_eq!(renamed.approved(&wave, "b"), None);
        let mut back = journal.clone();
        back.go_back(&wave);
        assert_eq!(back.approved(&wave, "b"), None);
        let text = serde_json::to_string(&journal).unwrap();
        assert_eq!(
            serde_json::from_str::<FleetJournal>(&text).unwrap(),
            journal
        );
    }

    #[test]
    fn a_cluster_that_left_the_file_is_known_by_its_uid() {
        let uid = |last: u8| -> ClusterUid {
            let text = format!("00000000-0000-4000-8000-00000000000{last}");
            text.parse().unwrap()
        };
        let mut journal = journal();
        for (name, last) in [("paris", 1), ("rome", 2), ("lab", 3)] {
            let (name, uid) = (&name.parse().unwrap(), &uid(last));
            journal.know(KnownCluster { name, uid });
        }
        let spec = |clusters: &str| -> FleetSpec {
            let text = format!(r#"{{"clusters": [{clusters}]}}"#);
            serde_json::from_str(&text).unwrap()
        };
        let renamed = format!(r#"{{"name": "paris-2", "uid": "{}"}}"#, uid(1));
        let another = format!(r#"{{"name": "rome", "uid": "{}"}}"#, uid(9));
        let unpinned = r#"{"name": "lab"}"#;
        let spec = spec(&[&renamed, &another, unpinned].join(", "));
        let gone: Vec<String> = journal.gone(&spec).map(|it| it.name.to_string()).collect();
        assert_eq!(gone, ["rome"]);
        let mut left = journal.clone();
        left.forget_gone(&spec);
        assert_eq!(left.clusters.len(), 2);
        journal.forget(&uid(2));
        assert_eq!(journal, left);
    }

    #[test]
    fn no_more_clusters_are_known_than_a_fleet_has_twice() {
        let mut journal = journal();
        let name = &"paris".parse().unwrap();
        for at in 0..=limits::KNOWN_CLUSTERS {
            let uid = &format!("00000000-0000-4000-8000-{at:012}").parse().unwrap();
            journal.know(KnownCluster { name, uid });
        }
        assert_eq!(journal.clusters.len(), limits::KNOWN_CLUSTERS);
        let (uid, name) = (
            &"00000000-0000-4000-8000-000000000000",
            &"rome".parse().unwrap(),
        );
        let uid = &uid.parse().unwrap();
        journal.know(KnownCluster { name, uid });
        assert_eq!(journal.clusters[uid], *name);
    }

    #[test]
    fn a_wave_soaks_since_it_was_changed_last() {
        let (mut journal, wave): (_, WaveName) = (journal(), "first".parse().unwrap());
        let minute = Duration::from_mins(1);
        let left = |journal: &FleetJournal, now| journal.soaks(&wave, minute, at(now)).as_secs();
        assert_eq!(left(&journal, 5), 60);
        journal.be_good(&wave, "a", true, at(0));
        assert_eq!((left(&journal, 20), left(&journal, 61)), (40, 0));
        // A clock that was put back makes nothing longer.
        assert_eq!(left(&journal, -100), 60);
        journal.be_good(&wave, "a", false, at(30));
        assert_eq!(left(&journal, 40), 20);
        journal.be_good(&wave, "a", true, at(40));
        assert_eq!(left(&journal, 50), 50);
        journal.be_good(&wave, "b", false, at(60));
        assert_eq!(left(&journal, 60), 60);
        journal.be_good(&wave, "b", false, at(10));
        assert_eq!(left(&journal, 30), 40, "the clock was put back");
        journal.be_bad(&wave);
        assert_eq!(left(&journal, 500), 60);
    }
}
