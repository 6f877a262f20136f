//! How far the change of a fleet's clusters is, as it is told while it goes on.

use fleet::{ClustersOfWave, FleetProgress, MemberProgress, MemberState, WaveProgress};
use schemas::{ClusterName, WaveName};
use tokio::sync::watch::{Receiver, Sender};

use super::PlannedMember;
use super::changed::Changed;
use super::planned_wave::waves_towards;
use super::rollout::Rollout;
use crate::environment;
use crate::failure::Failure;

/// What is told: always the latest alone.
pub(super) struct Told(Sender<FleetProgress>);

impl Told {
    /// Nothing is begun yet.
    pub(super) fn new(
        rollout: &Rollout<'_>,
        plan: String,
        planned: &[PlannedMember],
    ) -> Result<Self, Failure> {
        let spec = rollout.file.spec();
        let change = rollout.towards.change();
        let waves = waves_towards(spec, rollout.members, rollout.towards).into_iter();
        let waves = waves.map(|ClustersOfWave { wave, clusters }| {
            let asked = planned.iter().filter(|it| clusters.contains(&it.at));
            WaveProgress {
                name: wave.name.clone(),
                clusters: asked
                    .map(|it| member(it, &spec.clusters[it.at].name))
                    .collect(),
            }
        });
        let waves = waves.filter(|it| !it.clusters.is_empty()).collect();
        let begun = environment::now().map_err(Failure::unknown)?;
        let others = spec.clusters.len() - planned.len();
        let by = environment::person();
        let progress = FleetProgress::new(change, plan, by, begun, waves, others);
        Ok(Self(Sender::new(progress)))
    }

    /// Whoever tells it to others.
    pub(super) fn listen(&self) -> Receiver<FleetProgress> {
        self.0.subscribe()
    }

    /// A wave is begun.
    pub(super) fn begin_wave(&self, wave: &WaveName) {
        self.0.send_modify(|it| it.begin_wave(wave));
    }

    /// A cluster is begun.
    pub(super) fn begin(&self, cluster: &ClusterName) {
        self.note(cluster, MemberState::Changing, None);
    }

    /// A cluster has ended.
    pub(super) fn end(&self, cluster: &ClusterName, changed: &Changed) {
        let state = match changed.failure {
            None => MemberState::Done,
            Some(_) => MemberState::Failed,
        };
        self.note(cluster, state, changed.failure.as_ref());
    }

    /// The change has ended, early if there is a reason for it.
    pub(super) fn end_all(&self, stopped: Option<&Failure>) {
        let stopped = stopped.map(Failure::in_one_line);
        self.0.send_modify(|it| it.end(stopped.as_deref()));
    }

    fn note(&self, cluster: &ClusterName, state: MemberState, why: Option<&Failure>) {
        let why = why.map(Failure::in_one_line).unwrap_or_default();
        self.0.send_modify(|it| it.note(cluster, state, &why));
    }
}

fn member(planned: &PlannedMember, name: &ClusterName) -> MemberProgress {
    let (state, message) = match &planned.plan {
        Ok(_) => (MemberState::Untouched, String::new()),
        Err(failure) => (MemberState::LeftOut, failure.in_one_line()),
    };
    MemberProgress {
        name: name.clone(),
        state,
        message,
    }
}
