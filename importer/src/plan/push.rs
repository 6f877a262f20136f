//! An import without a cluster: what a registry gets of an archive, and what of it waits for a cluster. Nothing is
//! recorded, since there is nowhere to.

use registry::{Client, RegistryAddress};
use schemars::JsonSchema;
use serde::Serialize;
use validator::{Accepted, Finding};

use crate::mirrors::Layout;
use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::model::request::{Missing, Replace};
use crate::plan::images::{self, PlannedImages};
use crate::plan::notes::delegated;

/// An import without a cluster.
#[derive(Clone, Debug)]
pub struct PushRequest {
    /// Where nodes pull the images from; none for the registry that they are pushed to.
    pub pull_registry: Option<RegistryAddress>,
    /// Under which paths they lie.
    pub layout: Layout,
    /// Whether tags that point elsewhere are moved.
    pub replace: Replace,
    /// What becomes of images that the registry does not have.
    pub missing: Missing,
}

/// What an import without a cluster would do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PushSummary {
    /// The id of the Solution, `<name>-<version>`.
    pub solution: String,
    /// SHA-256 of the signed statement.
    #[schemars(with = "schemas::Digest")]
    pub archive_id: String,
    /// Where images are pushed.
    pub registry: String,
    /// Where nodes pull them from.
    pub pull_registry: String,
    /// Under which paths they lie.
    pub repository_layout: Layout,
    /// Images in the archive.
    pub images: usize,
    /// Images that the registry has already.
    pub images_present: usize,
    /// Signatures and other referrers of images, if there are any.
    #[serde(skip_serializing_if = "schemas::is_default")]
    pub referrers: usize,
    /// Bytes of all distinct blobs.
    pub bytes: u64,
    /// Bytes that the registry lacks.
    pub bytes_to_push: u64,
    /// What only an import with a cluster brings.
    pub needs_cluster: Vec<String>,
    /// What is worth knowing, and no reason to stop.
    pub notes: Vec<String>,
    /// What was found of the archive though it is accepted.
    pub findings: Vec<Finding>,
}

/// What there is to push, and what is in the way.
#[derive(Debug)]
pub struct PushPlan {
    images: PlannedImages,
    obstacles: Vec<Obstacle>,
    summary: PushSummary,
}

/// A plan with nothing in its way: the only one that can be applied.
#[derive(Debug)]
pub struct ReadyPush {
    pub(crate) images: PlannedImages,
    pub(crate) summary: PushSummary,
}

impl PushPlan {
    /// Finds out what the registry lacks, and what is in the way. Nothing is written. A plan that is not applied is to be
    /// given up.
    pub async fn make(
        accepted: &Accepted,
        findings: Vec<Finding>,
        client: &Client,
        request: &PushRequest,
    ) -> Result<Self, Error> {
        let mut obstacles = Vec::new();
        let PushRequest {
            layout,
            replace,
            missing,
            ..
        } = *request;
        let images =
            images::plan(accepted, client, layout, replace, missing, &mut obstacles).await?;
        let id = &accepted.statement().predicate.id;
        let registry = client.address();
        let pull_registry = request.pull_registry.as_ref().unwrap_or(registry);
        let summary = PushSummary {
            solution: id.to_string(),
            archive_id: accepted.archive_id().to_string(),
            registry: registry.to_string(),
            pull_registry: pull_registry.to_string(),
            repository_layout: request.layout,
            images: images.count,
            images_present: images.present,
            referrers: images.referrers,
            bytes: images.total_bytes,
            bytes_to_push: images.missing_bytes,
            needs_cluster: needs_cluster(accepted),
            notes: notes(accepted, client),
            findings,
        };
        // Last, so that nothing fails between opening uploads and whoever uses them or gives them back.
        obstacles.extend(images::denied(client, &images.job).await?);
        Ok(Self {
            images,
            obstacles,
            summary,
        })
    }

    /// Gives back what was opened at the registry to see whether it takes the images.
    pub async fn give_up(&self, client: &Client) {
        client.cancel_uploads(&self.images.job.known).await;
    }

    /// The plan in words.
    #[must_use]
    pub fn summary(&self) -> &PushSummary {
        &self.summary
    }

    /// What is in the way.
    #[must_use]
    pub fn obstacles(&self) -> &[Obstacle] {
        &self.obstacles
    }

    /// The plan to apply, if nothing is in its way.
    pub fn ready(self) -> Result<ReadyPush, Box<Self>> {
        if !self.obstacles.is_empty() {
            return Err(Box::new(self));
        }
        let Self {
            images, summary, ..
        } = self;
        Ok(ReadyPush { images, summary })
    }
}

impl ReadyPush {
    /// Gives back what was opened at the registry, of a plan that is not applied after all.
    pub async fn give_up(&self, client: &Client) {
        client.cancel_uploads(&self.images.job.known).await;
    }

    /// The plan in words.
    #[must_use]
    pub fn summary(&self) -> &PushSummary {
        &self.summary
    }
}

/// What of an archive is for clusters.
fn needs_cluster(accepted: &Accepted) -> Vec<String> {
    let spec = &accepted.manifest().spec;
    let crds = (!accepted.crds().is_empty()).then(|| "CRDs".to_owned());
    let operator = spec.operator.as_ref().map(|_| "operator".to_owned());
    let sets = spec.manifests.iter();
    let sets = sets.map(|set| format!("set {}", set.name));
    let charts = spec.charts.iter().map(|it| format!("chart {}", it.name));
    let carried = sets.chain(charts);
    crds.into_iter().chain(operator).chain(carried).collect()
}

fn notes(accepted: &Accepted, client: &Client) -> Vec<String> {
    let unsigned = accepted.signers().is_none().then(|| {
        "whether this Solution was signed before is known to clusters only, and none was asked"
            .to_owned()
    });
    delegated(client).into_iter().chain(unsigned).collect()
}
