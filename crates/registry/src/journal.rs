//! The journal of unfinished uploads. After a crash or a reboot, the next push asks the registry for the progress of an
//! upload and continues it, instead of sending everything again. The entry points are [`UploadJournal`] and
//! [`JournalEntry`].
//!
//! The journal is only a hint. Its content selects the upload location to ask, nothing else: the registry reports the
//! offset to continue at, and the digest verifies the entire blob at the end. A problem with a file is therefore
//! reported as [`Event::JournalIgnored`] and is never an error of the push.
//!
//! An upload location is a permission to write. Each upload has its own file with mode 0600, in a directory that only
//! the user and root can change. The file is locked while the upload is in use, so another process that pushes the same
//! blob opens its own upload. Records are appended and the last complete one is valid, so a crash loses at most one
//! record.
//!
//! Known attacks, and the code that stops each of them:
//!
//! - A file of another user, or a link in its place: `open`.
//! - A file about a different registry or blob, or with a location at a different origin: `UploadExtent::matching_upload`.
//! - Oversized, too many or outdated files: [`limits::JOURNAL_FILE`], [`limits::JOURNAL_FILES`],
//!   [`limits::JOURNAL_AGE`].

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use files::ownership::{self, OwnershipError, ResolvedPath};
use reqwest::Url;
use schemas::Digest;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::address::RepositoryPath;
#[cfg(doc)]
use crate::events::Event;
use crate::open_upload::OpenUpload;
use crate::{limits, origin};

/// A directory of journal files. It is not read or created before the first blob that is sent in parts.
#[derive(Debug)]
pub struct UploadJournal {
    directory: PathBuf,
    user: u32,
    now: SystemTime,
    /// Indicates whether the directory is usable, once it was checked.
    prepared: OnceLock<bool>,
}

/// The reason why an upload is not recorded, or why an existing file is ignored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JournalProblem {
    #[error("uploads are not remembered: {0}")]
    Directory(OwnershipError),
    #[error("cannot use `{}`: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("`{}` is not a file that only its user can read and write", .0.display())]
    Foreign(PathBuf),
    #[error("`{}` is damaged, or belongs to another upload", .0.display())]
    Damaged(PathBuf),
    #[error("`{}` is in use by another process", .0.display())]
    Busy(PathBuf),
}

impl JournalProblem {
    fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::Io { path, source }
    }
}

/// The blob of an upload and its destination.
#[derive(Clone, Debug)]
pub(crate) struct UploadSubject<'a> {
    pub(crate) registry: &'a Url,
    pub(crate) repository: &'a RepositoryPath,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
}

impl UploadSubject<'_> {
    fn origin(&self) -> String {
        self.registry.origin().ascii_serialization()
    }

    /// Returns a file name that reveals nothing and is the same in every process.
    fn file_name(&self) -> String {
        let (origin, repository) = (self.origin(), self.repository);
        let (digest, size) = (self.digest, self.size);
        let text = format!("{origin} {repository} {digest} {size}");
        Digest::new(Sha256::digest(text).into()).hex()
    }
}

/// A record of a journal file: the upload and its progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct UploadExtent {
    version: u32,
    registry: String,
    repository: String,
    digest: String,
    size: u64,
    location: String,
    smallest_chunk: u64,
    acknowledged: u64,
    handed: u64,
}

const VERSION: u32 = 1;
/// The permission bits of the group and of other users.
const OTHERS: u32 = 0o077;

/// An upload that an earlier process started.
pub(crate) struct RememberedUpload {
    pub(crate) upload: OpenUpload,
    /// The number of bytes that the registry had acknowledged.
    pub(crate) acknowledged: u64,
    /// The end of the last part that was sent. The registry cannot have more bytes than this.
    pub(crate) handed: u64,
}

impl UploadExtent {
    fn new(subject: &UploadSubject<'_>, known: &RememberedUpload) -> Self {
        Self {
            version: VERSION,
            registry: subject.origin(),
            repository: subject.repository.to_string(),
            digest: subject.digest.to_string(),
            size: subject.size,
            location: known.upload.location.to_string(),
            smallest_chunk: known.upload.smallest_chunk,
            acknowledged: known.acknowledged,
            handed: known.handed,
        }
    }

