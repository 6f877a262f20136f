//! Sources of images: layouts, directories and archives on the disk, registries and container engines; and what is
//! kept of them, so that it need not be had twice.
//!
//! Charts of registries and repositories come from here too, whole: [`oci_chart`], [`repository_chart`]; and who signed
//! them.
//!
//! [`collect`] pins every image to a digest and finds each of its contents: [`Here`] on this disk, or [`WantedBlob`] from a
//! registry. [`fetch`] makes the second into the first, and [`check_configurations`] judges what is here then.
//!
//! This crate knows every form that a source can have, and the cache. It must not know what an operator is or how an
//! archive is written, nor the terminal, the environment or the clock.
//!
//! Open `collect/mod.rs` first; `remote.rs` is the one place that waits for the network.

mod blob;
mod cache;
mod certificates;
mod chart;
mod collect;
mod compress;
mod error;
mod limits;
mod means;
mod platform;
mod remote;
pub mod tar;
mod unpacking;

use std::time::Duration;

use schemas::{Digest, ImagePlace};
use watch::Progress;

pub use blob::{Here, ImageBlob, WantedBlob};
pub use cache::{Cache, CacheError, CacheOptions};
pub use certificates::{CertificateFolders, CertificatePlace, Certificates, CertificatesError};
pub use chart::{oci_chart, oci_provenance, repository_chart, repository_provenance};
pub use collect::{
    Collected, Configuration, ImageContents, MadeReferrer, add_referrers, blobs,
    check_configurations, collect, configurations, fetch, referrers_place,
};
pub use error::{FailedImage, SourceError};
pub use limits::UNPACK_LIMIT;
pub use means::{Compression, Means, ReferrerTreatment};
pub use remote::{Remote, SourceNetwork};
pub use unpacking::Unpacking;

/// An event while images are collected and fetched.
#[derive(Clone, Debug)]
pub enum Event {
    /// An image is looked for.
    Collecting {
        /// The image.
        place: ImagePlace,
        /// The number of the image, from 1.
        number: usize,
        /// The number of all images.
        of: usize,
    },
    /// The referrers of an image are looked for.
    Referrers {
        /// The image.
        place: ImagePlace,
        /// The number of the image, from 1.
        number: usize,
        /// The number of all images.
        of: usize,
    },
    /// An index of which only some platforms were chosen has referrers of the whole: they refer to nothing that is
    /// packed.
    OfTheWhole {
        /// The image.
        place: ImagePlace,
        /// The number of these referrers.
        count: usize,
    },
    /// A content of the cache was damaged and is removed.
    Damaged(Digest),
    /// A layer is compressed, or something is unpacked.
    Preparing(Progress),
    /// Layers come from a registry, or an image from an engine.
    Downloading(Progress),
    /// A request to something outside failed for now and is tried again after a wait.
    Retrying {
        /// The words for what could not be done, and why.
        reason: String,
        /// The wait.
        wait: Duration,
    },
}
