//! The means that one pack gives to its sources.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicU64;

use watch::{Progress, Watch};

use crate::Event;
use crate::cache::Cache;
use crate::error::SourceError;
use crate::remote::SourceNetwork;
use crate::unpacking::Unpacking;

/// The compression of a layer. For one that comes as it is, of an image whose manifest is made here, it can be chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// No compression: the layer stays as it is.
    #[default]
    None,
    /// Gzip, which every engine reads.
    Gzip,
    /// Zstandard: smaller and faster to unpack; engines of before 2021 do not read it.
    Zstd,
}

/// The treatment of signatures and other referrers of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReferrerTreatment {
    /// The referrers are left: nobody looks for them.
    #[default]
    Leave,
    /// The referrers come too, as far as the sources have any.
    Bring,
}

/// The means that sources may use.
#[expect(missing_debug_implementations, reason = "progress has nothing to show")]
pub struct Means<'a> {
    /// The cache where they keep what they had to unpack or to compress.
    pub cache: &'a Cache,
    /// The bounds of what they may unpack.
    pub unpacking: Unpacking,
    /// The network over which they reach what is not on the disk.
    pub network: SourceNetwork<'a>,
    /// The compression of layers that are not compressed, where a manifest is made here.
    pub compression: Compression,
    /// Whether what refers to the images comes too.
    pub referrers: ReferrerTreatment,
    /// The number of threads that compress.
    pub threads: NonZeroUsize,
    /// The watch that they tell of their progress, and by which they are ended.
    pub watch: &'a Watch<'a, Event>,
    /// Bytes that are left for later, if nobody wants to wait for an encoder now.
    pub postponed: Option<&'a AtomicU64>,
}

impl Means<'_> {
    /// Returns means for what is done before its turn, by several threads: what is unpacked counts for itself, and
    /// nothing is compressed, since that takes all threads anyway.
    pub(crate) fn ahead<'a>(&'a self, postponed: &'a AtomicU64) -> Means<'a> {
        Means {
            cache: self.cache,
            unpacking: self.unpacking.again(),
            network: self.network.again(),
            compression: self.compression,
            referrers: self.referrers,
            threads: self.threads,
            watch: self.watch,
            postponed: Some(postponed),
        }
    }

    /// Tells how far something long is, and ends it if the user wants that.
    pub(crate) fn step(&self, done: u64, total: u64) -> Result<(), SourceError> {
        (self.watch.tell)(Event::Preparing(Progress { done, total }));
        Ok(self.watch.cancel.go_on()?)
    }
}
