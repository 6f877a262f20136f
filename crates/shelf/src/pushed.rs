//! What became of the blobs of a push, in numbers.

use registry::{PushReport, Tally};
use serde::Serialize;

/// A number of blobs, and their bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Count {
    /// Blobs.
    pub blobs: u64,
    /// Bytes.
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
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pushed {
    /// Those that were sent, and the bytes that had to be.
    pub uploaded: Count,
    /// Those among them that an earlier import had begun to send, and the bytes that the registry had of them.
    pub resumed: Count,
    /// Those that the registry took from another repository.
    pub mounted: Count,
    /// Those that were there.
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
