//! Brings the images of an archive to a registry, and says which of them were sent.

use registry::{Client, ManifestOutcome, ManifestPush, PushJob, PushReport};
use schemars::JsonSchema;
use serde::Serialize;
use watch::Tell;

use crate::model::error::{Error, PushFailure, Unpushed};
use crate::model::pushed::Pushed;
use crate::plan::push::{PushSummary, ReadyPush};

/// What an import without a cluster did.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PushReceipt {
    /// What was planned.
    #[serde(flatten)]
    pub plan: PushSummary,
    /// What became of its blobs.
    #[serde(flatten)]
    pub pushed: Pushed,
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
            pushed: (&report).into(),
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
        pushed: (&report).into(),
        failed: failed(job, report),
    })))
}

/// Each blob and each manifest that was tried, with the reason why it is not in place.
fn failed(job: &PushJob, report: PushReport) -> Vec<Unpushed> {
    let blobs = report.failed_blobs.into_iter().map(|failed| Unpushed {
        what: failed.digest.to_string(),
        repository: failed.repository.to_string(),
        error: failed.error,
    });
    let manifests = job.manifests.iter().zip(report.manifests);
    let manifests = manifests.filter_map(|(manifest, outcome)| match outcome {
        ManifestOutcome::Failed(error) => Some(Unpushed {
            what: manifest.reference.to_string(),
            repository: manifest.repository.to_string(),
            error,
        }),
        _ => None,
    });
    blobs.chain(manifests).collect()
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
