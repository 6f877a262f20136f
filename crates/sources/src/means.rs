//! What one pack gives to its sources.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::cache::Cache;
use crate::error::SourceError;
use crate::remote::Network;
use crate::unpacking::Unpacking;
use crate::{Event, Progress};

/// What to do with layers that are not compressed, of images whose manifest is made here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Keep them as they are.
    #[default]
    None,
    /// Gzip, which every engine reads.
    Gzip,
    /// Zstandard: smaller and faster to unpack; engines of before 2021 do not read it.
    Zstd,
}

/// What sources may use.
#[expect(missing_debug_implementations, reason = "progress has nothing to show")]
pub struct Means<'a> {
    /// Where they keep what they had to unpack or to compress.
    pub cache: &'a Cache,
    /// How much they may unpack.
    pub unpacking: Unpacking,
    /// How they reach what is not on the disk.
    pub network: Network<'a>,
    /// What is done with layers that are not compressed, where a manifest is made here.
    pub compression: Compression,
    /// How many threads compress.
    pub threads: NonZeroUsize,
    /// Is told what happens.
    pub progress: &'a Progress<'a>,
    /// Whether the user does not want it any more.
    pub cancel: &'a AtomicBool,
    /// Bytes that are left for later, if nobody wants to wait for an encoder now.
    pub postponed: Option<&'a AtomicU64>,
}

impl Means<'_> {
    /// Tells how far something long is, and ends it if the user wants that.
    pub(crate) fn step(&self, done: u64, total: u64) -> Result<(), SourceError> {
        (self.progress)(Event::Preparing { done, total });
        if self.cancel.load(Ordering::Relaxed) {
            return Err(SourceError::Interrupted);
        }
        Ok(())
    }
}
