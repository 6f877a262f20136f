//! The number and size of the blobs of a push, by outcome. They are part of JSON results.

use registry::{BlobCount, PushReport};
use schemars::JsonSchema;
use serde::Serialize;

/// A number of blobs, and their bytes.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Count")]
pub struct PushedCount {
    /// The number of blobs.
    pub blobs: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl From<BlobCount> for PushedCount {
    fn from(tally: BlobCount) -> Self {
        Self {
            blobs: tally.count,
            bytes: tally.bytes,
        }
    }
}

/// Blobs of a push. Each counts once for every repository.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Pushed")]
pub struct PushedBlobs {
    /// Uploaded blobs, and their uploaded bytes.
    pub uploaded: PushedCount,
    /// Uploaded blobs that an earlier import began, and the bytes that the registry already had.
    pub resumed: PushedCount,
    /// Blobs that the registry mounted from another repository.
    pub mounted: PushedCount,
    /// Blobs that already existed.
    pub present: PushedCount,
}

impl From<&PushReport> for PushedBlobs {
    fn from(report: &PushReport) -> Self {
        Self {
            uploaded: report.uploaded.into(),
            resumed: report.resumed.into(),
            mounted: report.mounted.into(),
            present: report.present.into(),
        }
    }
}
