//! The journal of a fleet, in a file next to the fleet's file. A lock ensures that one program at a time changes it. It
//! also records the clusters, so that clusters that are no longer in the fleet's file can be reported.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use fleet::{DecisionAuthor, FleetFile, FleetJournal, FleetRevision, KnownCluster, goal_of};
use rustix::fs::{FlockOperation, flock};
use schemars::JsonSchema;
use serde::Serialize;

use crate::disk::{self, Modes, WriteMode};
use crate::environment;
use crate::failure::{Failure, cannot};

/// The size limit of a journal: two entries for each wave of the largest fleet, and 350 bytes for each of the 2,000
/// known clusters.
const SIZE: u64 = 1024 * 1024;
/// The extension of the journal, in place of that of the fleet's file.
const ENDING: &str = "journal.json";

/// The journal of a fleet's file.
pub(super) struct JournalFile<'a> {
    file: &'a FleetFile,
    folder: PathBuf,
    journal: PathBuf,
}

impl<'a> JournalFile<'a> {
    /// Locates the journal. Symbolic links are resolved, so that all paths of a fleet's file lead to the same journal.
    pub(super) fn of(file: &'a FleetFile, path: &Path) -> Result<Self, Failure> {
        let path = path.canonicalize().map_err(cannot("read", path))?;
        Ok(Self {
            file,
            folder: path.parent().unwrap_or(Path::new("/")).to_owned(),
            journal: path.with_extension(ENDING),
        })
    }

    /// Reads the journal; a missing file is an empty journal.
    pub(super) fn read(&self) -> Result<FleetJournal, Failure> {
        let path = &self.journal;
        let fleet = &self.file.document().metadata.name;
        if !path.exists() {
            return Ok(FleetJournal::new(fleet.clone()));
        }
        let bytes = disk::read_owned(path, SIZE).map_err(Failure::unknown)?;
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

    /// Returns the revision to which a run of the current file belongs.
    pub(super) fn revision(&self) -> Result<FleetRevision, Failure> {
        let now = environment::now().map_err(Failure::unknown)?;
        let goal = goal_of(self.file.spec());
        Ok(self.read()?.revision_towards(goal, now))
    }

    /// Changes the journal under a lock, and returns the changed journal.
    pub(super) fn change(
        &self,
        change: impl FnOnce(&mut FleetJournal),
    ) -> Result<FleetJournal, Failure> {
        // Lock the folder, because writing a file replaces it, and a lock on a replaced file is lost.
        let folder = &self.folder;
        let locked = File::open(folder).map_err(cannot("lock", folder))?;
        flock(&locked, FlockOperation::LockExclusive).map_err(cannot("lock", folder))?;
        let before = self.read()?;
        let mut journal = before.clone();
        change(&mut journal);
        let waves = &self.file.spec().waves;
        journal.retain(|name| waves.iter().any(|wave| wave.name == *name));
        if journal == before {
            return Ok(journal);
        }
        let text = serde_json::to_vec_pretty(&journal).map_err(Failure::unknown)?;
        let modes = Modes {
            file: 0o644,
            folder: 0o755,
        };
        disk::write_atomically(&self.journal, &text, modes, WriteMode::Replace)
            .map_err(cannot("write", &self.journal))?;
        Ok(journal)
    }
}

/// Returns a decision of this user at this time.
pub(super) fn decided() -> Result<DecisionAuthor, Failure> {
    Ok(DecisionAuthor {
        by: environment::person(),
        at: environment::now().map_err(Failure::unknown)?,
    })
}

/// A cluster that is no more in the fleet's file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GoneCluster {
    /// The name that it had there.
    name: String,
    /// The UID by which it is known.
    uid: String,
}

impl fmt::Display for GoneCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, uid } = self;
        write!(
            f,
            "{name} (UID {uid}) is no longer in the file; Solutions that the fleet deployed there are kept"
        )
    }
}

/// Returns the clusters that are no longer in the file.
pub(super) fn gone(file: &FleetFile, journal: &FleetJournal) -> Vec<GoneCluster> {
    let all = journal.gone(file.spec());
    let all = all.map(|KnownCluster { name, uid }| GoneCluster {
        name: name.to_string(),
        uid: uid.to_string(),
    });
    all.collect()
}
