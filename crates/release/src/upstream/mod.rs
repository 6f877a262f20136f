//! Conversion of upstream archives, ISO images by genisoimage, mkisofs or xorriso, into source trees.
//! [`UpstreamArchive::read`] reads the tree and the manifest, and [`UpstreamArchive::convert`] returns a [`Conversion`]
//! that writes the images byte for byte, the operator's files, and a `solution.yaml` with upstream's defaults.
//!
//! All input is hostile:
//!
//! - The directory tree and small files are read within limits.
//!
//! - Only names that the format defines become paths.
//!
//! - A blob must have the digest that its name states.
//!
//! - The files together must not have more bytes than the archive, with shared content counted once.

mod contents;
mod convert;
mod copy;
mod error;
mod manifest;

use iso9660::ReadAt;
use iso9660::limits::Limits;
use iso9660::reader::{NameSource, Tree, TreeEntry, read_tree};
use schemas::limits::MANIFEST_SIZE;

use self::contents::UpstreamContents;
pub use self::copy::Conversion;
pub use self::error::UpstreamError;
use self::manifest::UpstreamManifest;
use crate::InitOptions;

/// The offset of the identifier `CD001` in the first volume descriptor, in bytes (ECMA-119 8.1.2).
const IDENTIFIER_OFFSET: u64 = 16 * iso9660::SECTOR_SIZE + 1;

/// Returns whether a medium holds an ISO 9660 image.
pub fn is_image(medium: &impl ReadAt) -> bool {
    let mut identifier = [0; 5];
    let read = medium.read_exact_at(&mut identifier, IDENTIFIER_OFFSET);
    read.is_ok() && &identifier == b"CD001"
}

/// An upstream archive with its directory tree and parsed manifest.
#[expect(missing_debug_implementations, reason = "a medium has nothing to show")]
pub struct UpstreamArchive<'a> {
    medium: &'a dyn ReadAt,
    contents: UpstreamContents,
    manifest: UpstreamManifest,
}

impl<'a> UpstreamArchive<'a> {
    /// Reads the directory tree and the manifest of an image of `size` bytes.
    ///
    /// # Errors
    ///
    /// Fails if the image is not an upstream archive, or exceeds a limit.
    pub fn read(medium: &'a dyn ReadAt, size: u64) -> Result<Self, UpstreamError> {
        let tree = read_tree(&medium, size, &Limits::default())?;
        refuse_others(&tree)?;
        let contents = UpstreamContents::of(tree.entries);
        contents.refuse_more_than(size)?;
        let entry = contents.manifest.as_ref();
        let bytes = bytes(
            medium,
            entry.ok_or(UpstreamError::NoManifest)?,
            MANIFEST_SIZE,
        )?;
        Ok(Self {
            medium,
            manifest: UpstreamManifest::from_slice(&bytes)?,
            contents,
        })
    }

    /// Converts the archive. `called` is the name of its file. The name and version are those of the manifest, unless
    /// the user chose others.
    pub fn convert(
        self,
        called: &str,
        options: &InitOptions,
    ) -> Result<Conversion<'a>, UpstreamError> {
        let Self {
            medium,
            contents,
            manifest,
        } = self;
        let tree = convert::tree(medium, &contents, &manifest, called, options)?;
        Ok(Conversion::new(tree, medium, contents))
    }
}

/// Fails for images that are recognized as something else, with a specific error for each.
fn refuse_others(tree: &Tree) -> Result<(), UpstreamError> {
    let has = |name: &str| {
        let mut entries = tree.entries.iter();
        entries.any(|entry| entry.path.eq_ignore_ascii_case(name))
    };
    match () {
        () if has(archive::STATEMENT) => Err(UpstreamError::Packed),
        () if has("product.txt") && !has(archive::MANIFEST) => Err(UpstreamError::Product),
        () if tree.names == NameSource::Primary => Err(UpstreamError::Names),
        () => Ok(()),
    }
}

/// Reads a file of at most `limit` bytes.
fn bytes(medium: &dyn ReadAt, entry: &TreeEntry, limit: u64) -> Result<Vec<u8>, UpstreamError> {
    if entry.size > limit {
        return Err(UpstreamError::Size {
            path: entry.path.clone(),
            size: entry.size,
            limit,
        });
    }
    let mut bytes = Vec::new();
    for extent in &entry.extents {
        let start = bytes.len();
        let size = usize::try_from(extent.size).unwrap_or_default();
        bytes.resize(start + size, 0);
        let read = medium.read_exact_at(&mut bytes[start..], extent.offset);
        read.map_err(|source| UpstreamError::Read(entry.path.clone(), source))?;
    }
    Ok(bytes)
}
