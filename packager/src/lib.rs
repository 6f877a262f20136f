//! Source directory to signed archive: *load* reads the texts, *collect* pins every image to a digest, *assemble* makes
//! the list of files, and `archive` plans, signs and writes.
//!
//! This crate must not know how archives are checked or imported (`validator`, `importer`), nor the terminal, the
//! environment or the clock.

mod assemble;
mod cache;
mod check;
mod compress;
mod error;
pub mod from;
mod init;
mod limits;
mod load;
mod operator;
mod pack;
mod platform;
mod preview;
mod remote;
mod source;
#[cfg(test)]
mod testing;

use std::path::Path;
use std::time::Duration;

use schemas::{Digest, ImagePlace};

pub use cache::{Begun, Cache, CacheError, CacheOptions, Made, New, Partial};
pub use compress::Compression;
pub use error::PackError;
pub use files::ReadError;
pub use init::{init, write_draft};
pub use limits::UNPACK_LIMIT;
pub use pack::{Packed, Pinned, Request, Signing, pack};
pub use preview::{FilePreview, ImagePreview, Preview, preview};
pub use remote::Remote;
pub use source::SourceError;
#[doc(hidden)]
pub use source::tar::{Entries as TarEntries, Extent as TarExtent, TarError};

/// What happens while an archive is made.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A CRD directory or file of roles lies in the source directory, but there is no operator that would use it.
    Unused(&'a Path),
    /// An image is looked for.
    Collecting {
        /// The image.
        place: &'a ImagePlace,
        /// Which one it is, from 1.
        number: usize,
        /// How many there are.
        of: usize,
    },
    /// A content of the cache was damaged and is removed. The pack begins anew.
    Damaged(Digest),
    /// The archive is there, but the cache could not be brought back to its size.
    Untidy(&'a CacheError),
    /// A layer is compressed, or something is unpacked.
    Preparing {
        /// Bytes so far.
        done: u64,
        /// Bytes in all, or 0 if that is not known.
        total: u64,
    },
    /// Layers come from a registry, or an image from an engine.
    Downloading {
        /// Bytes so far.
        done: u64,
        /// Bytes in all, as far as that is known.
        total: u64,
    },
    /// Something outside failed for now and is tried again after a wait.
    Retrying {
        /// What could not be done, and why.
        reason: &'a str,
        /// The wait.
        wait: Duration,
    },
    /// Data is written.
    Writing {
        /// Bytes so far.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
}

/// Is told what happens; called from several threads.
pub type Progress<'a> = dyn Fn(Event<'_>) + Sync + 'a;
