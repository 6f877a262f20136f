//! Each state, and which of them counts.

use importer::{EnvironmentNamespace, Origin, Unseen};
use serde_json::{Value, json};

use super::*;

/// The deployment `shop 1.1.0 in prod` of a file.
fn wanted() -> PlacedVersion {
    PlacedVersion {
        solution: "shop".parse().unwrap(),
        version: "1.1.0".parse().unwrap(),
        environment: "prod".parse().unwrap(),
    }
}

fn operator(version: &str, condition: Condition) -> OperatorStatus {
    OperatorStatus {
        solution: "shop".parse().unwrap(),
        version: version.parse().unwrap(),
        environment: "prod".parse().unwrap(),
        namespace: "prod".parse().unwrap(),
        runs: None,
        ready: None,
        pods: None,
        condition,
        why: (condition != Condition::Ready).then(|| "because".to_owned()),
        releases: Vec::new(),
        awaited: None,
    }
}

fn status(operators: Vec<OperatorStatus>) -> Status {
    Status {
        versions: Vec::new(),
        environments: Vec::new(),
        operators,
        incomplete: Vec::new(),
        notes: Vec::new(),
        unseen: Vec::new(),
    }
}

/// A change that was interrupted.
fn change(solution: Option<&str>, environments: &[&str]) -> ChangeReceipt {
    let place = |it: &&str| json!({"environment": it, "namespace": it});
    let places: Vec<Value> = environments.iter().map(place).collect();
    let mut receipt = json!({
        "schemaVersion": 1, "revision": 7, "at": "2026-01-02T03:04:05Z", "by": "me@here", "verb": "undeploy",
        "places": places, "written": [], "removed": [], "outcome": "interrupted",
    });
    if let Some(solution) = solution {
        receipt["solution"] = json!(solution);
    }
    serde_json::from_value(receipt).unwrap()
}

fn state(status: &Status) -> DeploymentState {
    judge(&wanted(), status).state
}

#[test]
fn only_the_version_of_the_file_that_runs_as_it_should_is_ready() {
    for (version, condition, expected, shown) in [
        ("1.1.0", Condition::Ready, DeploymentState::Ready, "ready"),
        (
            "1.1.0",
            Condition::NotReady,
            DeploymentState::NotReady,
            "not ready: because",
        ),
        (
            "1.1.0",
            Condition::OtherVersion,
            DeploymentState::NotReady,
            "not ready: because",
        ),
        (
            "1.1.0",
            Condition::Changed,
            DeploymentState::NotReady,
            "not ready: because",
        ),
        (
            "1.1.0",
            Condition::Gone,
            DeploymentState::NotReady,
            "not ready: because",
        ),
        (
            "1.1.0",
            Condition::Unseen,
            DeploymentState::Unseen,
            "unknown: because",
        ),
        (
            "1.0.9",
            Condition::Ready,
            DeploymentState::Behind,
            "behind, 1.0.9 is deployed",
        ),
        (
            "1.1.0-rc.1",
            Condition::Gone,
            DeploymentState::Behind,
            "behind, 1.1.0-rc.1 is deployed: because",
        ),
        (
            "1.10.0",
            Condition::Unseen,
            DeploymentState::Ahead,
            "ahead, 1.10.0 is deployed: because",
        ),
    ] {
        let found = judge(&wanted(), &status(vec![operator(version, condition)]));
        assert_eq!(found.state, expected, "{version} {condition:?}");
        assert_eq!(found.to_string(), format!("shop 1.1.0 in prod: {shown}"));
        assert_eq!(found.runs, Some(version.parse().unwrap()));
    }
}

#[test]
fn what_is_deployed_elsewhere_or_by_another_name_is_absent() {
    let elsewhere = OperatorStatus {
        environment: "test".parse().unwrap(),
        ..operator("1.1.0", Condition::Ready)
    };
    let other = OperatorStatus {
        solution: "cart".parse().unwrap(),
        ..operator("1.1.0", Condition::Ready)
    };
    let mut status = status(vec![elsewhere, other]);
    let found = judge(&wanted(), &status);
    assert_eq!((found.state, found.runs), (DeploymentState::Absent, None));
    // It may be there where nobody may look.
    status.unseen.push(Unseen {
        what: Hidden::Nodes,
        right: "list nodes".to_owned(),
    });
    assert_eq!(state(&status), DeploymentState::Absent);
    status.unseen.push(Unseen {
        what: Hidden::Records,
        right: "list configmaps".to_owned(),
    });
    let found = judge(&wanted(), &status);
    assert_eq!(found.state, DeploymentState::Unseen);
    let words =
        "unknown: this user may not see imported versions and environments (list configmaps)";
    assert!(found.to_string().ends_with(words), "{found}");
}

