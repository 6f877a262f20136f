//! The readiness of objects of all kinds ([`readiness()`]). The functions only evaluate objects that were read before.
//!
//! The rules are those of kstatus (`sigs.k8s.io/cli-utils/pkg/kstatus`), which Helm, Flux and kpt use, with these
//! differences:
//!
//! | kind | kstatus | here |
//! |---|---|---|
//! | Job | ready once it has started | ready once it has completed, because later objects need its result |
//! | failed Pod | ready | failed |
//! | Pod without a node | failed after 15 seconds | pending, because the same release may add what the node needs |
//! | unbound claim | pending | ready, because most claims are bound when a pod mounts them; the pod is waited for |
//! | `DaemonSet` updated `OnDelete` | pending until all pods are of the current version | not, because its controller does not create them |
//! | `StatefulSet` updated `OnDelete` | ready at once | pending until pods of any version are ready, because after a first install they may never run |
//! | `APIService` | by its `Ready` condition, which it never has | by its `Available` condition |
//!
//! As in kstatus, a Service is ready without the address of a load balancer, because many sites have none.

mod workload;

use serde_json::Value;

pub use self::workload::MissedDeadline;
use crate::error::{bounded, cut};
use crate::failure::Readiness;
use crate::limits;
use crate::object::{Object, condition};

/// Returns the readiness of an object that was read from the cluster with its status.
#[must_use]
pub fn readiness(object: &Object) -> Readiness {
    if object.is_being_deleted() {
        return leaving(object);
    }
    let value = object.as_value();
    common_readiness(value).unwrap_or_else(|| readiness_of_kind(object, value))
}

/// Returns the state of an object that its controller reports in the common form of all kinds.
fn common_readiness(value: &Value) -> Option<Readiness> {
    let generation = value["metadata"]["generation"].as_u64();
    let observed = value["status"]["observedGeneration"].as_u64();
    if generation.is_some() && observed.is_some() && generation != observed {
        return Some(unobserved());
    }
    if let Some(words) = words_of(value, "Reconciling", "True") {
        return Some(Readiness::Pending(words));
    }
    words_of(value, "Stalled", "True").map(Readiness::Failed)
}

/// Returns the number of ready pods of a workload and the desired number; `None` for other kinds.
#[must_use]
pub fn pods(object: &Object) -> Option<[u64; 2]> {
    workload::pods(object)
}

fn readiness_of_kind(object: &Object, value: &Value) -> Readiness {
    match (object.gvk().group.as_str(), object.gvk().kind.as_str()) {
        ("apps", "Deployment") => workload::deployment(value),
        ("apps", "StatefulSet") => workload::stateful_set(value),
        ("apps", "DaemonSet") => workload::daemon_set(value),
        ("apps", "ReplicaSet") => workload::replica_set(value),
        ("", "Pod") => workload::pod(value),
        ("batch", "Job") => workload::job(value),
        ("", "PersistentVolumeClaim") => claim(value),
        ("", "Service") => service(value),
        ("", "Namespace") => namespace(value),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(value),
        ("apiregistration.k8s.io", "APIService") => api_service(value),
        // This includes ConfigMaps, Secrets, roles, CronJobs and disruption budgets, which do not have the condition.
        _ => readiness_by_condition(value),
    }
}

/// Evaluates the `Ready` condition. An object without it is regarded as ready.
fn readiness_by_condition(value: &Value) -> Readiness {
    let Some(ready) = condition(value, "Ready") else {
        return Readiness::Ready;
    };
    // Some kinds report the observed generation only in the condition.
    let observed = ready["observedGeneration"].as_u64();
    if observed.is_some() && observed < value["metadata"]["generation"].as_u64() {
        return unobserved();
    }
    if ready["status"] == "True" {
        Readiness::Ready
    } else {
        Readiness::Pending(words(ready))
    }
}

fn claim(value: &Value) -> Readiness {
    if value["status"]["phase"] == "Lost" {
        return failed("its volume is lost");
    }
    Readiness::Ready
}

fn service(value: &Value) -> Readiness {
    let spec = &value["spec"];
    let address = spec["clusterIP"].as_str().unwrap_or_default();
    if spec["type"] == "LoadBalancer" && address.is_empty() {
        return pending("it has no address in the cluster yet");
    }
    Readiness::Ready
}

fn namespace(value: &Value) -> Readiness {
    if value["status"]["phase"] == "Terminating" {
        return pending("it is being deleted");
    }
    Readiness::Ready
}

fn definition(value: &Value) -> Readiness {
    if let Some(words) = words_of(value, "NamesAccepted", "False") {
        return Readiness::Failed(words);
    }
    match condition(value, "Established") {
        Some(established) if established["status"] == "True" => Readiness::Ready,
        Some(established)
            if established["status"] == "False" && established["reason"] != "Installing" =>
        {
            Readiness::Failed(words(established))
        }
        _ => pending("it is not established yet"),
    }
}

fn api_service(value: &Value) -> Readiness {
    match condition(value, "Available") {
        Some(available) if available["status"] == "True" => Readiness::Ready,
        Some(available) => Readiness::Pending(words(available)),
        None => pending("its availability was not checked yet"),
    }
}

/// Returns the state of an object that is being deleted.
pub(crate) fn leaving(object: &Object) -> Readiness {
    let deleting = "it is being deleted";
    match deletion_blocker(object) {
        Some(held) => Readiness::Pending(format!("{deleting}, {held}")),
        None => pending(deleting),
    }
}

/// Returns the reason that blocks the deletion of an object: finalizers, which controllers must remove, or the
/// remaining content of a namespace, in the cluster's words.
pub(crate) fn deletion_blocker(object: &Object) -> Option<String> {
    if !object.is_being_deleted() {
        return None;
    }
    let value = object.as_value();
    let (by, holders) = match (object.gvk().kind.as_str(), content(value)) {
        ("Namespace", content) if !content.is_empty() => ("by its content: ", content),
        _ => ("by ", finalizers(value)),
    };
    let holders = cut(&holders, limits::MAX_SHOWN_VALUE);
    (!holders.is_empty()).then(|| format!("held {by}{holders}"))
}

fn finalizers(value: &Value) -> String {
    let names = value["metadata"]["finalizers"].as_array();
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the remaining content of a namespace that is being deleted, from its conditions.
fn content(namespace: &Value) -> String {
    let conditions = namespace["status"]["conditions"].as_array();
    let messages = conditions
        .into_iter()
        .flatten()
        .filter(|condition| condition["status"] == "True")
        .filter_map(|condition| condition["message"].as_str());
    messages.collect::<Vec<_>>().join("; ")
}

pub(crate) fn pending(why: &str) -> Readiness {
    Readiness::Pending(why.to_owned())
}

fn failed(why: &str) -> Readiness {
    Readiness::Failed(why.to_owned())
}

fn unobserved() -> Readiness {
    pending("the cluster has not observed this version yet")
}

/// Returns the message of a condition if it has this status.
fn words_of(value: &Value, kind: &str, status: &str) -> Option<String> {
    let found = condition(value, kind)?;
    (found["status"] == status).then(|| words(found))
}

/// Returns the message of a condition, else its reason, else its type and status.
fn words(condition: &Value) -> String {
    let text = |field: &str| condition[field].as_str().unwrap_or_default().trim();
    match (text("message"), text("reason")) {
        ("", "") => bounded(&format!("condition {} is {}", text("type"), text("status"))),
        ("", reason) => bounded(reason),
        (message, "") => bounded(message),
        (message, reason) => bounded(&format!("{reason}: {message}")),
    }
}

#[cfg(test)]
mod tests;
