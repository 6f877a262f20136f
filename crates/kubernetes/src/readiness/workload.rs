//! The readiness of workloads, by the numbers of pods in their status. A status that does not yet belong to the current
//! specification is ignored, because it describes the previous one.

use serde_json::Value;

use super::{Readiness, failed, pending, unobserved, words, words_of};
use crate::object::{Object, condition};

/// The progress deadline of a Deployment without a deadline. Its controller then does not report progress.
const NO_DEADLINE: u64 = 2_147_483_647;

/// A progress deadline that a Deployment has missed with its current version, as its controller reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissedDeadline {
    /// The controller's message.
    pub words: String,
    /// The time of the report, which distinguishes a repeated miss from an earlier one.
    said_at: Option<String>,
}

impl MissedDeadline {
    /// Returns the deadline that an object has missed. The result is `None` for other kinds, and before the controller
    /// has observed the current version. `kubectl rollout status` fails in the same case.
    #[must_use]
    pub fn find(object: &Object) -> Option<Self> {
        let (kind, value) = (object.gvk(), object.as_value());
        let is_deployment = kind.group == "apps" && kind.kind == "Deployment";
        let observed = value["status"]["observedGeneration"].as_u64();
        let is_observed = observed >= value["metadata"]["generation"].as_u64();
        (is_deployment && is_observed).then(|| missed(value))?
    }
}

fn missed(deployment: &Value) -> Option<MissedDeadline> {
    let progressing = condition(deployment, "Progressing")?;
    (progressing["reason"] == "ProgressDeadlineExceeded").then(|| MissedDeadline {
        words: words(progressing),
        said_at: progressing["lastUpdateTime"].as_str().map(str::to_owned),
    })
}

pub(super) fn deployment(value: &Value) -> Readiness {
    if let Some(missed) = missed(value) {
        return Readiness::Failed(missed.words);
    }
    let progressing = condition(value, "Progressing");
    let reason = |reason: &str| progressing.is_some_and(|condition| condition["reason"] == reason);
    let wanted = wanted(value);
    let status = |field| status(value, field);
    let (existing, updated) = (status("replicas"), status("updatedReplicas"));
    let incomplete = counted(existing, wanted, "pods are created")
        .or_else(|| counted(updated, wanted, "pods are of this version"))
        .or_else(|| surplus(existing, wanted))
        .or_else(|| counted(status("availableReplicas"), updated, "pods are available"))
        .or_else(|| counted(status("readyReplicas"), wanted, "pods are ready"));
    if let Some(incomplete) = incomplete {
        return incomplete;
    }
    let deadline = value["spec"]["progressDeadlineSeconds"].as_u64();
    let done = progressing.is_some_and(|condition| condition["status"] == "True");
    // Without a deadline, the controller does not report progress, so the condition is not required.
    if deadline.unwrap_or(NO_DEADLINE) != NO_DEADLINE && !(done && reason("NewReplicaSetAvailable"))
    {
        return pending("its ReplicaSet is not complete yet");
    }
    if !is_true(value, "Available") {
        return pending("it is not available yet");
    }
    Readiness::Ready
}

pub(super) fn stateful_set(value: &Value) -> Readiness {
    let strategy = &value["spec"]["updateStrategy"];
    let wanted = wanted(value);
    let status = |field| status(value, field);
    let (existing, updated) = (status("replicas"), status("updatedReplicas"));
    let incomplete = counted(existing, wanted, "pods are created")
        .or_else(|| counted(status("readyReplicas"), wanted, "pods are ready"))
        .or_else(|| surplus(existing, wanted));
    if let Some(incomplete) = incomplete {
        return incomplete;
    }
    // Pods of an earlier version run until a user deletes them.
    if strategy["type"] == "OnDelete" {
        return Readiness::Ready;
    }
    // Only pods with an ordinal from `partition` on are updated.
    if let Some(partition) = strategy["rollingUpdate"]["partition"].as_u64() {
        let renewed = wanted.saturating_sub(partition);
        return counted(updated, renewed, "pods are of this version").unwrap_or(Readiness::Ready);
    }
    if let Some(incomplete) = counted(
        status("currentReplicas"),
        wanted,
        "pods are of this version",
    ) {
        return incomplete;
    }
    let revision = |field: &str| value["status"][field].as_str();
    if revision("currentRevision") != revision("updateRevision") {
        return pending("its pods are not all of this version yet");
    }
    Readiness::Ready
}

