//! The journal of a fleet, which persists between runs: pauses, approvals of waves, soak times, known clusters and the
//! last revision. It decides only whether a change may start, never its content.
//!
//! Two copies that changed independently can be merged ([`FleetJournal::merge`]): for each entry the later one counts,
//! and of two with the same time the more cautious one. An entry is therefore never removed to revoke it; a revocation
//! is an entry with its own time.

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

/// Tolerance in seconds for a time in the future that this clock wrote. Of two entries in the same second, the later
/// one gets the next second, so recorded times can be ahead of the clock.
const AHEAD: i64 = 5;

/// The journal of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FleetJournal {
    /// The name of the fleet.
    pub fleet: KubernetesName,
    /// The latest decision to pause or resume the fleet.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pause: Option<Pause>,
    /// The latest decision about the plan of each wave.
    #[serde(
        default,
        deserialize_with = "by_wave",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    approvals: BTreeMap<WaveName, Approval>,
    /// The time since when all clusters of each wave are in the desired state, or no longer are.
    #[serde(
        default,
        deserialize_with = "by_wave",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    good: BTreeMap<WaveName, Good>,
    /// The clusters that were changed, by the UIDs that pin them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    clusters: BTreeMap<ClusterUid, ClusterName>,
    /// The last revision that changed clusters from this journal.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    revision: Option<FleetRevision>,
}

/// A revision of a fleet: all changes by consecutive runs of `apply` for one goal. Later runs change the clusters of
/// waves that waited for approval, and clusters that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetRevision {
    /// The start of the first run, which identifies the revision.
    pub at: StatementTime,
    /// The digest of the goal.
    goal: Digest,
}

/// A cluster that was changed as the file specifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownCluster<'a> {
    /// The name in the file at that time.
    pub name: &'a ClusterName,
    /// The UID that pins the cluster.
    pub uid: &'a ClusterUid,
}

/// A conflict between a cluster and the identity that the journal has for its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityConflict {
    /// The journal has the cluster under another name.
    #[error("cannot use the cluster as `{name}`: the fleet knows its UID {uid} as `{known}`")]
    Name {
        /// The name in the file.
        name: ClusterName,
        /// The UID of the cluster.
        uid: ClusterUid,
        /// The name in the journal.
        known: ClusterName,
    },
    /// The journal has another cluster under this name.
    #[error(
        "cannot use the cluster as `{name}`: its UID is {uid}, and the fleet knows `{name}` by the UID {known}"
    )]
    Uid {
        /// The name in the file.
        name: ClusterName,
        /// The UID of the cluster.
        uid: ClusterUid,
        /// The UID in the journal.
        known: ClusterUid,
    },
}

/// The author and time of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionAuthor {
    /// The user and host of the author.
    pub by: String,
    /// The time.
    pub at: StatementTime,
}

/// A decision to pause or resume a fleet.
///
/// The derived order decides merges: the greater value counts, for this and the following types. The fields are ordered
/// so that at the same time, the more cautious decision is greater.
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
    /// True if the approval was revoked.
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

/// The state of a wave whose clusters reached the desired state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Good {
    since: StatementTime,
    /// True if the clusters are no longer in the desired state.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    lost: bool,
    /// The id of the goal.
    #[serde(
        default,
        deserialize_with = "text::<_, PLAN_LENGTH>",
        skip_serializing_if = "String::is_empty"
    )]
    goal: String,
}

impl FleetJournal {
    /// Returns an empty journal.
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

    /// Returns the revision for a run towards a goal: the last one if its goal is the same, else a new one.
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

    /// Records that a revision starts to change clusters.
    pub fn begin_revision(&mut self, revision: FleetRevision) {
        self.revision = Some(revision);
    }

    /// Returns the last revision that changed clusters from this journal.
    #[must_use]
    pub fn last_revision(&self) -> Option<StatementTime> {
        self.revision.map(|revision| revision.at)
    }

    /// Checks the identity of a cluster. A cluster that the file pins needs no check, because the file takes
    /// precedence.
    ///
    /// # Errors
    ///
    /// Fails if the journal has the cluster under another name, or another cluster under this name.
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

    /// Returns whether the journal has this cluster under this name.
    #[must_use]
    pub fn knows(&self, cluster: KnownCluster<'_>) -> bool {
        self.clusters.get(cluster.uid) == Some(cluster.name)
    }

    /// Records the identity of a cluster, if the journal has room.
    ///
    /// # Errors
    ///
    /// Fails if it conflicts with the journal, as [`Self::identify`] does.
    pub fn know(&mut self, cluster: KnownCluster<'_>) -> Result<(), IdentityConflict> {
        self.identify(cluster)?;
        if self.clusters.len() < limits::KNOWN_CLUSTERS {
            self.pin(cluster);
        }
        Ok(())
    }

