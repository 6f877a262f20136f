//! Extraction of files into a directory, under their paths in the archive: [`ListedArchive::extract`].
//!
//! Nothing is written outside of the directory. Each component of a path is opened relative to its opened parent, and
//! symbolic links are never followed. The paths themselves cannot leave the directory ([`schemas::ArchivePath`]).
//! Conflicting files are found before anything is written. A file gets its name only after its content was verified.
//! If the extraction is interrupted, every name therefore belongs to a complete file, and another run does the rest.
//!
//! A content that multiple files share is stored once, as in the archive: the other files become hard links if the file
//! system supports them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use progress::{Progress, Watch};
use rustix::fs::{AtFlags, FallocateFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use schemas::{ArchivePath, ContentsEntry, Digest};
use sha2::{Digest as _, Sha256};

use crate::error::{BlockedPath, ExtractError, PathBlocker};
use crate::write::{Overwrite, begin_writeback};
use crate::{ListedArchive, limits};

/// The mode of created files, before the umask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o644);
/// The mode of created directories, before the umask.
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o755);
/// The number of temporary names to try. Each name that is taken belongs to a concurrent or a killed extraction.
const PARTS: u32 = 1000;

/// The result of an extraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtractReport {
    /// Files that were written.
    pub written: usize,
    /// Bytes of the written files.
    pub bytes: u64,
    /// Files that became hard links to a file with the same content.
    pub linked: usize,
    /// Files that already existed with the content of the archive.
    pub kept: usize,
}

impl ListedArchive {
    /// Writes the files below a directory, which is created if it does not exist.
    pub fn extract(
        &self,
        files: &[ContentsEntry],
        target: &Path,
        overwrite: Overwrite,
        watch: &Watch<'_, Progress>,
    ) -> Result<ExtractReport, ExtractError> {
        let failed = |source| ExtractError::Target(target.to_owned(), source);
        std::fs::create_dir_all(target).map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(target, flags, Mode::empty());
        let mut extraction = Extraction {
            listed: self,
            root: root.map_err(|error| failed(error.into()))?,
            target,
            overwrite,
            watch,
            progress: Progress { done: 0, total: 0 },
            done: ExtractReport::default(),
        };
        let contents = extraction.find_wanted_contents(files)?;
        extraction.check_room(&contents)?;
        for content in &contents {
            extraction.write_content(content)?;
        }
        // A single sync for all files suffices: an interrupted extraction is completed by another run, which verifies
        // every file that it finds.
        rustix::fs::syncfs(&extraction.root).map_err(|error| failed(error.into()))?;
        Ok(extraction.done)
    }
}

/// The identity of a file on the disk, independent of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileNumber {
    device: u64,
    inode: u64,
}

impl From<Stat> for FileNumber {
    fn from(stat: Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
        }
    }
}

/// The kind of entry at the path of a file.
#[derive(Clone, Copy, Debug)]
enum ExistingEntry {
    Nothing,
    /// A file of the same size, whose content is not yet known.
    Candidate,
    /// A file with the listed content.
    Same(FileNumber),
    /// A file with other content.
    Other,
}

/// A content, and the files that shall have it.
#[derive(Debug)]
struct WantedContent<'a> {
    size: u64,
    files: Vec<WantedFile<'a>>,
}

#[derive(Debug)]
struct WantedFile<'a> {
    entry: &'a ContentsEntry,
    there: ExistingEntry,
}

impl WantedContent<'_> {
    /// Returns a file that already has the content.
    fn find_existing(&self) -> Option<NamedFile<'_>> {
        let mut files = self.files.iter();
        files.find_map(|file| match file.there {
            ExistingEntry::Same(number) => Some(NamedFile {
                path: &file.entry.path,
                number,
            }),
            _ => None,
        })
    }
}

/// A verified file and one of its names.
#[derive(Clone, Copy, Debug)]
struct NamedFile<'a> {
    path: &'a ArchivePath,
    number: FileNumber,
}

struct Extraction<'a> {
    listed: &'a ListedArchive,
    root: OwnedFd,
    target: &'a Path,
    overwrite: Overwrite,
    watch: &'a Watch<'a, Progress>,
    progress: Progress,
    done: ExtractReport,
}

