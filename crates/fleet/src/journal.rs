//! What is remembered of a fleet between two runs: that it is paused, which plans of waves were approved, and since when
//! waves are good. It decides only whether something is begun, never what that is.
//!
//! Two of them that were written apart become one again: of each thing the latest word counts, and where two were said at
//! the same time the one that begins less. So nothing is forgotten by leaving it out: it is taken back, with a time.

use std::collections::BTreeMap;
use std::time::Duration;

use schemas::limits::FLEET_WAVES;
use schemas::{
    ClusterName, ClusterUid, Digest, FleetSpec, FleetWave, KubernetesName, StatementTime, WaveName,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::limits::{self, PERSON_LENGTH, PLAN_LENGTH};

/// Seconds that a time of this clock may be ahead of it: what is said in the same second as something else is later than that.
const AHEAD: i64 = 5;

/// What is remembered of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FleetJournal {
    /// The name of the fleet.
    pub fleet: KubernetesName,
    /// The last word on whether it is paused.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pause: Option<Pause>,
    /// The last word on the plan of each wave.
    #[serde(
        default,
        deserialize_with = "by_wave",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    approvals: BTreeMap<WaveName, Approval>,
    /// Since when all clusters of a wave are as they were asked to be, or are so no more.
    #[serde(
        default,
        deserialize_with = "by_wave",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    good: BTreeMap<WaveName, Good>,
    /// The clusters that were made as the file says, by the UIDs that pin them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    clusters: BTreeMap<ClusterUid, ClusterName>,
    /// The last revision of the fleet that changed clusters from here.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    revision: Option<FleetRevision>,
}

/// A revision of a fleet: all changes that runs of `apply` make one after the other for one goal. A wave that waits for its
/// approval, and a cluster that failed, are changed by a later run than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetRevision {
    /// The time at which its first run began, which is its name.
    pub at: StatementTime,
    /// The digest of the goal.
    goal: Digest,
}

/// A cluster that was made as the file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownCluster<'a> {
    /// The name that it had in the file.
    pub name: &'a ClusterName,
    /// The UID by which it is pinned.
    pub uid: &'a ClusterUid,
}

/// The reason why a cluster is not the one that its name stands for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityConflict {
    /// The cluster is known under another name.
    #[error("cannot use the cluster as `{name}`: the fleet knows its UID {uid} as `{known}`")]
    Name {
        /// The name in the file.
        name: ClusterName,
        /// The UID of the cluster.
        uid: ClusterUid,
        /// The name under which it is known.
        known: ClusterName,
    },
    /// The name stands for another cluster.
    #[error(
        "cannot use the cluster as `{name}`: its UID is {uid}, and the fleet knows `{name}` by the UID {known}"
    )]
    Uid {
        /// The name in the file.
        name: ClusterName,
        /// The UID of the cluster.
        uid: ClusterUid,
        /// The UID by which the name is known.
        known: ClusterUid,
    },
}

/// By whom something was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The user and host.
    pub by: String,
    /// The time.
    pub at: StatementTime,
}

/// Whether a fleet is paused. The greater of two counts, here and below.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pause {
    at: StatementTime,
    paused: bool,
    #[serde(deserialize_with = "text::<_, PERSON_LENGTH>")]
    by: String,
}

/// The approval of a wave's plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Approval {
    at: StatementTime,
    /// Whether it counts no more.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    taken_back: bool,
    /// The id of the plan.
    #[serde(
        default,
        deserialize_with = "text::<_, PLAN_LENGTH>",
        skip_serializing_if = "String::is_empty"
    )]
    plan: String,
    #[serde(deserialize_with = "text::<_, PERSON_LENGTH>")]
    by: String,
}

/// A wave that is as it was asked to be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Good {
    since: StatementTime,
    /// Whether it is so no more.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    lost: bool,
    /// The id of what was asked.
    #[serde(
        default,
        deserialize_with = "text::<_, PLAN_LENGTH>",
        skip_serializing_if = "String::is_empty"
    )]
    goal: String,
}

impl FleetJournal {
    /// Returns the journal of a fleet of which nothing is remembered.
    #[must_use]
    pub fn new(fleet: KubernetesName) -> Self {
        Self {
            fleet,
            pause: None,
            approvals: BTreeMap::new(),
            good: BTreeMap::new(),
            clusters: BTreeMap::new(),
            revision: None,
        }
    }

