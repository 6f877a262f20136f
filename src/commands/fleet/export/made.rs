//! The content of an export: the artifact with the objects of a deployment, and the objects of the tool. Images and
//! artifacts are pushed to the registries of the clusters.

use std::collections::{BTreeMap, BTreeSet};

use fleet::FleetFile;
use importer::{CheckedArchive, LeftSecret, RenderedManifest};
use registry::{AddressError, CertificateAuthority, RepositoryPath};
use schemars::JsonSchema;
use schemas::{Digest, PlacedVersion, Tag, Version};
use serde::Serialize;
use serde_json::Value;
use store::{FilesArtifact, PushPlan};

use super::Arguments;
use super::plan::{DeploymentExport, ExportPlan, notes};
use super::tools::{self, ArtifactSource, Consumer, GitOpsTool};
use crate::args::Output;
use crate::commands::blocked::ShownBlocker;
use crate::commands::push_progress;
use crate::commands::render::show::{document, file_name};
use crate::failure::Failure;

/// An artifact at a registry.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExportedArtifact {
    /// The repository as the cluster knows it, `HOST/PATH`.
    pub(super) repository: String,
    /// The tag.
    #[schemars(with = "String")]
    tag: Tag,
    /// The digest of the manifest.
    digest: Digest,
    #[serde(skip)]
    files: FilesArtifact,
    /// The repository at the registry that is pushed to.
    #[serde(skip)]
    pushed: RepositoryPath,
}

impl ExportedArtifact {
    /// Packs the files of a deployment. The path is below the prefix of the registry, and no image can have it.
    pub(super) fn of(
        plan: &ExportPlan,
        path: &str,
        version: &Version,
        files: &BTreeMap<String, String>,
    ) -> Result<Self, AddressError> {
        let (files, known) = (FilesArtifact::new(files), &plan.pull_registry);
        Ok(Self {
            repository: format!("{}/{}", known.host(), known.repository(path)?),
            tag: files.tag(version),
            digest: files.digest(),
            files,
            pushed: plan.client.address().repository(path)?,
        })
    }

    /// Returns the artifact as the tool sees it.
    pub(super) fn source(&self, plan: &ExportPlan) -> ArtifactSource<'_> {
        let client = &plan.client;
        // If the cluster uses another name for the registry, it is unknown whether TLS is used under that name.
        let is_same = plan.pull_registry.host() == client.address().host();
        ArtifactSource {
            address: &self.repository,
            digest: self.digest,
            authorities: CertificateAuthority::join(client.authorities()),
            plain_http: is_same && client.is_tls() == Some(false),
        }
    }
}

/// The objects of a cluster.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExportedCluster<'a> {
    /// The cluster's name.
    pub(super) name: &'a str,
    /// Why it was left out; null if it was not.
    pub(super) problem: Option<ShownBlocker>,
    /// The deployments, each after those that it needs.
    pub(super) deployments: Vec<ExportedDeployment>,
}

/// The exported objects of a deployment.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExportedDeployment {
    /// The Solution, its version and the environment, as `NAME VERSION in ENVIRONMENT`.
    pub(super) deployment: String,
    /// The artifact with the objects; null if the tool's objects contain them.
    artifact: Option<ExportedArtifact>,
    /// The number of objects.
    count: usize,
    /// The Secrets that are to be made in the cluster.
    secrets: Vec<LeftSecret>,
    /// Notes.
    pub(super) notes: Vec<String>,
    /// The objects of the tool.
    pub(super) objects: Vec<Value>,
    #[serde(skip)]
    plan: ExportPlan,
}

/// Creates the content of each deployment in a cluster, or returns its blockers.
pub(super) fn made(
    file: &FleetFile,
    at: usize,
    deployments: Vec<DeploymentExport>,
    arguments: &Arguments,
) -> Vec<(String, Result<ExportedDeployment, Vec<ShownBlocker>>)> {
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
    fn deployment(&self, plan: ExportPlan) -> Result<ExportedDeployment, ShownBlocker> {
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
            let artifact = ExportedArtifact::of(&plan, &path, &placed.version, &files(&marked));
            let artifact = artifact.map_err(|error| ShownBlocker::from(&Failure::no(error)))?;
            let objects = objects(&consumer, &artifact.source(&plan));
            Ok::<_, ShownBlocker>((Some(artifact), objects))
        };
        let (artifact, objects) = match tool {
            GitOpsTool::Flux => pushed(tools::flux_objects)?,
            GitOpsTool::Argocd => pushed(tools::argocd_objects)?,
            GitOpsTool::Fleet => (None, tools::rancher_objects(&consumer, &marked)?),
        };
        Ok(ExportedDeployment {
            deployment: placed.to_string(),
            artifact,
            count: plan.handover.manifests.len(),
            secrets: plan.handover.secrets.clone(),
            notes: notes(tool, &plan),
            objects,
            plan,
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
pub(super) async fn push_all(
    clusters: &[ExportedCluster<'_>],
    output: Output,
) -> Result<(), Failure> {
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
async fn images(made: &ExportedDeployment, output: Output) -> Result<(), Failure> {
    let CheckedArchive { accepted, findings } = &*made.plan.archive;
    let client = &made.plan.client;
    let plan = PushPlan::make(accepted, findings.clone(), client, &made.plan.request).await?;
    let ready = match plan.ready() {
        Ok(ready) => ready,
        Err(plan) => {
            plan.give_up(client).await;
            let blocker = plan.blockers().first().cloned();
            return blocker.map_or(Ok(()), |blocker| Err(store::Error::from(blocker).into()));
        }
    };
    push_progress::push(ready, client, output).await?;
    Ok(())
}

/// Pushes the objects, if the tool reads them from the registry.
async fn artifact(made: &ExportedDeployment) -> Result<(), Failure> {
    let Some(artifact) = &made.artifact else {
        return Ok(());
    };
    let (repository, tag) = (&artifact.pushed, artifact.tag.clone());
    artifact
        .files
        .push(&made.plan.client, repository, tag)
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