impl Extraction<'_> {
    /// Inspects the path of every file and fails if existing entries block any of them. Returns the contents in the
    /// order of their offsets on the medium.
    fn find_wanted_contents<'f>(
        &mut self,
        files: &'f [ContentsEntry],
    ) -> Result<Vec<WantedContent<'f>>, ExtractError> {
        let mut contents: BTreeMap<(u64, Digest), WantedContent<'f>> = BTreeMap::new();
        let mut obstructions = Vec::new();
        for entry in files {
            let path = entry.path.as_str();
            let there = self.inspect_path(entry)?.unwrap_or_else(|why| {
                let path = self.target.join(path);
                obstructions.push(BlockedPath { path, why });
                ExistingEntry::Other
            });
            let offset = self
                .listed
                .plan
                .extent_of(path)
                .map_or(0, |extent| extent.offset);
            let content = contents.entry((offset, entry.digest));
            let content = content.or_insert_with(|| WantedContent {
                size: entry.size,
                files: Vec::new(),
            });
            content.files.push(WantedFile { entry, there });
        }
        let mut contents: Vec<_> = contents.into_values().collect();
        // Progress counts each content once for writing, and once for each existing file that is compared with it.
        let read = |content: &WantedContent| {
            let files = content.files.iter();
            let candidates = files.filter(|file| matches!(file.there, ExistingEntry::Candidate));
            content.size * (1 + candidates.count() as u64)
        };
        self.progress.total = contents.iter().map(read).sum();
        for file in contents.iter_mut().flat_map(|content| &mut content.files) {
            if let ExistingEntry::Candidate = file.there {
                file.there = self.compare(file.entry)?;
            }
            if let (ExistingEntry::Other, Overwrite::Refuse) = (file.there, self.overwrite) {
                let path = self.target.join(file.entry.path.as_str());
                let why = PathBlocker::OtherContent;
                obstructions.push(BlockedPath { path, why });
            }
        }
        obstructions.sort_by(|a, b| a.path.cmp(&b.path));
        // A file that is blocked by the kind of an entry is also counted as one with other content. The first reason is
        // kept.
        obstructions.dedup_by(|a, b| a.path == b.path);
        if obstructions.is_empty() {
            return Ok(contents);
        }
        Err(ExtractError::InTheWay(obstructions))
    }

    /// Returns the kind of entry at the path of a file without reading its content.
    fn inspect_path(
        &self,
        entry: &ContentsEntry,
    ) -> Result<Result<ExistingEntry, PathBlocker>, ExtractError> {
        let directory = match self.directory_of(&entry.path, MissingDirectory::Leave)? {
            Ok(Some(directory)) => directory,
            Ok(None) => return Ok(Ok(ExistingEntry::Nothing)),
            Err(why) => return Ok(Err(why)),
        };
        let name = name_of(&entry.path);
        match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(Ok(ExistingEntry::Nothing)),
            Err(error) => Err(self.failed(entry, error.into())),
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile => {
                Ok(Err(PathBlocker::NotAFile))
            }
            Ok(stat) if u64::try_from(stat.st_size) == Ok(entry.size) => {
                Ok(Ok(ExistingEntry::Candidate))
            }
            Ok(_) => Ok(Ok(ExistingEntry::Other)),
        }
    }

    /// Compares the content of an existing file with the listed one.
    fn compare(&mut self, entry: &ContentsEntry) -> Result<ExistingEntry, ExtractError> {
        let Ok(Some(directory)) = self.directory_of(&entry.path, MissingDirectory::Leave)? else {
            return Ok(ExistingEntry::Nothing);
        };
        // The file may have been replaced meanwhile: opening must neither follow a link nor block, as a named pipe
        // would.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let name = name_of(&entry.path);
        let file = rustix::fs::openat(&directory, name, flags, Mode::empty());
        let mut file = File::from(file.map_err(|error| self.failed(entry, error.into()))?);
        let number = self.number(entry, &file)?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; limits::BUFFER];
        let mut left = entry.size;
        while left > 0 {
            let length =
                usize::try_from(left).map_or(limits::BUFFER, |left| left.min(limits::BUFFER));
            let read = file.read_exact(&mut buffer[..length]);
            read.map_err(|source| self.failed(entry, source))?;
            hasher.update(&buffer[..length]);
            left -= length as u64;
            self.advance(length as u64)?;
        }
        if Digest::new(hasher.finalize().into()) == entry.digest {
            return Ok(ExistingEntry::Same(number));
        }
        Ok(ExistingEntry::Other)
    }

    /// Fails if the file system has too little free space for the missing contents. A file system that does not report
    /// its free space passes.
    fn check_room(&self, contents: &[WantedContent<'_>]) -> Result<(), ExtractError> {
        let missing = contents
            .iter()
            .filter(|content| content.find_existing().is_none());
        let needed: u64 = missing.map(|content| content.size).sum();
        match rustix::fs::fstatvfs(&self.root) {
            Ok(disk) if disk.f_bavail.saturating_mul(disk.f_frsize) < needed => {
                Err(ExtractError::NoRoom {
                    target: self.target.to_owned(),
                    needed,
                    free: disk.f_bavail.saturating_mul(disk.f_frsize),
                })
            }
            _ => Ok(()),
        }
    }

    /// Creates each file of a content, except for those that already have it.
    fn write_content(&mut self, content: &WantedContent<'_>) -> Result<(), ExtractError> {
        let mut source = content.find_existing();
        for WantedFile { entry, there } in &content.files {
            if let ExistingEntry::Same(_) = there {
                self.done.kept += 1;
                continue;
            }
            let directory = match self.directory_of(&entry.path, MissingDirectory::Make)? {
                Ok(Some(directory)) => directory,
                Ok(None) => unreachable!("a created directory exists"),
                Err(why) => return Err(self.obstructed(entry, why)),
            };
            let linked = source.map_or(Ok(None), |source| self.link(source, entry, &directory))?;
            if let Some(part) = linked {
                self.name(part, entry)?;
                self.done.linked += 1;
                continue;
            }
            let (part, number) = self.write(entry, &directory)?;
            self.name(part, entry)?;
            self.done.written += 1;
            self.done.bytes += entry.size;
            // Further files with this content become links to this one.
            source = Some(NamedFile {
                path: &entry.path,
                number,
            });
        }
        Ok(())
    }

    /// Hard-links a verified file under a temporary name. Returns none if links are not possible, or if the name now
    /// belongs to another file.
    fn link<'d>(
        &self,
        source: NamedFile<'_>,
        entry: &ContentsEntry,
        directory: &'d OwnedFd,
    ) -> Result<Option<PartFile<'d>>, ExtractError> {
        let Ok(Some(from)) = self.directory_of(source.path, MissingDirectory::Leave)? else {
            return Ok(None);
        };
        let link = |name: &str| {
            rustix::fs::linkat(
                &from,
                name_of(source.path),
                directory,
                name,
                AtFlags::empty(),
            )
        };
        // Links fail if the file has too many names, if the target is on another file system, if the file system does
        // not support them, or if the source was deleted. The content is then written instead.
        let Ok((part, ())) = PartFile::make(directory, link) else {
            return Ok(None);
        };
        let found = rustix::fs::statat(directory, &*part.name, AtFlags::SYMLINK_NOFOLLOW);
        let found = found.map_err(|error| self.failed(entry, error.into()))?;
        Ok((FileNumber::from(found) == source.number).then_some(part))
    }

    /// Writes a file under a temporary name and verifies it on the way.
    fn write<'d>(
        &mut self,
        entry: &ContentsEntry,
        directory: &'d OwnedFd,
    ) -> Result<(PartFile<'d>, FileNumber), ExtractError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let open = |name: &str| rustix::fs::openat(directory, name, flags, FILE_MODE);
        let made = PartFile::make(directory, open);
        let (part, file) = made.map_err(|error| self.failed(entry, error.into()))?;
        let mut file = File::from(file);
        if entry.size > 0 {
            match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, entry.size) {
                // Without a reservation, a full disk is reported when the data is written.
                Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
                Err(error) => return Err(self.failed(entry, error.into())),
            }
        }
        let mut pieces = self.listed.pieces(entry.path.as_str())?;
        let mut position = 0;
        while let Some(piece) = pieces.piece()? {
            let length = piece.len() as u64;
            let written = file.write_all(piece);
            written.map_err(|source| self.failed(entry, source))?;
            begin_writeback(&file, 0, position..position + length, entry.size);
            position += length;
            self.advance(length)?;
        }
        let number = self.number(entry, &file)?;
        Ok((part, number))
    }

    /// Renames a temporary file to its name atomically.
    fn name(&self, part: PartFile<'_>, entry: &ContentsEntry) -> Result<(), ExtractError> {
        match part.rename(name_of(&entry.path), self.overwrite) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(self.obstructed(entry, PathBlocker::OtherContent)),
            Err(Errno::ISDIR) => Err(self.obstructed(entry, PathBlocker::NotAFile)),
            Err(error) => Err(self.failed(entry, error.into())),
        }
    }

    /// Opens the parent directory of a file, component by component. Returns none if a component does not exist and
    /// shall not be created.
    fn directory_of(
        &self,
        path: &ArchivePath,
        missing: MissingDirectory,
    ) -> Result<Result<Option<OwnedFd>, PathBlocker>, ExtractError> {
        let failed =
            |error: Errno| ExtractError::Target(self.target.join(path.as_str()), error.into());
        let mut directory = self.root.try_clone();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut names: Vec<&str> = path.components().collect();
        names.pop();
        for name in names {
            let parent =
                directory.map_err(|source| ExtractError::Target(self.target.to_owned(), source))?;
            if missing == MissingDirectory::Make {
                match rustix::fs::mkdirat(&parent, name, DIRECTORY_MODE) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
            match rustix::fs::openat(&parent, name, flags, Mode::empty()) {
                Ok(opened) => directory = Ok(opened),
                Err(Errno::NOENT) if missing == MissingDirectory::Leave => return Ok(Ok(None)),
                Err(Errno::NOTDIR | Errno::LOOP) => return Ok(Err(PathBlocker::NotADirectory)),
                Err(error) => return Err(failed(error)),
            }
        }
        let directory =
            directory.map_err(|source| ExtractError::Target(self.target.to_owned(), source));
        Ok(Ok(Some(directory?)))
    }

    fn number(&self, entry: &ContentsEntry, file: impl AsFd) -> Result<FileNumber, ExtractError> {
        let stat = rustix::fs::fstat(file);
        stat.map(FileNumber::from)
            .map_err(|error| self.failed(entry, error.into()))
    }

    fn failed(&self, entry: &ContentsEntry, source: io::Error) -> ExtractError {
        ExtractError::Target(self.target.join(entry.path.as_str()), source)
    }

    fn obstructed(&self, entry: &ContentsEntry, why: PathBlocker) -> ExtractError {
        let path = self.target.join(entry.path.as_str());
        ExtractError::InTheWay(vec![BlockedPath { path, why }])
    }

    fn advance(&mut self, bytes: u64) -> Result<(), ExtractError> {
        self.progress.done += bytes;
        (self.watch.tell)(self.progress);
        Ok(self.watch.cancel.go_on()?)
    }
}

