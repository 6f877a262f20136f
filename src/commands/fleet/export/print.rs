//! The result of `solution fleet export`: YAML or files for people, and JSON. Files replace those of an earlier export,
//! so that the directory has no outdated objects.

use std::path::Path;

use fleet::FleetFile;
use importer::LeftSecret;
use schemars::JsonSchema;
use schemas::{Digest, yaml};
use serde::Serialize;
use serde_json::Value;

use super::Arguments;
use super::made::{MadeArtifact, MadeCluster, MadeDeployment};
use super::tools::GitOpsTool;
use crate::args::Output;
use crate::commands::archive::extract;
use crate::commands::blocked::ShownBlocker;
use crate::disk::{self, Modes, WriteMode};
use crate::failure::{Failure, cannot};
use crate::render;

/// The objects that a tool applies to the clusters of a fleet.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetExport<'a> {
    /// The fleet's name.
    fleet: &'a str,
    /// The tool.
    pub(super) to: GitOpsTool,
    /// The clusters, in the order of the file.
    pub(super) clusters: Vec<ExportedCluster<'a>>,
    /// Features that deployments with this tool lack.
    pub(super) losses: Vec<String>,
}

/// The objects of a cluster.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExportedCluster<'a> {
    /// The cluster's name.
    pub(super) name: &'a str,
    /// Why it was left out; null if it was not.
    pub(super) problem: Option<&'a ShownBlocker>,
    /// The deployments, each after those that it needs.
    pub(super) deployments: Vec<ExportedDeployment<'a>>,
}

/// The exported objects of a deployment.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExportedDeployment<'a> {
    /// The Solution, its version and the environment, as `NAME VERSION in ENVIRONMENT`.
    pub(super) deployment: &'a str,
    /// The artifact with the objects; null if the tool's objects contain them.
    pub(super) artifact: Option<ExportedArtifact<'a>>,
    /// The number of objects.
    pub(super) count: usize,
    /// The Secrets that are to be made in the cluster.
    secrets: &'a [LeftSecret],
    /// Notes.
    pub(super) notes: &'a [String],
    /// The objects of the tool.
    pub(super) objects: &'a [Value],
}

/// An artifact at a registry.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExportedArtifact<'a> {
    /// The repository as the cluster knows it, `HOST/PATH`.
    pub(super) repository: &'a str,
    /// The tag.
    tag: String,
    /// The digest of the manifest.
    digest: Digest,
}

impl<'a> FleetExport<'a> {
    pub(super) fn of(
        file: &'a FleetFile,
        arguments: &Arguments,
        clusters: &'a [MadeCluster<'_>],
    ) -> Self {
        let cluster = |cluster: &'a MadeCluster<'_>| ExportedCluster {
            name: cluster.name,
            problem: cluster.problem.as_ref(),
            deployments: cluster
                .deployments
                .iter()
                .map(ExportedDeployment::of)
                .collect(),
        };
        Self {
            fleet: file.document().metadata.name.as_str(),
            to: arguments.to,
            clusters: clusters.iter().map(cluster).collect(),
            losses: arguments.to.losses(),
        }
    }
}

impl<'a> ExportedDeployment<'a> {
    fn of(made: &'a MadeDeployment) -> Self {
        let artifact = |artifact: &'a MadeArtifact| ExportedArtifact {
            repository: &artifact.address,
            tag: artifact.tag.to_string(),
            digest: artifact.files.digest(),
        };
        let handover = &made.plan.handover;
        Self {
            deployment: &made.deployment,
            artifact: made.artifact.as_ref().map(artifact),
            count: handover.manifests.len(),
            secrets: &handover.secrets,
            notes: &made.notes,
            objects: &made.objects,
        }
    }
}

/// The modes of files with objects. Everyone with access to the registry can read the objects, so they are not secret.
const MODES: Modes = Modes {
    file: 0o644,
    folder: 0o777,
};

pub(super) fn show_all(
    export: &FleetExport<'_>,
    arguments: &Arguments,
    output: Output,
) -> Result<(), Failure> {
    if let Some(directory) = &arguments.output_dir {
        for cluster in &export.clusters {
            write(cluster, directory)?;
        }
    }
    if output == Output::Json {
        render::result(output, export, |_| {});
        return Ok(());
    }
    notes(export);
    let tool = export.to.name();
    if arguments.dry_run {
        render::note!("nothing was pushed (--dry-run)");
    }
    match &arguments.output_dir {
        Some(directory) => {
            let files = render::count(export.clusters.len(), "cluster");
            render::line!(
                "the {tool} objects of {files} are in `{}`",
                directory.display()
            );
        }
        None => print(export)?,
    }
    Ok(())
}

/// Returns the objects of a cluster as YAML.
fn documents(cluster: &ExportedCluster<'_>) -> String {
    let name = cluster.name;
    let of = |exported: &ExportedDeployment<'_>| -> String {
        let deployment = exported.deployment;
        let documents = exported.objects.iter().map(yaml::to_string);
        let documents = documents.map(|text| format!("---\n# {name}: {deployment}\n{text}"));
        documents.collect()
    };
    cluster.deployments.iter().map(of).collect()
}

/// Writes the objects of a cluster, in place of those of an earlier export.
fn write(cluster: &ExportedCluster<'_>, directory: &Path) -> Result<(), Failure> {
    if cluster.problem.is_some() {
        return Ok(());
    }
    let path = directory.join(format!("{}.yaml", cluster.name));
    let text = documents(cluster);
    disk::write_atomically(&path, text.as_bytes(), MODES, WriteMode::Replace)
        .map_err(cannot("write", &path))
}

fn print(export: &FleetExport<'_>) -> Result<(), Failure> {
    for cluster in &export.clusters {
        let text = documents(cluster);
        if render::is_terminal() {
            text.lines().for_each(render::line);
        } else if extract::write(text.as_bytes())?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Prints the notes, each once with the clusters that have it.
fn notes(export: &FleetExport<'_>) {
    let mut told: Vec<(String, Vec<&str>)> = Vec::new();
    for cluster in &export.clusters {
        if let Some(problem) = cluster.problem {
            render::note!("error: {}: {}", cluster.name, problem.message);
            render::note!("hint: {}", problem.fix);
        }
        for deployment in &cluster.deployments {
            for note in deployment.notes {
                let note = format!("{}: {note}", deployment.deployment);
                match told.iter_mut().find(|(known, _)| *known == note) {
                    Some((_, clusters)) => clusters.push(cluster.name),
                    None => told.push((note, vec![cluster.name])),
                }
            }
        }
    }
    for (note, clusters) in told {
        render::note!("note: {}, {note}", render::list(clusters));
    }
    render::notes("lost: ", &export.losses);
}
