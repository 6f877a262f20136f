//! An upload that a registry has opened ([`OpenUpload`]). It is shared by the upload itself and by the journal that
//! resumes it in a later process.

use reqwest::Url;

/// An open upload. Its location has the registry's own origin, so it may be written to and deleted: `answer::resolve`
/// checks a new one, and `journal` one of an earlier process. The location is a permission to write and never appears
/// in errors.
#[derive(Clone)]
pub(crate) struct OpenUpload {
    pub(crate) location: Url,
    /// The smallest chunk that the registry accepts in bytes (`OCI-Chunk-Min-Length`).
    pub(crate) smallest_chunk: u64,
}