/// The treatment of a directory that does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingDirectory {
    Leave,
    Make,
}

fn name_of(path: &ArchivePath) -> &str {
    path.components().next_back().unwrap_or_default()
}

/// A file with a temporary name in its final directory. It is deleted on drop unless it is renamed.
struct PartFile<'d> {
    directory: &'d OwnedFd,
    name: String,
}

impl<'d> PartFile<'d> {
    /// Creates a file under an unused temporary name.
    fn make<T>(
        directory: &'d OwnedFd,
        create: impl Fn(&str) -> rustix::io::Result<T>,
    ) -> rustix::io::Result<(Self, T)> {
        let mut failed = Errno::EXIST;
        for number in 0..PARTS {
            let name = format!(".solution-{number}.part");
            match create(&name) {
                Ok(made) => return Ok((Self { directory, name }, made)),
                Err(Errno::EXIST) => {}
                Err(error) => {
                    failed = error;
                    break;
                }
            }
        }
        Err(failed)
    }

    fn rename(mut self, name: &str, overwrite: Overwrite) -> rustix::io::Result<()> {
        let (directory, part) = (self.directory, &*self.name);
        let renamed = match overwrite {
            Overwrite::Replace => rustix::fs::renameat(directory, part, directory, name),
            Overwrite::Refuse => {
                let flags = RenameFlags::NOREPLACE;
                match rustix::fs::renameat_with(directory, part, directory, name, flags) {
                    // File systems without an atomic no-replace rename can still link without replacing. `drop` removes
                    // the temporary name.
                    Err(Errno::INVAL | Errno::NOSYS) => {
                        let flags = AtFlags::empty();
                        return rustix::fs::linkat(directory, part, directory, name, flags);
                    }
                    renamed => renamed,
                }
            }
        };
        if renamed.is_ok() {
            // The temporary name is free again, and another process may use it: `drop` must not delete it.
            self.name.clear();
        }
        renamed
    }
}

impl Drop for PartFile<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            let _ = rustix::fs::unlinkat(self.directory, &*self.name, AtFlags::empty());
        }
    }
}