    /// Returns the upload if it belongs to this subject and its location has the registry's own origin.
    fn matching_upload(&self, subject: &UploadSubject<'_>) -> Option<RememberedUpload> {
        let location = Some(&self.location).filter(|text| text.len() <= limits::LOCATION)?;
        let location = Url::parse(location).ok()?;
        let smallest_chunk = self.smallest_chunk.min(limits::CHUNK_LARGEST);
        let remembered = RememberedUpload {
            upload: OpenUpload {
                location,
                smallest_chunk,
            },
            acknowledged: self.acknowledged,
            handed: self.handed,
        };
        let location = &remembered.upload.location;
        let plain = location.username().is_empty() && location.password().is_none();
        let there = plain && origin::is_same(location, subject.registry);
        let ordered = self.acknowledged <= self.handed && self.handed <= self.size;
        (there && ordered && Self::new(subject, &remembered) == *self).then_some(remembered)
    }
}

impl UploadJournal {
    /// Creates a journal in this directory, which is created when it is needed. The directory and its parents must
    /// belong to the user with this id or to root. `now` determines which files are outdated.
    #[must_use]
    pub fn new(directory: PathBuf, user: u32, now: SystemTime) -> Self {
        Self {
            directory,
            user,
            now,
            prepared: OnceLock::new(),
        }
    }

    /// Returns the locked file of an upload, and the upload that an earlier process recorded in it. Returns `None` if
    /// the upload cannot be recorded. `ignored` receives the reason, and the problem of an existing file that is
    /// ignored.
    pub(crate) fn entry(
        &self,
        subject: &UploadSubject<'_>,
        ignored: &dyn Fn(JournalProblem),
    ) -> Option<(JournalEntry, Option<RememberedUpload>)> {
        let mut first = None;
        let prepared = self.prepared.get_or_init(|| match self.prepare() {
            Ok(()) => true,
            Err(why) => {
                first = Some(why);
                false
            }
        });
        first.into_iter().for_each(ignored);
        if !prepared {
            return None;
        }
        let path = self.path(subject);
        let (file, text) = match self.open(&path) {
            Ok(opened) => opened,
            Err(why) => {
                ignored(why);
                return None;
            }
        };
        let remembered = last_record(&text).and_then(|record| record.matching_upload(subject));
        if remembered.is_none() && !text.is_empty() {
            ignored(JournalProblem::Damaged(path.clone()));
        }
        // An incomplete line, left by a crash, is overwritten: otherwise it would corrupt the next one.
        let length = remembered.as_ref().map_or(0, |_| complete(&text).len());
        let entry = JournalEntry(Arc::new(EntryFile {
            file,
            path,
            length: Mutex::new(length as u64),
        }));
        Some((entry, remembered))
    }

    /// Removes the file of a blob that is stored. Nothing remains to be resumed, not even for another process.
    pub(crate) fn forget(&self, subject: &UploadSubject<'_>) {
        // Usually the file does not exist.
        let _ = fs::remove_file(self.path(subject));
    }

    fn path(&self, subject: &UploadSubject<'_>) -> PathBuf {
        self.directory.join(subject.file_name())
    }

    /// Creates the directory and removes outdated and surplus files.
    fn prepare(&self) -> Result<(), JournalProblem> {
        let io = |source| JournalProblem::io(&self.directory, source);
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&self.directory).map_err(io)?;
        let target = ownership::directory(&self.directory, self.user);
        let ResolvedPath::There(_) = target.map_err(JournalProblem::Directory)? else {
            return Err(io(io::ErrorKind::NotFound.into()));
        };
        let mut there = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(io)?.flatten() {
            let changed = entry.metadata().and_then(|metadata| metadata.modified());
            there.push((changed.unwrap_or(SystemTime::UNIX_EPOCH), entry.path()));
        }
        there.sort();
        let many = there.len().saturating_sub(limits::JOURNAL_FILES);
        for (number, (changed, path)) in there.iter().enumerate() {
            let age = self.now.duration_since(*changed).unwrap_or_default();
            if number < many || age > limits::JOURNAL_AGE {
                self.drop_unused(path);
            }
        }
        Ok(())
    }

    /// Removes a file unless another process has locked it.
    fn drop_unused(&self, path: &Path) {
        if self.open(path).is_ok() {
            let _ = fs::remove_file(path);
        }
    }

    /// Opens or creates a file that only this user can access, and locks it.
    fn open(&self, path: &Path) -> Result<(File, Vec<u8>), JournalProblem> {
        let io = |source| JournalProblem::io(path, source);
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        options.custom_flags(flags.bits().cast_signed());
        let file = options.open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        let alone = metadata.mode() & OTHERS == 0 && metadata.uid() == self.user;
        if !metadata.is_file() || !alone {
            return Err(JournalProblem::Foreign(path.to_owned()));
        }
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => JournalProblem::Busy(path.to_owned()),
            TryLockError::Error(error) => io(error),
        })?;
        // The process that held the lock may have removed the file.
        if file.metadata().map_err(io)?.nlink() != 1 {
            return Err(JournalProblem::Busy(path.to_owned()));
        }
        let mut text = Vec::new();
        let read = (&file).take(limits::JOURNAL_FILE).read_to_end(&mut text);
        read.map_err(io)?;
        Ok((file, text))
    }
}

