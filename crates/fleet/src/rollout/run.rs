//! The state machine of a rollout. The next wave begins only after the previous one has succeeded. If more clusters of
//! a wave have failed than its budget allows, no further cluster is started.

use std::collections::BTreeMap;

use futures::stream::{FuturesUnordered, StreamExt as _};
use schemas::FleetSpec;

use super::backend::{Backend, MemberResult};
use super::error::RolloutError;
use super::event::{FleetEvent, MemberOutcome};
use super::plan::{PlannedMember, PlannedWave, RolloutWork, planned_waves, waves_of_change};
use super::progress::FleetChange;
use crate::{FleetRevision, Members};

/// A rollout.
#[derive(Debug)]
pub struct Rollout<'a, B> {
    /// The content of the fleet's file.
    pub spec: &'a FleetSpec,
    /// The members of groups and waves.
    pub members: &'a Members<'a>,
    /// The kind of change. Only [`FleetChange::Apply`] waits at every gate; a deletion waits only for a pause, and a
    /// rollback for nothing.
    pub change: FleetChange,
    /// The revision of deployed versions, if the clusters change to the state in the file.
    pub revision: Option<FleetRevision>,
    /// The program that executes it.
    pub backend: B,
}

/// The result of a rollout.
#[derive(Debug)]
pub struct RolloutResult<R, E: std::fmt::Debug + std::fmt::Display> {
    /// The results of the clusters that were started, by their index in the file.
    pub members: BTreeMap<usize, MemberResult<R, E>>,
    /// The reason why no further cluster was started.
    pub stopped: Option<RolloutError<E>>,
}

/// The error of a backend.
pub(super) type ErrorOf<B> = <<B as Backend>::Work as RolloutWork>::Error;

/// The results of clusters, by index.
type Results<B> = BTreeMap<usize, MemberResult<<B as Backend>::Report, ErrorOf<B>>>;

/// The number of clusters of a wave that change at a time, and of those that may fail.
#[derive(Clone, Copy, Debug)]
struct Budget {
    parallel: usize,
    failures: usize,
}

impl<B: Backend> Rollout<'_, B> {
    /// Changes the planned clusters, wave by wave.
    pub async fn run(
        &self,
        planned: &[PlannedMember<B::Work>],
    ) -> RolloutResult<B::Report, ErrorOf<B>> {
        let mut members = BTreeMap::new();
        let stopped = self.run_waves(planned, &mut members).await.err();
        self.backend.tell(FleetEvent::Ended);
        RolloutResult { members, stopped }
    }

    async fn run_waves(
        &self,
        planned: &[PlannedMember<B::Work>],
        results: &mut Results<B>,
    ) -> Result<(), RolloutError<ErrorOf<B>>> {
        let waves = waves_of_change(self.spec, self.members, self.change);
        let mut earlier = Vec::new();
        for mut wave in planned_waves(waves, planned) {
            if !wave.members.is_empty() {
                let ended = match self.open_gates(&wave, &earlier).await {
                    Ok(()) => self.change_wave(&wave, results).await,
                    Err(closed) => Err(closed),
                };
                if let Err(stopped) = ended {
                    self.backend.tell(FleetEvent::Stopped {
                        wave: wave.wave.name.clone(),
                        why: stopped.to_string(),
                    });
                    return Err(stopped);
                }
                // A cluster that failed within the budget does not soak.
                let is_done = |at| results.get(at).is_some_and(MemberResult::is_done);
                wave.members.retain(|plan| is_done(&plan.at));
            }
            earlier.push(wave);
        }
        Ok(())
    }

    /// Changes the clusters of a wave.
    async fn change_wave(
        &self,
        wave: &PlannedWave<'_, B::Work>,
        results: &mut Results<B>,
    ) -> Result<(), RolloutError<ErrorOf<B>>> {
        let (members, changes) = (&wave.members, wave.changes());
        let may_start = || {
            if changes {
                self.check_continues()
            } else {
                self.check_interrupted()
            }
        };
        self.backend.tell(FleetEvent::WaveBegun {
            wave: wave.wave.name.clone(),
            clusters: members.iter().map(|plan| plan.name.clone()).collect(),
        });
        let budget = Budget {
            parallel: wave.wave.parallel,
            failures: wave.wave.max_failures,
        };
        let ended = run_parallel(
            0..members.len(),
            budget,
            async |at: usize| self.change_member(wave, at).await,
            || may_start().is_ok(),
            |result| !result.is_done(),
        )
        .await;
        let (started, has_changed) = (ended.len(), ended.values().any(|end| end.has_changed));
        let failed = ended.values().filter(|end| !end.is_done()).count();
        let done = ended.iter().filter(|(_, end)| end.is_done());
        let done: Vec<_> = done.map(|(at, _)| members[*at]).collect();
        // The clusters have changed, even if the journal cannot be written.
        results.extend(ended.into_iter().map(|(at, end)| (members[at].at, end)));
        self.forget_members(done.into_iter())?;
        if failed > budget.failures {
            return Err(RolloutError::Failures {
                wave: wave.wave.name.clone(),
                failed,
                allowed: budget.failures,
            });
        }
        if started < members.len() {
            may_start()?;
            return Err(RolloutError::PausedMeanwhile);
        }
        self.record_ready(wave.wave, members, has_changed)
    }

    async fn change_member(
        &self,
        wave: &PlannedWave<'_, B::Work>,
        at: usize,
    ) -> MemberResult<B::Report, ErrorOf<B>> {
        let plan = wave.members[at];
        let cluster = || plan.name.clone();
        self.backend
            .tell(FleetEvent::ClusterBegun { cluster: cluster() });
        let result = self.backend.change(plan).await;
        let failure = result.failure.as_ref();
        self.backend.tell(FleetEvent::ClusterEnded {
            cluster: cluster(),
            state: failure.map_or(MemberOutcome::Done, |_| MemberOutcome::Failed),
            why: failure.map(|failure| failure.error.to_string()),
            at_deployment: failure.is_some_and(|failure| failure.at_deployment),
            objects: result.objects,
        });
        result
    }
}

/// Changes clusters as long as further ones may be started. Returns the results of those that were, by their number.
async fn run_parallel<T>(
    clusters: impl IntoIterator<Item = usize>,
    budget: Budget,
    change: impl AsyncFn(usize) -> T,
    may_start: impl Fn() -> bool,
    has_failed: impl Fn(&T) -> bool,
) -> BTreeMap<usize, T> {
    let mut waiting = clusters.into_iter().peekable();
    let mut running = FuturesUnordered::new();
    let (mut ended, mut failures) = (BTreeMap::new(), 0);
    loop {
        while failures <= budget.failures && running.len() < budget.parallel {
            let Some(cluster) = waiting.next_if(|_| may_start()) else {
                break;
            };
            let change = &change;
            running.push(async move { (cluster, change(cluster).await) });
        }
        let Some((cluster, end)) = running.next().await else {
            return ended;
        };
        failures += usize::from(has_failed(&end));
        ended.insert(cluster, end);
    }
}

#[cfg(test)]
mod tests;
