//! The waves of a fleet, one after the other: the next begins only if the one before has ended well.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet::{FleetProgress, Members};
use tokio::sync::watch::Receiver;

use super::PlannedMember;
use super::arriving::change_once_up;
use super::change::Pushers;
use super::changed::Changed;
use super::gate::{Gates, check_interrupted, id_of};
use super::live::Live;
use super::planned::{DeploymentPlan, MemberPlan};
use super::planned_wave::{PlannedWave, planned_waves, waves_towards};
use super::progress::Told;
use super::rolled::Rolled;
use super::rollout::Rollout;
use super::told;
use super::within::within_budget;
use crate::args::Output;
use crate::failure::Failure;

/// The waves that are rolled over clusters.
pub(super) struct Waves<'a> {
    members: &'a Members<'a>,
    gates: Gates<'a>,
    /// How long a cluster that is away is waited for, if it is.
    longest: Option<Duration>,
    output: Output,
    told: Told,
}

impl<'a> Waves<'a> {
    /// The waves of a change.
    pub(super) fn of(rollout: &Rollout<'a>, planned: &[PlannedMember]) -> Result<Self, Failure> {
        let plans: Vec<&MemberPlan> = planned.iter().flat_map(|it| &it.plan).collect();
        let plan = id_of(&plans, |work| Some(work.essence()));
        Ok(Self {
            members: rollout.members,
            gates: Gates::of(rollout)?,
            longest: rollout.choices.arrival.longest(),
            output: rollout.output,
            told: Told::new(rollout, plan, planned)?,
        })
    }

    /// How far they are, for whoever tells it to others.
    pub(super) fn listen(&self) -> Receiver<FleetProgress> {
        self.told.listen()
    }

    /// Changes the clusters that were planned, and tells how far that is.
    pub(super) async fn roll(&self, planned: &[PlannedMember]) -> Rolled {
        let rolled = self.roll_on(planned).await;
        self.told.end_all(rolled.stopped.as_ref());
        rolled
    }

    /// Changes the clusters that were planned, wave by wave.
    async fn roll_on(&self, planned: &[PlannedMember]) -> Rolled {
        let count = planned.iter().filter(|it| it.plan.is_ok()).count();
        let mut deployments = planned.iter().flat_map(PlannedMember::deployments);
        let live = Live::new(count, deployments.all(DeploymentPlan::is_idle), self.output);
        let mut rolled = Rolled::default();
        let mut before = Vec::new();
        let Gates { file, towards, .. } = &self.gates;
        let waves = waves_towards(file.spec(), self.members, *towards);
        for mut wave in planned_waves(waves, planned) {
            if wave.members.is_empty() {
                before.push(wave);
                continue;
            }
            let begun = self.gates.open(&wave, &before).await;
            let ended = match begun {
                Ok(()) => self.change(&wave, &live, &mut rolled.changed).await,
                Err(closed) => Err(closed),
            };
            if let Err(stopped) = ended {
                told::stopped(&wave.wave.name, &stopped);
                rolled.stopped = Some(stopped);
                return rolled;
            }
            // One that failed within the budget is not waited for.
            let is_done = |at| rolled.changed.get(at).is_some_and(Changed::is_done);
            wave.members.retain(|it| is_done(&it.at));
            before.push(wave);
        }
        rolled
    }

    /// Changes the clusters of a wave.
    async fn change(
        &self,
        wave: &PlannedWave<'_>,
        live: &Live,
        changed: &mut BTreeMap<usize, Changed>,
    ) -> Result<(), Failure> {
        let (members, is_held) = (&wave.members, wave.changes());
        let pushers = Pushers::default();
        self.told.begin_wave(&wave.wave.name);
        let begin = async |at: usize| {
            let (name, live) = (&members[at].name, live.begin(&members[at].name));
            self.told.begin(name);
            let changed = change_once_up(members[at], self.longest, &pushers, &live);
            let changed = Box::pin(changed).await;
            self.told.end(name, &changed);
            changed
        };
        let goes_on = || {
            if is_held {
                self.gates.check_goes_on()
            } else {
                check_interrupted()
            }
        };
        told::wave_begun(wave);
        let ended = within_budget(wave.wave, members.len(), begin, goes_on, self.output).await;
        let has_changed = ended.changed.values().any(Changed::has_changed);
        let done = ended.changed.iter().filter(|(_, it)| it.is_done());
        self.gates.forget(done.map(|(at, _)| members[*at]))?;
        let by_place = ended.changed.into_iter();
        changed.extend(by_place.map(|(at, it)| (members[at].at, it)));
        match ended.stopped {
            Some(stopped) => Err(stopped),
            None => self.gates.be_good(wave.wave, members, has_changed),
        }
    }
}
