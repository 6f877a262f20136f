//! A conversion on the disk: all of it, or nothing.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use iso9660::ReadAt;
use schemas::Digest;
use sha2::{Digest as _, Sha256};
use watch::{Progress, Watch};

use super::UpstreamError;
use super::contents::{ImageFile, UpstreamContents};
use crate::SourceTree;
use crate::tree;

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
    /// one where the file system can. Gives the paths written, of images their directories. When one cannot be written, all
    /// that were are removed.
    pub fn write(
        &self,
        directory: &Path,
        watch: &Watch<'_, Progress>,
    ) -> Result<Vec<PathBuf>, UpstreamError> {
        let mut written = self.tree.write(directory)?;
        if let Err(error) = self.copy(directory, watch) {
            let texts = self.tree.files.keys().map(String::as_str);
            let images = self.files.iter().map(|file| file.entry.path.as_str());
            tree::undo(directory, texts.chain(images));
            return Err(error);
        }
        let images = self.tree.source.spec.images.iter();
        let places = images.map(|image| archive::image_directory(&image.place()));
        written.extend(places.map(|place| directory.join(place.as_str())));
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
