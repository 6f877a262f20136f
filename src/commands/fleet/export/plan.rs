//! The plan of an export: the objects of each deployment, without those of an earlier deployment, and notes on features
//! that the tool does not have. Nothing is written.

use std::collections::BTreeSet;
use std::sync::Arc;

use importer::{CheckedArchive, Handover, Overlap, RenderedManifests, SecretValues};
use kubernetes::Cluster;
use registry::{Client, RegistryAddress};
use schemas::{Namespace, PlacedVersion, SolutionId, list_names};
use store::{MissingImagePolicy, Placement, PushPlan, PushRequest, ReplacePolicy, TargetState};

use super::super::reading::ReadDeployment;
use super::super::source::Deployable;
use super::tools::GitOpsTool;
use crate::commands::blocked::ShownBlocker;
use crate::failure::{self, Failure};

/// Plans one deployment.
pub(super) async fn look(
    deployable: Deployable,
    tool: GitOpsTool,
    cluster: &Cluster,
) -> Result<Result<ExportPlan, Vec<ShownBlocker>>, Failure> {
    let Deployable {
        placed,
        archive,
        client,
        request,
        ..
    } = deployable;
    let missing = request.missing;
    if tool.reads_registry() && missing == MissingImagePolicy::Refuse {
        let only_read = "its registry is read-only, so nothing can be exported to it";
        let fix = "set a `registry` that accepts pushes for the cluster in the fleet's file";
        return Ok(Err(vec![ShownBlocker::new(only_read, fix)]));
    }
    let CheckedArchive { accepted, findings } = &*archive;
    let pulls = client.clone();
    let rendered = RenderedManifests::in_cluster(
        cluster,
        accepted,
        Some(pulls),
        request,
        SecretValues::Masked,
    );
    let rendered = match Box::pin(rendered).await? {
        Ok(rendered) => rendered,
        Err(blockers) => return Ok(Err(blockers.iter().map(ShownBlocker::from).collect())),
    };
    let request = push_request(rendered.placement, missing);
    let push = PushPlan::make(accepted, findings.clone(), &client, &request).await?;
    push.give_up(&client).await;
    let mut why: Vec<ShownBlocker> = push.blockers().iter().map(ShownBlocker::from).collect();
    let (namespace, pull_registry) = (rendered.namespace.clone(), rendered.pull_registry.clone());
    let handover = rendered.hand_over()?.unwrap_or_else(|problems| {
        let told = problems.iter();
        why.extend(told.map(|problem| {
            ShownBlocker::new(problem.to_string(), failure::not_for_others(problem))
        }));
        Handover::default()
    });
    if !why.is_empty() {
        return Ok(Err(why));
    }
    Ok(Ok(ExportPlan {
        placed,
        archive,
        client,
        request,
        pull_registry,
        namespace,
        handover,
        behind: BTreeSet::new(),
    }))
}

/// The planned export of a Solution in an environment of a cluster.
pub(super) type DeploymentExport = ReadDeployment<ExportPlan>;

/// The plan of an export.
pub(super) struct ExportPlan {
    /// The deployment as in the file.
    pub(super) placed: PlacedVersion,
    pub(super) archive: Arc<CheckedArchive>,
    /// The registry that gets images and objects.
    pub(super) client: Client,
    pub(super) request: PushRequest,
    /// The same registry as the cluster knows it.
    pub(super) pull_registry: RegistryAddress,
    /// The namespace of the environment.
    pub(super) namespace: Namespace,
    pub(super) handover: Handover,
    /// The deployments that the tool applies earlier in the cluster.
    pub(super) behind: BTreeSet<PlacedVersion>,
}

/// Returns the request to push the images of an archive.
pub(super) fn push_request(placement: Placement, missing: MissingImagePolicy) -> PushRequest {
    PushRequest {
        pull_registry: None,
        wanted: TargetState {
            placement,
            replace: ReplacePolicy::Refuse,
            missing,
        },
    }
}

/// Assigns objects that multiple deployments share to the first of them, and determines the order of deployments.
/// Deployments that could not be planned come first.
pub(super) fn apart(deployments: Vec<DeploymentExport>) -> Result<Vec<DeploymentExport>, Failure> {
    let (mut plans, mut exports) = (Vec::new(), Vec::new());
    for DeploymentExport { placed, found } in deployments {
        match found {
            Ok(plan) => plans.push(plan),
            Err(why) => exports.push(DeploymentExport {
                placed,
                found: Err(why),
            }),
        }
    }
    let handovers = plans
        .iter_mut()
        .map(|plan| std::mem::take(&mut plan.handover));
    let mut handovers: Vec<Handover> = handovers.collect();
    let overlaps = importer::leave_to_first(&mut handovers)?;
    let mut earlier: Vec<(PlacedVersion, SolutionId)> = Vec::new();
    for ((mut plan, handover), overlap) in plans.into_iter().zip(handovers).zip(overlaps) {
        let Overlap { behind, differing } = overlap;
        let manifest = plan.archive.accepted.manifest();
        let needed = &manifest.spec.prerequisites.solutions;
        let is_needed = |id: &SolutionId| needed.iter().any(|solution| solution.name == *id.name());
        let comes_behind = earlier
            .iter()
            .enumerate()
            .filter(|(place, (_, id))| behind.contains(place) || is_needed(id))
            .map(|(_, (placed, _))| placed.clone());
        plan.behind = comes_behind.collect();
        plan.handover = handover;
        let id = plan.archive.accepted.statement().predicate.id.clone();
        let placed = plan.placed.clone();
        earlier.push((placed.clone(), id));
        let differing: Vec<ShownBlocker> = differing.iter().map(|object| differs(object)).collect();
        let found = if differing.is_empty() {
            Ok(plan)
        } else {
            Err(differing)
        };
        exports.push(DeploymentExport { placed, found });
    }
    Ok(exports)
}

fn differs(object: &str) -> ShownBlocker {
    ShownBlocker::new(
        format!(
            "{object} differs from the same object of an earlier deployment, so the tool would keep changing it"
        ),
        "use the same version in both deployments, or deploy them with `solution fleet apply`",
    )
}

/// Returns notes on a deployment.
pub(super) fn notes(tool: GitOpsTool, plan: &ExportPlan) -> Vec<String> {
    let handover = &plan.handover;
    let said = |words: String, all: &[String]| {
        let all = list_names(all.to_vec());
        (!all.is_empty()).then(|| format!("{words}: {all}"))
    };
    let hooks = format!("hooks {}", tool.hooks());
    let left = "not exported: hooks that run on removal or rollback".to_owned();
    let outside = "effects outside the environment".to_owned();
    let notes = [
        said(outside, &handover.external_objects),
        said(hooks, &handover.hooks),
        said(left, &handover.left_hooks),
    ];
    let secrets = handover.secrets.iter().map(|secret| {
        let (name, kind, keys) = (&secret.name, &secret.kind, list_names(secret.keys.clone()));
        format!("create in the cluster: Secret {name} ({kind}) with the keys {keys}")
    });
    notes.into_iter().flatten().chain(secrets).collect()
}
