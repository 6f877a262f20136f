//! `solution fleet render`: renders the objects that `fleet apply` would apply in each cluster. Nothing is written to
//! the clusters.

use std::path::{Path, PathBuf};

use clap::Args;
use fleet::FleetFile;
use importer::{RenderedManifest, RenderedManifests, SecretValues};
use schemars::JsonSchema;
use schemas::Namespace;
use serde::Serialize;

use super::reading::{ReadDeployment, ReadMember, ReadingArguments};
use super::{Blockers, worst};
use crate::args::{Output, choose};
use crate::commands::blocked::{self, ShownBlocker};
use crate::commands::render::show::{check_directory, document_of, files, print};
use crate::failure::{Failure, Outcome};
use crate::render;

/// Print the objects of each cluster of a fleet as YAML
#[derive(Args, Debug)]
#[command(after_help = "\
The command renders the objects of each Solution like `solution render`, with the values that the file has for \
the cluster. A comment before each object names its cluster and deployment. The command writes nothing to \
clusters.

--kubeconfig and --context select the cluster with the Cluster API objects in the file.

Exit codes: 1 a deployment cannot be rendered or a cluster has another UID than in the file, else 3 a cluster \
cannot be reached.

Examples:
  solution fleet render fleet.yaml --key publisher.pub --cluster paris
  solution fleet render fleet.yaml --key publisher.pub --group prod --output-dir rendered")]
pub(crate) struct Arguments {
    #[command(flatten)]
    reading: ReadingArguments,

    /// Write the objects to files in CLUSTER/ENVIRONMENT.SOLUTION of this directory, which must be new or empty
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,

    /// Show the values of Secrets and sensitive parameters
    #[arg(long)]
    show_secrets: bool,

    /// Consent to chart templates that read outside the environment, by the id that the refusal shows; may be
    /// repeated
    #[arg(long, value_name = "ID")]
    accept: Vec<String>,
}

impl Arguments {
    /// Returns whether secret values are shown.
    fn secrets(&self) -> SecretValues {
        choose(self.show_secrets, SecretValues::Shown, SecretValues::Masked)
    }
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if let Some(directory) = &arguments.output_dir {
        check_directory(directory)?;
    }
    let secrets = arguments.secrets();
    let outcome = arguments.reading.run(
        &arguments.accept,
        output,
        &async |deployable, cluster| {
            let (accepted, client) = (&deployable.archive.accepted, deployable.client);
            let request = deployable.request;
            let rendered =
                RenderedManifests::in_cluster(cluster, accepted, Some(client), request, secrets);
            let rendered = Box::pin(rendered).await?;
            Ok(rendered.map_err(|blockers| blockers.iter().map(ShownBlocker::from).collect()))
        },
        async |file, clusters| show(file, &clusters, arguments, output),
    );
    Ok(outcome?.unwrap_or(Outcome::No))
}

/// The objects that the clusters of a fleet get.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RenderedFleet<'a> {
    /// The fleet's name.
    fleet: &'a str,
    /// The clusters, in the order of the file.
    clusters: Vec<RenderedCluster<'a>>,
}

/// The objects that a cluster gets.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RenderedCluster<'a> {
    /// The cluster's name.
    name: &'a str,
    /// The reason why it could not be queried; null if it was.
    problem: Option<ShownBlocker>,
    /// The deployments, each after those that it needs.
    deployments: Vec<RenderedDeployment<'a>>,
}

/// The objects of a deployment.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RenderedDeployment<'a> {
    /// The Solution, its version and the environment, as `NAME VERSION in ENVIRONMENT`.
    deployment: String,
    /// The namespace of the environment; null if nothing could be rendered.
    namespace: Option<&'a Namespace>,
    /// The objects, by the parts that they come from.
    manifests: &'a [RenderedManifest],
    /// The blockers.
    #[serde(rename = "obstacles")]
    blockers: &'a [ShownBlocker],
}

