//! Whether an object of any kind is settled: the cluster has made of it what it asks for. Pure: it looks at what was read.
//!
//! By the rules of kstatus (`sigs.k8s.io/cli-utils/pkg/kstatus`), on which Helm, Flux and kpt wait, but for these:
//!
//! | kind | kstatus | here |
//! |---|---|---|
//! | Job | settled once it has begun | settled once it has completed: what comes after it needs its work done |
//! | Pod that has failed | settled | failed |
//! | Pod without a node | failed after 15 seconds | awaited: what the node needs may come with the same release |
//! | claim that is not bound | awaited | settled: most are bound when a pod mounts them, and are awaited with that pod |
//! | `DaemonSet` updated `OnDelete` | awaits pods of the current version | does not: nobody makes them |
//! | `StatefulSet` updated `OnDelete` | settled at once | awaits ready pods of any version: on a first install they may never run |
//! | `APIService` | by its `Ready` condition, which it never has | by its `Available` condition |
//!
//! As in kstatus, no Service waits for the address of a load balancer: many sites have none.

mod workload;

use serde_json::Value;

pub use self::workload::MissedDeadline;
use crate::error::{bounded, cut};
use crate::limits;
use crate::object::{Object, condition};
use crate::stuck::unsettled::Settled;

/// Whether an object is settled, as it was read from the cluster with its status.
#[must_use]
pub fn settled(object: &Object) -> Settled {
    if object.is_being_deleted() {
        return leaving(object);
    }
    let value = object.as_value();
    of_every_kind(value).unwrap_or_else(|| of_its_kind(object, value))
}

/// Returns the state of an object of any kind whose controller tells it.
fn of_every_kind(value: &Value) -> Option<Settled> {
    let generation = value["metadata"]["generation"].as_u64();
    let observed = value["status"]["observedGeneration"].as_u64();
    if generation.is_some() && observed.is_some() && generation != observed {
        return Some(unobserved());
    }
    if let Some(words) = words_of(value, "Reconciling", "True") {
        return Some(Settled::Pending(words));
    }
    words_of(value, "Stalled", "True").map(Settled::Failed)
}

/// Returns the number of pods of a workload that are ready, and the number that it wants; nothing for other kinds.
#[must_use]
pub fn pods(object: &Object) -> Option<[u64; 2]> {
    workload::pods(object)
}

fn of_its_kind(object: &Object, value: &Value) -> Settled {
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
        // Also for ConfigMaps, Secrets, roles, CronJobs and disruption budgets, which have no such condition.
        _ => by_condition(value),
    }
}

/// An object that says nothing of itself is taken to be ready.
fn by_condition(value: &Value) -> Settled {
    let Some(ready) = condition(value, "Ready") else {
        return Settled::Ready;
    };
    // Some kinds say in the condition alone which version it is about.
    let observed = ready["observedGeneration"].as_u64();
    if observed.is_some() && observed < value["metadata"]["generation"].as_u64() {
        return unobserved();
    }
    if ready["status"] == "True" {
        Settled::Ready
    } else {
        Settled::Pending(words(ready))
    }
}

fn claim(value: &Value) -> Settled {
    if value["status"]["phase"] == "Lost" {
        return failed("its volume is lost");
    }
    Settled::Ready
}

fn service(value: &Value) -> Settled {
    let spec = &value["spec"];
    let address = spec["clusterIP"].as_str().unwrap_or_default();
    if spec["type"] == "LoadBalancer" && address.is_empty() {
        return pending("it has no address in the cluster yet");
    }
    Settled::Ready
}

fn namespace(value: &Value) -> Settled {
    if value["status"]["phase"] == "Terminating" {
        return pending("it is being deleted");
    }
    Settled::Ready
}

fn definition(value: &Value) -> Settled {
    if let Some(words) = words_of(value, "NamesAccepted", "False") {
        return Settled::Failed(words);
    }
    match condition(value, "Established") {
        Some(established) if established["status"] == "True" => Settled::Ready,
        Some(established)
            if established["status"] == "False" && established["reason"] != "Installing" =>
        {
            Settled::Failed(words(established))
        }
        _ => pending("it is not established yet"),
    }
}

fn api_service(value: &Value) -> Settled {
    match condition(value, "Available") {
        Some(available) if available["status"] == "True" => Settled::Ready,
        Some(available) => Settled::Pending(words(available)),
        None => pending("its availability was not checked yet"),
    }
}

/// Returns the state of an object that is on its way out.
pub(crate) fn leaving(object: &Object) -> Settled {
    let going = "it is being deleted";
    match held(object) {
        Some(held) => Settled::Pending(format!("{going}, {held}")),
        None => pending(going),
    }
}

/// Returns what holds an object that is being deleted: finalizers, each of which some controller must remove, or what
/// is left in a namespace, in the cluster's own words.
pub(crate) fn held(object: &Object) -> Option<String> {
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

/// Returns what is left in a namespace that is being emptied, as its conditions say.
fn content(namespace: &Value) -> String {
    let conditions = namespace["status"]["conditions"].as_array();
    let told = conditions
        .into_iter()
        .flatten()
        .filter(|condition| condition["status"] == "True")
        .filter_map(|condition| condition["message"].as_str());
    told.collect::<Vec<_>>().join("; ")
}

pub(crate) fn pending(why: &str) -> Settled {
    Settled::Pending(why.to_owned())
}

fn failed(why: &str) -> Settled {
    Settled::Failed(why.to_owned())
}

fn unobserved() -> Settled {
    pending("the cluster has not observed this version yet")
}

/// The words of a condition that has this status.
fn words_of(value: &Value, kind: &str, status: &str) -> Option<String> {
    let found = condition(value, kind)?;
    (found["status"] == status).then(|| words(found))
}

/// Returns the words of a condition: its message, else its reason, else itself.
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
