//! The publisher's template for the operator's pods: it is stored in the archive for readers that support it, and it
//! cannot contain fields that the publisher must not set.

use fixtures::example::{Programs, Release};
use schemas::Capability;
use serde_json::json;

use crate::common::Desk;
use crate::stages;

const PACK: [&str; 6] = ["pack", "source", "-o", "out.iso", "--key", "publisher.key"];
const TEMPLATE: &str = "    template:
      replicas: 2
      spec:
        containers:
          - readinessProbe: {httpGet: {path: /readyz, port: 8081}}
            resources: {requests: {cpu: 10m}}
          - {name: proxy, image: '$(image:example-server)', readinessProbe: {}, resources: {requests: {cpu: 10m}}}
";

/// Returns a desk with the example, whose operator has this template.
fn desk(template: &str) -> Desk {
    let desk = Desk::with_key();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
    let text = String::from_utf8(desk.read("source/solution.yaml")).unwrap();
    desk.write("source/solution.yaml", format!("{text}{template}"));
    desk
}

#[test]
fn a_template_is_packed_for_readers_that_know_of_it_and_shown() {
    let desk = desk(TEMPLATE);
    desk.solution(&PACK).success();
    let listed = stages::list(&desk.path("out.iso"));
    let requires = &listed.statement().predicate.requires;
    let requires: Vec<&str> = requires.iter().map(Capability::as_str).collect();
    assert_eq!(requires, ["operator-template-1.0.0"]);
    let shown = desk.solution(&["inspect", "out.iso"]).success();
    let lines = "operator    example-operator:1.0.0\ntemplate    2 pods, with `containers`\n";
    assert!(shown.contains(lines), "{shown}");
    let shown = ["inspect", "out.iso", "--output", "json"];
    let operator = &desk.solution(&shown).json()["manifest"]["spec"]["operator"];
    let probe = json!({"httpGet": {"path": "/readyz", "port": 8081}});
    let containers = &operator["template"]["spec"]["containers"];
    assert_eq!(containers[0]["readinessProbe"], probe);
    assert_eq!(containers[1]["image"], "$(image:example-server)");
    let validate = [
        "validate",
        "out.iso",
        "--key",
        "publisher.pub",
        "--output",
        "json",
    ];
    assert_eq!(desk.solution(&validate).json()["findings"], json!([]));
}

#[test]
fn what_is_not_for_a_template_to_say_is_not_packed() {
    for (from, to, words) in [
        (
            "        containers:\n",
            "        serviceAccountName: admin\n        containers:\n",
            "spec.operator.template.spec.serviceAccountName: cannot be set by a template",
        ),
        (
            "'$(image:example-server)'",
            "quay.io/proxy:1",
            "spec.operator.template.spec.containers[1].image: is not exactly `$(image:NAME)`",
        ),
        (
            "$(image:example-server)",
            "$(image:proxy)",
            "spec.operator.template.spec.containers[1].image: no image has the name `proxy`",
        ),
    ] {
        let desk = desk(&TEMPLATE.replace(from, to));
        let said = desk.solution(&PACK).failure(1);
        assert!(said.contains(words), "{words} is not in {said}");
        assert!(!desk.path("out.iso").exists());
    }
}

#[test]
fn a_pod_that_reaches_its_node_is_packed_with_a_warning() {
    let network = "      spec:\n        hostNetwork: true\n";
    let desk = desk(&TEMPLATE.replace("      spec:\n", network));
    let answer = desk.solution(&PACK);
    assert_eq!(answer.code, 0, "{answer:?}");
    let warning = "spec.operator.template: its pods are in their node's network";
    let finding = answer.stderr.lines().find(|line| line.ends_with(warning));
    let place = finding.unwrap_or_else(|| panic!("{answer:?}"));
    assert!(
        place.starts_with("warning[operator.pod-reach]: solution.yaml:"),
        "{place}"
    );
}
