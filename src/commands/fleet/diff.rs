//! `solution fleet diff`: shows the changes that `fleet apply` would make in each cluster, object by object. Nothing is
//! written, and no consent is required.

use clap::Args;
use fleet::FleetFile;
use importer::{Comparison, ComparisonBase};
use schemars::JsonSchema;
use schemas::Version;
use serde::Serialize;

use super::folded::{ClusterPlan, show_folded};
use super::note_problem;
use super::reading::{ReadDeployment, ReadMember, ReadingArguments};
use crate::args::{Output, choose};
use crate::commands::blocked::ShownBlocker;
use crate::commands::diff::DifferentObject;
use crate::commands::import::{PlanDetail, warnings};
use crate::failure::{Failure, Outcome};
use crate::render;

/// Show what `fleet apply` would change in each cluster
#[derive(Args, Debug)]
#[command(after_help = "\
The command shows each object that `solution fleet apply` would create, change or delete. Clusters with equal \
differences are shown together, without values of Secrets. It writes nothing.

--kubeconfig and --context select the cluster with the Cluster API objects in the file.

Exit codes: 0 no difference, 1 differences, 3 unknown for a cluster.

Examples:
  solution fleet diff fleet.yaml --key publisher.pub
  solution fleet diff fleet.yaml --key publisher.pub --cluster 'par*' --group prod")]
pub(crate) struct Arguments {
    #[command(flatten)]
    reading: ReadingArguments,

    /// Consent to chart templates that read outside the environment, by the id that the refusal shows; may be
    /// repeated
    #[arg(long, value_name = "ID")]
    accept: Vec<String>,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let found = arguments.reading.run(
        &arguments.accept,
        output,
        &async |deployable, cluster| {
            let accepted = &deployable.archive.accepted;
            let request = deployable.request;
            let compared =
                Comparison::make(accepted, cluster, request, &ComparisonBase::Now).await?;
            Ok(Ok(compared))
        },
        async |file, clusters| Ok(show(file, &clusters, output)),
    );
    // The outcome `no` would mean that something differs.
    let outcome = found.map_err(Failure::untold)?;
    Ok(outcome.unwrap_or(Outcome::Unknown))
}

/// The changes that applying the fleet's file would make. The exit code is 1 if there are any, and 3 if some are unknown.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetDiff<'a> {
    /// The fleet's name.
    fleet: &'a str,
    /// Whether any of the compared objects differs.
    pub(super) differs: bool,
    /// The clusters, in the order of the file.
    pub(super) clusters: Vec<ComparedCluster<'a>>,
}

/// A cluster compared with the file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ComparedCluster<'a> {
    /// The cluster's name.
    pub(super) name: &'a str,
    /// The reason why it could not be compared; null if it was.
    pub(super) problem: Option<ShownBlocker>,
    /// The deployments in the file.
    pub(super) deployments: Vec<ComparedDeployment<'a>>,
}

/// A deployment compared with the file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ComparedDeployment<'a> {
    /// The Solution, its version and the environment, as `NAME VERSION in ENVIRONMENT`.
    pub(super) deployment: String,
    /// The version that is deployed there; null if there is none or it is unknown.
    running: Option<&'a Version>,
    /// The objects that differ.
    pub(super) objects: Vec<DifferentObject<'a>>,
    /// The blockers that prevented further comparison.
    #[serde(rename = "obstacles")]
    pub(super) blockers: Vec<ShownBlocker>,
}

impl<'a> FleetDiff<'a> {
    pub(super) fn of(file: &'a FleetFile, clusters: &'a [ReadMember<'_, Comparison>]) -> Self {
        let clusters: Vec<ComparedCluster<'a>> = clusters.iter().map(ComparedCluster::of).collect();
        Self {
            fleet: file.document().metadata.name.as_str(),
            differs: clusters.iter().any(ComparedCluster::differs),
            clusters,
        }
    }
}

impl<'a> ComparedCluster<'a> {
    fn of(member: &'a ReadMember<'_, Comparison>) -> Self {
        let deployments = member.found.iter().flatten();
        Self {
            name: member.name,
            problem: member.found.as_ref().err().map(ShownBlocker::from),
            deployments: deployments.map(ComparedDeployment::of).collect(),
        }
    }

    /// Returns whether an object differs.
    pub(super) fn differs(&self) -> bool {
        let mut deployments = self.deployments.iter();
        deployments.any(|deployment| !deployment.objects.is_empty())
    }

