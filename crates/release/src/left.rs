//! The objects of a release that have no place in an archive of format 1, each kind with its reason.

use std::collections::{BTreeMap, BTreeSet};

use crate::bundle;
use crate::notes::{Note, Weight, names};
use crate::rights::ServiceAccount;
use manifests::{Files, Object, Objects};

/// What of a release is not among its objects.
pub(crate) fn unread(release: &Files, objects: &Objects<'_>) -> Vec<Note> {
    let passed_over = release.passed_over.iter().map(|passed| {
        let about = format!("file `{}`", passed.file);
        Note::new(Weight::Lost, about, passed.why)
    });
    let kindless = objects
        .kindless
        .iter()
        .filter(|(_, value)| bundle::package(value).is_none());
    let kindless = kindless.map(|(place, _)| {
        let why = "has no `kind`, so it is not a Kubernetes object";
        Note::new(Weight::Lost, place.to_string(), why)
    });
    let repeated = objects.repeated.iter().map(|again| {
        let about = format!("{}, {}", again.what, again.other);
        let why = format!("is the same object as {}; taken once", again.one);
        Note::new(Weight::Lost, about, why)
    });
    passed_over.chain(kindless).chain(repeated).collect()
}

/// One note for all objects of a kind that are left out.
pub(crate) fn notes<'a>(
    left: impl IntoIterator<Item = &'a Object<'a>>,
    own: &BTreeSet<(&str, &str)>,
) -> Vec<Note> {
    let mut kinds: BTreeMap<(&str, &str), Vec<&Object<'_>>> = BTreeMap::new();
    for object in left {
        kinds
            .entry((object.kind(), object.group()))
            .or_default()
            .push(object);
    }
    let note = |((kind, group), objects): ((&str, &str), Vec<&Object<'_>>)| {
        let (weight, why) = reason(kind, group, own);
        let about = format!(
            "{} {}",
            manifests::shown(kind),
            names(objects.iter().map(|object| object.name()))
        );
        Note::new(weight, about, why)
    };
    kinds.into_iter().map(note).collect()
}

fn reason(kind: &str, group: &str, own: &BTreeSet<(&str, &str)>) -> (Weight, &'static str) {
    if own.contains(&(group, kind)) {
        let why =
            "an object of the operator's own kind: create it at the site, once the operator runs";
        return (Weight::Lost, why);
    }
    let made = made(kind).map(|why| (Weight::Made, why));
    let decide = || decide(kind).map(|why| (Weight::Decide, why));
    made.or_else(decide).unwrap_or((Weight::Lost, lost(kind)))
}

/// How an import makes a kind itself.
fn made(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "Namespace" => "`solution import --environment` makes the namespace, or adopts one",
        "ServiceAccount" => {
            "an import makes the operator's account; accounts of others are not in the archive"
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            "an import binds the operator's roles to its account; bindings of others are not in the archive"
        }
        _ => return None,
    })
}

/// What to do without a kind that the operator may need.
fn decide(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            "webhooks need a Service and a certificate, which an import does not make; turn them off by argument or variable if the operator allows it"
        }
        "APIService" => {
            "an API of the operator's own needs a Service and a certificate, which an import does not make"
        }
        "Deployment" => {
            "format 1 runs one Deployment, the operator; if the operator cannot do without this one, pack it as a Solution of its own with `--deployment` and without the CRDs, which only one Solution can bring, or apply it at the site: its images are in the archive"
        }
        "StatefulSet" | "DaemonSet" | "ReplicaSet" => {
            "format 1 runs one Deployment, the operator; apply this at the site if it is needed: its images are in the archive"
        }
        "Job" | "CronJob" => {
            "an import runs no jobs; apply this at the site if it is needed: its images are in the archive"
        }
        "Pod" => {
            "an import runs the operator only; apply this at the site if it is needed: its images are in the archive"
        }
        "Certificate" => {
            "certificates are for webhooks or metrics, which need a Service that an import does not make; turn them off by argument or variable"
        }
        "CustomResourceDefinition" => {
            "is not `apiextensions.k8s.io/v1`, which clusters no longer take; use a release that has it"
        }
        _ => return None,
    })
}

/// Why no other kind is in the draft.
fn lost(kind: &str) -> &'static str {
    match kind {
        "Service" => {
            "format 1 has no Services: nothing in the cluster reaches the operator's ports"
        }
        "ConfigMap" => {
            "an import makes the operator's own ConfigMap only; values that the operator's variables take from it are in spec.operator.env; if the operator reads it, apply it at the site, in the operator's namespace"
        }
        "Secret" => "secrets do not travel in an archive; make them at the site",
        "ValidatingAdmissionPolicy" | "ValidatingAdmissionPolicyBinding" => {
            "a rule for the whole cluster, for the site to apply"
        }
        "PodDisruptionBudget" => "the operator has one replica, so there is nothing to budget",
        "HorizontalPodAutoscaler" => "the operator has one replica",
        "NetworkPolicy" => "what may talk to what is the site's choice",
        "ServiceMonitor" => {
            "the site collects metrics by its own means, and no Service leads to the operator"
        }
        "PodMonitor" => "the site collects metrics by its own means",
        "PrometheusRule" => "alerts are for the site to apply",
        "PriorityClass" => "priorities are the site's choice",
        "IngressClass" | "StorageClass" | "SecurityContextConstraints" => {
            "it belongs to the whole cluster; apply it at the site"
        }
        "Issuer" => {
            "certificates are for webhooks or metrics, which need a Service that an import does not make"
        }
        "Kustomization" => {
            "is a recipe, not a manifest; give the output of `kubectl kustomize` if it changes anything"
        }
        _ => "format 1 has no place for this kind; apply it at the site if it is needed",
    }
}

/// Roles that the operator's account is not bound to.
pub(crate) fn other_roles(roles: &[&Object<'_>], account: &ServiceAccount) -> Option<Note> {
    if roles.is_empty() {
        return None;
    }
    let names = names(roles.iter().map(|role| role.name()));
    let account = manifests::shown(&account.name);
    Some(Note::new(
        Weight::Lost,
        format!("Roles {names}"),
        format!(
            "not bound to the operator's account `{account}`: for people or for other programs of the release; the administrator applies them at the site if they are wanted"
        ),
    ))
}
