//! Writing a conversion to the disk, completely or not at all. [`Conversion::write`] writes into a temporary directory
//! and moves the result at the end. If the process is killed, the target never has a `solution.yaml` without the rest.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use iso9660::ReadAt;
use progress::{Progress, Watch};
use schemas::Digest;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::UpstreamError;
use super::contents::{ImageFile, UpstreamContents};
use crate::SourceTree;
use crate::paths::SOURCE;
use crate::tree::{check_empty, parent};

/// The number of bytes that are read, hashed and written at a time. It bounds how long a cancellation takes.
const PIECE: usize = 1 << 20;

/// A drafted source tree, whose images are still in the archive.
#[expect(missing_debug_implementations, reason = "a medium has nothing to show")]
pub struct Conversion<'a> {
    /// The tree, without the images' files.
    pub tree: SourceTree,
    medium: &'a dyn ReadAt,
    files: Vec<ImageFile>,
}

impl<'a> Conversion<'a> {
    pub(super) fn new(
        tree: SourceTree,
        medium: &'a dyn ReadAt,
        contents: UpstreamContents,
    ) -> Self {
        Self {
            tree,
            medium,
            files: contents.images.into_values().flatten().collect(),
        }
    }

    /// Writes the tree and its images into an empty or new directory. Returns the paths of the files, and of the images
    /// the paths of their directories.
    ///
    /// Hard links in the archive stay hard links if the file system supports them. Nothing is visible in the directory
    /// before everything is written.
    ///
    /// # Errors
    ///
    /// Fails if a blob does not have its digest, if reading or writing fails, and if the user cancels.
    pub fn write(
        &self,
        directory: &Path,
        watch: &Watch<'_, Progress>,
    ) -> Result<Vec<PathBuf>, UpstreamError> {
        check_empty(directory)?;
        let failed = |source| UpstreamError::Write(directory.to_owned(), source);
        let place = Place::of(directory);
        let temporary = place.temporary().map_err(failed)?;
        let written = self.tree.write(temporary.path())?;
        self.copy(temporary.path(), watch)?;
        let images = self.tree.source.spec.images.iter();
        let places = images.map(|image| archive::image_directory(&image.place()));
        let places = places.map(|place| directory.join(place.as_str()));
        let texts = written.iter().map(|path| {
            let below = path.strip_prefix(temporary.path());
            directory.join(below.unwrap_or(path))
        });
        let written = texts.chain(places).collect();
        watch.cancel.go_on()?;
        place.put(temporary).map_err(failed)?;
        Ok(written)
    }

    fn copy(&self, directory: &Path, watch: &Watch<'_, Progress>) -> Result<(), UpstreamError> {
        let total = self.files.iter().map(|file| file.entry.size).sum();
        let mut copied = HashMap::new();
        let mut pieces = Pieces {
            watch,
            progress: Progress { done: 0, total },
            buffer: vec![0; PIECE],
        };
        for file in &self.files {
            let path = directory.join(&file.entry.path);
            let failed = |source| UpstreamError::Write(path.clone(), source);
            if let Some(above) = path.parent() {
                fs::create_dir_all(above).map_err(failed)?;
            }
            let first = file.entry.extents.first();
            let content = first.map(|extent| (extent.offset, file.entry.size, file.digest));
            if let Some(same) = content.and_then(|content| copied.get(&content))
                && fs::hard_link(same, &path).is_ok()
            {
                pieces.pass(file.entry.size)?;
                continue;
            }
            pieces.copy(self.medium, file, &path)?;
            copied.extend(content.map(|content| (content, path)));
        }
        Ok(())
    }
}