    /// Returns the revision that a run towards a goal belongs to: the last one if it had the same goal, else a new one.
    #[must_use]
    pub fn revision_towards(&self, goal: Digest, now: StatementTime) -> FleetRevision {
        match self.revision {
            Some(last) if last.goal == goal => last,
            last => FleetRevision {
                at: after(now, last.map(|last| last.at)),
                goal,
            },
        }
    }

    /// Remembers that clusters are being changed for a revision.
    pub fn begin_revision(&mut self, revision: FleetRevision) {
        self.revision = Some(revision);
    }

    /// Returns the last revision that changed clusters from here.
    #[must_use]
    pub fn last_revision(&self) -> Option<StatementTime> {
        self.revision.map(|revision| revision.at)
    }

    /// Fails if a cluster is known under another name, or its name stands for another cluster. What the file pins itself
    /// needs no check: the file is the word of its author.
    pub fn identify(&self, cluster: KnownCluster<'_>) -> Result<(), IdentityConflict> {
        let KnownCluster { name, uid } = cluster;
        if let Some(known) = self.clusters.get(uid).filter(|known| *known != name) {
            return Err(IdentityConflict::Name {
                name: name.clone(),
                uid: uid.clone(),
                known: known.clone(),
            });
        }
        let mut known = self.clusters.iter();
        match known.find(|(other, known)| *known == name && *other != uid) {
            None => Ok(()),
            Some((known, _)) => Err(IdentityConflict::Uid {
                name: name.clone(),
                uid: uid.clone(),
                known: known.clone(),
            }),
        }
    }

    /// Whether it is known that a name stands for this cluster.
    #[must_use]
    pub fn knows(&self, cluster: KnownCluster<'_>) -> bool {
        self.clusters.get(cluster.uid) == Some(cluster.name)
    }

    /// Remembers which cluster a name stands for, unless that contradicts what is known.
    pub fn know(&mut self, cluster: KnownCluster<'_>) -> Result<(), IdentityConflict> {
        self.identify(cluster)?;
        if self.clusters.len() < limits::KNOWN_CLUSTERS {
            self.pin(cluster);
        }
        Ok(())
    }

    /// Remembers which cluster a name stands for because the file says so, under whatever name it was known before.
    /// A cluster that had the name before is still known: it has left the file.
    pub fn pin(&mut self, KnownCluster { name, uid }: KnownCluster<'_>) {
        if self.clusters.len() < limits::KNOWN_CLUSTERS || self.clusters.contains_key(uid) {
            self.clusters.insert(uid.clone(), name.clone());
        }
    }

