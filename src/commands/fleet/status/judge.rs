//! What became of a deployment of a fleet's file in a cluster: decided from what the cluster tells of itself.

use std::cmp::Ordering;

use importer::{ChangeReceipt, Condition, Hidden, OperatorStatus, Status};
use schemas::PlacedVersion;

use super::deployment::{DeploymentState, DeploymentStatus};
use crate::commands::status::incomplete;
use crate::failure;

/// Judges a deployment of the file by the status of a cluster.
pub(in crate::commands::fleet) fn judge(
    wanted: &PlacedVersion,
    status: &Status,
) -> DeploymentStatus {
    let is_it = |it: &&OperatorStatus| {
        it.solution == wanted.solution && it.environment == wanted.environment
    };
    let places = status.operators.iter().filter(is_it);
    let places = places.map(|it| of_place(wanted, it, status));
    let found = places.max_by_key(|it| it.state);
    let found = found.unwrap_or_else(|| missing(wanted, status));
    // The newest one says most of what is there.
    match status.incomplete.iter().rfind(|it| concerns(it, wanted)) {
        Some(receipt) => DeploymentStatus {
            state: DeploymentState::Incomplete,
            why: Some(incomplete::in_words(receipt)),
            hint: Some(incomplete::way_on(&receipt.outcome)),
            ..found
        },
        None => found,
    }
}

/// Judges what is deployed in a namespace.
fn of_place(wanted: &PlacedVersion, found: &OperatorStatus, status: &Status) -> DeploymentStatus {
    let mut spaces = status.environments.iter();
    let is_going = spaces.any(|it| it.namespace == found.namespace && it.going);
    let state = match (found.version.cmp(&wanted.version), found.condition) {
        (Ordering::Less, _) => DeploymentState::Behind,
        (Ordering::Greater, _) => DeploymentState::Ahead,
        (Ordering::Equal, _) if is_going => DeploymentState::NotReady,
        (Ordering::Equal, Condition::Ready) => DeploymentState::Ready,
        (Ordering::Equal, Condition::Unseen) => DeploymentState::Unseen,
        (Ordering::Equal, _) => DeploymentState::NotReady,
    };
    let going = is_going.then(|| format!("namespace {} is being deleted", found.namespace));
    // Of another version the advice would be to have that one again, which is not what the file says.
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

/// What is not deployed, unless nobody could tell.
fn missing(wanted: &PlacedVersion, status: &Status) -> DeploymentStatus {
    let mut unseen = status.unseen.iter();
    let hidden = unseen.find(|it| it.what == Hidden::Records);
    DeploymentStatus {
        wanted: wanted.clone(),
        state: hidden.map_or(DeploymentState::Absent, |_| DeploymentState::Unseen),
        runs: None,
        why: hidden.map(|it| format!("this user may not see {} ({})", it.what, it.right)),
        hint: hidden
            .map(|_| "ask the cluster administrator for the roles that `solution site rbac --verb status` prints"),
        drift: None,
    }
}

/// Whether a change is about a deployment, about its Solution as a whole, or about its environment.
pub(in crate::commands::fleet) fn concerns(change: &ChangeReceipt, wanted: &PlacedVersion) -> bool {
    let subject = &change.subject;
    let mut places = subject.places.iter();
    let is_there = places.any(|it| it.environment == wanted.environment);
    match &subject.solution {
        Some(solution) => *solution == wanted.solution && (is_there || subject.places.is_empty()),
        None => is_there,
    }
}

#[cfg(test)]
mod tests;
