//! The gates of a wave, one behind the other.

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
        self.be_bad(wave.wave)
    }
}
