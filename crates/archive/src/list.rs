//! The last stage of reading: [`TrustedArchive::list`] verifies the signed list and compares the image with it.
//!
//! The list alone determines the layout of the image, so every byte that is not file data can be compared. From then
//! on, [`ListedArchive`] takes names, sizes and offsets from this plan and never from the image. File data is verified when it
//! is read: [`ListedArchive::read`], [`ListedArchive::pieces`], [`ListedArchive::verify_data`].

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

use iso9660::{Extent, ImagePlan, Layout};
use progress::Cancel;
use schemas::{Capability, Contents, Digest, ImagePlace};
use sha2::{Digest as _, Sha256};

use crate::content_order::{self, UnlistedFile};
use crate::error::Differences;
use crate::feature::Feature;
use crate::layout::{self, CONTENTS, CONTENTS_OFFSET, ImageRole, SHA256SUMS, blob_path, is_blob};
use crate::medium::{Medium, MediumKind};
use crate::{OpenError, TrustedArchive, limits};

/// An archive whose image matches its signed list, except for file data, which is verified when it is read.
#[derive(Debug)]
pub struct ListedArchive {
    trusted: TrustedArchive,
    contents: Contents,
    pub(crate) plan: ImagePlan,
}

/// The location of a content in the archive. Bytes that are read from it are not verified.
#[derive(Clone, Debug)]
pub struct Blob {
    medium: Arc<Medium>,
    offset: u64,
    digest: Digest,
    size: u64,
}

/// One content of one image, as recorded in the signed list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageContent {
    /// The image.
    pub place: ImagePlace,
    /// The role of the content in the image.
    pub role: ImageRole,
    /// Its digest.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
}

impl TrustedArchive {
    /// Reads the signed list, lays out the image that it describes and compares the archive with it, byte for byte.
    pub fn list(self) -> Result<ListedArchive, OpenError> {
        self.list_unless(Cancel::never())
    }

    /// Does the same as [`TrustedArchive::list`], but fails with [`OpenError::Interrupted`] once `cancel` is set. List and
    /// metadata can each have a quarter of a gigabyte, which takes long on a slow disc.
    pub fn list_unless(self, cancel: Cancel<'_>) -> Result<ListedArchive, OpenError> {
        let (layout, features) = negotiate(&self)?;
        let contents = read_contents(&self, cancel)?;
        let statement = self.statement();
        let predicate = &statement.predicate;
        layout::check_list(&contents, &predicate.optional, &features)?;
        // The statement names the digest of SHA256SUMS, which must list the same files for `sha256sum -c`.
        let sums = contents.to_sha256sums(&predicate.contents);
        if Sha256::digest(&sums).as_slice() != statement.sha256sums.as_bytes() {
            return Err(OpenError::Sha256sums);
        }
        let own = [
            UnlistedFile {
                size: predicate.contents_size,
                digest: predicate.contents,
            },
            UnlistedFile {
                size: sums.len() as u64,
                digest: statement.sha256sums,
            },
        ];
        // The sums are as large as the list itself and are not needed for the plan.
        drop(sums);
        let plan = content_order::plan(layout, &predicate.volume, predicate.time, &contents, own)
            .map_err(OpenError::Plan)?;
        cancel.go_on()?;
        // The size is checked before the comparison: a truncated file shall be reported as such and not as an
        // unreadable byte.
        check_end(&self.medium, &plan)?;
        compare(&self.medium, &plan, cancel)?;
        Ok(ListedArchive {
            trusted: self,
            contents,
            plan,
        })
    }
}

/// Compares the digest of a listed file with the signed one.
pub(crate) fn check_digest(path: &str, expected: Digest, found: Digest) -> Result<(), OpenError> {
    if found == expected {
        return Ok(());
    }
    Err(OpenError::FileDigest {
        path: path.to_owned(),
        expected,
        found,
    })
}

/// Returns the layout and the features that the statement requires. Both must be known before anything else is read.
fn negotiate(trusted: &TrustedArchive) -> Result<(Layout, BTreeSet<Feature>), OpenError> {
    let predicate = &trusted.statement().predicate;
    let unknown = |capability: &Capability| OpenError::Capability(capability.clone());
    let required = predicate.requires.iter();
    let features = required
        .map(|capability| Feature::from_capability(capability).ok_or_else(|| unknown(capability)));
    let features = features.collect::<Result<_, _>>()?;
    let layout = Layout::try_from(predicate.layout).map_err(OpenError::Layout)?;
    // The volume names follow from the id. A statement with other names contradicts itself.
    if predicate.volume != layout::volume_names(&predicate.id) {
        return Err(OpenError::VolumeNames {
            id: predicate.volume.id.clone(),
            set_id: predicate.volume.set_id.clone(),
        });
    }
    Ok((layout, features))
}

