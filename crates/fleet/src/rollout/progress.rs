//! The progress of a rollout, and its representation in a hub as the status of the fleet's object.
//! [`FleetProgress::apply`] adds an event. [`FleetProgress::status`] derives the status with conditions that follow the
//! Kubernetes API conventions.

use std::cmp::Reverse;
use std::fmt;

use schemas::{ClusterName, StatementTime, WaveName};
use serde::{Deserialize, Serialize};

use super::event::{FleetEvent, MemberOutcome};
use crate::limits;

/// The progress of a rollout.
#[derive(Clone, Debug)]
pub struct FleetProgress {
    /// The kind of change.
    pub change: FleetChange,
    /// The id of the plan.
    pub plan: String,
    /// The user and host that run the change.
    pub by: String,
    /// The start time.
    pub begun: StatementTime,
    /// The waves, in order.
    pub waves: Vec<WaveProgress>,
    /// The number of the fleet's clusters that were not selected.
    pub others: usize,
    /// The current wave.
    current: Option<WaveName>,
    /// The reason why no further cluster was started.
    stopped: Option<String>,
    ended: bool,
}

/// The kind of change to the clusters of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FleetChange {
    /// The clusters get the state that the file specifies.
    Apply,
    /// The clusters are rolled back to their earlier state.
    Rollback,
    /// The fleet's Solutions are removed from the clusters.
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

/// The progress of a wave.
#[derive(Clone, Debug)]
pub struct WaveProgress {
    /// The name of the wave.
    pub name: WaveName,
    /// The selected clusters of the wave.
    pub clusters: Vec<MemberProgress>,
}

/// The progress of a cluster.
#[derive(Clone, Debug)]
pub struct MemberProgress {
    /// The name of the cluster.
    pub name: ClusterName,
    /// The state of the change.
    pub state: MemberState,
    /// Details about the state.
    pub message: String,
}

/// The state of the change in a cluster. The order matters: a wave shows the greatest state of its clusters, and a list
/// that is full omits the clusters with the smallest ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MemberState {
    /// The change is complete.
    Done,
    /// The change was not started.
    Untouched,
    /// The cluster was skipped, because it could not be reached.
    LeftOut,
    /// The change is in progress.
    Changing,
    /// The change failed.
    Failed,
}

impl From<MemberOutcome> for MemberState {
    fn from(outcome: MemberOutcome) -> Self {
        match outcome {
            MemberOutcome::Done => Self::Done,
            MemberOutcome::Failed => Self::Failed,
            MemberOutcome::LeftOut => Self::LeftOut,
            MemberOutcome::Untouched => Self::Untouched,
        }
    }
}

/// The status of a fleet's object in a hub. Every update writes all fields.
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
    /// The number of clusters that are not listed.
    unlisted: usize,
    conditions: Vec<RolloutCondition>,
}

/// The summary state of a rollout.
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

/// The summary from which the conditions are derived.
struct Judgement {
    state: RolledState,
    reason: &'static str,
    message: String,
}

impl FleetProgress {
    /// Returns the progress of a change that has not started.
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

    /// Adds an event. Returns whether the progress has changed.
    pub fn apply(&mut self, event: &FleetEvent) -> bool {
        match event {
            FleetEvent::WaveBegun { wave, .. } => self.current = Some(wave.clone()),
            FleetEvent::ClusterBegun { cluster } => {
                self.set_state(cluster, MemberState::Changing, "");
            }
            FleetEvent::ClusterEnded {
                cluster,
                state,
                why,
                ..
            } => self.set_state(cluster, (*state).into(), why.as_deref().unwrap_or_default()),
            FleetEvent::Stopped { why, .. } => {
                // The status shows the reason once the rollout has ended.
                self.stopped = Some(cut(why));
                return false;
            }
            FleetEvent::Ended => self.ended = true,
            FleetEvent::Soaking { .. } | FleetEvent::Soaked => return false,
        }
        true
    }

    fn set_state(&mut self, cluster: &ClusterName, state: MemberState, message: &str) {
        let mut all = self.waves.iter_mut().flat_map(|wave| &mut wave.clusters);
        if let Some(member) = all.find(|member| member.name == *cluster) {
            member.state = state;
            member.message = cut(message);
        }
    }

    /// Returns whether the change has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns the status for the object with this generation. `before` are its current conditions, whose transition
    /// times are kept if their status does not change.
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
            waves: self.waves.iter().map(|wave| self.wave(wave)).collect(),
            unlisted: clusters.len() - listed.len(),
            clusters: listed,
            conditions: judged.conditions(before, generation, now),
        }
    }

    /// Returns the selected clusters.
    #[must_use]
    pub fn members(&self) -> Vec<&MemberProgress> {
        self.waves.iter().flat_map(|wave| &wave.clusters).collect()
    }

    fn wave(&self, WaveProgress { name, clusters }: &WaveProgress) -> ListedWave {
        let clusters: Vec<&MemberProgress> = clusters.iter().collect();
        let [done, failed, untouched] = [
            MemberState::Done,
            MemberState::Failed,
            MemberState::Untouched,
        ]
        .map(|state| count(&clusters, state));
        let goes_on = !self.ended && self.current.as_ref() == Some(name);
        let worst = clusters.iter().map(|member| member.state).max();
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

    /// Returns at most [`limits::LISTED_CLUSTERS`] clusters, in their order. If there are more, those with the smallest
    /// states are omitted.
    fn listed(&self) -> Vec<ListedMember> {
        let all = self.waves.iter().flat_map(|wave| {
            wave.clusters.iter().map(|member| ListedMember {
                name: member.name.clone(),
                wave: wave.name.clone(),
                state: member.state,
                message: member.message.clone(),
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
        let mut failed = clusters
            .iter()
            .filter(|member| member.state == MemberState::Failed);
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
    /// Returns the conditions, with the time of the last transition of each.
    fn conditions(
        &self,
        before: &[RolloutCondition],
        generation: i64,
        now: StatementTime,
    ) -> Vec<RolloutCondition> {
        let of = |(kind, state): (&str, RolledState)| {
            let status = if self.state == state { "True" } else { "False" };
            let is_same = |condition: &&RolloutCondition| {
                condition.kind == kind && condition.status == status
            };
            let since = before
                .iter()
                .find(is_same)
                .map(|condition| condition.last_transition_time);
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
    clusters
        .iter()
        .filter(|member| member.state == state)
        .count()
}

/// Returns the beginning of a text as one line, within the size limit.
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
