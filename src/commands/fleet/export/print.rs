//! The result of `solution fleet export`: YAML or files for people, and JSON. Files replace those of an earlier export,
//! so that the directory has no outdated objects.

use std::path::Path;

use fleet::FleetFile;
use schemars::JsonSchema;
use schemas::yaml;
use serde::Serialize;

use super::Arguments;
use super::made::{ExportedCluster, ExportedDeployment};
use super::tools::GitOpsTool;
use crate::args::Output;
use crate::commands::archive::extract;
use crate::commands::fleet::note_problem;
use crate::disk::{self, Modes, WriteMode};
use crate::failure::{Failure, cannot};
use crate::render;

/// The objects that a tool applies to the clusters of a fleet.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetExport<'a> {
    /// The fleet's name.
    fleet: &'a str,
    /// The tool.
    to: GitOpsTool,
    /// The clusters, in the order of the file.
    clusters: &'a [ExportedCluster<'a>],
    /// Features that deployments with this tool lack.
    losses: Vec<String>,
}

impl<'a> FleetExport<'a> {
    pub(super) fn of(
        file: &'a FleetFile,
        arguments: &Arguments,
        clusters: &'a [ExportedCluster<'a>],
    ) -> Self {
        Self {
            fleet: file.document().metadata.name.as_str(),
            to: arguments.to,
            clusters,
            losses: arguments.to.losses(),
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
        for cluster in export.clusters {
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
    let of = |exported: &ExportedDeployment| -> String {
        let deployment = &exported.deployment;
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
    for cluster in export.clusters {
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
    for cluster in export.clusters {
        note_problem(cluster.name, cluster.problem.as_ref());
        for deployment in &cluster.deployments {
            for note in &deployment.notes {
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
