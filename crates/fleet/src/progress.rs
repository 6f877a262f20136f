//! How far the change of a fleet's clusters is, and what that is in a hub: the status of its object, with conditions as
//! Kubernetes has them.

use std::cmp::Reverse;
use std::fmt;

use schemas::{ClusterName, StatementTime, WaveName};
use serde::{Deserialize, Serialize};

use crate::limits;

/// How far the change of a fleet's clusters is.
#[derive(Clone, Debug)]
pub struct FleetProgress {
    /// What is done.
    pub change: FleetChange,
    /// The id of the plan.
    pub plan: String,
    /// The user and host that make the change.
    pub by: String,
    /// When it began.
    pub begun: StatementTime,
    /// The waves in their order.
    pub waves: Vec<WaveProgress>,
    /// How many clusters of the fleet were not asked for.
    pub others: usize,
    /// The wave that is being changed.
    current: Option<WaveName>,
    /// Why no further cluster was begun.
    stopped: Option<String>,
    ended: bool,
}

/// What is done to the clusters of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FleetChange {
    /// They become as the file says.
    Apply,
    /// They become as they were before.
    Rollback,
    /// What the fleet brought to them leaves.
    Delete,
}

impl fmt::Display for FleetChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Apply => "apply",
            Self::Rollback => "rollback",
            Self::Delete => "delete",
        })
    }
}

/// How far a wave is.
#[derive(Clone, Debug)]
pub struct WaveProgress {
    /// The name of the wave.
    pub name: WaveName,
    /// Its clusters that were asked for.
    pub clusters: Vec<MemberProgress>,
}

/// How far a cluster is.
#[derive(Clone, Debug)]
pub struct MemberProgress {
    /// The name of the cluster.
    pub name: ClusterName,
    /// What has become of it.
    pub state: MemberState,
    /// More words on that.
    pub message: String,
}

/// What has become of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MemberState {
    /// It is as it was to become.
    Done,
    /// It was not begun.
    Untouched,
    /// It was left out, since it could not be reached.
    LeftOut,
    /// It is being changed.
    Changing,
    /// It is not as it was to become.
    Failed,
}

/// The status of a fleet's object in a hub. Every field is written each time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutStatus {
    state: RolledState,
    change: FleetChange,
    plan: String,
    by: String,
    begun: StatementTime,
    wave: String,
    clusters_asked: usize,
    done: usize,
    failed: usize,
    waves: Vec<ListedWave>,
    clusters: Vec<ListedMember>,
    /// How many clusters are not listed.
    unlisted: usize,
    conditions: Vec<RolloutCondition>,
}

/// The whole in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum RolledState {
    Progressing,
    Complete,
    Stalled,
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ListedWave {
    name: WaveName,
    state: MemberState,
    done: usize,
    failed: usize,
    untouched: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ListedMember {
    name: ClusterName,
    wave: WaveName,
    state: MemberState,
    message: String,
}

/// A condition of a fleet's object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
    message: String,
    last_transition_time: StatementTime,
    observed_generation: i64,
}

/// What conditions are judged by.
struct Judgement {
    state: RolledState,
    reason: &'static str,
    message: String,
}

impl FleetProgress {
    /// The change has not begun yet.
    #[must_use]
    pub fn new(
        change: FleetChange,
        plan: String,
        by: String,
        begun: StatementTime,
        waves: Vec<WaveProgress>,
        others: usize,
    ) -> Self {
        Self {
            change,
            plan,
            by,
            begun,
            waves,
            others,
            current: None,
            stopped: None,
            ended: false,
        }
    }

    /// A wave is begun.
    pub fn begin_wave(&mut self, wave: &WaveName) {
        self.current = Some(wave.clone());
    }

    /// Says what has become of a cluster.
    pub fn note(&mut self, cluster: &ClusterName, state: MemberState, message: &str) {
        let mut all = self.waves.iter_mut().flat_map(|it| &mut it.clusters);
        if let Some(member) = all.find(|it| it.name == *cluster) {
            member.state = state;
            member.message = cut(message);
        }
    }

    /// The change has ended, early if there is a reason for it.
    pub fn end(&mut self, stopped: Option<&str>) {
        self.ended = true;
        self.stopped = stopped.map(cut);
    }

    /// Whether the change has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns the status of the object of this generation that had these conditions before.
    #[must_use]
    pub fn status(
        &self,
        before: &[RolloutCondition],
        generation: i64,
        now: StatementTime,
    ) -> RolloutStatus {
        let judged = self.judge();
        let clusters = self.members();
        let listed = self.listed();
        RolloutStatus {
            state: judged.state,
            change: self.change,
            plan: self.plan.clone(),
            by: cut(&self.by),
            begun: self.begun,
            wave: self
                .current
                .as_ref()
                .map_or(String::new(), ToString::to_string),
            clusters_asked: clusters.len(),
            done: count(&clusters, MemberState::Done),
            failed: count(&clusters, MemberState::Failed),
            waves: self.waves.iter().map(|it| self.wave(it)).collect(),
            unlisted: clusters.len() - listed.len(),
            clusters: listed,
            conditions: judged.conditions(before, generation, now),
        }
    }

