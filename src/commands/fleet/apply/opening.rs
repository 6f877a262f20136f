//! The gates of a wave, one behind the other.

use fleet::FleetJournal;

use super::gate::Gates;
use super::planned_wave::PlannedWave;
use crate::failure::Failure;

impl Gates<'_> {
    /// Waits for what a wave waits for, behind those `before` it. One of which nothing is to be done waits for nothing.
    pub(super) async fn open(
        &self,
        wave: &PlannedWave<'_>,
        before: &[PlannedWave<'_>],
    ) -> Result<(), Failure> {
        if !wave.changes() {
            return Ok(());
        }
        self.check_goes_on()?;
        for earlier in before {
            self.check_left_out(earlier)?;
            self.soak(earlier.wave, &earlier.members).await?;
        }
        self.check_approved(wave.wave, &wave.members).await?;
        self.begin_revision(wave)?;
        self.be_bad(wave.wave)
    }

    /// Remembers the revision that a wave is changed for, before any cluster is: a run that is killed has changed some.
    fn begin_revision(&self, wave: &PlannedWave<'_>) -> Result<(), Failure> {
        let Some(revision) = self.revision.filter(|_| wave.deploys()) else {
            return Ok(());
        };
        let begin = |journal: &mut FleetJournal| journal.begin_revision(revision);
        self.journal.change(begin).map(drop)
    }
}
