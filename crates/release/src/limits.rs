//! Limits of a draft, each with its reason. The crate `manifests` limits the size of the release's files.

/// Maximum number of images in a draft. The largest known operators name a few hundred.
pub(crate) const RELEASE_IMAGES: usize = 2_000;
/// Maximum total size of the charts and values that are read and copied for a helmfile, in bytes. The charts are held
/// in memory until they are written.
pub const HELMFILE_COPIES: u64 = 128 * 1024 * 1024;
