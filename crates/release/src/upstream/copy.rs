//! A conversion on the disk: all of it, or nothing. It is made where nobody takes it for a tree, and gets its place when it is
//! whole. A program that is killed leaves no part of it there that has a solution.yaml.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use iso9660::ReadAt;
use schemas::Digest;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use watch::{Progress, Watch};

use super::UpstreamError;
use super::contents::{ImageFile, UpstreamContents};
use crate::SourceTree;
use crate::paths::SOURCE;
use crate::tree::{check_empty, parent};

/// Bytes that are read, hashed and written at a time: enough for any medium, and what the end waits for.
const PIECE: usize = 1 << 20;

/// A source tree whose images still lie in the archive.
#[expect(missing_debug_implementations, reason = "a medium has nothing to show")]
pub struct Conversion<'a> {
    /// The tree, without the images' own files.
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

    /// Writes the tree with its images into a directory that is empty or not there. Files that are one in the archive stay
    /// one where the file system can. Gives the paths written, of images their directories. Until all of it is
    /// there, the directory is as it was.
    pub fn write(
        &self,
        directory: &Path,
        watch: &Watch<'_, Progress>,
    ) -> Result<Vec<PathBuf>, UpstreamError> {
        check_empty(directory)?;
        let failed = |source| UpstreamError::Write {
            path: directory.to_owned(),
            source,
        };
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
            let failed = |source| UpstreamError::Write {
                path: path.clone(),
                source,
            };
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

/// Where a tree is to be.
enum Place<'a> {
    /// A directory that is there, which can be a mount or the one that somebody works in, and so stays.
    There(&'a Path),
    /// None yet.
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

    /// A directory on the same file system.
    fn temporary(&self) -> io::Result<TempDir> {
        let within = match self {
            Self::There(directory) => directory,
            Self::Free(directory) => parent(directory),
        };
        fs::create_dir_all(within)?;
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(".solution-").suffix(".part");
        let builder = builder.permissions(Permissions::from_mode(0o777));
        // Its kind only: `tempfile` adds a path that nobody chose to the rest.
        let made = builder.tempdir_in(within);
        made.map_err(|error| error.kind().into())
    }

    /// Moves there what was made.
    fn put(&self, temporary: TempDir) -> io::Result<()> {
        match self {
            Self::Free(directory) => {
                fs::rename(temporary.path(), directory)?;
                // It is where it is to be, and there is nothing left to remove.
                let _ = temporary.keep();
                Ok(())
            }
            Self::There(directory) => {
                let entries = fs::read_dir(temporary.path())?;
                let names = entries.map(|entry| Ok(entry?.file_name()));
                let mut names: Vec<OsString> = names.collect::<io::Result<_>>()?;
                // Without it nobody takes the directory for a tree.
                names.sort_by_key(|name| name == SOURCE);
                names.iter().try_for_each(|name| {
                    fs::rename(temporary.path().join(name), directory.join(name))
                })
            }
        }
    }
}

/// What is copied piece by piece, and told.
struct Pieces<'a> {
    watch: &'a Watch<'a, Progress>,
    progress: Progress,
    buffer: Vec<u8>,
}

impl Pieces<'_> {
    /// Copies one file, which must have its digest.
    fn copy(
        &mut self,
        medium: &dyn ReadAt,
        file: &ImageFile,
        path: &Path,
    ) -> Result<(), UpstreamError> {
        let failed = |source| UpstreamError::Write {
            path: path.to_owned(),
            source,
        };
        let mut out = File::create_new(path).map_err(failed)?;
        let mut hash = Sha256::new();
        for extent in &file.entry.extents {
            let end = extent.offset + extent.size;
            for offset in (extent.offset..end).step_by(PIECE) {
                let len = usize::try_from(end - offset).map_or(PIECE, |left| left.min(PIECE));
                let piece = &mut self.buffer[..len];
                let read = medium.read_exact_at(piece, offset);
                read.map_err(|source| UpstreamError::Read {
                    path: file.entry.path.clone(),
                    source,
                })?;
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

    /// Tells that so many bytes more are there, and goes on unless the end was asked for.
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
        // Somebody else has made it meanwhile.
        fs::create_dir_all(directory.path().join("images/other")).unwrap();
        let temporary = tempfile::tempdir_in(directory.path()).unwrap();
        fs::create_dir_all(temporary.path().join("images/app")).unwrap();
        fs::write(temporary.path().join(SOURCE), "").unwrap();
        Place::of(directory.path()).put(temporary).unwrap_err();
        assert!(!directory.path().join(SOURCE).exists());
        assert!(directory.path().join("images/other").exists());
    }
}
