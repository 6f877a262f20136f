//! A bounded reader for images of any tool: [`read_tree`]. It uses Rock Ridge names if the image has them, otherwise
//! Joliet names, otherwise those of the primary tree.
//!
//! All input is treated as hostile. These are the known attacks and the defences:
//! - Directories that contain themselves or share records: the sector of a directory is visited only once (`walk`).
//! - Endless trees and continuation areas, large totals of names: they are counted against [`Limits`].
//! - Extents outside of the image: every extent is checked before it is read or reported.
//! - Names that escape from the directory or that readers interpret differently (`..`, separators, control characters,
//!   duplicate names, byte orders that disagree): they are refused with an error that names the entry.
//! - Features that change the meaning of a file's bytes (interleaving, extended attributes, compression): refused.
//!
//! No function is recursive, and numbers are checked before they are added.

mod identity;
mod medium;
mod record;
mod susp;
mod volume;
mod walk;

use std::io;

use crate::ReadAt;
use crate::limits::Limits;

/// The source of an image's file names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameSource {
    /// Rock Ridge's NM in the primary tree.
    RockRidge,
    /// The Joliet tree.
    Joliet,
    /// The identifiers of the primary tree, without version numbers.
    Primary,
}

/// The fields of the primary volume descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeInfo {
    /// The volume identifier without trailing spaces; bytes that are not printable ASCII are shown as `?`.
    pub id: String,
    /// The volume set identifier, in the same way.
    pub set_id: String,
    /// The size in bytes that the volume claims. The medium may be smaller or larger.
    pub size: u64,
}

/// The kind of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link with its target.
    Symlink(String),
    /// A device, a socket or a pipe.
    Other,
}

/// A contiguous range of a file's bytes on the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileExtent {
    /// Its offset in bytes from the start of the medium.
    pub offset: u64,
    /// Its size in bytes; never zero.
    pub size: u64,
}

/// A file, a directory or a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// The path from the root without a leading slash.
    pub path: String,
    /// The kind of the entry.
    pub kind: EntryKind,
    /// The POSIX mode with its type bits, if Rock Ridge specifies it.
    pub mode: Option<u32>,
    /// The number of links, if Rock Ridge specifies it.
    pub links: Option<u32>,
    /// The size of a file in bytes; zero for other kinds.
    pub size: u64,
    /// The ranges of a file's bytes, in order. Adjacent ranges are merged.
    pub extents: Vec<FileExtent>,
}

/// The entries of an image, without the root itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The fields of the primary volume descriptor.
    pub volume: VolumeInfo,
    /// The source of the names.
    pub names: NameSource,
    /// Every entry, sorted by the bytes of the path.
    pub entries: Vec<TreeEntry>,
}

/// The reason why an image cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageReadError {
    /// The medium could not be read.
    #[error("cannot read {what} at byte {offset}")]
    Io {
        /// The structure that was read.
        what: &'static str,
        /// Its offset in bytes.
        offset: u64,
        /// The cause.
        source: io::Error,
    },
    /// The standard identifier `CD001` is missing where a volume descriptor is expected.
    #[error("not an ISO 9660 image: no volume descriptor at byte {0}")]
    NotAnImage(u64),
    /// A volume descriptor is invalid or unsupported.
    #[error("volume descriptor at byte {offset}: {problem}")]
    Descriptor {
        /// Its offset in bytes.
        offset: u64,
        /// The problem.
        problem: &'static str,
    },
    /// A directory record is invalid or unsupported.
    #[error("record at byte {offset} in directory `{}`: {problem}", .directory.escape_debug())]
    Record {
        /// The directory; empty for the root.
        directory: String,
        /// Its offset in bytes.
        offset: u64,
        /// The problem.
        problem: &'static str,
    },
    /// An entry extends past the end of the medium: the image is truncated, or the record is wrong.
    #[error("`{}` at byte {offset} with {size} bytes extends past the end of the image at byte {end}", .path.escape_debug())]
    OutOfImage {
        /// The file or directory.
        path: String,
        /// Its offset in bytes.
        offset: u64,
        /// Its size in bytes.
        size: u64,
        /// The size of the medium.
        end: u64,
    },
    /// A directory contains itself, or is part of two directories.
    #[error("directory `{}` at byte {offset} occurs twice", .path.escape_debug())]
    DirectoryTwice {
        /// Its second path.
        path: String,
        /// Its offset in bytes.
        offset: u64,
    },
    /// Two entries have the same path.
    #[error("`{}` occurs twice", .0.escape_debug())]
    Duplicate(String),
    /// One of the [`Limits`] is exceeded.
    #[error("`{}`: more than {limit} {what}", .path.escape_debug())]
    Limit {
        /// The limited quantity.
        what: &'static str,
        /// The path at which the limit was exceeded.
        path: String,
        /// The limit.
        limit: u64,
    },
}

/// Reads the complete tree of an image of `size` bytes. File data is not read.
pub fn read_tree(image: &impl ReadAt, size: u64, limits: &Limits) -> Result<Tree, ImageReadError> {
    let volumes = volume::read(image, limits)?;
    let mut walk = walk::TreeWalk::new(image, size, limits);
    let names = walk.choose_names(&volumes)?;
    let root = match names {
        NameSource::RockRidge | NameSource::Primary => volumes.primary_root,
        NameSource::Joliet => volumes.joliet_root.unwrap_or(volumes.primary_root),
    };
    let entries = walk.run(root, names)?;
    Ok(Tree {
        volume: volumes.info,
        names,
        entries,
    })
}
