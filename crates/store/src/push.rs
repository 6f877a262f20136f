//! Push of an archive to a registry without a cluster: [`PushPlan`] and [`PushReceipt`]. Nothing is recorded, because
//! records are stored in clusters.

use progress::ProgressSink;
use registry::{Client, RegistryAddress};
use schemars::JsonSchema;
use serde::Serialize;
use validator::{AcceptedArchive, Finding};

use crate::blocker::RegistryBlocker;
use crate::error::Error;
use crate::layout::{MirrorPolicy, PathLayout, Placement};
use crate::push_counts::PushedBlobs;
use crate::survey::{Survey, TargetState, survey};

/// The registry and the placement for a push.
#[derive(Clone, Debug)]
pub struct PushRequest {
    /// The registry that nodes pull the images from; `None` for the one that they are pushed to.
    pub pull_registry: Option<RegistryAddress>,
    /// The state to establish in the registry.
    pub wanted: TargetState,
}

/// The plan of a push.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PushSummary {
    /// The id of the Solution, `<name>-<version>`.
    pub solution: String,
    /// SHA-256 of the signed statement.
    #[schemars(with = "schemas::Digest")]
    pub archive_id: String,
    /// The address that images are pushed to.
    pub registry: String,
    /// The address that nodes pull images from.
    pub pull_registry: String,
    /// The layout of the images.
    pub repository_layout: PathLayout,
    /// Whether images with a `ref` are mirrored; missing if they are.
    #[serde(skip_serializing_if = "schemas::is_default")]
    pub mirrors: MirrorPolicy,
    /// Images in the archive.
    pub images: usize,
    /// Images that the registry already has.
    pub images_present: usize,
    /// Signatures and other referrers of images, if there are any.
    #[serde(skip_serializing_if = "schemas::is_default")]
    pub referrers: usize,
    /// Bytes of all distinct blobs.
    pub bytes: u64,
    /// Bytes that the registry lacks.
    pub bytes_to_push: u64,
    /// Repositories that do not exist and are created first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub creates: Vec<String>,
    /// Parts that only an import into a cluster applies.
    pub needs_cluster: Vec<String>,
    /// Notes, which do not block the push.
    pub notes: Vec<String>,
    /// Findings of the archive, although it is accepted.
    pub findings: Vec<Finding>,
}

/// The planned push and its blockers.
#[derive(Debug)]
pub struct PushPlan {
    survey: Survey,
    summary: PushSummary,
}

/// A plan without blockers. Only such a plan can be applied.
#[derive(Debug)]
pub struct ReadyPush {
    survey: Survey,
    summary: PushSummary,
}

impl PushPlan {
    /// Determines the missing content and the blockers. Writes nothing. A plan that is not applied must be released
    /// with [`PushPlan::give_up`].
    pub async fn make(
        accepted: &AcceptedArchive,
        findings: Vec<Finding>,
        client: &Client,
        request: &PushRequest,
    ) -> Result<Self, Error> {
        let mut survey = survey(accepted, client, request.wanted).await?;
        let id = &accepted.statement().predicate.id;
        let registry = client.address();
        let pull_registry = request.pull_registry.as_ref().unwrap_or(registry);
        let summary = PushSummary {
            solution: id.to_string(),
            archive_id: accepted.archive_id().to_string(),
            registry: registry.to_string(),
            pull_registry: pull_registry.to_string(),
            repository_layout: survey.placement.layout,
            mirrors: survey.placement.mirrors,
            images: survey.count,
            images_present: survey.present,
            referrers: survey.referrers,
            bytes: survey.total_bytes,
            bytes_to_push: survey.missing_bytes,
            needs_cluster: needs_cluster(accepted),
            notes: notes(accepted, client, survey.placement),
            findings,
            creates: Vec::new(),
        };
        // This comes last, so that no error can occur between opening the uploads and returning the plan that owns
        // them.
        let denied = survey.open_uploads(client).await?;
        survey.blockers.extend(denied);
        let creates = survey.creates();
        let summary = PushSummary { creates, ..summary };
        Ok(Self { survey, summary })
    }

    /// Cancels the uploads that were opened to check whether the registry accepts the images.
    pub async fn give_up(&self, client: &Client) {
        client.cancel_uploads(&self.survey.job.known).await;
    }

    /// Returns the plan for display.
    #[must_use]
    pub fn summary(&self) -> &PushSummary {
        &self.summary
    }

    /// Returns the blockers.
    #[must_use]
    pub fn blockers(&self) -> &[RegistryBlocker] {
        &self.survey.blockers
    }

    /// Returns the plan for applying it, if there are no blockers.
    pub fn ready(self) -> Result<ReadyPush, Box<Self>> {
        if !self.survey.blockers.is_empty() {
            return Err(Box::new(self));
        }
        let Self { survey, summary } = self;
        Ok(ReadyPush { survey, summary })
    }
}

/// The result of a push.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PushReceipt {
    /// The plan.
    #[serde(flatten)]
    pub plan: PushSummary,
    /// The blobs.
    #[serde(flatten)]
    pub pushed: PushedBlobs,
}

impl ReadyPush {
    /// Pushes the missing content.
    pub async fn apply(
        self,
        client: &Client,
        tell: ProgressSink<'_, registry::Event>,
    ) -> Result<PushReceipt, Error> {
        let report = self.survey.push(client, tell).await?;
        Ok(PushReceipt {
            plan: self.summary,
            pushed: (&report).into(),
        })
    }

    /// Cancels the open uploads of a plan that is not applied.
    pub async fn give_up(&self, client: &Client) {
        client.cancel_uploads(&self.survey.job.known).await;
    }

    /// Returns the plan for display.
    #[must_use]
    pub fn summary(&self) -> &PushSummary {
        &self.summary
    }
}

/// Returns the parts of an archive that only clusters use.
fn needs_cluster(accepted: &AcceptedArchive) -> Vec<String> {
    let spec = &accepted.manifest().spec;
    let crds = (!accepted.crds().is_empty()).then(|| "CRDs".to_owned());
    let operator = spec.operator.as_ref().map(|_| "operator".to_owned());
    let sets = spec.manifests.iter();
    let sets = sets.map(|set| format!("set {}", set.name));
    let charts = spec
        .charts
        .iter()
        .map(|chart| format!("chart {}", chart.name));
    let carried = sets.chain(charts);
    crds.into_iter().chain(operator).chain(carried).collect()
}

fn notes(accepted: &AcceptedArchive, client: &Client, placement: Placement) -> Vec<String> {
    let unsigned = accepted.signers().is_none().then(|| {
        "only clusters record whether this Solution was signed before, and no cluster was asked"
            .to_owned()
    });
    let without = (placement.mirrors == MirrorPolicy::Skip)
        .then(|| "the images have no mirrors: nodes find them only by their addresses".to_owned());
    let notes = delegated(client).into_iter().chain(unsigned);
    notes.chain(without).collect()
}

/// Returns a note on the token server that receives the login, if it differs from the registry.
#[must_use]
pub fn delegated(client: &Client) -> Option<String> {
    let host = client.token_server()?;
    Some(format!(
        "the registry delegates logins to {host}: the login is sent there"
    ))
}
