//! The sources of images: layouts, directories and archives on the disk, registries and container engines. A cache
//! avoids repeated downloads and conversions.
//!
//! - [`collect`] pins every image to a digest and locates its content: [`LocalBlob`] on this disk, or [`RemoteBlob`] in a
//!   registry.
//! - [`fetch`] downloads the latter, and [`check_configurations`] validates the result.
//! - [`oci_chart`] and [`repository_chart`] return charts of registries and chart repositories. Their provenance files
//!   are available too.
//!
//! This crate knows all kinds of sources and the cache. It must not depend on operators or the format of archives, nor
//! on the terminal, the environment or the clock.
//!
//! Start with `collect/mod.rs`. `remote.rs` contains all waits for the network.

mod blob;
mod cache;
mod certificates;
mod chart;
mod collect;
mod compress;
mod context;
mod error;
mod limits;
mod platform;
mod remote;
pub mod tar;
mod unpacking;

use std::time::Duration;

use progress::Progress;
use schemas::{Digest, ImagePlace};

pub use blob::{ImageBlob, LocalBlob, RemoteBlob};
pub use cache::{Cache, CacheError, CacheOptions};
pub use certificates::{CertificateFolders, CertificatePlace, Certificates, CertificatesError};
pub use chart::{oci_chart, oci_provenance, repository_chart, repository_provenance};
pub use collect::{
    CollectedImage, Configuration, GeneratedReferrer, ImageContents, add_referrers, blobs,
    check_configurations, collect, configurations, fetch, referrers_place,
};
pub use context::{Compression, SourceContext};
pub use error::{FailedImage, SourceError};
pub use limits::UNPACK_LIMIT;
pub use remote::{Remote, SourceNetwork};
pub use unpacking::UnpackSession;

/// An event while images are collected and fetched.
#[derive(Clone, Debug)]
pub enum Event {
    /// An image is being located.
    Collecting {
        /// The image.
        place: ImagePlace,
        /// The number of the image, from 1.
        number: usize,
        /// The number of all images.
        of: usize,
    },
    /// The referrers of an image are being searched.
    Referrers {
        /// The image.
        place: ImagePlace,
        /// The number of the image, from 1.
        number: usize,
        /// The number of all images.
        of: usize,
    },
    /// Referrers of a whole index were found, but only some of its platforms were selected, so their subject is not
    /// packed.
    OfTheWhole {
        /// The image.
        place: ImagePlace,
        /// The number of these referrers.
        count: usize,
    },
    /// Damaged content was removed from the cache.
    Damaged(Digest),
    /// A layer is being compressed, or content is being unpacked.
    Preparing(Progress),
    /// Layers are being downloaded from a registry, or an image from an engine.
    Downloading(Progress),
    /// A request failed temporarily and is repeated after a wait.
    Retrying {
        /// The failed operation and the cause.
        reason: String,
        /// The wait.
        wait: Duration,
    },
}