fn read_contents(trusted: &TrustedArchive, cancel: Cancel<'_>) -> Result<Contents, OpenError> {
    let predicate = &trusted.statement().predicate;
    let medium = &trusted.medium;
    let size = predicate.contents_size;
    if size == 0 || size > schemas::limits::CONTENTS_SIZE {
        return Err(OpenError::ContentsSize(size));
    }
    // The size is checked before memory is allocated: without a verified signature it is an unproven claim.
    if CONTENTS_OFFSET + size > medium.size {
        return Err(OpenError::Truncated {
            path: medium.path.clone(),
            expected: CONTENTS_OFFSET + size,
            found: medium.size,
        });
    }
    let mut bytes = vec![0; usize::try_from(size).expect("the limit fits every address space")];
    let mut offset = CONTENTS_OFFSET;
    // The list is read in pieces, so that a cancellation takes effect on a slow disc.
    for piece in bytes.chunks_mut(limits::BUFFER) {
        cancel.go_on()?;
        medium.read(piece, offset)?;
        offset += piece.len() as u64;
    }
    cancel.go_on()?;
    let found = Digest::new(Sha256::digest(&bytes).into());
    if found != predicate.contents {
        return Err(OpenError::ContentsDigest {
            expected: predicate.contents,
            found,
        });
    }
    Contents::from_slice(&bytes).map_err(OpenError::Contents)
}

/// A medium whose reads fail once the operation is cancelled.
struct CancellableMedium<'a> {
    medium: &'a Medium,
    cancel: Cancel<'a>,
}

impl iso9660::ReadAt for CancellableMedium<'_> {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.cancel.go_on().map_err(io::Error::other)?;
        self.medium.read_exact_at(buf, offset)
    }
}

/// Checks that the archive ends where the plan ends, or that a head ends before the first blob.
fn check_end(medium: &Medium, plan: &ImagePlan) -> Result<(), OpenError> {
    let (found, expected) = match medium.kind {
        MediumKind::Head { size, .. } => (size, head_size(plan)),
        MediumKind::File | MediumKind::BlockDevice => (medium.size, plan.image_size()),
    };
    let path = || medium.path.clone();
    if found < expected {
        return Err(OpenError::Truncated {
            path: path(),
            expected,
            found,
        });
    }
    if found > expected && !matches!(medium.kind, MediumKind::BlockDevice) {
        return Err(OpenError::TooLong {
            path: path(),
            expected,
            found,
        });
    }
    Ok(())
}

/// Returns the offset of the first blob, which is the size of the head.
pub(crate) fn head_size(plan: &ImagePlan) -> u64 {
    let mut extents = plan.extents().iter();
    let first = extents.find(|extent| is_blob(plan.path_of(extent)));
    first.map_or(plan.image_size(), |extent| extent.offset)
}

fn compare(medium: &Medium, plan: &ImagePlan, cancel: Cancel<'_>) -> Result<(), OpenError> {
    let path = medium.path.clone();
    let medium = CancellableMedium { medium, cancel };
    let compared = iso9660::compare(plan, &medium, limits::DIFFERENCES);
    // `CancellableMedium` ends the comparison with a read error. A cancellation must not be reported as a fault of the medium.
    cancel.go_on()?;
    let differences = compared.map_err(|source| OpenError::Compare(path, source))?;
    if differences.is_empty() {
        Ok(())
    } else {
        Err(OpenError::Differences(Differences(differences)))
    }
}

/// A listed archive keeps everything that is known about the trusted one.
impl Deref for ListedArchive {
    type Target = TrustedArchive;

    fn deref(&self) -> &TrustedArchive {
        &self.trusted
    }
}

impl ListedArchive {
    /// The signed list of files.
    #[must_use]
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The layout of the image.
    #[must_use]
    pub fn plan(&self) -> &ImagePlan {
        &self.plan
    }

    /// The size of the image in bytes.
    #[must_use]
    pub fn image_size(&self) -> u64 {
        self.plan.image_size()
    }

    /// The bytes of a block device after the end of the image. They are never read.
    #[must_use]
    pub fn bytes_behind(&self) -> u64 {
        self.medium.size - self.plan.image_size()
    }

    /// Reads a file that the statement vouches for into memory and verifies it. `limit` is in bytes.
    pub fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, OpenError> {
        let (size, expected) = self.size_and_digest(path)?;
        let mut bytes = match usize::try_from(size) {
            Ok(len) if size <= limit => vec![0; len],
            _ => {
                let path = path.to_owned();
                return Err(OpenError::FileSize { path, size, limit });
            }
        };
        if let Some(extent) = self.plan.extent_of(path) {
            let read = self
                .medium
                .read_content(extent.offset, &expected, &mut bytes, 0);
            read.map_err(|source| self.medium.failed(extent.offset, source))?;
        }
        check_digest(path, expected, Digest::new(Sha256::digest(&bytes).into()))?;
        Ok(bytes)
    }

