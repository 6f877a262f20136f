//! Effects of an archive in a cluster: metadata that other controllers act on, and rights with a wide reach.

use crate::archives::Archive;
use crate::mistakes::Case;
use crate::source::{CRD, ROLE, Source};

/// Adds fields to the metadata of the definition.
fn metadata(source: &mut Source, more: &str) {
    let name = "{name: servers.example.test";
    source.edit(CRD, name, &format!("{name}, {more}"));
}

/// Adds a rule to the ClusterRole.
fn rule(source: &mut Source, group: &str, resource: &str, verbs: &str) {
    let last = "  - {apiGroups: [''], resources: [namespaces], verbs: [get]}\n";
    let more =
        format!("  - {{apiGroups: ['{group}'], resources: ['{resource}'], verbs: [{verbs}]}}\n");
    source.edit(ROLE, last, &format!("{last}{more}"));
}

fn for_the_cluster(source: &mut Source) {
    let args = "    args:";
    source.edit(
        "manifest.yaml",
        args,
        &format!("    scope: Cluster\n{args}"),
    );
}

/// Moves the definition into this API group.
fn group(source: &mut Source, group: &str, annotations: &str) {
    source.edit(
        CRD,
        "servers.example.test",
        &format!("servers.{group}, annotations: {annotations}"),
    );
    source.edit(CRD, "group: example.test", &format!("group: {group}"));
}

const DANGEROUS: &[&str] = &["operator.dangerous-rule"];

pub(crate) const CASES: &[Case] = &[
    (
        "definition with an owner",
        |s| {
            metadata(
                s,
                "ownerReferences: [{apiVersion: v1, kind: Node, name: gone, uid: '1'}]",
            );
        },
        &["operator.crd-metadata"],
    ),
    (
        "definition with a finalizer",
        |s| metadata(s, "finalizers: [example.test/never]"),
        &["operator.crd-metadata"],
    ),
    (
        "definition with a namespace",
        |s| metadata(s, "namespace: default"),
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
            );
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
        &["operator.crd-shape", "operator.crd-group"],
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
            );
        },
        &[],
    ),
    (
        "definition whose approval the API server would not take",
        |s| group(s, "example.k8s.io", "{api-approved.kubernetes.io: 'yes'}"),
        &["operator.crd-shape"],
    ),
    (
        "definition of no group",
        |s| s.edit(CRD, "group: example.test", "group: ''"),
        &["operator.crd-shape", "operator.crd-name"],
    ),
    (
        "definition of an experiment",
        |s| group(s, "gateway.networking.x-k8s.io", "{}"),
        &[],
    ),
    (
        "labels of its own namespace",
        |s| rule(s, "", "namespaces", "patch"),
        DANGEROUS,
    ),
    (
        "the status of its own namespace, which has the labels too",
        |s| rule(s, "", "namespaces/status", "patch"),
        DANGEROUS,
    ),
    (
        "tokens",
        |s| rule(s, "", "serviceaccounts/token", "create"),
        DANGEROUS,
    ),
    (
        "commands in pods",
        |s| rule(s, "", "pods/exec", "create"),
        DANGEROUS,
    ),
    (
        "secrets",
        |s| rule(s, "", "secrets", "get, list, update"),
        DANGEROUS,
    ),
    (
        "escalate",
        |s| rule(s, "rbac.authorization.k8s.io", "roles", "escalate"),
        DANGEROUS,
    ),
    (
        "impersonate",
        |s| rule(s, "", "serviceaccounts", "impersonate"),
        DANGEROUS,
    ),
    (
        "users of the whole cluster in a namespace",
        |s| rule(s, "", "users", "impersonate"),
        &["operator.cluster-rule"],
    ),
    (
        "webhooks of the cluster",
        |s| {
            rule(
                s,
                "admissionregistration.k8s.io",
                "mutatingwebhookconfigurations",
                "create",
            );
            for_the_cluster(s);
        },
        DANGEROUS,
    ),
    (
        "webhooks of the cluster in a namespace",
        |s| {
            rule(
                s,
                "admissionregistration.k8s.io",
                "mutatingwebhookconfigurations",
                "create",
            );
        },
        &["operator.cluster-rule"],
    ),
    (
        "workloads of its own",
        |s| rule(s, "batch", "jobs", "create, delete"),
        &[],
    ),
    (
        "everything is said once",
        |s| rule(s, "*", "*", "'*'"),
        &["operator.wildcard", "operator.dangerous-rule"],
    ),
    (
        "two rights with one danger are one finding",
        |s| {
            rule(s, "", "pods/exec", "create");
            rule(s, "", "pods/attach", "create");
        },
        DANGEROUS,
    ),
];

#[test]
fn what_is_dangerous_is_said_in_plain_words() {
    let mut source = Source::good();
    rule(&mut source, "", "secrets", "get, list, watch");
    rule(&mut source, "", "namespaces", "update, patch");
    rule(&mut source, "", "pods/exec", "create");
    rule(&mut source, "", "pods/attach", "create");
    let report = Archive::signed(&source).report();
    let messages: Vec<&str> = report
        .findings()
        .iter()
        .map(|finding| finding.message.as_str())
        .collect();
    assert_eq!(
        messages,
        [
            "ClusterRole operator, in its namespace: the right to get and change the namespace itself lets it \
            lift PodSecurity, move a namespace into another environment, or delete all that is in it",
            "ClusterRole operator, in its namespace: the right to create pods/attach or to create pods/exec lets it \
            run commands in the pods of others, and reach their closed ports",
            "ClusterRole operator, in its namespace: the right to read all Secrets lets it \
            read every password, key and token there",
        ]
    );
}

#[test]
fn of_very_much_that_is_not_applied_the_first_is_named() {
    let mut source = Source::good();
    let labels: Vec<String> = (10..40).map(|number| format!("olm.{number}: a")).collect();
    metadata(&mut source, &format!("labels: {{{}}}", labels.join(", ")));
    let report = Archive::signed(&source).report();
    let message = &report.findings()[0].message;
    assert!(
        message.contains("`olm.19`") && !message.contains("`olm.20`"),
        "{message}"
    );
    assert!(message.ends_with(", and 20 more"), "{message}");
}

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
        "some of its metadata is not applied: annotation `solutions.metalk8s.scality.com/adopted` (is set by the import), \
        `finalizers`, label `olm.owner` (belongs to OLM)"
    );
}