impl<'a> RenderedFleet<'a> {
    pub(super) fn of(
        file: &'a FleetFile,
        clusters: &'a [ReadMember<'_, RenderedManifests>],
    ) -> Self {
        Self {
            fleet: file.document().metadata.name.as_str(),
            clusters: clusters.iter().map(RenderedCluster::of).collect(),
        }
    }
}

impl<'a> RenderedCluster<'a> {
    fn of(member: &'a ReadMember<'_, RenderedManifests>) -> Self {
        let deployments = member.found.iter().flatten();
        Self {
            name: member.name,
            problem: member.found.as_ref().err().map(ShownBlocker::from),
            deployments: deployments.map(RenderedDeployment::of).collect(),
        }
    }
}

impl<'a> RenderedDeployment<'a> {
    fn of(deployment: &'a ReadDeployment<RenderedManifests>) -> Self {
        let (rendered, blockers) = match &deployment.found {
            Ok(rendered) => (Some(rendered), &[][..]),
            Err(why) => (None, why.as_slice()),
        };
        Self {
            deployment: deployment.placed.to_string(),
            namespace: rendered.map(|rendered| &rendered.namespace),
            manifests: rendered.map_or(&[], |rendered| &rendered.manifests),
            blockers,
        }
    }
}

/// Prints or writes the objects, and returns the outcome of the command.
fn show(
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
        let count = rendered(clusters).map(|(_, _, rendered)| rendered.manifests.len());
        let objects = render::count(count.sum(), "object");
        render::line!("{objects} in `{}`", directory.display());
    } else {
        let documents = rendered(clusters).flat_map(|(name, deployment, rendered_manifests)| {
            let origin = format!("{name}, {}, ", deployment.placed);
            let manifests = rendered_manifests.manifests.iter();
            manifests.map(move |manifest| document_of(&origin, manifest))
        });
        print(documents)?;
    }
    let blockers = blockers(clusters);
    if !blockers.is_empty() {
        blocked::show_blockers(&blockers, " of a rendering");
    }
    Ok(outcome(clusters))
}

/// Returns each rendered deployment with its cluster.
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
        deployments.filter_map(move |deployment| {
            Some((member.name, deployment, deployment.found.as_ref().ok()?))
        })
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

/// Returns the blockers, each once with the clusters that have it.
fn blockers(clusters: &[ReadMember<'_, RenderedManifests>]) -> Vec<ShownBlocker> {
    let mut found = Blockers::default();
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

/// Returns the outcome of the command, which is negative if a deployment cannot be rendered.
fn outcome(clusters: &[ReadMember<'_, RenderedManifests>]) -> Outcome {
    worst(clusters.iter().map(|member| {
        match &member.found {
            Err(failure) => failure.outcome(),
            Ok(deployments)
                if deployments
                    .iter()
                    .all(|deployment| deployment.found.is_ok()) =>
            {
                Outcome::Yes
            }
            Ok(_) => Outcome::No,
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::fleet::removal::tests::file;

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
            found: Err(vec![ShownBlocker::new("no value", "add it")]),
        };
        let away = Failure::unknown(anyhow::anyhow!("no answer"));
        let mut clusters = vec![member("lab", Ok(Vec::new()))];
        assert_eq!(outcome(&clusters), Outcome::Yes);
        clusters.push(member("paris", Err(away)));
        assert_eq!(outcome(&clusters), Outcome::Unknown);
        clusters.push(member("rome", Ok(vec![refused])));
        assert_eq!(outcome(&clusters), Outcome::No);
        let blockers = blockers(&clusters).into_iter();
        let blockers: Vec<String> = blockers.map(|blocker| blocker.message).collect();
        assert_eq!(
            blockers,
            ["paris: no answer", "rome, shop 1.1.0 in prod: no value"]
        );
        let file = file("{clusters: []}");
        let shown = serde_json::to_value(RenderedFleet::of(&file, &clusters)).unwrap();
        let rome = &shown["clusters"][2]["deployments"][0];
        assert_eq!(rome["obstacles"][0]["message"], "no value", "{shown:#}");
    }
}
