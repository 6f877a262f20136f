//! What was exported, for people: the tool's objects as YAML, in one stream or one file for each cluster, and beside them
//! what is worth knowing.

use std::path::Path;

use schemas::yaml;

use super::Arguments;
use super::shown::{ExportedCluster, ExportedDeployment, FleetExport};
use crate::args::Output;
use crate::commands::look::cat;
use crate::failure::{Failure, cannot};
use crate::own::{self, Modes, Write};
use crate::render;

/// The modes of files with objects: everybody who reads the registry may know them.
const MODES: Modes = Modes {
    file: 0o644,
    folder: 0o777,
};

pub(super) fn all(
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

/// The objects of a cluster, as YAML.
fn documents(cluster: &ExportedCluster<'_>) -> String {
    let name = cluster.name;
    let of = |it: &ExportedDeployment<'_>| -> String {
        let deployment = it.deployment;
        let documents = it.objects.iter().map(yaml::to_string);
        let documents = documents.map(|text| format!("---\n# {name}: {deployment}\n{text}"));
        documents.collect()
    };
    cluster.deployments.iter().map(of).collect()
}

/// Writes the objects of a cluster in the place of those that were exported before.
fn write(cluster: &ExportedCluster<'_>, directory: &Path) -> Result<(), Failure> {
    if cluster.problem.is_some() {
        return Ok(());
    }
    let path = directory.join(format!("{}.yaml", cluster.name));
    let text = documents(cluster);
    own::write(&path, text.as_bytes(), MODES, Write::Replace).map_err(cannot("write", &path))
}

fn print(export: &FleetExport<'_>) -> Result<(), Failure> {
    for cluster in &export.clusters {
        let text = documents(cluster);
        if render::is_terminal() {
            text.lines().for_each(render::line);
        } else if cat::write(text.as_bytes())?.is_break() {
            break;
        }
    }
    Ok(())
}

/// What is worth knowing, each thing once with the clusters of which it is true.
fn notes(export: &FleetExport<'_>) {
    let mut told: Vec<(String, Vec<&str>)> = Vec::new();
    for cluster in &export.clusters {
        if let Some(problem) = cluster.problem {
            render::note!("error: {}: {}", cluster.name, problem.message);
            render::note!("hint: {}", problem.fix);
        }
        for it in &cluster.deployments {
            for note in it.notes {
                let note = format!("{}: {note}", it.deployment);
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
