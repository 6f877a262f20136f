//! Whether a cluster is as the file says, and what runs there besides.

use importer::Origin;

use super::DeploymentState::{Absent, Ready, Unseen};
use super::*;

#[test]
fn what_cannot_be_seen_is_neither_ready_nor_wrong() {
    for (states, expected) in [
        (&[][..], Some(true)),
        (&[Ready, Ready], Some(true)),
        (&[Ready, Unseen], None),
        (&[Unseen, Absent, Ready], Some(false)),
    ] {
        assert_eq!(all_ready(states.iter().copied()), expected, "{states:?}");
    }
}

fn placed(solution: &str, version: &str, environment: &str) -> PlacedVersion {
    PlacedVersion {
        solution: solution.parse().unwrap(),
        version: version.parse().unwrap(),
        environment: environment.parse().unwrap(),
    }
}

#[test]
fn what_is_not_in_the_file_is_told_once_whatever_version_it_has() {
    let space = |environment: &str, namespace: &str, solutions: &[&str]| EnvironmentNamespace {
        environment: environment.parse().unwrap(),
        namespace: namespace.parse().unwrap(),
        description: String::new(),
        origin: Origin::Created,
        solutions: solutions
            .iter()
            .map(|it| (it.parse().unwrap(), "1.0.0".parse().unwrap()))
            .collect(),
        going: false,
    };
    let spaces = [
        space("prod", "prod", &["cart", "shop"]),
        space("prod", "prod-2", &["cart", "shop"]),
        space("test", "test", &["shop"]),
    ];
    let listed = DeploymentStatus {
        wanted: placed("shop", "1.1.0", "prod"),
        state: DeploymentState::Behind,
        runs: None,
        why: None,
        hint: None,
    };
    assert_eq!(
        unlisted(&spaces, &[listed]),
        [
            placed("cart", "1.0.0", "prod"),
            placed("shop", "1.0.0", "test")
        ]
    );
}
