//! The content of an export: the artifact with the objects of a deployment, and the objects of the tool. Images and
//! artifacts are pushed to the registries of the clusters.

use std::collections::{BTreeMap, BTreeSet};

use fleet::FleetFile;
use importer::RenderedManifest;
use registry::{AddressError, CertificateAuthority, RepositoryPath};
use schemas::{PlacedVersion, Tag, Version};
use serde_json::Value;
use store::{FilesArtifact, PushPlan, ReadyPush};

use super::Arguments;
use super::plan::{DeploymentExport, ExportPlan, notes};
use super::tools::{self, ArtifactSource, Consumer, GitOpsTool};
use crate::args::Output;
use crate::commands::blocked::ShownBlocker;
use crate::commands::import::CheckedArchive;
use crate::commands::push_progress::{PushGoal, PushProgress};
use crate::commands::render::show::{document, file_name};
use crate::events::Push;
use crate::failure::Failure;

/// An artifact with its repository and tag.
pub(super) struct MadeArtifact {
    pub(super) files: FilesArtifact,
    pub(super) repository: RepositoryPath,
    pub(super) tag: Tag,
    /// The repository as the cluster knows it, with its host.
    pub(super) address: String,
}

impl MadeArtifact {
    /// Packs the files of a deployment. The path is below the prefix of the registry, and no image can have it.
    pub(super) fn of(
        plan: &ExportPlan,
        path: &str,
        version: &Version,
        files: &BTreeMap<String, String>,
    ) -> Result<Self, AddressError> {
        let (files, known) = (FilesArtifact::new(files), &plan.pull_registry);
        Ok(Self {
            repository: plan.client.address().repository(path)?,
            tag: files.tag(version),
            address: format!("{}/{}", known.host(), known.repository(path)?),
            files,
        })
    }

    /// Returns the artifact as the tool sees it.
    pub(super) fn source(&self, plan: &ExportPlan) -> ArtifactSource<'_> {
        let client = &plan.client;
        // If the cluster uses another name for the registry, it is unknown whether TLS is used under that name.
        let is_same = plan.pull_registry.host() == client.address().host();
        ArtifactSource {
            address: &self.address,
            digest: self.files.digest(),
            authorities: CertificateAuthority::join(client.authorities()),
            plain_http: is_same && client.is_tls() == Some(false),
        }
    }
}

/// The content of the export for a cluster.
pub(super) struct MadeCluster<'a> {
    pub(super) name: &'a str,
    /// The reason why the cluster could not be read.
    pub(super) problem: Option<ShownBlocker>,
    pub(super) deployments: Vec<MadeDeployment>,
}

impl<'a> MadeCluster<'a> {
    /// Creates the export of a cluster without deployments.
    pub(super) fn new(name: &'a str) -> Self {
        Self {
            name,
            problem: None,
            deployments: Vec::new(),
        }
    }
}

/// The content of the export of a deployment.
pub(super) struct MadeDeployment {
    /// The Solution, its version and the environment, in words.
    pub(super) deployment: String,
    pub(super) plan: ExportPlan,
    /// The artifact in addition to images; `None` if the tool's objects contain everything.
    pub(super) artifact: Option<MadeArtifact>,
    /// Notes on the deployment.
    pub(super) notes: Vec<String>,
    /// The tool's objects.
    pub(super) objects: Vec<Value>,
}

/// Creates the content of each deployment in a cluster, or returns its blockers.
pub(super) fn made(
    file: &FleetFile,
    at: usize,
    deployments: Vec<DeploymentExport>,
    arguments: &Arguments,
) -> Vec<(String, Result<MadeDeployment, Vec<ShownBlocker>>)> {
    let making = ArtifactBuilder {
        file,
        at,
        arguments,
    };
    let make = |export: DeploymentExport| {
        let deployment = export.placed.to_string();
        let made = |plan| making.deployment(plan).map_err(|why| vec![why]);
        (deployment, export.found.and_then(made))
    };
    deployments.into_iter().map(make).collect()
}

/// A function that returns a tool's objects for an artifact.
type PushedObjects = fn(&Consumer<'_>, &ArtifactSource<'_>) -> Vec<Value>;

/// The builder of the content for one cluster.
struct ArtifactBuilder<'a> {
    file: &'a FleetFile,
    /// The index of the cluster in the file.
    at: usize,
    arguments: &'a Arguments,
}

