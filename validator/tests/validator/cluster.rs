//! What an archive would do in a cluster: metadata that others act on.

use crate::archives::Archive;
use crate::mistakes::Case;
use crate::source::{CRD, Source};

/// Puts more into the metadata of the definition.
fn metadata(source: &mut Source, more: &str) {
    let name = "{name: servers.example.test";
    source.edit(CRD, name, &format!("{name}, {more}"));
}

/// Makes the definition one of this group.
fn group(source: &mut Source, group: &str, annotations: &str) {
    source.edit(
        CRD,
        "servers.example.test",
        &format!("servers.{group}, annotations: {annotations}"),
    );
    source.edit(CRD, "group: example.test", &format!("group: {group}"));
}

pub(crate) const CASES: &[Case] = &[
    (
        "definition with an owner",
        |s| {
            metadata(
                s,
                "ownerReferences: [{apiVersion: v1, kind: Node, name: gone, uid: '1'}]",
            )
        },
        &["operator.crd-metadata"],
    ),
    (
        "definition with a finalizer",
        |s| metadata(s, "finalizers: [example.test/never]"),
        &["operator.crd-metadata"],
    ),
    (
        "definition with marks of ours and of others is one finding",
        |s| {
            metadata(
                s,
                "labels: {helm.sh/chart: a, app: a}, \
                annotations: {solutions.metalk8s.scality.com/adopted: 'true', argocd.argoproj.io/tracking-id: a}",
            );
        },
        &["operator.crd-metadata"],
    ),
    (
        "definition as it comes out of a generator",
        |s| {
            metadata(
                s,
                "creationTimestamp: null, labels: {app.kubernetes.io/name: a}, \
                annotations: {controller-gen.kubebuilder.io/version: v0.17.0}",
            );
        },
        &[],
    ),
    (
        "definition in a group of the API server, approved",
        |s| {
            group(
                s,
                "networking.k8s.io",
                "{api-approved.kubernetes.io: 'https://example.test/1'}",
            )
        },
        &["operator.crd-group"],
    ),
    (
        "definition in a group of the API server, not approved",
        |s| group(s, "rbac.authorization.k8s.io", "{}"),
        &["operator.crd-group"],
    ),
    (
        "definition in a group of the API server without a dot",
        |s| group(s, "apps", "{}"),
        &["operator.crd-group"],
    ),
    (
        "definition of the Gateway API",
        |s| {
            group(
                s,
                "gateway.networking.k8s.io",
                "{api-approved.kubernetes.io: 'https://example.test/1', gateway.networking.k8s.io/channel: standard}",
            );
        },
        &[],
    ),
    (
        "definition that is approved by a word",
        |s| {
            group(
                s,
                "example.k8s.io",
                "{api-approved.kubernetes.io: 'unapproved, a test'}",
            )
        },
        &[],
    ),
    (
        "definition whose approval the API server would not take",
        |s| group(s, "example.k8s.io", "{api-approved.kubernetes.io: 'yes'}"),
        &["operator.crd-shape"],
    ),
    (
        "definition of an experiment",
        |s| group(s, "gateway.networking.x-k8s.io", "{}"),
        &[],
    ),
];

#[test]
fn what_is_not_applied_is_named_with_its_reason() {
    let mut source = Source::good();
    metadata(
        &mut source,
        "finalizers: [a], labels: {olm.owner: a}, annotations: {solutions.metalk8s.scality.com/adopted: a}",
    );
    let report = Archive::signed(&source).report();
    assert_eq!(
        report.findings()[0].message,
        "of its metadata is not applied: annotation `solutions.metalk8s.scality.com/adopted` (is set by the import), \
        `finalizers`, label `olm.owner` (belongs to OLM)"
    );
}