#[test]
fn the_worst_namespace_of_an_environment_counts() {
    let [ready, gone, behind] = [
        operator("1.1.0", Condition::Ready),
        operator("1.1.0", Condition::Gone),
        operator("1.0.0", Condition::Ready),
    ];
    let two = |a: &OperatorStatus, b: &OperatorStatus| state(&status(vec![a.clone(), b.clone()]));
    assert_eq!(two(&gone, &ready), DeploymentState::NotReady);
    assert_eq!(two(&behind, &gone), DeploymentState::Behind);
    assert_eq!(two(&ready, &ready), DeploymentState::Ready);
}

#[test]
fn what_is_being_deleted_is_not_ready() {
    let mut status = status(vec![operator("1.1.0", Condition::Ready)]);
    status.environments.push(EnvironmentNamespace {
        environment: "prod".parse().unwrap(),
        namespace: "prod".parse().unwrap(),
        description: String::new(),
        origin: Origin::Created,
        solutions: [("shop".parse().unwrap(), "1.1.0".parse().unwrap())].into(),
        fleets: [].into(),
        fleet_clusters: [].into(),
        fleet_values: [].into(),
        chosen_by_flags: [].into(),
        going: false,
    });
    assert_eq!(state(&status), DeploymentState::Ready);
    status.environments[0].going = true;
    let found = judge(&wanted(), &status);
    assert_eq!(found.state, DeploymentState::NotReady);
    assert_eq!(
        found.why.as_deref(),
        Some("namespace prod is being deleted")
    );
}

#[test]
fn a_change_of_it_that_is_not_complete_counts_before_all_else() {
    let of = |operators: Vec<OperatorStatus>, change| {
        let mut status = status(operators);
        status.incomplete.push(change);
        judge(&wanted(), &status)
    };
    let ready = || vec![operator("1.1.0", Condition::Ready)];
    for (solution, environments, concerns) in [
        (Some("shop"), &["prod"][..], true),
        (Some("shop"), &["test", "prod"], true),
        (Some("shop"), &["test"], false),
        // Its definitions, which all environments share.
        (Some("shop"), &[], true),
        (Some("cart"), &["prod"], false),
        // The environment as a whole, and the file of the whole site.
        (None, &["prod"], true),
        (None, &[], false),
    ] {
        let found = of(ready(), change(solution, environments)).state;
        let expected = if concerns {
            DeploymentState::Incomplete
        } else {
            DeploymentState::Ready
        };
        assert_eq!(found, expected, "{solution:?} {environments:?}");
    }
    let absent = of(Vec::new(), change(Some("shop"), &["prod"]));
    assert_eq!(
        (absent.state, absent.runs.as_ref()),
        (DeploymentState::Incomplete, None)
    );
    assert_eq!(
        absent.hint,
        Some("run the same command again to complete it"),
        "{absent}"
    );
    let behind = of(
        vec![operator("1.0.0", Condition::Ready)],
        change(Some("shop"), &["prod"]),
    );
    let words = "incomplete, 1.0.0 is deployed: revision 7 is incomplete: undeploy shop in prod, by unknown user (me@here)";
    assert!(behind.to_string().contains(words), "{behind}");
}

#[test]
fn of_several_incomplete_changes_the_newest_is_told() {
    let mut status = status(Vec::new());
    let older = change(Some("shop"), &["prod"]);
    let mut newer = older.clone();
    newer.revision = older.revision + 1;
    status.incomplete.extend([older, newer]);
    let why = judge(&wanted(), &status).why.unwrap();
    assert!(why.starts_with("revision 8 is incomplete"), "{why}");
}

#[test]
fn only_what_the_file_says_is_advised() {
    let advice = |version, condition| {
        let found = judge(&wanted(), &status(vec![operator(version, condition)]));
        found.hint.is_some()
    };
    assert!(advice("1.1.0", Condition::Gone));
    assert!(!advice("1.0.0", Condition::Gone));
    assert!(!advice("1.1.0", Condition::Ready));
}
