//! What programs are told of the waves of a fleet, beside what happens in each of its clusters.

use schemars::JsonSchema;
use schemas::{ClusterName, WaveName};
use serde::Serialize;

use super::applied::AppliedState;
use super::changed::Changed;
use super::planned_wave::PlannedWave;
use crate::events;
use crate::failure::Failure;

/// One step of the waves.
#[derive(Serialize, JsonSchema)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub(in crate::commands) enum WaveEvent<'a> {
    /// A wave begins.
    WaveBegun {
        /// The name of the wave.
        wave: &'a WaveName,
        /// The clusters that are changed in it, in their order.
        clusters: Vec<&'a ClusterName>,
    },
    /// A cluster begins to be changed.
    ClusterBegun,
    /// The change of a cluster has ended.
    ClusterEnded {
        /// Its result.
        state: AppliedState,
        /// Why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// A wave is in its soak time before the next one begins.
    Soaking {
        /// The name of the wave.
        wave: &'a WaveName,
        /// The time that is left.
        seconds_left: u64,
        /// Why one of its clusters cannot be seen, if that is so.
        #[serde(skip_serializing_if = "Option::is_none")]
        unseen: Option<String>,
    },
    /// No further cluster is begun.
    Stopped {
        /// The name of the wave that is not begun, or not ended.
        wave: &'a WaveName,
        /// Why not.
        why: String,
    },
}

/// A wave begins.
pub(super) fn wave_begun(wave: &PlannedWave<'_>) {
    let clusters = wave.members.iter().map(|it| &it.name).collect();
    let wave = &wave.wave.name;
    events::tell(None, &WaveEvent::WaveBegun { wave, clusters });
}

/// A cluster begins to be changed.
pub(super) fn cluster_begun(name: &ClusterName) {
    events::tell(Some(name), &WaveEvent::ClusterBegun);
}

/// The change of a cluster has ended.
pub(super) fn cluster_ended(name: &ClusterName, changed: &Changed) {
    let (state, why) = match &changed.failure {
        None => (AppliedState::Done, None),
        Some(failure) => (AppliedState::Failed, Some(failure.in_one_line())),
    };
    events::tell(Some(name), &WaveEvent::ClusterEnded { state, why });
}

/// A wave has to stay good for so long.
pub(super) fn soaking(wave: &WaveName, seconds_left: u64, unseen: Option<String>) {
    let soaking = WaveEvent::Soaking {
        wave,
        seconds_left,
        unseen,
    };
    events::tell(None, &soaking);
}

/// No further cluster is begun.
pub(super) fn stopped(wave: &WaveName, failure: &Failure) {
    let why = failure.in_one_line();
    events::tell(None, &WaveEvent::Stopped { wave, why });
}
