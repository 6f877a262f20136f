//! The waves of a fleet, one after the other: the next begins only if the one before has ended well.

use std::collections::BTreeMap;

use anyhow::anyhow;
use fleet::{ClustersOfWave, FleetFile, Members};
use schemas::FleetWave;

use super::change::{Changed, Pushers, change};
use super::gate::Gates;
use super::live::Live;
use super::planned::{DeploymentPlan, MemberPlan};
use super::roll::{Budget, roll};
use crate::args::Output;
use crate::failure::Failure;
use crate::render;

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
    pub(super) members: &'a Members<'a>,
    pub(super) gates: Gates<'a>,
    pub(super) output: Output,
}

/// A wave, with those of its clusters that were planned.
struct PlannedWave<'a> {
    wave: &'a FleetWave,
    members: Vec<&'a MemberPlan>,
}

impl PlannedWave<'_> {
    /// Whether anything is to be done.
    fn changes(&self) -> bool {
        let mut deployments = self.members.iter().flat_map(|it| &it.deployments);
        deployments.any(DeploymentPlan::changes)
    }
}

impl Waves<'_> {
    /// Changes the clusters that were planned, wave by wave.
    pub(super) async fn roll(&self, planned: &[&MemberPlan]) -> Rolled {
        let live = Live::new(planned.len(), self.output);
        let mut rolled = Rolled::default();
        let mut before = None;
        for wave in self.planned(planned) {
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

    fn planned<'a>(&'a self, planned: &[&'a MemberPlan]) -> Vec<PlannedWave<'a>> {
        let file: &FleetFile = self.gates.file;
        let all = fleet::waves(file.spec(), self.members).into_iter();
        let all = all.map(|ClustersOfWave { wave, clusters }| {
            let members = planned.iter();
            let members = members.filter(|it| clusters.contains(&it.at));
            PlannedWave {
                wave,
                members: members.copied().collect(),
            }
        });
        all.filter(|it| !it.members.is_empty()).collect()
    }

    /// Waits for what a wave waits for. One of which nothing is to be done waits for nothing.
    async fn begin(
        &self,
        wave: &PlannedWave<'_>,
        before: Option<&PlannedWave<'_>>,
    ) -> Result<(), Failure> {
        self.gates.check_paused()?;
        if !wave.changes() {
            return Ok(());
        }
        if let Some(before) = before {
            self.gates.soak(before.wave, &before.members).await?;
        }
        self.gates.check_approved(wave.wave, &wave.members).await
    }

    /// Changes the clusters of a wave.
    async fn change(
        &self,
        PlannedWave { wave, members }: &PlannedWave<'_>,
        live: &Live,
        changed: &mut BTreeMap<usize, Changed>,
    ) -> Result<(), Failure> {
        if self.output == Output::Human {
            let count = render::count(members.len(), "cluster");
            render::note!("wave {}: {count}", wave.name);
        }
        let budget = Budget {
            parallel: wave.parallel,
            failures: wave.max_failures,
        };
        let pushers = Pushers::default();
        let begin = async |at: usize| {
            let live = live.begin(&members[at].name);
            Box::pin(change(members[at], &pushers, &live)).await
        };
        let may_begin = || self.gates.check_paused().is_ok();
        let has_failed = |it: &Changed| it.failure.is_some();
        let ended = roll(0..members.len(), budget, begin, may_begin, has_failed).await;
        let are_all = ended.len() == members.len();
        let failures = ended.values().filter(|it| has_failed(it)).count();
        let has_changed = ended.values().any(Changed::has_changed);
        changed.extend(ended.into_iter().map(|(at, it)| (members[at].at, it)));
        if failures > wave.max_failures {
            let name = &wave.name;
            let failed = render::count(failures, "cluster");
            let may = wave.max_failures;
            let stopped = anyhow!("{failed} of wave {name} failed, and {may} may");
            return Err(Failure::unknown(stopped)
                .hint("see why, and run the same command again: it completes what is missing"));
        }
        if !are_all {
            self.gates.check_paused()?;
            let paused = anyhow!("the fleet was paused for a while");
            return Err(Failure::unknown(paused).hint("run the same command again"));
        }
        self.gates.be_good(wave, members, has_changed)
    }
}
