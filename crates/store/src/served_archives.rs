//! The archives of the built-in registry. [`Archives::scan`] finds and validates them, and updates the served content
//! while the server runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use registry::RegistryAddress;
use serve::{Conflict, Content, ServedArchive};
use validator::AcceptedArchive;

use crate::error::Error;
use crate::limits;
use crate::served_content::list_served_content;

/// The reason why archives cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An archive or a directory of archives cannot be read.
    #[error("cannot read `{}`", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// More archives are found than the limit.
    #[error("{0} archives are found; at most {max} are served", max = limits::SERVED)]
    TooMany(usize),
    /// The content of an archive cannot be served.
    #[error(transparent)]
    Archive(#[from] Error),
    /// Another archive has some of the same names.
    #[error(transparent)]
    Conflict(Box<Conflict>),
}

/// Validates archives, and is notified of changes to the served content.
pub trait ArchiveValidator {
    /// The reason why an archive is not served.
    type Error: From<ServeError>;

    /// The keys and policies for the validation.
    type Trust;

    /// Reads the current keys and policies.
    fn trust(&mut self, whole: ValidationScope) -> Result<Self::Trust, Self::Error>;

    /// Validates an archive like an import does.
    fn accept(&mut self, path: &Path, trust: &Self::Trust) -> Result<AcceptedArchive, Self::Error>;

    /// Notifies that an archive is now served.
    fn serving(&mut self, path: &Path, accepted: &AcceptedArchive);

    /// Notifies that an archive is not served.
    fn left_out(&mut self, path: &Path, why: &Self::Error);
}

/// The file extension of archives in a directory.
const EXTENSION: &str = "iso";

/// The files to validate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidationScope {
    /// All files; an invalid file that was named explicitly is an error.
    First,
    /// Files that have changed.
    Changed,
    /// All files again, with the current keys and policies.
    All,
}

/// The metadata that identifies a state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    inode: (u64, u64),
    size: u64,
    changed: (i64, i64),
}

impl FileState {
    fn read(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self {
            inode: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            // The modification time is not used, because programs that copy files can set it.
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// A served archive.
#[derive(Debug)]
struct ServedEntry {
    stamp: FileState,
    /// The order of arrival. If two archives have the same name, the first one keeps it.
    number: u64,
    brought: ServedArchive,
}

/// The new content to serve.
#[derive(Debug)]
pub struct ContentUpdate {
    /// The content of all served archives.
    pub content: Content,
    /// The number of archives that are not served.
    pub left_out: usize,
}

/// The archives of a server.
#[derive(Debug)]
pub struct Archives {
    /// The configured files, devices, and directories of archives.
    named: Vec<PathBuf>,
    registry: RegistryAddress,
    held: BTreeMap<PathBuf, ServedEntry>,
    /// The archives that are not served, with the state for which this was decided.
    refused: BTreeMap<PathBuf, FileState>,
    /// The archives found by the last scan, with their states.
    seen: BTreeMap<PathBuf, FileState>,
    came: u64,
}

impl Archives {
    /// Creates the list of archives for these paths; a directory means all `*.iso` files in it. `registry`
    /// determines the prefix of all names. Its host does not appear in the served content.
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

    /// Scans the paths and validates changed archives. Returns `None` if the served content has not changed.
    pub fn scan<J: ArchiveValidator>(
        &mut self,
        whole: ValidationScope,
        judge: &mut J,
    ) -> Result<Option<ContentUpdate>, J::Error> {
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
        if !wanted.is_empty() || whole == ValidationScope::First {
            let trust = judge.trust(whole)?;
            changed = true;
            for (path, stamp) in wanted {
                if let Err(error) = self.take(&path, stamp, judge, &trust) {
                    if whole == ValidationScope::First && self.named.contains(&path) {
                        return Err(error);
                    }
                    self.leave_out(path, stamp, &error, judge);
                }
            }
        }
        Ok(changed.then(|| self.put_together(judge)))
    }

    /// Checks whether to validate an archive. In a scan for changes, it must be new or changed, and must not have
    /// changed since the last scan, so that a file that is being copied is not read.
    fn is_wanted(&self, path: &Path, stamp: &FileState, whole: ValidationScope) -> bool {
        let held = self.held.get(path).map(|held| &held.stamp);
        let is_known = held == Some(stamp) || self.refused.get(path) == Some(stamp);
        match whole {
            ValidationScope::First | ValidationScope::All => true,
            ValidationScope::Changed => !is_known && self.seen.get(path) == Some(stamp),
        }
    }

    /// Returns every archive among the paths or in one of the directories.
    fn find(&self, whole: ValidationScope) -> Result<BTreeMap<PathBuf, FileState>, ServeError> {
        let mut found = BTreeMap::new();
        for named in &self.named {
            let mut paths = BTreeSet::from([named.clone()]);
            if named.is_dir() {
                paths = in_directory(named).map_err(|error| cannot_read(named, error))?;
            }
            for path in paths {
                match (FileState::read(&path), self.held.get(&path)) {
                    (Ok(stamp), _) => drop(found.insert(path, stamp)),
                    (Err(error), _) if whole == ValidationScope::First => {
                        return Err(cannot_read(&path, error));
                    }
                    // The file was removed or does not exist yet.
                    (Err(error), _) if error.kind() == io::ErrorKind::NotFound => {}
                    // A temporary read error must not remove a served archive.
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

    /// Validates an archive and serves it.
    fn take<J: ArchiveValidator>(
        &mut self,
        path: &Path,
        stamp: FileState,
        judge: &mut J,
        trust: &J::Trust,
    ) -> Result<(), J::Error> {
        let accepted = judge.accept(path, trust)?;
        let brought =
            list_served_content(path, &accepted, &self.registry).map_err(ServeError::from)?;
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

    /// Stops serving an archive, or does not serve it. If the file was replaced by a different file, the earlier
    /// content is still served from the open file. If the same file has changed, it is not.
    fn leave_out<J: ArchiveValidator>(
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

    /// Combines all accepted archives. An archive with a name that another one already has is not served.
    fn put_together<J: ArchiveValidator>(&mut self, judge: &mut J) -> ContentUpdate {
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
        ContentUpdate {
            content,
            left_out: self.refused.len(),
        }
    }
}

fn cannot_read(path: &Path, source: io::Error) -> ServeError {
    let path = path.to_owned();
    ServeError::Read(path, source)
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