impl ArtifactBuilder<'_> {
    fn deployment(&self, plan: ExportPlan) -> Result<MadeDeployment, ShownBlocker> {
        let (tool, placed) = (self.arguments.to, plan.placed.clone());
        let mut marked = plan.handover.manifests.clone();
        for manifest in &mut marked {
            tool.mark(&mut manifest.object);
        }
        let consumer = Consumer {
            name: self.name(&placed),
            namespace: self.arguments.namespace(),
            cluster: &self.file.spec().clusters[self.at].name,
            environment: &plan.namespace,
            behind: plan.behind.iter().map(|placed| self.name(placed)).collect(),
            login_secret: self.arguments.login_secret.as_ref(),
        };
        let pushed = |objects: PushedObjects| {
            let path = format!("fleets/{}", self.path(&placed));
            let artifact = MadeArtifact::of(&plan, &path, &placed.version, &files(&marked));
            let artifact = artifact.map_err(|error| ShownBlocker::from(&Failure::no(error)))?;
            let objects = objects(&consumer, &artifact.source(&plan));
            Ok::<_, ShownBlocker>((Some(artifact), objects))
        };
        let (artifact, objects) = match tool {
            GitOpsTool::Flux => pushed(tools::flux_objects)?,
            GitOpsTool::Argocd => pushed(tools::argocd_objects)?,
            GitOpsTool::Fleet => (None, tools::rancher_objects(&consumer, &marked)?),
        };
        Ok(MadeDeployment {
            deployment: placed.to_string(),
            notes: notes(tool, &plan),
            plan,
            artifact,
            objects,
        })
    }

    /// Returns a path that is unique for a deployment among all fleets, and the same for all versions.
    fn path(&self, placed: &PlacedVersion) -> String {
        let fleet = &self.file.document().metadata.name;
        let cluster = &self.file.spec().clusters[self.at].name;
        format!(
            "{fleet}/{cluster}/{}/{}",
            placed.environment, placed.solution
        )
    }

    fn name(&self, placed: &PlacedVersion) -> String {
        object_name(&self.path(placed))
    }
}

/// Returns the files of a deployment, in the form in which `solution render` writes them.
fn files(manifests: &[RenderedManifest]) -> BTreeMap<String, String> {
    let files = manifests.iter().enumerate();
    files
        .map(|(index, manifest)| (file_name(index + 1, manifest), document(manifest)))
        .collect()
}

/// The number of readable characters in a name. Helm accepts the resulting name as the name of a release.
const READABLE: usize = 40;
/// The number of hex digits that make a name unique.
const HASHED: usize = 8;

/// Returns a unique name with a readable beginning. The readable part omits the fleet, which the hash covers.
fn object_name(all: &str) -> String {
    let (_, readable) = all.split_once('/').unwrap_or(("", all));
    let plain = |character: char| {
        if character.is_ascii_alphanumeric() {
            character
        } else {
            '-'
        }
    };
    let readable: String = readable.chars().map(plain).take(READABLE).collect();
    let hash = files::digest(all.as_bytes()).hex();
    format!("{readable}-{}", &hash[..HASHED])
}

/// Pushes all images and artifacts, one deployment after the other, so that a later one finds shared content in the
/// registry.
pub(super) async fn push_all(clusters: &[MadeCluster<'_>], output: Output) -> Result<(), Failure> {
    let mut pushed = BTreeSet::new();
    for cluster in clusters {
        for made in &cluster.deployments {
            let archive = made.plan.archive.accepted.archive_id();
            let registry = made.plan.client.address().to_string();
            let is_new = pushed.insert((registry, archive));
            let of = |failure: Failure| {
                failure.context(format!("{}, {}", cluster.name, made.deployment))
            };
            if is_new {
                images(made, output).await.map_err(of)?;
            }
            artifact(made).await.map_err(of)?;
        }
    }
    Ok(())
}

/// Pushes the images that the registry lacks.
async fn images(made: &MadeDeployment, output: Output) -> Result<(), Failure> {
    let CheckedArchive { accepted, findings } = &*made.plan.archive;
    let client = &made.plan.client;
    let plan = PushPlan::make(accepted, findings.clone(), client, &made.plan.request).await?;
    let ready: ReadyPush = match plan.ready() {
        Ok(ready) => ready,
        Err(plan) => {
            plan.give_up(client).await;
            let obstacle = plan.obstacles().first().cloned();
            return obstacle.map_or(Ok(()), |obstacle| Err(store::Error::from(obstacle).into()));
        }
    };
    let summary = ready.summary();
    let push = Push {
        solution: &summary.solution,
        registry: &summary.registry,
        bytes: summary.bytes_to_push,
    };
    let pushing = PushProgress::new(&push, PushGoal::Registry, output);
    let receipt = ready.apply(client, &|event| pushing.take(&event)).await;
    pushing.finish(receipt.is_ok());
    receipt?;
    Ok(())
}

/// Pushes the objects, if the tool reads them from the registry.
async fn artifact(made: &MadeDeployment) -> Result<(), Failure> {
    let Some(MadeArtifact {
        files,
        repository,
        tag,
        ..
    }) = &made.artifact
    else {
        return Ok(());
    };
    files
        .push(&made.plan.client, repository, tag.clone())
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_label_and_tells_apart_what_reads_alike() {
        let [one, other] = ["f/a-b/c/d", "f/a/b-c/d"].map(object_name);
        assert!(one.starts_with("a-b-c-d-") && other.starts_with("a-b-c-d-"));
        assert_ne!(one, other);
        let long = object_name(&format!("f/{}/prod/shop", "a.".repeat(60)));
        assert!(long.len() <= 53, "{long}");
        assert!(!long.contains('.') && !long.ends_with('-'), "{long}");
    }
}