/// The target of a conversion.
enum Place<'a> {
    /// An existing directory. It is kept, because it can be a mount point or the working directory of a process.
    There(&'a Path),
    /// A path that does not exist yet.
    Free(&'a Path),
}

impl<'a> Place<'a> {
    fn of(directory: &'a Path) -> Self {
        if directory.exists() {
            Self::There(directory)
        } else {
            Self::Free(directory)
        }
    }

    /// Creates a temporary directory on the same file system, so that a rename can move its content.
    fn temporary(&self) -> io::Result<TempDir> {
        let within = match self {
            Self::There(directory) => directory,
            Self::Free(directory) => parent(directory),
        };
        fs::create_dir_all(within)?;
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(".solution-").suffix(".part");
        let builder = builder.permissions(Permissions::from_mode(0o777));
        // Only the kind of the error is kept: `tempfile` adds the temporary path, which means nothing to the user.
        let made = builder.tempdir_in(within);
        made.map_err(|error| error.kind().into())
    }

    /// Moves the temporary directory or its entries to the target.
    fn put(&self, temporary: TempDir) -> io::Result<()> {
        match self {
            Self::Free(directory) => {
                fs::rename(temporary.path(), directory)?;
                // The directory has been moved, so the guard must not remove it.
                let _ = temporary.keep();
                Ok(())
            }
            Self::There(directory) => {
                let entries = fs::read_dir(temporary.path())?;
                let names = entries.map(|entry| Ok(entry?.file_name()));
                let mut names: Vec<OsString> = names.collect::<io::Result<_>>()?;
                // `solution.yaml` is moved last: without it, the directory is not a source tree.
                names.sort_by_key(|name| name == SOURCE);
                names.iter().try_for_each(|name| {
                    fs::rename(temporary.path().join(name), directory.join(name))
                })
            }
        }
    }
}

/// A copy in pieces, with its progress.
struct Pieces<'a> {
    watch: &'a Watch<'a, Progress>,
    progress: Progress,
    buffer: Vec<u8>,
}

impl Pieces<'_> {
    /// Copies one file, and checks its digest.
    fn copy(
        &mut self,
        medium: &dyn ReadAt,
        file: &ImageFile,
        path: &Path,
    ) -> Result<(), UpstreamError> {
        let failed = |source| UpstreamError::Write(path.to_owned(), source);
        let mut out = File::create_new(path).map_err(failed)?;
        let mut hash = Sha256::new();
        for extent in &file.entry.extents {
            let end = extent.offset + extent.size;
            for offset in (extent.offset..end).step_by(PIECE) {
                let len = usize::try_from(end - offset).map_or(PIECE, |left| left.min(PIECE));
                let piece = &mut self.buffer[..len];
                let read = medium.read_exact_at(piece, offset);
                read.map_err(|source| UpstreamError::Read(file.entry.path.clone(), source))?;
                hash.update(&*piece);
                out.write_all(piece).map_err(failed)?;
                self.pass(len as u64)?;
            }
        }
        let found = Digest::new(hash.finalize().into());
        if file.digest.is_some_and(|digest| digest != found) {
            return Err(UpstreamError::Damaged {
                path: file.entry.path.clone(),
                found,
            });
        }
        Ok(())
    }

    /// Reports progress, and fails if the user has cancelled.
    fn pass(&mut self, bytes: u64) -> Result<(), UpstreamError> {
        self.progress.done += bytes;
        (self.watch.tell)(self.progress);
        self.watch.cancel.go_on()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_half_way_in_a_directory_that_is_there_is_no_tree() {
        let directory = tempfile::tempdir().unwrap();
        // Another process has created this directory in the meantime.
        fs::create_dir_all(directory.path().join("images/other")).unwrap();
        let temporary = tempfile::tempdir_in(directory.path()).unwrap();
        fs::create_dir_all(temporary.path().join("images/app")).unwrap();
        fs::write(temporary.path().join(SOURCE), "").unwrap();
        Place::of(directory.path()).put(temporary).unwrap_err();
        assert!(!directory.path().join(SOURCE).exists());
        assert!(directory.path().join("images/other").exists());
    }
}