    fn members(&self) -> Vec<&MemberProgress> {
        self.waves.iter().flat_map(|it| &it.clusters).collect()
    }

    fn wave(&self, WaveProgress { name, clusters }: &WaveProgress) -> ListedWave {
        let clusters: Vec<&MemberProgress> = clusters.iter().collect();
        let [done, failed, untouched] = [
            MemberState::Done,
            MemberState::Failed,
            MemberState::Untouched,
        ]
        .map(|it| count(&clusters, it));
        let goes_on = !self.ended && self.current.as_ref() == Some(name);
        let worst = clusters.iter().map(|it| it.state).max();
        ListedWave {
            name: name.clone(),
            state: if goes_on {
                MemberState::Changing
            } else {
                worst.unwrap_or(MemberState::Done)
            },
            done,
            failed,
            untouched,
        }
    }

    /// As many clusters as there is room for, in their order. Those that are done are left out first.
    fn listed(&self) -> Vec<ListedMember> {
        let all = self.waves.iter().flat_map(|wave| {
            wave.clusters.iter().map(|it| ListedMember {
                name: it.name.clone(),
                wave: wave.name.clone(),
                state: it.state,
                message: it.message.clone(),
            })
        });
        let all: Vec<ListedMember> = all.collect();
        let mut places: Vec<usize> = (0..all.len()).collect();
        places.sort_by_key(|at| Reverse(all[*at].state));
        places.truncate(limits::LISTED_CLUSTERS);
        places.sort_unstable();
        places.into_iter().map(|at| all[at].clone()).collect()
    }

    fn judge(&self) -> Judgement {
        let clusters = self.members();
        let of = |state| count(&clusters, state);
        let (done, all) = (of(MemberState::Done), clusters.len());
        let mut failed = clusters.iter().filter(|it| it.state == MemberState::Failed);
        let (state, reason, message) = if !self.ended {
            let wave = self.current.as_ref();
            let message = wave.map_or("no wave has started yet".to_owned(), |wave| {
                format!("wave {wave}: {done} of {all} clusters are done")
            });
            (RolledState::Progressing, "Changing", message)
        } else if let Some(first) = failed.next() {
            let message = format!("{}: {}", first.name, first.message);
            (RolledState::Stalled, "ClustersFailed", message)
        } else if let Some(stopped) = &self.stopped {
            (RolledState::Stalled, "Stopped", stopped.clone())
        } else if of(MemberState::LeftOut) > 0 {
            let message = format!("{done} of {all} clusters are done, the rest were left out");
            (RolledState::Stalled, "ClustersLeftOut", message)
        } else if self.change == FleetChange::Delete {
            let message = format!("{done} clusters have no Solution of the fleet left");
            (RolledState::Ended, "Deleted", message)
        } else if self.change == FleetChange::Rollback {
            let message = format!("{done} clusters were rolled back");
            (RolledState::Ended, "RolledBack", message)
        } else if self.others > 0 {
            let message = format!("{done} clusters match the file, the rest were not selected");
            (RolledState::Ended, "PartOfTheFleet", message)
        } else {
            let message = format!("{done} clusters match the file");
            (RolledState::Complete, "AsTheFileSays", message)
        };
        Judgement {
            state,
            reason,
            message: cut(&message),
        }
    }
}

impl Judgement {
    /// The conditions, each since it changed last.
    fn conditions(
        &self,
        before: &[RolloutCondition],
        generation: i64,
        now: StatementTime,
    ) -> Vec<RolloutCondition> {
        let of = |(kind, state): (&str, RolledState)| {
            let status = if self.state == state { "True" } else { "False" };
            let is_same = |it: &&RolloutCondition| it.kind == kind && it.status == status;
            let since = before
                .iter()
                .find(is_same)
                .map(|it| it.last_transition_time);
            RolloutCondition {
                kind: kind.to_owned(),
                status: status.to_owned(),
                reason: self.reason.to_owned(),
                message: self.message.clone(),
                last_transition_time: since.unwrap_or(now),
                observed_generation: generation,
            }
        };
        let kinds = [
            ("Progressing", RolledState::Progressing),
            ("Complete", RolledState::Complete),
            ("Stalled", RolledState::Stalled),
        ];
        kinds.into_iter().map(of).collect()
    }
}

fn count(clusters: &[&MemberProgress], state: MemberState) -> usize {
    clusters.iter().filter(|it| it.state == state).count()
}

/// The beginning of a text, as much as is kept of it, in one line.
fn cut(text: &str) -> String {
    let text = text.replace(char::is_control, " ");
    let mut end = text.len().min(limits::MESSAGE_SIZE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests;
