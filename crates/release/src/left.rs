//! The objects of a release that have no place in an archive of format 1, each kind with its reason.

use std::collections::{BTreeMap, BTreeSet};

use crate::notes::{Note, Weight, names};
use crate::objects::Object;
use crate::rights::ServiceAccount;

/// What becomes of a kind. The group is empty for Kubernetes' core and where it makes no difference.
const REASONS: [(&str, Weight, &str); 32] = [
    (
        "Namespace",
        Weight::Made,
        "`solution import --environment` makes the namespace, or adopts one",
    ),
    (
        "ServiceAccount",
        Weight::Made,
        "an import makes the operator's account; accounts of others are not in the archive",
    ),
    (
        "RoleBinding",
        Weight::Made,
        "an import binds the operator's roles to its account; bindings of others are not in the archive",
    ),
    (
        "ClusterRoleBinding",
        Weight::Made,
        "an import binds the operator's roles to its account; bindings of others are not in the archive",
    ),
    (
        "Service",
        Weight::Lost,
        "format 1 has no Services: nothing in the cluster reaches the operator's ports",
    ),
    (
        "ConfigMap",
        Weight::Lost,
        "an import makes the operator's own ConfigMap only; values that the operator's variables take from it are in spec.operator.env; if the operator reads it, apply it at the site, in the operator's namespace",
    ),
    (
        "Secret",
        Weight::Lost,
        "secrets do not travel in an archive; make them at the site",
    ),
    (
        "ValidatingWebhookConfiguration",
        Weight::Decide,
        "webhooks need a Service and a certificate, which an import does not make; turn them off by argument or variable if the operator allows it",
    ),
    (
        "MutatingWebhookConfiguration",
        Weight::Decide,
        "webhooks need a Service and a certificate, which an import does not make; turn them off by argument or variable if the operator allows it",
    ),
    (
        "ValidatingAdmissionPolicy",
        Weight::Lost,
        "a rule for the whole cluster; it is the site's to apply",
    ),
    (
        "ValidatingAdmissionPolicyBinding",
        Weight::Lost,
        "a rule for the whole cluster; it is the site's to apply",
    ),
    (
        "APIService",
        Weight::Decide,
        "an API of the operator's own needs a Service and a certificate, which an import does not make",
    ),
    (
        "Deployment",
        Weight::Decide,
        "format 1 runs one Deployment, the operator; if the operator cannot do without this one, pack it as a Solution of its own with `--deployment` and without the definitions, which only one can bring, or apply it at the site: its images are in the archive",
    ),
    (
        "StatefulSet",
        Weight::Decide,
        "format 1 runs one Deployment, the operator; apply this at the site if it is needed: its images are in the archive",
    ),
    (
        "DaemonSet",
        Weight::Decide,
        "format 1 runs one Deployment, the operator; apply this at the site if it is needed: its images are in the archive",
    ),
    (
        "ReplicaSet",
        Weight::Decide,
        "format 1 runs one Deployment, the operator; apply this at the site if it is needed: its images are in the archive",
    ),
    (
        "Job",
        Weight::Decide,
        "an import runs no jobs; apply this at the site if it is needed: its images are in the archive",
    ),
    (
        "CronJob",
        Weight::Decide,
        "an import runs no jobs; apply this at the site if it is needed: its images are in the archive",
    ),
    (
        "Pod",
        Weight::Decide,
        "an import runs the operator only; apply this at the site if it is needed: its images are in the archive",
    ),
    (
        "PodDisruptionBudget",
        Weight::Lost,
        "the operator has one replica, so there is nothing to budget",
    ),
    (
        "HorizontalPodAutoscaler",
        Weight::Lost,
        "the operator has one replica",
    ),
    (
        "NetworkPolicy",
        Weight::Lost,
        "what may talk to what is the site's choice",
    ),
    (
        "ServiceMonitor",
        Weight::Lost,
        "metrics are collected by the site's own means, and no Service leads to the operator",
    ),
    (
        "PodMonitor",
        Weight::Lost,
        "metrics are collected by the site's own means",
    ),
    (
        "PrometheusRule",
        Weight::Lost,
        "alerts are the site's to apply",
    ),
    (
        "PriorityClass",
        Weight::Lost,
        "priorities are the site's choice",
    ),
    (
        "IngressClass",
        Weight::Lost,
        "it belongs to the whole cluster; apply it at the site",
    ),
    (
        "StorageClass",
        Weight::Lost,
        "it belongs to the whole cluster; apply it at the site",
    ),
    (
        "Certificate",
        Weight::Decide,
        "certificates are for webhooks or metrics, which need a Service that an import does not make; turn them off by argument or variable",
    ),
    (
        "Issuer",
        Weight::Lost,
        "certificates are for webhooks or metrics, which need a Service that an import does not make",
    ),
    (
        "Kustomization",
        Weight::Lost,
        "is a recipe, not a manifest; give the output of `kubectl kustomize` if it changes anything",
    ),
    (
        "SecurityContextConstraints",
        Weight::Lost,
        "it belongs to the whole cluster; apply it at the site",
    ),
];

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
            crate::notes::shown(kind),
            names(objects.iter().map(|object| object.name()))
        );
        Note::new(weight, about, why)
    };
    kinds.into_iter().map(note).collect()
}

fn reason(kind: &str, group: &str, own: &BTreeSet<(&str, &str)>) -> (Weight, &'static str) {
    if own.contains(&(group, kind)) {
        return (
            Weight::Lost,
            "an object of the operator's own kind: create it at the site, once the operator runs",
        );
    }
    if kind == "CustomResourceDefinition" {
        return (
            Weight::Decide,
            "is not `apiextensions.k8s.io/v1`, which clusters no longer take; use a release that has it",
        );
    }
    let known = REASONS.iter().find(|(known, ..)| *known == kind);
    known.map_or(
        (
            Weight::Lost,
            "format 1 has no place for this kind; apply it at the site if it is needed",
        ),
        |(_, weight, why)| (*weight, *why),
    )
}

/// Roles that the operator's account is not bound to.
pub(crate) fn other_roles(roles: &[&Object<'_>], account: &ServiceAccount) -> Option<Note> {
    if roles.is_empty() {
        return None;
    }
    let names = names(roles.iter().map(|role| role.name()));
    let account = crate::notes::shown(&account.name);
    Some(Note::new(
        Weight::Lost,
        format!("Roles {names}"),
        format!(
            "not bound to the operator's account `{account}`: for people or for other programs of the release; the administrator applies them at the site if they are wanted"
        ),
    ))
}
