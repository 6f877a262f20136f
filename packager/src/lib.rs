//! Source directory to signed archive: *load* reads the texts, *collect* pins every image to a digest, *assemble* makes
//! the list of files, and `archive` plans, signs and writes.
//!
//! This crate must not know how archives are imported (`importer`), nor the terminal, the
//! environment or the clock.

mod assemble;
mod error;
mod init;
mod load;
mod operator;
mod pack;
mod preview;
#[cfg(test)]
mod testing;

use std::path::Path;

use sources::CacheError;

pub use error::PackError;
pub use init::init;
pub use pack::{Packed, Pinned, Request, Signing, pack};
pub use preview::{FilePreview, ImagePreview, Preview, preview};

/// What happens while an archive is made.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A CRD directory or file of roles lies in the source directory, but there is no operator that would use it.
    Unused(&'a Path),
    /// Images are collected or fetched. After a damaged content of the cache, the pack begins anew.
    Sources(sources::Event<'a>),
    /// The archive is there, but the cache could not be brought back to its size.
    Untidy(&'a CacheError),
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
