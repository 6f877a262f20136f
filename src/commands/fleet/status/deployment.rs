//! The state of a deployment of the fleet's file in a cluster, from the status of the cluster. A rollout uses it too,
//! to check that the clusters of earlier waves are ready.

use std::cmp::Ordering;
use std::fmt;

use importer::{ChangeReceipt, Condition, OperatorStatus, PlannedObject, Status, UnreadableScope};
use schemars::JsonSchema;
use schemas::{PlacedVersion, Version};
use serde::Serialize;

use crate::commands::status::show;
use crate::failure;

/// A deployment of the file and its state in a cluster.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeploymentStatus {
    /// The Solution, its version and the environment, as the file has them.
    #[serde(flatten)]
    pub(super) wanted: PlacedVersion,
    /// How far it is as the file says.
    pub(super) state: DeploymentState,
    /// The version in the cluster's records; null if there is none or the records cannot be read.
    pub(super) runs: Option<Version>,
    /// The reason why it is not ready, incomplete or unknown; null if there is none.
    pub(super) why: Option<String>,
    /// How to fix this; null if there is no specific fix.
    pub(super) hint: Option<&'static str>,
    /// The objects that differ from the deployed version, with the action that restores each; null if objects were not compared.
    pub(super) drift: Option<Vec<PlannedObject>>,
}

/// How far a deployment is as the file says. The later one counts where an environment has several namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DeploymentState {
    /// The version runs, and is ready.
    Ready,
    /// This user lacks the rights to determine the state.
    Unseen,
    /// The version runs and is ready, with other values than the file has for it.
    OtherValues,
    /// The version is ready, but some of its objects differ from the deployed version.
    Drifted,
    /// The version is deployed, and does not run as it should.
    NotReady,
    /// A newer version is deployed.
    Ahead,
    /// An older version is deployed.
    Behind,
    /// No version is deployed.
    Absent,
    /// A change of it is running, was interrupted or failed.
    Incomplete,
}

impl fmt::Display for DeploymentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ready => "ready",
            Self::Unseen => "unknown",
            Self::OtherValues => "other values",
            Self::Drifted => "drifted",
            Self::NotReady => "not ready",
            Self::Ahead => "ahead",
            Self::Behind => "behind",
            Self::Absent => "absent",
            Self::Incomplete => "incomplete",
        })
    }
}

impl DeploymentStatus {
    /// Returns whether it is as the file specifies.
    pub(in crate::commands::fleet) fn is_ready(&self) -> bool {
        self.state == DeploymentState::Ready
    }

    /// Returns the deployment and its state, without the reason.
    pub(super) fn headline(&self) -> String {
        let (wanted, state) = (&self.wanted, &self.state);
        match self.runs.as_ref().filter(|runs| **runs != wanted.version) {
            Some(runs) => format!("{wanted}: {state}, {runs} is deployed"),
            None => format!("{wanted}: {state}"),
        }
    }
}

impl fmt::Display for DeploymentStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())?;
        match &self.why {
            Some(why) => write!(f, ": {why}"),
            None => Ok(()),
        }
    }
}

/// Returns the state of a deployment in the file, from the status of a cluster.
pub(in crate::commands::fleet) fn judge(
    wanted: &PlacedVersion,
    status: &Status,
) -> DeploymentStatus {
    let is_it = |operator: &&OperatorStatus| {
        operator.solution == wanted.solution && operator.environment == wanted.environment
    };
    let places = status.operators.iter().filter(is_it);
    let places = places.map(|operator| of_place(wanted, operator, status));
    let found = places.max_by_key(|deployment| deployment.state);
    let found = found.unwrap_or_else(|| missing(wanted, status));
    // The newest incomplete change describes the current state best.
    match status
        .incomplete
        .iter()
        .rfind(|receipt| concerns(receipt, wanted))
    {
        Some(receipt) => DeploymentStatus {
            state: DeploymentState::Incomplete,
            why: Some(show::in_words(receipt)),
            hint: Some(show::way_on(&receipt.outcome)),
            ..found
        },
        None => found,
    }
}

/// Returns the state of a deployment in one namespace.
fn of_place(wanted: &PlacedVersion, found: &OperatorStatus, status: &Status) -> DeploymentStatus {
    let mut spaces = status.environments.iter();
    let is_going = spaces.any(|space| space.namespace == found.namespace && space.going);
    let state = match (found.version.cmp(&wanted.version), found.condition) {
        (Ordering::Less, _) => DeploymentState::Behind,
        (Ordering::Greater, _) => DeploymentState::Ahead,
        (Ordering::Equal, _) if is_going => DeploymentState::NotReady,
        (Ordering::Equal, Condition::Ready) => DeploymentState::Ready,
        (Ordering::Equal, Condition::Unseen) => DeploymentState::Unseen,
        (Ordering::Equal, _) => DeploymentState::NotReady,
    };
    let going = is_going.then(|| format!("namespace {} is being deleted", found.namespace));
    // For another version, the hint would recommend deploying that version again, which the file does not specify.
    let hint = failure::of_operator(found);
    let hint = hint.filter(|_| state == DeploymentState::NotReady && !is_going);
    DeploymentStatus {
        wanted: wanted.clone(),
        state,
        runs: Some(found.version.clone()),
        why: going.or_else(|| found.why.clone()),
        hint,
        drift: None,
    }
}

/// Returns the status of a deployment that is absent, or unknown if the records are hidden.
fn missing(wanted: &PlacedVersion, status: &Status) -> DeploymentStatus {
    let mut unseen = status.unseen.iter();
    let hidden = unseen.find(|object| object.what == UnreadableScope::Records);
    DeploymentStatus {
        wanted: wanted.clone(),
        state: hidden.map_or(DeploymentState::Absent, |_| DeploymentState::Unseen),
        runs: None,
        why: hidden.map(|object| format!("this user may not see {} ({})", object.what, object.right)),
        hint: hidden
            .map(|_| "ask the cluster administrator for the roles that `solution site rbac --verb status` prints"),
        drift: None,
    }
}

/// Returns whether a change concerns a deployment, its Solution as a whole, or its environment.
pub(in crate::commands::fleet) fn concerns(change: &ChangeReceipt, wanted: &PlacedVersion) -> bool {
    let subject = &change.subject;
    let mut places = subject.places.iter();
    let is_there = places.any(|place| place.environment == wanted.environment);
    match &subject.solution {
        Some(solution) => *solution == wanted.solution && (is_there || subject.places.is_empty()),
        None => is_there,
    }
}

#[cfg(test)]
mod tests {
    use importer::{EnvironmentNamespace, Origin, UnreadablePart};
    use serde_json::{Value, json};

    use super::*;

    /// Returns the deployment `shop 1.1.0 in prod` of a file.
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

    /// Returns the receipt of a change that was interrupted.
    fn change(solution: Option<&str>, environments: &[&str]) -> ChangeReceipt {
        let place = |name: &&str| json!({"environment": name, "namespace": name});
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
        // Hidden records may contain the deployment. Hidden nodes do not matter.
        status.unseen.push(UnreadablePart {
            what: UnreadableScope::Nodes,
            right: "list nodes".to_owned(),
        });
        assert_eq!(state(&status), DeploymentState::Absent);
        status.unseen.push(UnreadablePart {
            what: UnreadableScope::Records,
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
        let two =
            |a: &OperatorStatus, b: &OperatorStatus| state(&status(vec![a.clone(), b.clone()]));
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
            // A change without environments is one of the definitions, which all environments share.
            (Some("shop"), &[], true),
            (Some("cart"), &["prod"], false),
            // A change of the whole environment, or of the site configuration.
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
}