    /// Returns whether all deployments could be compared.
    pub(super) fn is_told(&self) -> bool {
        let mut deployments = self.deployments.iter();
        self.problem.is_none() && deployments.all(|deployment| deployment.blockers.is_empty())
    }
}

impl<'a> ComparedDeployment<'a> {
    fn of(deployment: &'a ReadDeployment<Comparison>) -> Self {
        let (running, objects, blockers) = match &deployment.found {
            Err(why) => (None, Vec::new(), why.clone()),
            Ok(compared) => (
                compared.running.as_ref(),
                compared.objects.iter().map(DifferentObject::from).collect(),
                compared.blockers.iter().map(ShownBlocker::from).collect(),
            ),
        };
        Self {
            deployment: deployment.placed.to_string(),
            running,
            objects,
            blockers,
        }
    }
}

/// Shows the differences, and returns the outcome of the command.
fn show(file: &FleetFile, clusters: &[ReadMember<'_, Comparison>], output: Output) -> Outcome {
    let diff = FleetDiff::of(file, clusters);
    render::result(output, &diff, people);
    outcome(&diff)
}

fn outcome(diff: &FleetDiff<'_>) -> Outcome {
    if !diff.clusters.iter().all(ComparedCluster::is_told) {
        return Outcome::Unknown;
    }
    Outcome::from(!diff.differs)
}

/// Shows each deployment with its clusters. Differences that clusters have in common are shown once.
fn people(diff: &FleetDiff<'_>) {
    let all = diff.clusters.iter().flat_map(|cluster| {
        let deployments = cluster.deployments.iter();
        deployments.map(move |deployment| (cluster.name, deployment))
    });
    let all: Vec<(&str, &ComparedDeployment<'_>)> = all.collect();
    let mut told: Vec<&str> = Vec::new();
    for (_, ComparedDeployment { deployment, .. }) in &all {
        if told.contains(&deployment.as_str()) {
            continue;
        }
        told.push(deployment);
        let of_it = all
            .iter()
            .filter(|(_, compared)| compared.deployment == *deployment);
        let of_it: Vec<ClusterPlan<'_>> = of_it
            .map(|(name, deployment)| plan(name, deployment))
            .collect();
        render::line!("{deployment}, {}", render::count(of_it.len(), "cluster"));
        show_folded(of_it, PlanDetail::WithDiff);
    }
    for ComparedCluster { name, problem, .. } in &diff.clusters {
        note_problem(name, problem.as_ref());
    }
    render::line(counted(&diff.clusters));
}

/// Returns the differences in a cluster.
fn plan<'a>(name: &'a str, deployment: &ComparedDeployment<'a>) -> ClusterPlan<'a> {
    let ComparedDeployment {
        objects, blockers, ..
    } = deployment;
    let mut lines = vec![match objects.len() {
        _ if !blockers.is_empty() => "cannot compare:".to_owned(),
        0 => "no differences".to_owned(),
        1 => "1 object differs".to_owned(),
        many => format!("{many} objects differ"),
    }];
    for blocker in blockers {
        lines.push(format!("  {}", blocker.message));
        lines.push(format!("    hint: {}", blocker.fix));
    }
    lines.extend(objects.iter().flat_map(|object| warnings(object.object)));
    ClusterPlan {
        name,
        lines,
        objects: objects.iter().map(|object| object.object).collect(),
    }
}

/// Returns the summary: the number of clusters that differ from the file, and those that could not be compared.
fn counted<'a>(clusters: &[ComparedCluster<'a>]) -> String {
    let names = |is_meant: fn(&ComparedCluster<'a>) -> bool| {
        let meant = clusters.iter().filter(|cluster| is_meant(cluster));
        meant.map(|cluster| cluster.name).collect::<Vec<_>>()
    };
    let differing = names(ComparedCluster::differs);
    let all = render::count(clusters.len(), "cluster");
    let differ = choose(differing.len() == 1, "differs", "differ");
    let mut words = format!("{} of {all} {differ} from the file", differing.len());
    for (about, named) in [
        ("", differing),
        ("; cannot compare", names(|cluster| !cluster.is_told())),
    ] {
        if !named.is_empty() {
            words = format!("{words}{about}: {}", render::list(named));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use importer::PlannedObject;
    use schemas::PlacedVersion;

    use super::*;
    use crate::commands::blocked::ShownBlocker;
    use crate::commands::fleet::reading::ReadDeployment;
    use crate::commands::fleet::removal::tests::file;
    use crate::failure::Failure;

    #[test]
    fn the_exit_code_says_whether_anything_differs_and_whether_that_is_known_of_all() {
        let file = file("{clusters: []}");
        let placed = || PlacedVersion {
            solution: "shop".parse().unwrap(),
            version: "1.1.0".parse().unwrap(),
            environment: "prod".parse().unwrap(),
        };
        let compared = |objects: usize| {
            let compared = Comparison {
                solution: "shop-1.1.0".to_owned(),
                namespace: None,
                running: None,
                objects: vec![PlannedObject::default(); objects],
                blockers: Vec::new(),
            };
            Ok(vec![ReadDeployment {
                placed: placed(),
                found: Ok(compared),
            }])
        };
        let refused = || {
            let why = vec![ShownBlocker::new("no value", "add it")];
            let (placed, found) = (placed(), Err(why));
            Ok(vec![ReadDeployment { placed, found }])
        };
        let away = || Err(Failure::unknown(anyhow::anyhow!("no answer")));
        let ended = |found: Vec<Result<_, _>>| {
            let members = ["paris", "rome"].into_iter().zip(found);
            let members = members.map(|(name, found)| ReadMember { at: 0, name, found });
            let members: Vec<ReadMember<'_, Comparison>> = members.collect();
            let diff = FleetDiff::of(&file, &members);
            (outcome(&diff), counted(&diff.clusters))
        };
        for (found, outcome, words) in [
            (
                vec![compared(0), compared(0)],
                Outcome::Yes,
                "0 of 2 clusters differ from the file",
            ),
            (
                vec![compared(0), compared(2)],
                Outcome::No,
                "1 of 2 clusters differs from the file: rome",
            ),
            (
                vec![compared(1), away()],
                Outcome::Unknown,
                "1 of 2 clusters differs from the file: paris; cannot compare: rome",
            ),
            (
                vec![refused()],
                Outcome::Unknown,
                "0 of 1 cluster differ from the file; cannot compare: paris",
            ),
        ] {
            assert_eq!(ended(found), (outcome, words.to_owned()));
        }
    }
}
