//! The state of an upload ([`UploadSession`]), and the meaning of a registry's answers for it. It decides from each
//! answer whether the upload continues, starts again or fails.

use reqwest::{StatusCode, Url};
use schemas::Digest;
use tokio::sync::watch::Sender;

use crate::error::Error;
use crate::journal::RememberedUpload;
use crate::limits;
use crate::open_upload::OpenUpload;

/// An upload and its progress.
pub(crate) struct UploadSession {
    pub(crate) upload: OpenUpload,
    /// The number of bytes that the registry has acknowledged.
    pub(crate) acknowledged: u64,
    /// The number of bytes passed to a connection. The registry cannot have more.
    pub(crate) sent: Sender<u64>,
    /// Indicates whether a request failed, so that `acknowledged` may be too low.
    pub(crate) broken: bool,
    /// The number of bytes that an earlier process may have sent.
    handed: u64,
    /// The offset from which the upload of an earlier process was continued.
    pub(crate) resumed: Option<u64>,
}

impl UploadSession {
    pub(crate) fn new(upload: OpenUpload) -> Self {
        Self {
            upload,
            acknowledged: 0,
            sent: Sender::default(),
            broken: false,
            handed: 0,
            resumed: None,
        }
    }

    /// Creates a session for an upload of an earlier process. The registry has to be asked for its progress.
    pub(crate) fn resume_from(remembered: RememberedUpload) -> Self {
        Self {
            acknowledged: remembered.acknowledged,
            broken: true,
            handed: remembered.handed,
            ..Self::new(remembered.upload)
        }
    }

    /// Checks whether this is an upload of an earlier process whose progress is not known yet.
    pub(crate) fn is_remembered(&self) -> bool {
        self.handed > 0 && self.resumed.is_none()
    }

    /// Checks whether the registry reports the progress of an earlier process's upload but accepts no more bytes of it.
    /// The registry's state of the upload may have been damaged when the process or the registry was killed. Only a new
    /// upload helps, so the upload is not kept for the next process.
    pub(crate) fn is_stuck(&self) -> bool {
        let nothing = |from: u64| self.acknowledged < from.saturating_add(limits::PROGRESS);
        !self.broken && self.resumed.is_some_and(nothing)
    }

    /// Returns the largest number of bytes that the registry can have.
    pub(crate) fn reach(&self) -> u64 {
        self.handed.max(*self.sent.borrow())
    }

    /// Returns the URL that commits the upload. The digest is appended to the text of the query, because parsing and
    /// rewriting a signed query could change its spelling.
    pub(crate) fn committing(&self, digest: Digest) -> Url {
        let mut url = self.upload.location.clone();
        let query = match url.query() {
            Some(query) if !query.is_empty() => format!("{query}&digest={digest}"),
            _ => format!("digest={digest}"),
        };
        url.set_query(Some(&query));
        url
    }
}

/// The reason why an attempt did not finish the upload.
pub(crate) enum UploadTrouble {
    /// The attempt failed as the error says.
    Failed(Error),
    /// The registry no longer knows the upload or has different bytes. Only a new upload helps.
    Lost(Error),
    /// The registry or a proxy does not accept requests of this kind or size.
    Refused(SmallerRequest),
}

/// A kind of request that may be accepted instead.
pub(crate) enum SmallerRequest {
    /// Chunks of this size for all following blobs.
    Chunks(u64),
    /// Chunks for this blob only, because the reason for the refusal is not clear.
    OnlyHere,
    /// One request for this blob. It was sent in parts by choice, and the parts are refused.
    Whole,
    /// One request for each of the following blobs.
    WholeEverywhere,
}

impl From<Error> for UploadTrouble {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

pub(crate) fn position(session: Option<&UploadSession>) -> u64 {
    session.map_or(0, |session| session.acknowledged)
}

/// Returns the next smaller request size after one of this size was refused as too large.
pub(crate) fn smaller_size(size: u64) -> Option<u64> {
    match size {
        size if size > limits::CHUNK => Some(limits::CHUNK),
        size if size > limits::CHUNK_SMALLEST => Some((size / 4).max(limits::CHUNK_SMALLEST)),
        _ => None,
    }
}

/// Converts the refusal of a part: the registry may have lost the upload, or have different bytes.
pub(crate) fn refused(status: StatusCode, error: Error) -> UploadTrouble {
    match status.as_u16() {
        400 | 404 | 409 | 416 => UploadTrouble::Lost(error),
        _ => UploadTrouble::Failed(error),
    }
}

/// Returns the number of bytes in `Range: 0-N`.
pub(crate) fn range_end(text: &str) -> Option<u64> {
    let text = text.trim();
    let text = text.strip_prefix("bytes=").unwrap_or(text);
    text.strip_prefix("0-")?.parse::<u64>().ok()?.checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_registries_write_them() {
        assert_eq!(range_end("0-0"), Some(1));
        assert_eq!(range_end("bytes=0-1048575"), Some(1_048_576));
        for text in [
            "",
            "0-",
            "5-9",
            "0--1",
            "0-18446744073709551615",
            "0-99999999999999999999",
        ] {
            assert_eq!(range_end(text), None, "{text}");
        }
    }

    #[test]
    fn refused_sizes_shrink_to_the_smallest_and_end() {
        let mut sizes = vec![5_000_000_000];
        while let Some(next) = smaller_size(sizes[sizes.len() - 1]) {
            sizes.push(next);
        }
        let mib = 1024 * 1024;
        assert_eq!(sizes[1..], [16 * mib, 4 * mib, mib]);
    }
}
