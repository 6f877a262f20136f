//! The objects that the clusters of a fleet get: as YAML in one stream, one file each, or as JSON.

use std::path::Path;

use fleet::FleetFile;
use importer::RenderedManifests;

use super::super::apply::Hindrances;
use super::super::outcome::worst;
use super::super::read_member::{ReadDeployment, ReadMember};
use super::Arguments;
use super::shown::RenderedFleet;
use crate::args::Output;
use crate::commands::refusal::{self, InTheWay};
use crate::commands::render::show::{document_of, files, print};
use crate::failure::{Failure, Outcome};
use crate::render;

/// Prints or writes the objects, and returns how the command ends.
pub(super) fn show(
    file: &FleetFile,
    clusters: &[ReadMember<'_, RenderedManifests>],
    arguments: &Arguments,
    output: Output,
) -> Result<Outcome, Failure> {
    if let Some(directory) = &arguments.output_dir {
        write(clusters, arguments, directory)?;
    }
    if output == Output::Json {
        render::result(output, &RenderedFleet::of(file, clusters), |_| {});
        return Ok(outcome(clusters));
    }
    if let Some(directory) = &arguments.output_dir {
        let count = rendered(clusters).map(|(_, _, it)| it.manifests.len());
        let objects = render::count(count.sum(), "object");
        render::line!("{objects} in `{}`", directory.display());
    } else {
        let documents = rendered(clusters).flat_map(|(name, deployment, it)| {
            let origin = format!("{name}, {}, ", deployment.placed);
            let manifests = it.manifests.iter();
            manifests.map(move |manifest| document_of(&origin, manifest))
        });
        print(documents)?;
    }
    let obstacles = obstacles(clusters);
    if !obstacles.is_empty() {
        refusal::show(&obstacles, " of a rendering");
    }
    Ok(outcome(clusters))
}

/// Each deployment that was rendered, with its cluster.
fn rendered<'a>(
    clusters: &'a [ReadMember<'_, RenderedManifests>],
) -> impl Iterator<
    Item = (
        &'a str,
        &'a ReadDeployment<RenderedManifests>,
        &'a RenderedManifests,
    ),
> {
    clusters.iter().flat_map(|member| {
        let deployments = member.found.iter().flatten();
        deployments.filter_map(move |it| Some((member.name, it, it.found.as_ref().ok()?)))
    })
}

/// Writes a file for each object.
fn write(
    clusters: &[ReadMember<'_, RenderedManifests>],
    arguments: &Arguments,
    directory: &Path,
) -> Result<(), Failure> {
    for (name, deployment, found) in rendered(clusters) {
        let placed = &deployment.placed;
        let folder = format!("{}.{}", placed.environment, placed.solution);
        let folder = directory.join(name).join(folder);
        files(&found.manifests, &folder, arguments.secrets())?;
    }
    Ok(())
}

/// What is in the way of a cluster, each thing once.
fn obstacles(clusters: &[ReadMember<'_, RenderedManifests>]) -> Vec<InTheWay> {
    let mut found = Hindrances::default();
    for ReadMember {
        name, found: of, ..
    } in clusters
    {
        match of {
            Err(failure) => found.add_unplanned(name, failure, false),
            Ok(deployments) => {
                for ReadDeployment { placed, found: of } in deployments {
                    let why = of.as_ref().err().into_iter();
                    why.for_each(|why| found.add_all(name, &placed.to_string(), why));
                }
            }
        }
    }
    found.told()
}

/// How the command ends: with a no if a deployment cannot be rendered.
fn outcome(clusters: &[ReadMember<'_, RenderedManifests>]) -> Outcome {
    worst(clusters.iter().map(|member| match &member.found {
        Err(failure) => failure.outcome(),
        Ok(deployments) if deployments.iter().all(|it| it.found.is_ok()) => Outcome::Yes,
        Ok(_) => Outcome::No,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::super::standing::tests::file;
    use super::*;

    #[test]
    fn a_deployment_that_cannot_be_rendered_counts_before_a_cluster_that_is_away() {
        let placed = schemas::PlacedVersion {
            solution: "shop".parse().unwrap(),
            version: "1.1.0".parse().unwrap(),
            environment: "prod".parse().unwrap(),
        };
        let member = |name, found| ReadMember { at: 0, name, found };
        let refused = ReadDeployment {
            placed,
            found: Err(vec![InTheWay::new("no value", "add it")]),
        };
        let away = Failure::unknown(anyhow::anyhow!("no answer"));
        let mut clusters = vec![member("lab", Ok(Vec::new()))];
        assert_eq!(outcome(&clusters), Outcome::Yes);
        clusters.push(member("paris", Err(away)));
        assert_eq!(outcome(&clusters), Outcome::Unknown);
        clusters.push(member("rome", Ok(vec![refused])));
        assert_eq!(outcome(&clusters), Outcome::No);
        let obstacles = obstacles(&clusters).into_iter();
        let obstacles: Vec<String> = obstacles.map(|it| it.message).collect();
        assert_eq!(
            obstacles,
            ["paris: no answer", "rome, shop 1.1.0 in prod: no value"]
        );
        let file = file("{clusters: []}");
        let shown = serde_json::to_value(RenderedFleet::of(&file, &clusters)).unwrap();
        let rome = &shown["clusters"][2]["deployments"][0];
        assert_eq!(rome["obstacles"][0]["message"], "no value", "{shown:#}");
    }
}
