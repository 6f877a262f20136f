//! The context that a pack gives to its sources ([`SourceContext`]): cache, network, limits and options. All functions that
//! collect images receive it, so they have no global state.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicU64;

use progress::{Progress, Watch};

use crate::Event;
use crate::cache::Cache;
use crate::error::SourceError;
use crate::remote::SourceNetwork;
use crate::unpacking::UnpackSession;

/// The compression of a layer. It can be chosen for uncompressed layers of images whose manifest is created by this
/// program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// Gzip, which every engine supports.
    Gzip,
    /// Zstandard, which is smaller and faster to unpack. Engines before 2021 do not support it.
    Zstd,
}

/// The context of sources.
#[expect(missing_debug_implementations, reason = "progress has nothing to show")]
pub struct SourceContext<'a> {
    /// The cache for unpacked or compressed content.
    pub cache: &'a Cache,
    /// The limits for unpacking.
    pub unpacking: UnpackSession,
    /// The network for sources that are not on the disk.
    pub network: SourceNetwork<'a>,
    /// The compression of uncompressed layers of images whose manifest is created by this program.
    pub compression: Compression,
    /// Whether signatures and other referrers of images are searched and packed.
    pub with_referrers: bool,
    /// The number of threads for compression.
    pub threads: NonZeroUsize,
    /// The receiver of progress events, which also reports a cancellation.
    pub watch: &'a Watch<'a, Event>,
    /// The number of bytes whose compression is postponed; `None` to compress immediately.
    pub postponed: Option<&'a AtomicU64>,
}

impl SourceContext<'_> {
    /// Returns a context for prefetching with multiple threads. Unpacked bytes are counted separately, and nothing is
    /// compressed, because compression uses all threads anyway.
    pub(crate) fn for_prefetch<'a>(&'a self, postponed: &'a AtomicU64) -> SourceContext<'a> {
        SourceContext {
            cache: self.cache,
            unpacking: self.unpacking.renew(),
            network: self.network.renew(),
            compression: self.compression,
            with_referrers: self.with_referrers,
            threads: self.threads,
            watch: self.watch,
            postponed: Some(postponed),
        }
    }

    /// Reports the progress of a long operation. Fails if the user has cancelled it.
    pub(crate) fn step(&self, done: u64, total: u64) -> Result<(), SourceError> {
        (self.watch.tell)(Event::Preparing(Progress { done, total }));
        Ok(self.watch.cancel.go_on()?)
    }
}