/// Returns the complete lines.
fn complete(text: &[u8]) -> &[u8] {
    let last = text.iter().rposition(|byte| *byte == b'\n');
    &text[..last.map_or(0, |at| at + 1)]
}

/// Returns the last complete record. An incomplete line, left by a crash or a full disk, is ignored.
fn last_record(text: &[u8]) -> Option<UploadExtent> {
    let mut lines = complete(text).split(|byte| *byte == b'\n').rev();
    lines.find_map(|line| serde_json::from_slice(line).ok())
}

/// The journal file of one upload. It is locked until it is dropped.
#[derive(Clone)]
pub(crate) struct JournalEntry(Arc<EntryFile>);

struct EntryFile {
    file: File,
    path: PathBuf,
    length: Mutex<u64>,
}

impl JournalEntry {
    /// Records that the part that ends at `handed` is about to be sent. If this fails, the upload continues but cannot
    /// be resumed.
    pub(crate) async fn remember(&self, subject: &UploadSubject<'_>, known: &RememberedUpload) {
        let record = UploadExtent::new(subject, known);
        let mut line = serde_json::to_vec(&record).expect("texts and numbers");
        line.push(b'\n');
        let inner = Arc::clone(&self.0);
        // Flushing waits for the disk.
        let _ = tokio::task::spawn_blocking(move || inner.append(&line)).await;
    }

    /// Removes the file because the upload cannot be resumed.
    pub(crate) fn forget(&self) {
        let _ = fs::remove_file(&self.0.path);
    }
}

impl Drop for EntryFile {
    fn drop(&mut self) {
        // A child process that is being started holds the open file, and with it the lock, until it calls `exec`. An
        // explicit unlock releases the lock immediately.
        let _ = self.file.unlock();
    }
}

impl EntryFile {
    fn append(&self, line: &[u8]) -> io::Result<()> {
        let mut length = self.length.lock().expect("no panic while held");
        let mut at = *length;
        if at == 0 || at + line.len() as u64 > limits::JOURNAL_FILE {
            self.file.set_len(0)?;
            at = 0;
        }
        self.file.write_all_at(line, at)?;
        *length = at + line.len() as u64;
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// An upload of which this number of bytes was acknowledged.
    fn known(acknowledged: u64) -> RememberedUpload {
        let location = "http://127.0.0.1:5000/v2/app/blobs/uploads/1";
        RememberedUpload {
            upload: OpenUpload {
                location: location.parse().unwrap(),
                smallest_chunk: 0,
            },
            acknowledged,
            handed: 10,
        }
    }

    #[tokio::test]
    async fn what_a_kill_left_of_a_line_neither_counts_nor_spoils_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let user = rustix::process::geteuid().as_raw();
        let journal = || {
            let now = SystemTime::UNIX_EPOCH;
            UploadJournal::new(directory.path().join("uploads"), user, now)
        };
        let registry = "http://127.0.0.1:5000".parse().unwrap();
        let subject = UploadSubject {
            registry: &registry,
            repository: &"app".parse().unwrap(),
            digest: Digest::new([1; 32]),
            size: 10,
        };
        let found = || journal().entry(&subject, &|why| panic!("{why}")).unwrap();
        let (entry, before) = found();
        assert!(before.is_none());
        entry.remember(&subject, &known(1)).await;
        drop(entry);
        // A complete record without its line feed.
        let record = serde_json::to_vec(&UploadExtent::new(&subject, &known(2))).unwrap();
        let path = journal().path(&subject);
        let file = OpenOptions::new().append(true).open(path);
        file.unwrap().write_all(&record).unwrap();
        let (entry, before) = found();
        assert_eq!(before.unwrap().acknowledged, 1);
        entry.remember(&subject, &known(3)).await;
        drop(entry);
        let (_, before) = found();
        assert_eq!(before.unwrap().acknowledged, 3);
    }
}
