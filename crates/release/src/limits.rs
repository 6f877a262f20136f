//! The named limits of a draft, each with its reason. What is read of a release is bounded by `manifests`.

/// Images that a draft finds: the largest operators in use name some hundred.
pub(crate) const RELEASE_IMAGES: usize = 2_000;
/// Releases that a helmfile lists, or that one of them needs: eight times as many as are carried, since others may be left out.
pub(crate) const HELMFILE_RELEASES: usize = 256;
/// Repositories of a helmfile: one for each of very many releases.
pub(crate) const HELMFILE_REPOSITORIES: usize = 256;
/// Files and mappings with values of one release: the longest lists in use have some ten.
pub(crate) const HELMFILE_VALUES: usize = 64;
/// Bytes of what a tree copies for a helmfile, charts and values: it lies in memory until it is written.
pub const HELMFILE_COPIES: u64 = 128 * 1024 * 1024;