    /// Records the identity of a cluster that the file pins, and replaces its earlier name. An earlier cluster with
    /// this name is kept: it has left the file.
    pub fn pin(&mut self, KnownCluster { name, uid }: KnownCluster<'_>) {
        if self.clusters.len() < limits::KNOWN_CLUSTERS || self.clusters.contains_key(uid) {
            self.clusters.insert(uid.clone(), name.clone());
        }
    }

    /// Records the identities of clusters that the user has confirmed, and removes all conflicting ones.
    pub fn repin(&mut self, clusters: &[KnownCluster<'_>]) {
        let is_named = |name: &ClusterName| clusters.iter().any(|cluster| cluster.name == name);
        self.clusters.retain(|_, name| !is_named(name));
        for cluster in clusters {
            self.pin(*cluster);
        }
    }

    /// Removes a cluster that has no Solution of the fleet left.
    pub fn forget(&mut self, uid: &ClusterUid) {
        self.clusters.remove(uid);
    }

    /// Returns the known clusters that are no longer in the file.
    pub fn gone<'a>(&'a self, spec: &'a FleetSpec) -> impl Iterator<Item = KnownCluster<'a>> {
        let all = self.clusters.iter();
        let all = all.map(|(uid, name)| KnownCluster { name, uid });
        all.filter(|cluster| !cluster.is_in(spec))
    }

    /// Removes the known clusters that are no longer in the file.
    pub fn forget_gone(&mut self, spec: &FleetSpec) {
        self.clusters
            .retain(|uid, name| KnownCluster { name, uid }.is_in(spec));
    }

    /// Returns the user and host that paused the fleet; `None` if it is not paused.
    #[must_use]
    pub fn paused(&self) -> Option<&str> {
        let pause = self.pause.as_ref().filter(|pause| pause.paused);
        pause.map(|pause| pause.by.as_str())
    }

    /// Records that the fleet is paused.
    pub fn pause(&mut self, decided: DecisionAuthor) {
        self.decide(true, decided);
    }

    /// Records that the fleet is resumed.
    pub fn resume(&mut self, decided: DecisionAuthor) {
        self.decide(false, decided);
    }

    fn decide(&mut self, paused: bool, DecisionAuthor { by, at }: DecisionAuthor) {
        let by = shortened(&by);
        let at = after(at, self.pause.as_ref().map(|pause| pause.at));
        self.pause = Some(Pause { at, paused, by });
    }

    /// Records the approval of a wave's plan. It replaces an earlier approval.
    pub fn approve(
        &mut self,
        wave: WaveName,
        plan: String,
        DecisionAuthor { by, at }: DecisionAuthor,
    ) {
        let approval = Approval {
            at: after(at, self.approvals.get(&wave).map(|approval| approval.at)),
            taken_back: false,
            plan,
            by: shortened(&by),
        };
        self.approvals.insert(wave, approval);
    }

    /// Returns whether this plan of a wave is approved.
    #[must_use]
    pub fn is_approved(&self, wave: &WaveName, plan: &str) -> bool {
        let approval = self.approvals.get(wave);
        approval.is_some_and(|approval| !approval.taken_back && approval.plan == plan)
    }

    /// Records that a wave is in the desired state. Its soak time restarts if the wave was `changed`, if it is not in
    /// this state yet, or if its goal is another one.
    pub fn be_good(&mut self, wave: &WaveName, goal: &str, changed: bool, now: StatementTime) {
        let known = self.good.get(wave);
        // A recorded time far in the future was written before the clock was set back.
        let is_same = |good: &Good| !good.lost && good.goal == goal && !is_ahead(good.since, now);
        if changed || !known.is_some_and(is_same) {
            let lost = known.filter(|good| good.lost).map(|good| good.since);
            let good = Good {
                since: after(now, lost),
                lost: false,
                goal: goal.to_owned(),
            };
            self.good.insert(wave.clone(), good);
        }
    }

    /// Records that a wave is no longer in the desired state, because it failed or is about to be changed.
    pub fn be_bad(&mut self, wave: &FleetWave, now: StatementTime) {
        let known = self.good.get(&wave.name);
        if wave.soak.is_some() || known.is_some() {
            let lost = Good {
                since: after(now, known.map(|good| good.since)),
                lost: true,
                goal: String::new(),
            };
            self.good.insert(wave.name.clone(), lost);
        }
    }

    /// Revokes the approval and the soak time of a wave that is rolled back.
    pub fn go_back(&mut self, wave: &FleetWave, DecisionAuthor { by, at }: DecisionAuthor) {
        self.be_bad(wave, at);
        let known = self.approvals.get(&wave.name);
        if wave.approve || known.is_some() {
            let taken_back = Approval {
                at: after(at, known.map(|approval| approval.at)),
                taken_back: true,
                plan: known
                    .map(|approval| approval.plan.clone())
                    .unwrap_or_default(),
                by: shortened(&by),
            };
            self.approvals.insert(wave.name.clone(), taken_back);
        }
    }

    /// Removes the entries of waves other than these.
    pub fn retain(&mut self, is_known: impl Fn(&WaveName) -> bool) {
        self.good.retain(|wave, _| is_known(wave));
        self.approvals.retain(|wave, _| is_known(wave));
    }

    /// Returns the part of the journal that is shared through a hub. The known clusters and the revision are local and
    /// no decisions.
    #[must_use]
    pub fn shared(&self) -> Self {
        Self {
            clusters: BTreeMap::new(),
            revision: None,
            ..self.clone()
        }
    }

    /// Parses a shared journal. The schema of the hub's object accepts exactly the same values.
    ///
    /// # Errors
    ///
    /// Fails for local fields, unknown fields and values beyond the limits.
    pub fn from_shared(value: Value) -> Result<Self, serde_json::Error> {
        for own in ["clusters", "revision"] {
            if value.get(own).is_some() {
                return Err(serde_json::Error::custom(format!("unknown field `{own}`")));
            }
        }
        schemas::json::from_value(value).map_err(serde_json::Error::custom)
    }

    /// Merges another journal of the same fleet: of each entry, the later one counts. A time far in the future comes
    /// from a different clock and counts as `now`, so that the next decision is later.
    pub fn merge(&mut self, mut other: Self, now: StatementTime) {
        self.be_past(now);
        other.be_past(now);
        self.pause = self.pause.take().max(other.pause);
        keep_later(&mut self.approvals, other.approvals);
        keep_later(&mut self.good, other.good);
    }

    fn be_past(&mut self, now: StatementTime) {
        let pauses = self.pause.iter_mut().map(|pause| &mut pause.at);
        let approvals = self.approvals.values_mut().map(|approval| &mut approval.at);
        let good = self.good.values_mut().map(|good| &mut good.since);
        for time in pauses.chain(approvals).chain(good) {
            if is_ahead(*time, now) {
                *time = now;
            }
        }
    }

    /// Returns the remaining part of a wave's soak time. It is the whole time if the wave is not in the desired state.
    /// A time in the future counts as `now`.
    #[must_use]
    pub fn soaks(&self, wave: &WaveName, soak: Duration, now: StatementTime) -> Duration {
        let good = self.good.get(wave).filter(|good| !good.lost);
        let since = good.map_or(now, |good| good.since);
        let passed = now.unix().saturating_sub(since.unix());
        soak.saturating_sub(Duration::from_secs(u64::try_from(passed).unwrap_or(0)))
    }
}

impl KnownCluster<'_> {
    /// Returns whether a file has the cluster, perhaps under another name. An entry without a UID is matched by name.
    fn is_in(&self, spec: &FleetSpec) -> bool {
        let mut clusters = spec.clusters.iter();
        clusters.any(|cluster| match &cluster.uid {
            Some(uid) => uid == self.uid,
            None => cluster.name == *self.name,
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

/// Returns the beginning of an author's name that the hub accepts.
fn shortened(by: &str) -> String {
    by.chars().take(PERSON_LENGTH).collect()
}

/// Deserializes an optional field that must not be null, as the API server rejects null, too.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Deserializes a text of at most `MAX` characters.
fn text<'de, D: Deserializer<'de>, const MAX: usize>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.chars().nth(MAX).is_some() {
        return Err(D::Error::custom(format!(
            "a text has more than {MAX} characters"
        )));
    }
    Ok(text)
}

/// Deserializes entries by wave name. A structural schema cannot restrict keys, so an entry with an invalid name is
/// skipped instead of rejected.
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

/// Returns whether a time is so far in the future that another clock wrote it.
fn is_ahead(time: StatementTime, now: StatementTime) -> bool {
    time.unix() > now.unix().saturating_add(AHEAD)
}

/// Returns the time of a new decision, which is later than the previous one. Times have whole seconds.
fn after(now: StatementTime, before: Option<StatementTime>) -> StatementTime {
    let next = before.and_then(|time| StatementTime::from_unix(time.unix().checked_add(1)?).ok());
    next.map_or(now, |next| next.max(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> StatementTime {
        StatementTime::from_unix(1_700_000_000 + seconds).unwrap()
    }

    fn by(person: &str, seconds: i64) -> DecisionAuthor {
        DecisionAuthor {
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
        renamed.retain(|known| *known == other);
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
        let gone: Vec<String> = journal
            .gone(&spec)
            .map(|cluster| cluster.name.to_string())
            .collect();
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
        // Two contexts are swapped, or one of them points to a new cluster.
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
        // The file pins a cluster under a new name.
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
        // The clock was set back.
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
        // A clock that was set back does not extend the soak time.
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

    /// Merges two journals in both directions, and checks that the result is the same.
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
