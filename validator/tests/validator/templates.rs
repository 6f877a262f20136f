//! Changes to an operator with a template. Each case starts from a good archive.

use archive::Feature;

use crate::mistakes::Case;
use crate::source::{ROLE, Source};

const TEMPLATE: &str = r#"    scope: Cluster
    template:
      replicas: 2
      metadata: {labels: {app.kubernetes.io/name: example}}
      spec:
        containers:
          - resources: {requests: {cpu: 10m}}
            readinessProbe: {httpGet: {path: /readyz, port: 8081}}
          - {name: proxy, image: "$(image:server)", args: ["--of=$(image:server)"], readinessProbe: {}, resources: {requests: {cpu: 10m}}}
    env:
"#;

/// Adds a template to the operator of the good source.
fn template(source: &mut Source) {
    source.edit("manifest.yaml", "    env:\n", TEMPLATE);
    require(source);
}

fn require(source: &mut Source) {
    let capability = Feature::OperatorTemplate.capability();
    source.requires.push(capability);
}

pub(crate) const CASES: &[Case] = &[
    ("good template", template, &[]),
    (
        "template not required",
        |s| {
            template(s);
            s.requires.clear();
        },
        &["operator.capability"],
    ),
    (
        "template required in vain",
        require,
        &["operator.capability"],
    ),
    (
        "unknown field of a template",
        |s| {
            template(s);
            s.edit("manifest.yaml", "replicas: 2", "replica: 2");
        },
        &["manifest.yaml"],
    ),
    (
        "an account of the template's",
        |s| {
            template(s);
            s.edit(
                "manifest.yaml",
                "        containers:\n",
                "        serviceAccountName: admin\n        containers:\n",
            );
        },
        &["operator.pod-template"],
    ),
    (
        "an image from elsewhere beside the operator",
        |s| {
            template(s);
            s.edit(
                "manifest.yaml",
                r#"image: "$(image:server)""#,
                "image: quay.io/proxy:1",
            );
        },
        &["operator.pod-template"],
    ),
    (
        "no such image beside the operator",
        |s| {
            template(s);
            s.edit(
                "manifest.yaml",
                r#"image: "$(image:server)""#,
                r#"image: "$(image:proxy)""#,
            );
        },
        &["manifest.expansion"],
    ),
    (
        "no such image in a text of the template",
        |s| {
            template(s);
            s.edit(
                "manifest.yaml",
                "--of=$(image:server)",
                "--of=$(image:proxy)",
            );
        },
        &["manifest.expansion"],
    ),
    (
        "a set that there is not before the operator",
        |s| {
            template(s);
            s.edit("manifest.yaml", "replicas: 2", "needs: [certificates]");
        },
        &["operator.pod-template"],
    ),
    (
        "a set before the operator",
        |s| {
            template(s);
            s.carry();
            s.edit("manifest.yaml", "replicas: 2", "needs: [notes]");
        },
        &[],
    ),
    (
        "pods that lack what workloads are to have",
        |s| {
            template(s);
            s.edit(
                "manifest.yaml",
                ", readinessProbe: {}, resources: {requests: {cpu: 10m}}",
                "",
            );
        },
        &["practice.readiness", "practice.requests"],
    ),
    (
        "the node's network",
        |s| {
            template(s);
            s.edit(
                "manifest.yaml",
                "        containers:\n",
                "        hostNetwork: true\n        containers:\n",
            );
        },
        &["operator.pod-reach"],
    ),
    (
        "the name of a role of Kubernetes' own",
        |s| {
            template(s);
            s.put(ROLE, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: edit}, rules: []}\n");
        },
        &["operator.role-name"],
    ),
];
