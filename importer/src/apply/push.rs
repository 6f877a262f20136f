//! Brings the images of an archive to a registry, and says which of them were sent.

use registry::{Client, ManifestOutcome, ManifestPush, PushJob, PushReport};
use serde::Serialize;
use watch::Tell;

use super::Count;
use crate::model::error::{Error, PushFailure};
use crate::plan::push::{PushSummary, ReadyPush};

/// What an import without a cluster did, for the administrator's files.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PushReceipt {
    /// What was planned.
    #[serde(flatten)]
    pub plan: PushSummary,
    /// Blobs that were sent, and their bytes.
    pub uploaded: Count,
    /// Blobs that the registry took from another repository.
    pub mounted: Count,
    /// Blobs that were there.
    pub present: Count,
}

impl ReadyPush {
    /// Pushes what the registry lacks.
    pub async fn apply(
        self,
        client: &Client,
        tell: Tell<'_, registry::Event>,
    ) -> Result<PushReceipt, Error> {
        let report = push(client, &self.images.job, tell).await?;
        Ok(PushReceipt {
            plan: self.summary,
            uploaded: report.uploaded.into(),
            mounted: report.mounted.into(),
            present: report.present.into(),
        })
    }
}

/// Brings all of it; an error if anything is missing then.
pub(super) async fn push(
    client: &Client,
    job: &PushJob,
    tell: Tell<'_, registry::Event>,
) -> Result<PushReport, Error> {
    let report = registry::push(client, job.clone(), tell).await;
    if report.is_complete() {
        return Ok(report);
    }
    Err(Error::Push(Box::new(PushFailure {
        images: failed_images(&job.manifests, &report.manifests),
        errors: report.errors(),
        uploaded: report.uploaded,
    })))
}

fn failed_images(manifests: &[ManifestPush], outcomes: &[ManifestOutcome]) -> Vec<String> {
    manifests
        .iter()
        .zip(outcomes)
        .filter(|(manifest, outcome)| {
            matches!(manifest.reference, registry::Reference::Tag(_))
                && !matches!(outcome, ManifestOutcome::Pushed | ManifestOutcome::Present)
        })
        .map(|(manifest, _)| format!("{}:{}", manifest.repository, manifest.reference))
        .collect()
}