pub(super) fn daemon_set(value: &Value) -> Readiness {
    if value["status"]["observedGeneration"].is_null() {
        return unobserved();
    }
    let Some(wanted) = value["status"]["desiredNumberScheduled"].as_u64() else {
        return unobserved();
    };
    let by_hand = value["spec"]["updateStrategy"]["type"] == "OnDelete";
    let updated = if by_hand {
        wanted
    } else {
        status(value, "updatedNumberScheduled")
    };
    let status = |field| status(value, field);
    counted(status("currentNumberScheduled"), wanted, "pods are created")
        .or_else(|| counted(updated, wanted, "pods are of this version"))
        .or_else(|| counted(status("numberAvailable"), wanted, "pods are available"))
        .or_else(|| counted(status("numberReady"), wanted, "pods are ready"))
        .unwrap_or(Readiness::Ready)
}

pub(super) fn replica_set(value: &Value) -> Readiness {
    if let Some(words) = words_of(value, "ReplicaFailure", "True") {
        return Readiness::Pending(words);
    }
    let wanted = wanted(value);
    let status = |field| status(value, field);
    counted(status("fullyLabeledReplicas"), wanted, "pods are created")
        .or_else(|| counted(status("availableReplicas"), wanted, "pods are available"))
        .or_else(|| counted(status("readyReplicas"), wanted, "pods are ready"))
        .or_else(|| surplus(status("replicas"), wanted))
        .unwrap_or(Readiness::Ready)
}

pub(super) fn pod(value: &Value) -> Readiness {
    match value["status"]["phase"].as_str() {
        Some("Succeeded") => Readiness::Ready,
        Some("Failed") => failed("the pod failed"),
        Some("Running") if is_true(value, "Ready") => Readiness::Ready,
        Some("Running") => pending("it is running but not ready"),
        _ => pending("it is not running yet"),
    }
}

pub(super) fn job(value: &Value) -> Readiness {
    if is_true(value, "Complete") || is_true(value, "Suspended") {
        return Readiness::Ready;
    }
    if let Some(words) = words_of(value, "Failed", "True") {
        return Readiness::Failed(words);
    }
    if value["status"]["startTime"].is_null() {
        return pending("it has not started yet");
    }
    // The number counts succeeded pods; one is sufficient if no number is set.
    let wanted = value["spec"]["completions"].as_u64().unwrap_or(1);
    counted(status(value, "succeeded"), wanted, "pods have succeeded")
        .unwrap_or_else(|| pending("its last pods have not ended yet"))
}

/// Returns the number of ready pods of a workload and the desired number. The pods of a Job are not counted, because it
/// needs none once it has completed.
pub(super) fn pods(object: &Object) -> Option<[u64; 2]> {
    let (kind, value) = (object.gvk(), object.as_value());
    let [ready, wanted] = match (kind.group.as_str(), kind.kind.as_str()) {
        ("apps", "Deployment" | "StatefulSet" | "ReplicaSet") => {
            [status(value, "readyReplicas"), wanted(value)]
        }
        ("apps", "DaemonSet") => [
            status(value, "numberReady"),
            status(value, "desiredNumberScheduled"),
        ],
        ("", "Pod") => [u64::from(pod(value) == Readiness::Ready), 1],
        _ => return None,
    };
    // Surplus pods stay ready while they stop.
    Some([ready.min(wanted), wanted])
}

/// Returns the desired number of pods, or one if it is not set.
fn wanted(value: &Value) -> u64 {
    value["spec"]["replicas"].as_u64().unwrap_or(1)
}

fn status(value: &Value, field: &str) -> u64 {
    value["status"][field].as_u64().unwrap_or(0)
}

fn is_true(value: &Value, kind: &str) -> bool {
    condition(value, kind).is_some_and(|condition| condition["status"] == "True")
}

/// Returns the pending state if there are too few.
fn counted(have: u64, wanted: u64, what: &str) -> Option<Readiness> {
    (have < wanted).then(|| Readiness::Pending(format!("{have} of {wanted} {what}")))
}

/// Returns the pending state if there are too many.
fn surplus(have: u64, wanted: u64) -> Option<Readiness> {
    let words = match have.saturating_sub(wanted) {
        0 => return None,
        1 => "1 surplus pod is still running".to_owned(),
        count => format!("{count} surplus pods are still running"),
    };
    Some(Readiness::Pending(words))
}
