//! Whether a cluster is as the file says, and what runs there besides.

use super::DeploymentState::{Absent, Ready, Unseen};
use super::*;
use crate::commands::fleet::standing::tests::{file, space};

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

#[test]
fn what_is_not_in_the_file_is_told_once_whatever_version_it_has() {
    let file = file(
        "{clusters: [{name: paris}], solutions: [{name: shop, version: 1.1.0, environment: prod}],
          waves: [{name: all, clusters: [paris]}]}",
    );
    let mut second = space("prod", &["cart-1.0.0 shops", "shop-1.0.0"]);
    second.namespace = "prod-2".parse().unwrap();
    let spaces = [
        space("prod", &["cart-1.0.0", "shop-1.0.0 shops"]),
        second,
        space("test", &["shop-1.0.0"]),
    ];
    let entries: Vec<&FleetSolution> = file.spec().solutions.iter().collect();
    let unlisted = unlisted(&file, &entries, &spaces);
    let unlisted: Vec<String> = unlisted.iter().map(ToString::to_string).collect();
    assert_eq!(
        unlisted,
        [
            "cart 1.0.0 in prod (deployed by the fleet)",
            "shop 1.0.0 in test"
        ]
    );
}
