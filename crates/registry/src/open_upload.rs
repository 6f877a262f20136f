//! An upload that a registry has opened.

use reqwest::Url;

/// An open upload. The location is the registry's own origin (`answer::resolve`, and `journal` for one that an earlier
/// process has left), so it may be written to and deleted; it is a permission to write and has no text form in errors.
#[derive(Clone)]
pub(crate) struct OpenUpload {
    pub(crate) location: Url,
    /// The smallest chunk that the registry takes (`OCI-Chunk-Min-Length`), in bytes.
    pub(crate) smallest_chunk: u64,
}
