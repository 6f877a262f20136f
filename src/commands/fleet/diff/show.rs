//! What differs in the clusters of a fleet, for people.

use fleet::FleetFile;
use importer::Comparison;

use super::super::folded::{ClusterPlan, show_folded};
use super::super::read_member::ReadMember;
use super::shown::{ComparedCluster, ComparedDeployment, FleetDiff};
use crate::args::{Output, choose};
use crate::commands::import::{Shown, warnings};
use crate::failure::Outcome;
use crate::render;

/// Shows what differs, and returns how the command ends.
pub(super) fn show(
    file: &FleetFile,
    clusters: &[ReadMember<'_, Comparison>],
    output: Output,
) -> Outcome {
    let diff = FleetDiff::of(file, clusters);
    render::result(output, &diff, people);
    outcome(&diff)
}

fn outcome(diff: &FleetDiff<'_>) -> Outcome {
    if !diff.clusters.iter().all(ComparedCluster::is_told) {
        return Outcome::Unknown;
    }
    choose(diff.differs, Outcome::No, Outcome::Yes)
}

/// Each deployment with its clusters: what these have in common is shown once.
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
        let of_it = all.iter().filter(|(_, it)| it.deployment == *deployment);
        let of_it: Vec<ClusterPlan<'_>> = of_it.map(|(name, it)| plan(name, it)).collect();
        render::line!("{deployment}, {}", render::count(of_it.len(), "cluster"));
        show_folded(of_it, Shown::WithDiff);
    }
    for ComparedCluster { name, problem, .. } in &diff.clusters {
        if let Some(problem) = problem {
            render::note!("error: {name}: {}", problem.message);
            render::note!("hint: {}", problem.fix);
        }
    }
    render::line(counted(&diff.clusters));
}

/// What differs in a cluster.
fn plan<'a>(name: &'a str, deployment: &ComparedDeployment<'a>) -> ClusterPlan<'a> {
    let ComparedDeployment {
        objects, obstacles, ..
    } = deployment;
    let mut lines = vec![match objects.len() {
        _ if !obstacles.is_empty() => "cannot compare:".to_owned(),
        0 => "no differences".to_owned(),
        1 => "1 object differs".to_owned(),
        many => format!("{many} objects differ"),
    }];
    for obstacle in obstacles {
        lines.push(format!("  {}", obstacle.message));
        lines.push(format!("    hint: {}", obstacle.fix));
    }
    lines.extend(objects.iter().flat_map(|it| warnings(it.object)));
    ClusterPlan {
        name,
        lines,
        objects: objects.iter().map(|it| it.object).collect(),
    }
}

/// Says how many clusters differ from the file, and of which it cannot be told.
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

    use super::super::super::read_member::ReadDeployment;
    use super::super::super::standing::tests::file;
    use super::*;
    use crate::commands::refusal::InTheWay;
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
                obstacles: Vec::new(),
            };
            Ok(vec![ReadDeployment {
                placed: placed(),
                found: Ok(compared),
            }])
        };
        let refused = || {
            let why = vec![InTheWay::new("no value", "add it")];
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
