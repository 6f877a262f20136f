//! Descriptions of rights in plain English, as plans and findings show them. [`Right::what`] describes a right without
//! its reach, and the `Display` output adds the reach.

use std::collections::BTreeSet;
use std::fmt;

use crate::document::{ADMISSION, RBAC};
use crate::rbac::part::{ALL, Resource};
use crate::rbac::reach::Reach;
use crate::rbac::right::{Right, Targets};

/// The words for verbs, in the order of the output. The first entries combine multiple verbs in one word.
const VERBS: &[(&[&str], &str)] = &[
    (&["get", "list", "watch"], "read"),
    (&["get"], "get"),
    (&["list"], "list"),
    (&["watch"], "watch"),
    (&["create"], "create"),
    (&["update", "patch"], "change"),
    (&["update"], "update"),
    (&["patch"], "patch"),
    (&["delete", "deletecollection"], "delete"),
    (&["delete"], "delete"),
    (&["deletecollection"], "delete all at once"),
];

/// The names of kinds by group. In lower case, they are the plurals of their resources.
const KINDS: &[(&str, &str)] = &[
    ("", "ConfigMaps"),
    ("", "Endpoints"),
    ("", "Events"),
    ("", "LimitRanges"),
    ("", "Namespaces"),
    ("", "Nodes"),
    ("", "PersistentVolumeClaims"),
    ("", "PersistentVolumes"),
    ("", "Pods"),
    ("", "ReplicationControllers"),
    ("", "ResourceQuotas"),
    ("", "Secrets"),
    ("", "ServiceAccounts"),
    ("", "Services"),
    (ADMISSION, "MutatingWebhookConfigurations"),
    (ADMISSION, "ValidatingWebhookConfigurations"),
    ("apiextensions.k8s.io", "CustomResourceDefinitions"),
    ("apiregistration.k8s.io", "APIServices"),
    ("apps", "ControllerRevisions"),
    ("apps", "DaemonSets"),
    ("apps", "Deployments"),
    ("apps", "ReplicaSets"),
    ("apps", "StatefulSets"),
    ("autoscaling", "HorizontalPodAutoscalers"),
    ("batch", "CronJobs"),
    ("batch", "Jobs"),
    ("certificates.k8s.io", "CertificateSigningRequests"),
    ("coordination.k8s.io", "Leases"),
    ("discovery.k8s.io", "EndpointSlices"),
    ("events.k8s.io", "Events"),
    ("networking.k8s.io", "Ingresses"),
    ("networking.k8s.io", "NetworkPolicies"),
    ("policy", "PodDisruptionBudgets"),
    (RBAC, "ClusterRoleBindings"),
    (RBAC, "ClusterRoles"),
    (RBAC, "RoleBindings"),
    (RBAC, "Roles"),
    ("scheduling.k8s.io", "PriorityClasses"),
    ("storage.k8s.io", "CSIDrivers"),
    ("storage.k8s.io", "StorageClasses"),
];

/// The subresources that are a part of the object.
const PARTS: &[(&str, &str)] = &[
    ("approval", "the approval of"),
    ("finalizers", "the finalizers of"),
    ("log", "the logs of"),
    ("scale", "the scale of"),
    ("status", "the status of"),
];

impl Right {
    /// Describes the right without its reach: `read all Secrets`.
    #[must_use]
    pub fn what(&self) -> String {
        what(self)
    }
}

/// Formats the right in plain English.
impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self, f)
    }
}

/// Returns the description of a right without its reach.
fn what(right: &Right) -> String {
    match &right.object {
        Targets::Url(url) => asking(&right.verbs, url),
        Targets::Resource {
            group,
            resource,
            names,
        } => {
            let things = things(group, Resource::new(resource));
            let verbs = verbs(&right.verbs);
            match (names.is_empty(), &right.reach) {
                (_, Reach::Namespace(_)) if is_namespace(group, resource) => {
                    format!("{verbs} the namespace itself")
                }
                (true, _) if is_counted(&right.verbs, resource) => format!("{verbs} all {things}"),
                (true, _) => format!("{verbs} {things}"),
                (false, _) => format!("{verbs} the {things} {}", quoted(names)),
            }
        }
    }
}

fn write(right: &Right, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match (&right.object, &right.reach) {
        (Targets::Url(_), _) => f.write_str(&what(right)),
        (
            Targets::Resource {
                group, resource, ..
            },
            Reach::Namespace(name),
        ) if is_namespace(group, resource) => {
            write!(f, "{} the namespace {name} itself", verbs(&right.verbs))
        }
        (Targets::Resource { .. }, reach) => write!(f, "{} {reach}", what(right)),
    }
}

fn is_namespace(group: &str, resource: &str) -> bool {
    group.is_empty() && resource == "namespaces"
}

/// Checks whether the description includes "all", which is used only for existing objects.
fn is_counted(verbs: &BTreeSet<String>, resource: &str) -> bool {
    let makes = |verb: &String| verb == "create" || verb == ALL;
    !verbs.iter().any(makes) && !resource.contains(['*', '/'])
}

fn verbs(verbs: &BTreeSet<String>) -> String {
    if verbs.contains(ALL) {
        return "do everything with".to_owned();
    }
    let mut left: BTreeSet<&str> = verbs.iter().map(String::as_str).collect();
    let mut said = Vec::new();
    for (set, word) in VERBS {
        if set.iter().all(|verb| left.contains(verb)) {
            left.retain(|verb| !set.contains(verb));
            said.push(*word);
        }
    }
    said.extend(left);
    list(&said)
}

/// Returns the HTTP requests of the verbs.
fn asking(verbs: &BTreeSet<String>, url: &str) -> String {
    if verbs.contains(ALL) {
        return format!("send any request to {url}");
    }
    let methods: Vec<String> = verbs.iter().map(|verb| verb.to_uppercase()).collect();
    let methods: Vec<&str> = methods.iter().map(String::as_str).collect();
    format!("{} {url}", list(&methods))
}

fn things(group: &str, resource: Resource<'_>) -> String {
    let kind = kind(group, resource.plural);
    let Some(sub) = resource.sub else {
        return kind;
    };
    match PARTS.iter().find(|(name, _)| *name == sub) {
        Some((_, words)) => format!("{words} {kind}"),
        // Other subresources are written as in rules.
        None => in_group(group, &resource.to_string()),
    }
}

fn kind(group: &str, plural: &str) -> String {
    let known = KINDS
        .iter()
        .find(|(of, kind)| *of == group && kind.to_ascii_lowercase() == plural);
    match (known, group, plural) {
        (Some((_, kind)), _, _) => (*kind).to_owned(),
        (None, ALL, ALL) => "everything".to_owned(),
        (None, "", ALL) => "everything of the core group".to_owned(),
        (None, group, ALL) => format!("everything of the group {group}"),
        (None, group, plural) => in_group(group, plural),
    }
}

fn in_group(group: &str, resource: &str) -> String {
    match group {
        "" => resource.to_owned(),
        ALL => format!("{resource} of every group"),
        group => format!("{resource}.{group}"),
    }
}

fn quoted(names: &BTreeSet<String>) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    list(&names)
}

/// Joins words: `a`, `a and b`, `a, b and c`.
fn list(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
