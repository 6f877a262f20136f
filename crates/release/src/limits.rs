//! The named limits of a draft, each with its reason. What is read of a release is bounded by `manifests`.

/// Images that a draft finds: the largest operators in use name some hundred.
pub(crate) const RELEASE_IMAGES: usize = 2_000;
/// Bytes of what a tree copies for a helmfile, and reads of it, charts and values: the charts lie in memory until they are written.
pub const HELMFILE_COPIES: u64 = 128 * 1024 * 1024;
