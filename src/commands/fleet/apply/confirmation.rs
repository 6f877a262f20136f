//! Whether what leaves the clusters of a fleet may go, and what is forgotten with it.

use fleet::FleetJournal;

use super::super::gone::{GoneCluster, gone};
use super::super::journal::JournalFile;
use super::removal::Removals;
use super::rollout::{Rollout, Towards};
use crate::commands::question::agreed;
use crate::commands::refusal::InTheWay;
use crate::failure::Failure;

impl Rollout<'_> {
    /// Whether somebody says yes to the removals that were shown.
    pub(super) async fn is_confirmed(&self) -> Result<bool, Failure> {
        let question = match self.towards {
            Towards::Gone => "undeploy these Solutions?",
            Towards::File | Towards::Before => "undeploy Solutions that the file no longer lists?",
        };
        Ok(self.removals == Removals::Confirmed || agreed(question, self.output).await?)
    }

    /// The clusters that are no more in the file, where that is what clusters are to be.
    pub(super) fn gone(&self) -> Result<Vec<GoneCluster>, Failure> {
        if self.towards != Towards::File {
            return Ok(Vec::new());
        }
        let journal = JournalFile::of(self.file, self.path)?.read()?;
        Ok(gone(self.file, &journal))
    }

    /// Forgets them, where what left the file is to go.
    pub(super) fn forget_gone(&self) -> Result<(), Failure> {
        if self.towards != Towards::File || self.removals == Removals::None {
            return Ok(());
        }
        let journal = JournalFile::of(self.file, self.path)?;
        let forget = |it: &mut FleetJournal| it.forget_gone(self.file.spec());
        journal.change(forget).map(drop)
    }
}

/// That nobody said yes.
pub(super) fn unconfirmed() -> InTheWay {
    let message = "the removal was not confirmed";
    InTheWay::new(message, "review the plan, then confirm it with `--yes`")
}
