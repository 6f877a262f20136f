//! The outcome for the blobs of a push, in numbers.

use registry::{PushReport, Tally};
use schemars::JsonSchema;
use serde::Serialize;

/// A number of blobs, and their bytes.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Count {
    /// How many blobs.
    pub blobs: u64,
    /// How many bytes.
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

/// What became of blobs that were to be pushed. Each counts once for every repository.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pushed {
    /// Blobs that were sent, and the bytes that had to be.
    pub uploaded: Count,
    /// Blobs among these that an earlier import had begun to send, and the bytes that the registry had of them.
    pub resumed: Count,
    /// Blobs that the registry took from another repository.
    pub mounted: Count,
    /// Blobs that were there.
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
