//! The archives that a server serves: found, judged, and found again while it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use registry::RegistryAddress;
use serve::{Conflict, Content, ServedArchive};
use validator::Accepted;

use crate::brought::brought;
use crate::error::Error;
use crate::limits;

/// The reason why archives cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An archive, or a directory of archives, cannot be looked at.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The path that cannot be read.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// More archives are found than are served.
    #[error("{0} archives are found; at most {max} are served", max = limits::SERVED)]
    TooMany(usize),
    /// The content of an archive cannot be served.
    #[error(transparent)]
    Archive(#[from] Error),
    /// Another archive has these names.
    #[error(transparent)]
    Conflict(Box<Conflict>),
}

/// A judge of archives, who is told what becomes of them.
pub trait ArchiveJudge {
    /// The reason why an archive is not served.
    type Error: From<ServeError>;

    /// The keys and policies that archives are judged by.
    type Trust;

    /// Reads by what archives are judged now.
    fn trust(&mut self, whole: Whole) -> Result<Self::Trust, Self::Error>;

    /// Judges an archive as an import does.
    fn accept(&mut self, path: &Path, trust: &Self::Trust) -> Result<Accepted, Self::Error>;

    /// An archive is served from now on.
    fn serving(&mut self, path: &Path, accepted: &Accepted);

    /// An archive is left out.
    fn left_out(&mut self, path: &Path, why: &Self::Error);
}

/// The ending of the names of archives in a directory.
const EXTENSION: &str = "iso";

/// The extent to which files are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// All files are looked at, and those that are named must be good.
    First,
    /// Files that have changed are looked at.
    Changed,
    /// All files are looked at once more, by the keys and policies of now.
    All,
}

/// The metadata that tells one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    inode: (u64, u64),
    size: u64,
    changed: (i64, i64),
}

impl FileState {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self {
            inode: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            // Not the time of modification: whoever copies a file can give it any.
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// An archive that is served.
#[derive(Debug)]
struct ServedEntry {
    stamp: FileState,
    /// The number of its arrival: of two that want the same name, the first keeps it.
    number: u64,
    brought: ServedArchive,
}

/// The content to serve from now on.
#[derive(Debug)]
pub struct Serving {
    /// The content of all archives that are served.
    pub content: Content,
    /// The number of archives that are left out.
    pub left_out: usize,
}

/// All archives that there are.
#[derive(Debug)]
pub struct Archives {
    /// Files, devices, and directories of archives.
    named: Vec<PathBuf>,
    registry: RegistryAddress,
    held: BTreeMap<PathBuf, ServedEntry>,
    /// The archives that are left out, as they were when that was decided.
    refused: BTreeMap<PathBuf, FileState>,
    /// The archives that were found, as they were then.
    seen: BTreeMap<PathBuf, FileState>,
    came: u64,
}

impl Archives {
    /// The archives at these paths, and all `*.iso` in those that are directories. `registry` says what stands before all
    /// names; nothing that is served has its host.
    #[must_use]
    pub fn new(named: Vec<PathBuf>, registry: RegistryAddress) -> Self {
        Self {
            named,
            registry,
            held: BTreeMap::new(),
            refused: BTreeMap::new(),
            seen: BTreeMap::new(),
            came: 0,
        }
    }

    /// Looks at the archives, and has those judged that have changed; none if nothing is to be served anew.
    pub fn look<J: ArchiveJudge>(
        &mut self,
        whole: Whole,
        judge: &mut J,
    ) -> Result<Option<Serving>, J::Error> {
        let found = self.find(whole)?;
        let before = self.held.len() + self.refused.len();
        self.held.retain(|path, _| found.contains_key(path));
        self.refused.retain(|path, _| found.contains_key(path));
        let mut changed = self.held.len() + self.refused.len() < before;
        let wanted: Vec<_> = found
            .iter()
            .filter(|(path, stamp)| self.is_wanted(path, stamp, whole))
            .map(|(path, stamp)| (path.clone(), *stamp))
            .collect();
        self.seen = found;
        if !wanted.is_empty() || whole == Whole::First {
            let trust = judge.trust(whole)?;
            changed = true;
            for (path, stamp) in wanted {
                if let Err(error) = self.take(&path, stamp, judge, &trust) {
                    if whole == Whole::First && self.named.contains(&path) {
                        return Err(error);
                    }
                    self.leave_out(path, stamp, &error, judge);
                }
            }
        }
        Ok(changed.then(|| self.put_together(judge)))
    }

