//! The gates of waves: before a wave begins, the fleet must not be paused, all earlier waves must have been ready for
//! their soak time, and the plan of the wave must be approved if the file demands it. A gate that waits observes its
//! clusters and the journal in the meantime, so that a pause or a failure is noticed.

use std::time::Duration;

use schemas::{FleetWave, Timeout};

use super::backend::{Backend, Health};
use super::error::RolloutError;
use super::event::FleetEvent;
use super::plan::{MemberPlan, PlannedWave, RolloutWork, id_of, plan_id};
use super::progress::FleetChange;
use super::run::{ErrorOf, Rollout};

/// The time between two observations of clusters that have to stay ready.
const INTERVAL: Duration = Duration::from_secs(10);

impl<B: Backend> Rollout<'_, B> {
    /// Waits at the gates of a wave, after the `earlier` ones. A wave without changes does not wait.
    pub(super) async fn open_gates(
        &self,
        wave: &PlannedWave<'_, B::Work>,
        earlier: &[PlannedWave<'_, B::Work>],
    ) -> Result<(), RolloutError<ErrorOf<B>>> {
        if !wave.changes() {
            return Ok(());
        }
        self.check_continues()?;
        for earlier in earlier {
            self.check_left_out(earlier)?;
            self.soak(earlier).await?;
        }
        self.check_approved(wave).await?;
        self.begin_revision(wave)?;
        self.record_not_ready(wave.wave)
    }

    /// Fails if the user has interrupted the program, which gives running changes some time to end.
    pub(super) fn check_interrupted(&self) -> Result<(), RolloutError<ErrorOf<B>>> {
        if self.backend.is_interrupted() {
            return Err(RolloutError::Interrupted);
        }
        Ok(())
    }

    /// Fails if no further cluster may be started.
    pub(super) fn check_continues(&self) -> Result<(), RolloutError<ErrorOf<B>>> {
        self.check_interrupted()?;
        if self.change == FleetChange::Rollback {
            return Ok(());
        }
        let journal = self.backend.journal().map_err(RolloutError::Backend)?;
        let by = match journal.paused() {
            Some(by) => by,
            None if self.spec.paused => "its file",
            None => return Ok(()),
        };
        Err(RolloutError::Paused(by.to_owned()))
    }

    /// Fails if more clusters of a wave could not be planned than may fail, because their health is unknown.
    fn check_left_out(
        &self,
        wave: &PlannedWave<'_, B::Work>,
    ) -> Result<(), RolloutError<ErrorOf<B>>> {
        let allowed = wave.wave.max_failures;
        if wave.left_out <= allowed || self.change != FleetChange::Apply {
            return Ok(());
        }
        Err(RolloutError::LeftOut {
            wave: wave.wave.name.clone(),
            left_out: wave.left_out,
            allowed,
        })
    }

    /// Waits until a wave has been ready for its soak time. Also waits for clusters that cannot be read.
    async fn soak(&self, wave: &PlannedWave<'_, B::Work>) -> Result<(), RolloutError<ErrorOf<B>>> {
        let soak = wave.wave.soak.as_ref().map(Timeout::duration);
        let Some(soak) = soak.filter(|_| self.change == FleetChange::Apply) else {
            return Ok(());
        };
        let name = &wave.wave.name;
        let mut told = None;
        loop {
            self.check_continues()?;
            let now = self.backend.decided().map_err(RolloutError::Backend)?.at;
            let journal = self.backend.journal().map_err(RolloutError::Backend)?;
            let left = journal.soaks(name, soak, now);
            let unseen = self.check_ready(wave).await?;
            if unseen.is_none() && left.is_zero() {
                if told.is_some() {
                    self.backend.tell(FleetEvent::Soaked);
                }
                return Ok(());
            }
            let minutes = left.as_secs().div_ceil(60);
            // The same state is reported once. The remaining time counts in minutes, while all clusters can be read.
            let news = unseen.clone().ok_or(minutes);
            if told.as_ref() != Some(&news) {
                told = Some(news);
                self.backend.tell(FleetEvent::Soaking {
                    wave: name.clone(),
                    seconds_left: left.as_secs(),
                    unseen,
                });
            }
            let next = if left.is_zero() {
                INTERVAL
            } else {
                left.min(INTERVAL)
            };
            self.backend.sleep(next).await;
        }
    }

    /// Fails if a cluster of a wave is no longer ready. Returns why one cannot be read.
    async fn check_ready(
        &self,
        wave: &PlannedWave<'_, B::Work>,
    ) -> Result<Option<String>, RolloutError<ErrorOf<B>>> {
        let mut unseen = None;
        for plan in &wave.members {
            match self.backend.observe(plan).await {
                Health::Ready => {}
                Health::Unknown(why) => unseen = Some(why),
                Health::NotReady(status) => {
                    self.record_not_ready(wave.wave)?;
                    return Err(RolloutError::NotReady {
                        wave: wave.wave.name.clone(),
                        cluster: plan.name.clone(),
                        status,
                    });
                }
            }
        }
        Ok(unseen)
    }

    /// Fails if a wave needs an approval and has none. The user can give it now.
    async fn check_approved(
        &self,
        wave: &PlannedWave<'_, B::Work>,
    ) -> Result<(), RolloutError<ErrorOf<B>>> {
        if !wave.wave.approve || self.change != FleetChange::Apply {
            return Ok(());
        }
        let (name, plan) = (&wave.wave.name, plan_id(&wave.members));
        let journal = self.backend.journal().map_err(RolloutError::Backend)?;
        if journal.is_approved(name, &plan) {
            return Ok(());
        }
        let approved = self.backend.ask_approval(name, &plan).await;
        if !approved.map_err(RolloutError::Backend)? {
            let wave = name.clone();
            return Err(RolloutError::Unapproved { wave, plan });
        }
        let decided = self.backend.decided().map_err(RolloutError::Backend)?;
        self.backend
            .change_journal(|journal| journal.approve(name.clone(), plan, decided))
            .map_err(RolloutError::Backend)
    }

    /// Records the revision of a wave before any cluster changes, because a killed run may have changed some.
    fn begin_revision(
        &self,
        wave: &PlannedWave<'_, B::Work>,
    ) -> Result<(), RolloutError<ErrorOf<B>>> {
        let Some(revision) = self.revision.filter(|_| wave.deploys()) else {
            return Ok(());
        };
        self.backend
            .change_journal(|journal| journal.begin_revision(revision))
            .map_err(RolloutError::Backend)
    }

    /// Records that a wave is in the state that the file specifies.
    pub(super) fn record_ready(
        &self,
        wave: &FleetWave,
        members: &[&MemberPlan<B::Work>],
        has_changed: bool,
    ) -> Result<(), RolloutError<ErrorOf<B>>> {
        if wave.soak.is_none() || self.change != FleetChange::Apply {
            return Ok(());
        }
        let now = self.backend.decided().map_err(RolloutError::Backend)?.at;
        let goal = id_of(members, RolloutWork::goal);
        self.backend
            .change_journal(|journal| journal.be_good(&wave.name, &goal, has_changed, now))
            .map_err(RolloutError::Backend)
    }

    /// Records that a wave is about to change, or is no longer ready.
    fn record_not_ready(&self, wave: &FleetWave) -> Result<(), RolloutError<ErrorOf<B>>> {
        let decided = self.backend.decided().map_err(RolloutError::Backend)?;
        self.backend
            .change_journal(|journal| match self.change {
                FleetChange::Apply => journal.be_bad(wave, decided.at),
                FleetChange::Rollback | FleetChange::Delete => journal.go_back(wave, decided),
            })
            .map_err(RolloutError::Backend)
    }

    /// Removes clusters from the journal that have no Solution of the fleet left.
    pub(super) fn forget_members<'m>(
        &self,
        members: impl Iterator<Item = &'m MemberPlan<B::Work>>,
    ) -> Result<(), RolloutError<ErrorOf<B>>>
    where
        B::Work: 'm,
    {
        if self.change != FleetChange::Delete {
            return Ok(());
        }
        self.backend
            .change_journal(|journal| members.for_each(|plan| journal.forget(&plan.uid)))
            .map_err(RolloutError::Backend)
    }
}
