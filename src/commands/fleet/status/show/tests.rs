//! The lines that people read.

use schemas::PlacedVersion;

use super::super::shown::UnlistedVersion;
use super::*;
use crate::commands::refusal::InTheWay;
use crate::failure::Failure;

fn deployment(state: DeploymentState, runs: Option<&str>) -> DeploymentStatus {
    DeploymentStatus {
        wanted: PlacedVersion {
            solution: "shop".parse().unwrap(),
            version: "1.1.0".parse().unwrap(),
            environment: "prod".parse().unwrap(),
        },
        state,
        runs: runs.map(|it| it.parse().unwrap()),
        why: None,
        hint: None,
        drift: None,
    }
}

fn cluster(name: &str, deployments: Vec<DeploymentStatus>) -> MemberStatus {
    MemberStatus {
        name: name.to_owned(),
        wave: "all".to_owned(),
        problem: None,
        ready: Some(deployments.iter().all(DeploymentStatus::is_ready)),
        deployments,
        unlisted: Vec::new(),
        outcome: Outcome::Yes,
    }
}

fn ready(name: &str) -> MemberStatus {
    cluster(
        name,
        vec![deployment(DeploymentState::Ready, Some("1.1.0"))],
    )
}

fn behind(name: &str) -> MemberStatus {
    cluster(
        name,
        vec![deployment(DeploymentState::Behind, Some("1.0.0"))],
    )
}

fn away(name: &str) -> MemberStatus {
    let failure = Failure::unknown(anyhow::anyhow!("no answer"));
    MemberStatus {
        problem: Some(InTheWay::from(&failure)),
        ready: None,
        ..cluster(name, Vec::new())
    }
}

#[test]
fn the_last_line_counts_and_names_what_is_not_as_the_file_says() {
    let mut fleet = vec![ready("paris"), ready("lyon"), behind("rome")];
    assert_eq!(
        counted(&fleet),
        "2 of 3 clusters are up to date; behind: rome (shop 1.0.0 instead of 1.1.0)"
    );
    fleet.push(cluster(
        "oslo",
        vec![deployment(DeploymentState::Absent, None)],
    ));
    fleet.push(away("bern"));
    assert_eq!(
        counted(&fleet),
        "2 of 5 clusters are up to date; absent: oslo (shop 1.1.0); behind: rome (shop 1.0.0 instead of 1.1.0); not reached: bern"
    );
    assert_eq!(counted(&fleet[..1]), "1 of 1 cluster is up to date");
}

#[test]
fn the_last_line_stays_one_with_two_hundred_clusters() {
    let fleet: Vec<MemberStatus> = (0..200).map(|it| behind(&format!("c{it}"))).collect();
    let shown = counted(&fleet);
    assert!(shown.ends_with(", 195 more"), "{shown}");
    assert_eq!(shown.matches("instead of 1.1.0").count(), NAMED);
}

#[test]
fn a_cluster_is_one_row() {
    let mut mixed = cluster(
        "rome",
        vec![
            deployment(DeploymentState::Ready, Some("1.1.0")),
            deployment(DeploymentState::NotReady, Some("1.1.0")),
        ],
    );
    mixed.unlisted = vec![UnlistedVersion {
        placed: PlacedVersion {
            solution: "cart".parse().unwrap(),
            version: "2.0.0".parse().unwrap(),
            environment: "test".parse().unwrap(),
        },
        brought: true,
    }];
    mixed.deployments[1].why = Some("x ".repeat(200));
    mixed.deployments[1].hint = Some("wait");
    let path = Path::new("fleet.yaml");
    let shown = row(&mixed, path);
    assert_eq!(shown.cells, ["rome", "all", "1 of 2 ready"]);
    let words = ["x"; 61].join(" ");
    let cut = format!("  reason: {words} … {words}");
    let below = [
        "shop 1.1.0 in prod: not ready",
        &cut,
        "  full reason: solution fleet status fleet.yaml --cluster rome -o yaml",
        "  hint: wait",
        "not in the file: cart 2.0.0 in test (deployed by the fleet)",
    ];
    assert_eq!(shown.below, below);
    let lab = cluster("lab", Vec::new());
    for (cluster, name, state) in [
        (ready("paris"), "paris", "ready"),
        (away("bern"), "bern", "not reached"),
        (lab, "lab", "no Solutions"),
    ] {
        let shown = row(&cluster, path);
        assert_eq!(shown.cells, [name, "all", state]);
        assert!(shown.below.is_empty(), "{:?}", shown.below);
    }
}
