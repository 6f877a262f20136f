//! The state of one upload, and what a registry's answers mean for it.

use reqwest::{StatusCode, Url};
use schemas::Digest;
use tokio::sync::watch::Sender;

use crate::error::Error;
use crate::journal::Remembered;
use crate::limits;
use crate::open_upload::OpenUpload;

/// An upload and how far it got.
pub(crate) struct UploadSession {
    pub(crate) upload: OpenUpload,
    /// Bytes that the registry has acknowledged.
    pub(crate) acknowledged: u64,
    /// Bytes that were handed to a connection: no registry can have more.
    pub(crate) sent: Sender<u64>,
    /// A request was under way when something broke, so that `acknowledged` may be behind.
    pub(crate) broken: bool,
    /// The bytes that an earlier process may have handed to a connection: no registry can have more of it.
    handed: u64,
    /// The offset at which the upload of an earlier process is gone on with.
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

    /// An upload of an earlier process. How far it got is to be asked.
    pub(crate) fn remembered(remembered: Remembered) -> Self {
        Self {
            acknowledged: remembered.acknowledged,
            broken: true,
            handed: remembered.handed,
            ..Self::new(remembered.upload)
        }
    }

    /// Whether it is an upload of an earlier process that the registry has not been asked about.
    pub(crate) fn is_remembered(&self) -> bool {
        self.handed > 0 && self.resumed.is_none()
    }

    /// Whether the registry says how far an upload of an earlier process got, and takes nothing more of it: what it keeps
    /// beside the bytes may have been damaged when that process or the registry was killed. Only a new upload helps, and
    /// to leave this one to the next process would help nobody.
    pub(crate) fn is_stuck(&self) -> bool {
        let nothing = |from: u64| self.acknowledged < from.saturating_add(limits::PROGRESS);
        !self.broken && self.resumed.is_some_and(nothing)
    }

    /// The end of what can have come to the registry.
    pub(crate) fn reach(&self) -> u64 {
        self.handed.max(*self.sent.borrow())
    }

    /// The location that commits the upload. The digest is added to the text of the query as it is: parsing and
    /// writing a signed query again could change its spelling.
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

/// The reason why one attempt did not finish the upload.
pub(crate) enum UploadTrouble {
    /// The attempt failed as the error says.
    Failed(Error),
    /// The registry no longer knows the upload, or holds other bytes: only a new one helps.
    Lost(Error),
    /// The registry or a proxy does not take requests of this kind or size.
    Refused(Smaller),
}

/// The smaller request that may be taken instead.
pub(crate) enum Smaller {
    /// Chunks of this many bytes, by every blob from now on.
    Chunks(u64),
    /// Chunks for this blob: the reason of the refusal is not clear.
    OnlyHere,
    /// One request for this blob: it went in parts by choice, and those are refused.
    Whole,
    /// One request for every blob from now on.
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

/// The next smaller request to try after one of this size was too large.
pub(crate) fn smaller(size: u64) -> Option<u64> {
    match size {
        size if size > limits::CHUNK => Some(limits::CHUNK),
        size if size > limits::CHUNK_SMALLEST => Some((size / 4).max(limits::CHUNK_SMALLEST)),
        _ => None,
    }
}

/// Returns what an answer to a part of an upload means: the registry has forgotten it, or has other bytes than ours.
pub(crate) fn refused(status: StatusCode, error: Error) -> UploadTrouble {
    match status.as_u16() {
        400 | 404 | 409 | 416 => UploadTrouble::Lost(error),
        _ => UploadTrouble::Failed(error),
    }
}

/// The number of bytes that `Range: 0-N` stands for.
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
        while let Some(next) = smaller(sizes[sizes.len() - 1]) {
            sizes.push(next);
        }
        let mib = 1024 * 1024;
        assert_eq!(sizes[1..], [16 * mib, 4 * mib, mib]);
    }
}