    /// Whether an archive is to be verified: one that was not seen so before, and does not change at the moment.
    fn is_wanted(&self, path: &Path, stamp: &FileState, whole: Whole) -> bool {
        let held = self.held.get(path).map(|held| &held.stamp);
        let is_known = held == Some(stamp) || self.refused.get(path) == Some(stamp);
        match whole {
            Whole::First | Whole::All => true,
            Whole::Changed => !is_known && self.seen.get(path) == Some(stamp),
        }
    }

    /// Every archive that is named, or lies in a directory that is.
    fn find(&self, whole: Whole) -> Result<BTreeMap<PathBuf, FileState>, ServeError> {
        let mut found = BTreeMap::new();
        for named in &self.named {
            let mut paths = BTreeSet::from([named.clone()]);
            if named.is_dir() {
                paths = in_directory(named).map_err(|error| cannot_read(named, error))?;
            }
            for path in paths {
                match (FileState::of(&path), self.held.get(&path)) {
                    (Ok(stamp), _) => drop(found.insert(path, stamp)),
                    (Err(error), _) if whole == Whole::First => {
                        return Err(cannot_read(&path, error));
                    }
                    // It is gone, or not there yet.
                    (Err(error), _) if error.kind() == io::ErrorKind::NotFound => {}
                    // The medium has a bad moment.
                    (Err(_), Some(held)) => drop(found.insert(path, held.stamp)),
                    (Err(_), None) => {}
                }
            }
        }
        if found.len() > limits::SERVED {
            return Err(ServeError::TooMany(found.len()));
        }
        Ok(found)
    }

    /// Has an archive judged, and serves it.
    fn take<J: ArchiveJudge>(
        &mut self,
        path: &Path,
        stamp: FileState,
        judge: &mut J,
        trust: &J::Trust,
    ) -> Result<(), J::Error> {
        let accepted = judge.accept(path, trust)?;
        let brought = brought(path, &accepted, &self.registry).map_err(ServeError::from)?;
        judge.serving(path, &accepted);
        self.came += 1;
        let number = self.held.get(path).map_or(self.came, |held| held.number);
        let held = ServedEntry {
            stamp,
            number,
            brought,
        };
        self.refused.remove(path);
        self.held.insert(path.to_owned(), held);
        Ok(())
    }

    /// Does without an archive. What was served before from another file of its name goes on; what has changed in this
    /// very file does not.
    fn leave_out<J: ArchiveJudge>(
        &mut self,
        path: PathBuf,
        stamp: FileState,
        why: &J::Error,
        judge: &mut J,
    ) {
        judge.left_out(&path, why);
        if self
            .held
            .get(&path)
            .is_some_and(|held| held.stamp.inode == stamp.inode)
        {
            self.held.remove(&path);
        }
        self.refused.insert(path, stamp);
    }

    /// Puts together all accepted archives, leaving out those with names that another has already.
    fn put_together<J: ArchiveJudge>(&mut self, judge: &mut J) -> Serving {
        let mut content = Content::default();
        let mut all: Vec<_> = self.held.iter().collect();
        all.sort_by_key(|(_, held)| held.number);
        let mut clashing = Vec::new();
        for (path, held) in all {
            if let Err(conflict) = content.add(&held.brought) {
                clashing.push((path.clone(), held.stamp, conflict));
            }
        }
        for (path, stamp, conflict) in clashing {
            let why = ServeError::Conflict(conflict).into();
            self.leave_out(path, stamp, &why, judge);
        }
        Serving {
            content,
            left_out: self.refused.len(),
        }
    }
}

fn cannot_read(path: &Path, source: io::Error) -> ServeError {
    let path = path.to_owned();
    ServeError::Read { path, source }
}

fn in_directory(directory: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut paths = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == EXTENSION)
            && path.is_file()
        {
            paths.insert(path);
        }
    }
    Ok(paths)
}
