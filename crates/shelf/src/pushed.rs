//! The number and size of the blobs of a push, by outcome.

use registry::{PushReport, Tally};
use schemars::JsonSchema;
use serde::Serialize;

/// A number of blobs, and their bytes.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Count {
    /// The number of blobs.
    pub blobs: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl From<Tally> for Count {
    fn from(tally: Tally) -> Self {
        Self {
            blobs: tally.count,
            bytes: tally.bytes,
        }
    }
}

/// Blobs of a push. Each counts once for every repository.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pushed {
    /// Uploaded blobs, and their uploaded bytes.
    pub uploaded: Count,
    /// Uploaded blobs that an earlier import began, and the bytes that the registry already had.
    pub resumed: Count,
    /// Blobs that the registry mounted from another repository.
    pub mounted: Count,
    /// Blobs that already existed.
    pub present: Count,
}

impl From<&PushReport> for Pushed {
    fn from(report: &PushReport) -> Self {
        Self {
            uploaded: report.uploaded.into(),
            resumed: report.resumed.into(),
            mounted: report.mounted.into(),
            present: report.present.into(),
        }
    }
}