    /// Forgets every identity that contradicts these clusters, because somebody has confirmed theirs, and remembers theirs.
    pub fn repin(&mut self, clusters: &[KnownCluster<'_>]) {
        let is_named = |name: &ClusterName| clusters.iter().any(|cluster| cluster.name == name);
        self.clusters.retain(|_, name| !is_named(name));
        for cluster in clusters {
            self.pin(*cluster);
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

    /// Returns by whom the fleet was paused; none if it is not.
    #[must_use]
    pub fn paused(&self) -> Option<&str> {
        let pause = self.pause.as_ref().filter(|it| it.paused);
        pause.map(|it| it.by.as_str())
    }

    /// Remembers that the fleet is paused.
    pub fn pause(&mut self, decided: Decided) {
        self.decide(true, decided);
    }

    /// Remembers that the fleet is paused no more.
    pub fn resume(&mut self, decided: Decided) {
        self.decide(false, decided);
    }

    fn decide(&mut self, paused: bool, Decided { by, at }: Decided) {
        let by = shortened(&by);
        let at = after(at, self.pause.as_ref().map(|it| it.at));
        self.pause = Some(Pause { at, paused, by });
    }

    /// Remembers that a plan of a wave was approved. Only the last one counts.
    pub fn approve(&mut self, wave: WaveName, plan: String, Decided { by, at }: Decided) {
        let approval = Approval {
            at: after(at, self.approvals.get(&wave).map(|it| it.at)),
            taken_back: false,
            plan,
            by: shortened(&by),
        };
        self.approvals.insert(wave, approval);
    }

    /// Whether somebody has approved this plan of a wave.
    #[must_use]
    pub fn is_approved(&self, wave: &WaveName, plan: &str) -> bool {
        let approval = self.approvals.get(wave);
        approval.is_some_and(|it| !it.taken_back && it.plan == plan)
    }

    /// Remembers that a wave is good now; `changed` if it was another one until now. A wave that was good for the same
    /// goal stays so since then.
    pub fn be_good(&mut self, wave: &WaveName, goal: &str, changed: bool, now: StatementTime) {
        let known = self.good.get(wave);
        // A time that has not come for long is of a clock that was put back since.
        let is_same = |it: &Good| !it.lost && it.goal == goal && !is_ahead(it.since, now);
        if changed || !known.is_some_and(is_same) {
            let lost = known.filter(|it| it.lost).map(|it| it.since);
            let good = Good {
                since: after(now, lost),
                lost: false,
                goal: goal.to_owned(),
            };
            self.good.insert(wave.clone(), good);
        }
    }

    /// Remembers that a wave is not good any more: it is about to be changed, or has not stayed so.
    pub fn be_bad(&mut self, wave: &FleetWave, now: StatementTime) {
        let known = self.good.get(&wave.name);
        if wave.soak.is_some() || known.is_some() {
            let lost = Good {
                since: after(now, known.map(|it| it.since)),
                lost: true,
                goal: String::new(),
            };
            self.good.insert(wave.name.clone(), lost);
        }
    }

    /// Takes back all that is remembered of a wave: it goes back.
    pub fn go_back(&mut self, wave: &FleetWave, Decided { by, at }: Decided) {
        self.be_bad(wave, at);
        let known = self.approvals.get(&wave.name);
        if wave.approve || known.is_some() {
            let taken_back = Approval {
                at: after(at, known.map(|it| it.at)),
                taken_back: true,
                plan: known.map(|it| it.plan.clone()).unwrap_or_default(),
                by: shortened(&by),
            };
            self.approvals.insert(wave.name.clone(), taken_back);
        }
    }

    /// Keeps what is remembered of these waves alone.
    pub fn retain(&mut self, is_known: impl Fn(&WaveName) -> bool) {
        self.good.retain(|wave, _| is_known(wave));
        self.approvals.retain(|wave, _| is_known(wave));
    }

    /// Returns what others are told of it: which clusters were changed from here, and when, is no decision.
    #[must_use]
    pub fn shared(&self) -> Self {
        Self {
            clusters: BTreeMap::new(),
            revision: None,
            ..self.clone()
        }
    }

    /// Reads the decisions that others share. The schema of the object in a hub accepts exactly the same values.
    pub fn from_shared(value: Value) -> Result<Self, serde_json::Error> {
        for own in ["clusters", "revision"] {
            if value.get(own).is_some() {
                return Err(serde_json::Error::custom(format!("unknown field `{own}`")));
            }
        }
        schemas::json::from_value(value).map_err(serde_json::Error::custom)
    }

    /// Takes over what another journal of the fleet has decided, where that is later. A time that has not come for long,
    /// which is of another clock, counts as now: whatever is decided next is later.
    pub fn merge(&mut self, mut other: Self, now: StatementTime) {
        self.be_past(now);
        other.be_past(now);
        self.pause = self.pause.take().max(other.pause);
        keep_later(&mut self.approvals, other.approvals);
        keep_later(&mut self.good, other.good);
    }

    fn be_past(&mut self, now: StatementTime) {
        let pauses = self.pause.iter_mut().map(|it| &mut it.at);
        let approvals = self.approvals.values_mut().map(|it| &mut it.at);
        let good = self.good.values_mut().map(|it| &mut it.since);
        for time in pauses.chain(approvals).chain(good) {
            if is_ahead(*time, now) {
                *time = now;
            }
        }
    }

    /// Returns how long a wave still has to be good until it was for so long; all of it if it is not known to be. A time
    /// that has not come yet counts as now.
    #[must_use]
    pub fn soaks(&self, wave: &WaveName, soak: Duration, now: StatementTime) -> Duration {
        let good = self.good.get(wave).filter(|it| !it.lost);
        let since = good.map_or(now, |it| it.since);
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

fn keep_later<T: Ord>(ours: &mut BTreeMap<WaveName, T>, theirs: BTreeMap<WaveName, T>) {
    for (wave, theirs) in theirs {
        match ours.get_mut(&wave) {
            Some(ours) if *ours >= theirs => {}
            Some(ours) => *ours = theirs,
            None => drop(ours.insert(wave, theirs)),
        }
    }
}

/// Returns as much of a person's name as others accept.
fn shortened(by: &str) -> String {
    by.chars().take(PERSON_LENGTH).collect()
}

/// Reads a field that may be absent, but not null: the API server accepts no null either.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Reads a text of at most `MAX` characters.
fn text<'de, D: Deserializer<'de>, const MAX: usize>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.chars().nth(MAX).is_some() {
        return Err(D::Error::custom(format!(
            "a text has more than {MAX} characters"
        )));
    }
    Ok(text)
}

/// Reads entries by the names of waves. A structural schema cannot restrict keys, so an entry that no wave can have is
/// skipped instead of refused.
fn by_wave<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<BTreeMap<WaveName, T>, D::Error> {
    let entries: BTreeMap<String, T> = BTreeMap::deserialize(deserializer)?;
    if entries.len() > FLEET_WAVES {
        return Err(D::Error::custom(format!(
            "there are more than {FLEET_WAVES} waves"
        )));
    }
    let named = |(name, entry): (String, T)| Some((name.parse().ok()?, entry));
    Ok(entries.into_iter().filter_map(named).collect())
}

/// Whether a time is of another clock.
fn is_ahead(time: StatementTime, now: StatementTime) -> bool {
    time.unix() > now.unix().saturating_add(AHEAD)
}

/// The time of what is said now, which is later than what was said before: times have whole seconds.
fn after(now: StatementTime, before: Option<StatementTime>) -> StatementTime {
    let next = before.and_then(|it| StatementTime::from_unix(it.unix().checked_add(1)?).ok());
    next.map_or(now, |next| next.max(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> StatementTime {
        StatementTime::from_unix(1_700_000_000 + seconds).unwrap()
    }

    fn by(person: &str, seconds: i64) -> Decided {
        Decided {
            by: person.to_owned(),
            at: at(seconds),
        }
    }

    fn journal() -> FleetJournal {
        FleetJournal::new("shops".parse().unwrap())
    }

    fn wave() -> FleetWave {
        serde_json::from_str(r#"{"name": "prod", "soak": "1m", "approve": true}"#).unwrap()
    }

    #[test]
    fn an_approval_is_of_one_plan() {
        let (mut journal, wave) = (journal(), wave());
        let name = &wave.name;
        journal.approve(name.clone(), "a".to_owned(), by("me", 0));
        assert!(journal.is_approved(name, "a") && !journal.is_approved(name, "b"));
        assert!(!journal.is_approved(&"other".parse().unwrap(), "a"));
        journal.approve(name.clone(), "b".to_owned(), by("me", 0));
        assert!(!journal.is_approved(name, "a") && journal.is_approved(name, "b"));
        let other: WaveName = "other".parse().unwrap();
        let mut renamed = journal.clone();
        renamed.retain(|it| *it == other);
        assert!(!renamed.is_approved(name, "b"));
        let mut back = journal.clone();
        back.go_back(&wave, by("me", 0));
        assert!(!back.is_approved(name, "b"));
        for journal in [journal, back] {
            let text = serde_json::to_string(&journal).unwrap();
            let read: FleetJournal = serde_json::from_str(&text).unwrap();
            assert_eq!(read, journal);
        }
    }

    #[test]
    fn a_cluster_that_left_the_file_is_known_by_its_uid() {
        let mut journal = journal();
        for (name, last) in [("paris", 1), ("rome", 2), ("lab", 3)] {
            let (name, uid) = (&name.parse().unwrap(), &uid(last));
            journal.know(KnownCluster { name, uid }).unwrap();
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

    fn uid(number: usize) -> ClusterUid {
        let text = format!("00000000-0000-4000-8000-{number:012}");
        text.parse().unwrap()
    }

    #[test]
    fn no_more_clusters_are_known_than_a_fleet_has_twice() {
        let mut journal = journal();
        for at in 0..=limits::KNOWN_CLUSTERS {
            let (name, uid) = (&format!("c{at}").parse().unwrap(), &uid(at));
            journal.know(KnownCluster { name, uid }).unwrap();
        }
        assert_eq!(journal.clusters.len(), limits::KNOWN_CLUSTERS);
        let (name, uid) = (&"rome".parse().unwrap(), &uid(0));
        journal.pin(KnownCluster { name, uid });
        assert_eq!(journal.clusters[uid], *name);
    }

    #[test]
    fn an_identity_is_overwritten_only_by_the_file_or_a_confirmation() {
        let (staging, prod): (ClusterName, ClusterName) =
            ("staging".parse().unwrap(), "prod".parse().unwrap());
        let (one, two, three) = (uid(1), uid(2), uid(3));
        let cluster = |name, uid| KnownCluster { name, uid };
        let mut journal = journal();
        for known in [cluster(&staging, &one), cluster(&prod, &two)] {
            journal.know(known).unwrap();
            journal.know(known).unwrap();
        }
        let known = journal.clone();
        // Two contexts are swapped, or one of them leads to a new cluster.
        for (other, words) in [
            (
                cluster(&prod, &one),
                "knows its UID 00000000-0000-4000-8000-000000000001 as `staging`",
            ),
            (
                cluster(&staging, &two),
                "knows its UID 00000000-0000-4000-8000-000000000002 as `prod`",
            ),
            (
                cluster(&prod, &three),
                "knows `prod` by the UID 00000000-0000-4000-8000-000000000002",
            ),
        ] {
            let conflict = journal.know(other).unwrap_err().to_string();
            assert!(conflict.ends_with(words), "{conflict}");
            assert_eq!(journal, known);
        }
        let mut swapped = known.clone();
        swapped.repin(&[cluster(&prod, &one), cluster(&staging, &two)]);
        assert_eq!(
            swapped.clusters,
            [(one.clone(), prod.clone()), (two.clone(), staging.clone())].into()
        );
        let mut rebuilt = known.clone();
        rebuilt.repin(&[cluster(&prod, &three)]);
        assert_eq!(
            rebuilt.clusters,
            [
                (one.clone(), staging.clone()),
                (three.clone(), prod.clone())
            ]
            .into()
        );
        // The file pins the cluster that it calls something else now.
        journal.pin(cluster(&prod, &one));
        assert_eq!(journal.clusters[&one], prod);
    }

    #[test]
    fn runs_with_one_goal_belong_to_one_revision_and_each_new_goal_begins_a_later_one() {
        let [one, other] = [1, 2].map(|byte| Digest::new([byte; 32]));
        let mut journal = journal();
        assert_eq!(journal.last_revision(), None);
        let first = journal.revision_towards(one, at(0));
        assert_eq!(first.at, at(0));
        assert_eq!(journal.last_revision(), None, "nothing is changed yet");
        journal.begin_revision(first);
        // The next wave is approved later.
        assert_eq!(journal.revision_towards(one, at(100)), first);
        // The clock was put back.
        let second = journal.revision_towards(other, at(-100));
        assert_eq!(second.at, at(1));
        journal.begin_revision(second);
        let third = journal.revision_towards(one, at(200));
        assert_eq!(third.at, at(200), "it goes back to what it was");
        assert_eq!(journal.last_revision(), Some(at(1)));
        let text = serde_json::to_string(&journal).unwrap();
        assert_eq!(
            serde_json::from_str::<FleetJournal>(&text).unwrap(),
            journal
        );
        assert_eq!(journal.shared(), super::tests::journal());
        let shared = serde_json::to_value(&journal).unwrap();
        assert!(FleetJournal::from_shared(shared).is_err());
    }

    #[test]
    fn a_wave_soaks_since_it_was_changed_last() {
        let (mut journal, wave) = (journal(), wave());
        let name = &wave.name;
        let minute = Duration::from_mins(1);
        let left = |journal: &FleetJournal, now| journal.soaks(name, minute, at(now)).as_secs();
        assert_eq!(left(&journal, 5), 60);
        journal.be_good(name, "a", true, at(0));
        assert_eq!((left(&journal, 20), left(&journal, 61)), (40, 0));
        // A clock that was put back makes nothing longer.
        assert_eq!(left(&journal, -100), 60);
        journal.be_good(name, "a", false, at(30));
        assert_eq!(left(&journal, 40), 20);
        journal.be_good(name, "a", true, at(40));
        assert_eq!(left(&journal, 50), 50);
        journal.be_good(name, "b", false, at(60));
        assert_eq!(left(&journal, 60), 60);
        journal.be_good(name, "b", false, at(10));
        assert_eq!(left(&journal, 30), 40, "the clock was put back");
        journal.be_bad(&wave, at(100));
        assert_eq!(left(&journal, 500), 60);
        journal.be_good(name, "b", false, at(100));
        assert_eq!(left(&journal, 121), 40, "a second after it was lost");
    }

    /// What two have written apart, whichever comes to the other.
    fn merged(one: &FleetJournal, other: &FleetJournal, now: i64) -> FleetJournal {
        let (mut first, mut second) = (one.clone(), other.clone());
        first.merge(other.clone(), at(now));
        second.merge(one.clone(), at(now));
        assert_eq!(first, second);
        second.merge(first.clone(), at(now));
        assert_eq!(first, second, "once is enough");
        first
    }

    #[test]
    fn of_what_was_said_apart_the_latest_counts() {
        let (wave, mut known) = (wave(), journal());
        let name = &wave.name;
        known.approve(name.clone(), "a".to_owned(), by("me", 0));
        known.be_good(name, "a", true, at(0));
        known.pause(by("me", 0));
        let (mut here, mut there) = (known.clone(), known.clone());
        here.resume(by("me", 5));
        here.go_back(&wave, by("me", 5));
        let merged_now = merged(&here, &there, 100);
        assert_eq!(merged_now.paused(), None);
        assert!(!merged_now.is_approved(name, "a"));
        let minute = Duration::from_mins(1);
        assert_eq!(merged_now.soaks(name, minute, at(100)), minute);

        there.pause(by("somebody", 6));
        there.approve(name.clone(), "b".to_owned(), by("somebody", 6));
        there.be_good(name, "b", true, at(10));
        let merged_now = merged(&here, &there, 100);
        assert_eq!(merged_now.paused(), Some("somebody"));
        assert!(merged_now.is_approved(name, "b"));
        assert!(merged_now.soaks(name, minute, at(100)).is_zero());
        assert_eq!(merged(&journal(), &there, 100), there);
    }

    #[test]
    fn a_wave_that_is_good_in_the_second_in_which_it_was_changed_stays_so() {
        let (wave, mut here) = (wave(), journal());
        here.be_bad(&wave, at(0));
        let there = here.clone();
        here.be_good(&wave.name, "a", true, at(0));
        here.be_good(&wave.name, "a", false, at(0));
        let soak = Duration::from_secs(1);
        for now in [0, 1, 2] {
            let merged_now = merged(&here, &there, now);
            assert_eq!(merged_now.soaks(&wave.name, soak, at(2)).as_secs(), 0);
        }
    }

    #[test]
    fn of_what_was_said_at_the_same_time_that_counts_which_begins_less() {
        let (wave, mut here) = (wave(), journal());
        let mut there = here.clone();
        here.approve(wave.name.clone(), "a".to_owned(), by("a", 7));
        here.be_good(&wave.name, "a", true, at(7));
        here.decide(false, by("z", 7));
        there.go_back(&wave, by("a", 7));
        there.pause(by("a", 7));
        let merged = merged(&here, &there, 100);
        assert!(!merged.is_approved(&wave.name, "a"));
        let minute = Duration::from_mins(1);
        assert_eq!(merged.soaks(&wave.name, minute, at(100)), minute);
        assert_eq!(merged.paused(), Some("a"));
    }

    #[test]
    fn who_is_ahead_of_time_does_not_have_the_last_word() {
        let (wave, mut there) = (wave(), journal());
        there.pause(by("somebody", 1_000_000));
        there.be_bad(&wave, at(1_000_000));
        let there = merged(&journal(), &there, 100);
        let mut here = there.clone();
        here.resume(by("me", 100));
        here.be_good(&wave.name, "a", true, at(100));
        let merged = merged(&here, &there, 200);
        assert_eq!(merged.paused(), None);
        let minute = Duration::from_mins(1);
        assert!(merged.soaks(&wave.name, minute, at(200)).is_zero());
    }
}
