//! The waves of a fleet, one after the other: the next begins only if the one before has ended well.

use std::collections::BTreeMap;

use fleet::{FleetFile, Members};

use super::super::journal::JournalFile;
use super::change::{Changed, Pushers, change};
use super::gate::Gates;
use super::live::Live;
use super::planned::MemberPlan;
use super::planned_wave::{PlannedWave, planned_waves};
use super::rollout::{Rollout, Towards};
use super::within::within_budget;
use crate::args::Output;
use crate::failure::Failure;

/// What came of the waves.
#[derive(Default)]
pub(super) struct Rolled {
    /// What came of the clusters that were begun, by their places in the file.
    pub(super) changed: BTreeMap<usize, Changed>,
    /// Why no further cluster was begun, if some were not.
    pub(super) stopped: Option<Failure>,
}

/// The waves that are rolled over clusters.
pub(super) struct Waves<'a> {
    file: &'a FleetFile,
    members: &'a Members<'a>,
    /// What holds them back, if anything may.
    gates: Option<Gates<'a>>,
    output: Output,
}

impl<'a> Waves<'a> {
    /// The waves of a change.
    pub(super) fn of(rollout: &Rollout<'a>) -> Self {
        let &Rollout {
            file,
            path,
            members,
            towards,
            output,
            ..
        } = rollout;
        let gates = Gates {
            file,
            journal: JournalFile::of(file, path),
            output,
        };
        Self {
            file,
            members,
            gates: (towards == Towards::File).then_some(gates),
            output,
        }
    }

    /// Changes the clusters that were planned, wave by wave.
    pub(super) async fn roll(&self, planned: &[&MemberPlan]) -> Rolled {
        let live = Live::new(planned.len(), self.output);
        let mut rolled = Rolled::default();
        let mut before = None;
        for wave in planned_waves(self.file, self.members, planned) {
            let begun = self.begin(&wave, before.as_ref()).await;
            let ended = match begun {
                Ok(()) => self.change(&wave, &live, &mut rolled.changed).await,
                Err(closed) => Err(closed),
            };
            if let Err(stopped) = ended {
                rolled.stopped = Some(stopped);
                return rolled;
            }
            before = Some(wave);
        }
        rolled
    }

    /// Waits for what a wave waits for. One of which nothing is to be done waits for nothing.
    async fn begin(
        &self,
        wave: &PlannedWave<'_>,
        before: Option<&PlannedWave<'_>>,
    ) -> Result<(), Failure> {
        let Some(gates) = &self.gates else {
            return Ok(());
        };
        gates.check_paused()?;
        if !wave.changes() {
            return Ok(());
        }
        if let Some(before) = before {
            gates.soak(before.wave, &before.members).await?;
        }
        gates.check_approved(wave.wave, &wave.members).await
    }

    /// Changes the clusters of a wave.
    async fn change(
        &self,
        PlannedWave { wave, members }: &PlannedWave<'_>,
        live: &Live,
        changed: &mut BTreeMap<usize, Changed>,
    ) -> Result<(), Failure> {
        let pushers = Pushers::default();
        let begin = async |at: usize| {
            let live = live.begin(&members[at].name);
            Box::pin(change(members[at], &pushers, &live)).await
        };
        let goes_on = || self.gates.as_ref().map_or(Ok(()), Gates::check_paused);
        let ended = within_budget(wave, members.len(), begin, goes_on, self.output).await;
        let has_changed = ended.changed.values().any(Changed::has_changed);
        let by_place = ended.changed.into_iter();
        changed.extend(by_place.map(|(at, it)| (members[at].at, it)));
        if let Some(stopped) = ended.stopped {
            return Err(stopped);
        }
        let Some(gates) = &self.gates else {
            return Ok(());
        };
        gates.be_good(wave, members, has_changed)
    }
}
