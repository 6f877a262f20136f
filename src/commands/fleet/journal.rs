//! The journal of a fleet, in a file beside the fleet's own: read and changed by one program at a time.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use fleet::{Decided, FleetFile, FleetJournal, FleetRevision, goal_of};
use rustix::fs::{FlockOperation, flock};

use crate::environment;
use crate::failure::{Failure, cannot};
use crate::own::{self, Modes, Write};

/// Bytes of a journal: two entries for each wave of the largest fleet, and 350 for each of the 2,000 clusters that are known.
const SIZE: u64 = 1024 * 1024;
/// What takes the place of the ending of the fleet's file.
const ENDING: &str = "journal.json";

/// The journal of a fleet's file.
pub(super) struct JournalFile<'a> {
    file: &'a FleetFile,
    folder: PathBuf,
    journal: PathBuf,
}

impl<'a> JournalFile<'a> {
    /// Names it. Whatever link leads to the fleet's file, its journal is one.
    pub(super) fn of(file: &'a FleetFile, path: &Path) -> Result<Self, Failure> {
        let path = path.canonicalize().map_err(cannot("read", path))?;
        Ok(Self {
            file,
            folder: path.parent().unwrap_or(Path::new("/")).to_owned(),
            journal: path.with_extension(ENDING),
        })
    }

    /// Reads it; nothing is remembered where there is none.
    pub(super) fn read(&self) -> Result<FleetJournal, Failure> {
        let path = &self.journal;
        let fleet = &self.file.document().metadata.name;
        if !path.exists() {
            return Ok(FleetJournal::new(fleet.clone()));
        }
        let bytes = own::read(path, SIZE).map_err(Failure::unknown)?;
        let shown = path.display();
        let journal: FleetJournal = serde_json::from_slice(&bytes).map_err(|error| {
            Failure::no(error)
                .context(format!("`{shown}` is not the journal of a fleet"))
                .hint("move the file away; pauses, approvals and soak times then start over")
        })?;
        if journal.fleet == *fleet {
            return Ok(journal);
        }
        let other = anyhow!(
            "`{shown}` is the journal of another fleet, {}",
            journal.fleet
        );
        Err(Failure::no(other).hint("keep each fleet's file in its own directory"))
    }

    /// Returns the revision that a run of the file as it is now belongs to.
    pub(super) fn revision(&self) -> Result<FleetRevision, Failure> {
        let now = environment::now().map_err(Failure::unknown)?;
        let goal = goal_of(self.file.spec());
        Ok(self.read()?.revision_towards(goal, now))
    }

    /// Changes it, while nobody else does. Returns it as it is then.
    pub(super) fn change(
        &self,
        change: impl FnOnce(&mut FleetJournal),
    ) -> Result<FleetJournal, Failure> {
        // The folder stays when somebody writes a file in it anew.
        let folder = &self.folder;
        let locked = File::open(folder).map_err(cannot("lock", folder))?;
        flock(&locked, FlockOperation::LockExclusive).map_err(cannot("lock", folder))?;
        let before = self.read()?;
        let mut journal = before.clone();
        change(&mut journal);
        let waves = &self.file.spec().waves;
        journal.retain(|name| waves.iter().any(|it| it.name == *name));
        if journal == before {
            return Ok(journal);
        }
        let text = serde_json::to_vec_pretty(&journal).map_err(Failure::unknown)?;
        let modes = Modes {
            file: 0o644,
            folder: 0o755,
        };
        own::write(&self.journal, &text, modes, Write::Replace)
            .map_err(cannot("write", &self.journal))?;
        Ok(journal)
    }
}

/// This user, now.
pub(super) fn decided() -> Result<Decided, Failure> {
    Ok(Decided {
        by: environment::person(),
        at: environment::now().map_err(Failure::unknown)?,
    })
}
