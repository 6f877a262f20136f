//! A tree on the disk that carries a release: what of it is as it was written, and how it becomes the next, all or
//! nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use manifests::ManifestsError;
use schemas::SolutionSource;

use crate::ReleaseError;
use crate::paths::{NOTES, RECORD, SOURCE, is_manifest};
use crate::record::Record;

/// Where the next files are until all are there, and the last ones until all went.
const STAGE: &str = ".solution-update";

/// A tree as it is.
pub(crate) struct Worktree<'a> {
    directory: &'a Path,
    pub(crate) record: Record,
    /// The text of `solution.yaml`, and what it says.
    pub(crate) text: String,
    pub(crate) source: SolutionSource,
    /// The recorded files that are there, and those that every tree has.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

/// What was changed on the disk.
#[derive(Default)]
pub(crate) struct Swapped {
    pub(crate) written: Vec<PathBuf>,
    pub(crate) removed: Vec<PathBuf>,
}

impl<'a> Worktree<'a> {
    /// Reads a tree, and refuses one whose release was edited in place.
    pub(crate) fn read(directory: &'a Path) -> Result<Self, ReleaseError> {
        let read = |path: &str| match files::read(
            &directory.join(path),
            schemas::limits::YAML_STREAM_SIZE,
        ) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(ManifestsError::from(error)),
        };
        let not_made = || ReleaseError::NotMade(directory.to_owned());
        let record = read(RECORD)?.ok_or_else(not_made)?;
        let record = Record::from_slice(&record).ok_or_else(not_made)?;
        let text = read(SOURCE)?.ok_or_else(not_made)?;
        let source = SolutionSource::from_slice(&text).map_err(ReleaseError::Source)?;
        let mut files = BTreeMap::new();
        let recorded = record.files.keys().map(String::as_str);
        for path in recorded.chain([NOTES, SOURCE, RECORD]) {
            files.extend(read(path)?.map(|bytes| (path.to_owned(), bytes)));
        }
        let tree = Self {
            directory,
            record,
            text: String::from_utf8_lossy(&text).into_owned(),
            source,
            files,
        };
        match tree.edited() {
            edited if edited.is_empty() => Ok(tree),
            edited => Err(ReleaseError::Edited(edited)),
        }
    }

    /// The release's files that are not as they were written.
    fn edited(&self) -> Vec<String> {
        let recorded = self.record.files.iter();
        let edited = recorded.filter(|(path, digest)| {
            let now = self.files.get(*path);
            is_manifest(path) && now.is_some_and(|now| files::digest(now) != **digest)
        });
        edited.map(|(path, _)| path.clone()).collect()
    }

    /// The files of the next release, without those that were taken out of the last one.
    pub(crate) fn wanted(&self, next: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
        let taken_out =
            |path: &str| self.record.files.contains_key(path) && !self.files.contains_key(path);
        let wanted = next.iter().filter(|(path, _)| !taken_out(path));
        wanted
            .map(|(path, bytes)| (path.clone(), bytes.clone()))
            .collect()
    }

    /// The notes, if somebody wrote into them: what was ticked off stays.
    pub(crate) fn own_notes(&self) -> Option<Vec<u8>> {
        let now = self.files.get(NOTES)?;
        let recorded = self.record.files.get(NOTES);
        (recorded != Some(&files::digest(now))).then(|| now.clone())
    }

    /// Makes these the files of the tree, in the place of those that were read. A failure leaves the tree as it was.
    pub(crate) fn replace(&self, next: BTreeMap<String, Vec<u8>>) -> Result<Swapped, ReleaseError> {
        let in_the_way = next.keys().filter(|path| {
            let there = self.directory.join(path).symlink_metadata().is_ok();
            there && !self.files.contains_key(*path)
        });
        let in_the_way: Vec<String> = in_the_way.cloned().collect();
        if !in_the_way.is_empty() {
            return Err(ReleaseError::Edited(in_the_way));
        }
        let gone = self.files.keys().filter(|path| !next.contains_key(*path));
        let gone: Vec<String> = gone.cloned().collect();
        let mut next = next;
        next.retain(|path, bytes| self.files.get(path) != Some(bytes));
        let stage = self.directory.join(STAGE);
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| ReleaseError::Write { path, source }
        };
        fs::create_dir(&stage).map_err(failed(&stage))?;
        let mut swap = Swap {
            directory: self.directory,
            stage: &stage,
            done: Vec::new(),
        };
        if let Err(error) = swap.all(&next, &gone) {
            if swap.undo().is_ok() {
                let _ = fs::remove_dir_all(&stage);
            }
            return Err(error);
        }
        // If it stays, the next update names it.
        let _ = fs::remove_dir_all(&stage);
        for path in &gone {
            let above = Path::new(path).ancestors().skip(1);
            for directory in above.filter(|above| !above.as_os_str().is_empty()) {
                let _ = fs::remove_dir(self.directory.join(directory));
            }
        }
        let paths = |paths: Vec<String>| paths.iter().map(|it| self.directory.join(it)).collect();
        Ok(Swapped {
            written: paths(next.into_keys().collect()),
            removed: paths(gone),
        })
    }
}

/// Files on their way: the next are written beside the tree, then take the places of the last.
struct Swap<'a> {
    directory: &'a Path,
    stage: &'a Path,
    /// From where to where files were moved.
    done: Vec<(PathBuf, PathBuf)>,
}

impl Swap<'_> {
    fn all(
        &mut self,
        next: &BTreeMap<String, Vec<u8>>,
        gone: &[String],
    ) -> Result<(), ReleaseError> {
        let (coming, going) = (self.stage.join("next"), self.stage.join("last"));
        for (path, bytes) in next {
            let path = coming.join(path);
            files::create(&path, bytes).map_err(|source| ReleaseError::Write { path, source })?;
        }
        for path in next.keys().chain(gone) {
            let target = self.directory.join(path);
            if target.symlink_metadata().is_ok() {
                self.rename(target.clone(), going.join(path))?;
            }
            if next.contains_key(path) {
                self.rename(coming.join(path), target)?;
            }
        }
        Ok(())
    }

    fn rename(&mut self, from: PathBuf, to: PathBuf) -> Result<(), ReleaseError> {
        let parent = to.parent().map_or(Ok(()), fs::create_dir_all);
        let renamed: io::Result<()> = parent.and_then(|()| fs::rename(&from, &to));
        renamed.map_err(|source| ReleaseError::Write {
            path: to.clone(),
            source,
        })?;
        self.done.push((from, to));
        Ok(())
    }

    /// Puts everything back, the last first. What cannot be put back stays where it is, for a person to find.
    fn undo(&mut self) -> io::Result<()> {
        let moved = std::mem::take(&mut self.done);
        let mut back = moved.iter().rev();
        back.try_for_each(|(from, to)| fs::rename(to, from))
    }
}