    /// Reads the first bytes of a file, at most `limit` of them. They are not verified, so they may only be used for a
    /// finding.
    pub fn read_start(&self, path: &str, limit: u64) -> Result<Vec<u8>, OpenError> {
        let (size, digest) = self.size_and_digest(path)?;
        let mut bytes = vec![0; usize::try_from(size.min(limit)).unwrap_or(usize::MAX)];
        if let Some(extent) = self.plan.extent_of(path) {
            let read = self
                .medium
                .read_content(extent.offset, &digest, &mut bytes, 0);
            read.map_err(|source| self.medium.failed(extent.offset, source))?;
        }
        Ok(bytes)
    }

    pub(crate) fn size_and_digest(&self, path: &str) -> Result<(u64, Digest), OpenError> {
        if path == SHA256SUMS {
            let size = self.plan.file(path).map_or(0, |file| file.size);
            return Ok((size, self.statement().sha256sums));
        }
        if path == CONTENTS {
            let predicate = &self.statement().predicate;
            return Ok((predicate.contents_size, predicate.contents));
        }
        let entry = self.contents.get(path);
        let entry = entry.ok_or_else(|| OpenError::NoSuchFile(path.to_owned()))?;
        Ok((entry.size, entry.digest))
    }

    /// Returns whether the blobs are available too, and not only the head.
    #[must_use]
    pub fn has_blobs(&self) -> bool {
        !matches!(self.medium.kind, MediumKind::Head { .. })
    }

    /// The bytes before the first blob, hashed by this call. Together with the blobs from another source they suffice
    /// to read the archive ([`Medium::of_head`]). They include the signatures as of this moment.
    pub fn head(&self, cancel: Cancel<'_>) -> Result<Blob, OpenError> {
        let size = head_size(&self.plan);
        let mut hash = Sha256::new();
        let mut buffer = vec![0; limits::BUFFER];
        let mut offset = 0;
        while offset < size {
            cancel.go_on()?;
            let left = usize::try_from(size - offset).unwrap_or(usize::MAX);
            let piece = &mut buffer[..left.min(limits::BUFFER)];
            self.medium.read(piece, offset)?;
            hash.update(&*piece);
            offset += piece.len() as u64;
        }
        Ok(Blob {
            medium: Arc::clone(&self.medium),
            offset: 0,
            digest: Digest::new(hash.finalize().into()),
            size,
        })
    }

    /// Lists every content of every image, as stored in the images' directories, image by image.
    pub fn image_contents(&self) -> impl Iterator<Item = ImageContent> {
        let entries = self.contents.entries().iter();
        entries.filter_map(|entry| {
            let (place, role) = layout::image_content(entry.path.as_str())?;
            Some(ImageContent {
                place,
                role,
                digest: entry.digest,
                size: entry.size,
            })
        })
    }

    /// The location of a content in the OCI image layout (`blobs/sha256/<hex>`).
    #[must_use]
    pub fn blob(&self, digest: &Digest) -> Option<Blob> {
        self.file(blob_path(digest).as_str())
    }

    /// The location of a file that the statement vouches for.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<Blob> {
        let (size, digest) = self.size_and_digest(path).ok()?;
        let extent = self.plan.extent_of(path);
        Some(Blob {
            medium: Arc::clone(&self.medium),
            offset: extent.map_or(0, |extent| extent.offset),
            digest,
            size,
        })
    }

    /// The digest that the signed list records for a content.
    pub(crate) fn expected_digest(extent: &Extent) -> Option<Digest> {
        extent.content.map(|content| Digest::new(content.0))
    }
}

impl Blob {
    /// The digest that was signed.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The file that contains the bytes, and their offset in it; none if they come from another source. Callers can let
    /// the kernel send the bytes from there, unverified.
    #[must_use]
    pub fn place(&self) -> Option<(Arc<File>, u64)> {
        Some((self.medium.file_of(self.offset)?, self.offset))
    }

    /// Fills `buf` from `offset` (bytes from the start of the blob) without verifying; the receiver of the bytes hashes
    /// them. Fails with [`io::ErrorKind::UnexpectedEof`] if the blob ends first.
    pub fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset.checked_add(buf.len() as u64);
        if end.is_none_or(|end| end > self.size) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (medium, digest) = (&self.medium, &self.digest);
        medium.read_content(self.offset, digest, buf, offset)
    }
}
