//! What is made of a plan: the files that the tool applies, the artifact that they are pushed as, and the tool's objects.

use std::collections::BTreeMap;

use fleet::FleetFile;
use importer::RenderedManifest;
use schemas::PlacedVersion;
use serde_json::Value;

use super::Arguments;
use super::artifact::MadeArtifact;
use super::name::object_name;
use super::notes::notes;
use super::planned::{DeploymentExport, ExportPlan};
use super::tool::GitOpsTool;
use super::tools::{ArtifactSource, Consumer, argocd, flux, rancher};
use crate::commands::refusal::InTheWay;
use crate::commands::render::show::{document, file_name};
use crate::failure::Failure;

/// A cluster, and what is made for it.
pub(super) struct MadeCluster<'a> {
    pub(super) name: &'a str,
    /// Why nothing could be found out of it.
    pub(super) problem: Option<InTheWay>,
    pub(super) deployments: Vec<MadeDeployment>,
}

impl<'a> MadeCluster<'a> {
    /// One for which nothing is made yet.
    pub(super) fn new(name: &'a str) -> Self {
        Self {
            name,
            problem: None,
            deployments: Vec::new(),
        }
    }
}

/// What is made of a deployment.
pub(super) struct MadeDeployment {
    /// The Solution, its version and the environment, in words.
    pub(super) deployment: String,
    pub(super) plan: ExportPlan,
    /// What is pushed besides images; none where the tool's objects hold everything.
    pub(super) artifact: Option<MadeArtifact>,
    /// What is worth knowing of it.
    pub(super) notes: Vec<String>,
    /// The tool's objects.
    pub(super) objects: Vec<Value>,
}

/// Makes what a cluster gets; what is in the way instead, by the deployment.
pub(super) fn made(
    file: &FleetFile,
    at: usize,
    deployments: Vec<DeploymentExport>,
    arguments: &Arguments,
) -> Vec<(String, Result<MadeDeployment, Vec<InTheWay>>)> {
    let making = Making {
        file,
        at,
        arguments,
    };
    let make = |it: DeploymentExport| {
        let deployment = it.placed.to_string();
        let made = |plan| making.deployment(plan).map_err(|why| vec![why]);
        (deployment, it.found.and_then(made))
    };
    deployments.into_iter().map(make).collect()
}

/// How a tool is told of what was pushed.
type PushedObjects = fn(&Consumer<'_>, &ArtifactSource<'_>) -> Vec<Value>;

/// The cluster that something is made for.
struct Making<'a> {
    file: &'a FleetFile,
    /// Its place in the file.
    at: usize,
    arguments: &'a Arguments,
}

impl Making<'_> {
    fn deployment(&self, plan: ExportPlan) -> Result<MadeDeployment, InTheWay> {
        let (tool, placed) = (self.arguments.to, plan.placed.clone());
        let mut marked = plan.handover.manifests.clone();
        for it in &mut marked {
            tool.mark(&mut it.object);
        }
        let consumer = Consumer {
            name: self.name(&placed),
            namespace: self.arguments.namespace(),
            cluster: &self.file.spec().clusters[self.at].name,
            environment: &plan.namespace,
            behind: plan.behind.iter().map(|it| self.name(it)).collect(),
            login_secret: self.arguments.login_secret.as_ref(),
        };
        let pushed = |objects: PushedObjects| {
            let path = format!("fleets/{}", self.path(&placed));
            let artifact = MadeArtifact::of(&plan, &path, &placed.version, &files(&marked));
            let artifact = artifact.map_err(|error| InTheWay::from(&Failure::no(error)))?;
            let objects = objects(&consumer, &artifact.source(&plan));
            Ok::<_, InTheWay>((Some(artifact), objects))
        };
        let (artifact, objects) = match tool {
            GitOpsTool::Flux => pushed(flux::objects)?,
            GitOpsTool::Argocd => pushed(argocd::objects)?,
            GitOpsTool::Fleet => (None, rancher::objects(&consumer, &marked)?),
        };
        Ok(MadeDeployment {
            deployment: placed.to_string(),
            notes: notes(tool, &plan),
            plan,
            artifact,
            objects,
        })
    }

    /// What tells a deployment apart from every other one of any fleet, and stays from version to version.
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

/// The files of a deployment, as `solution render` writes them.
fn files(manifests: &[RenderedManifest]) -> BTreeMap<String, String> {
    let files = manifests.iter().enumerate();
    files
        .map(|(index, it)| (file_name(index + 1, it), document(it)))
        .collect()
}
