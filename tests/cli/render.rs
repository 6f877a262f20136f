//! `solution render` for an imaginary cluster.

use std::fs;

use serde_json::Value;

use crate::common::{Answer, Desk};
use fixtures::example::{Programs, Release};

const PARTS: &str = "  manifests: [{name: web, files: [web.yaml]}]
  parameters:
    greeting: {type: string, default: hello}
    password: {type: string, sensitive: true, generate: {length: 20}}
";

const SET: &str = "
{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {greeting: '$(param:greeting)'}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, template: \
{metadata: {labels: {app: web}}, spec: {containers: [{name: server, image: '$(image:example-server)', \
args: ['--password=$(param:password)']}]}}}}
---
{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, metadata: {name: web}, spec: {}}
";

/// Returns a desk with an archive that has an operator and a manifest set.
fn desk() -> Desk {
    let desk = Desk::with_key();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
    let text = String::from_utf8(desk.read("source/solution.yaml")).unwrap();
    desk.write("source/solution.yaml", format!("{text}{PARTS}"));
    desk.write("source/web.yaml", SET);
    let pack = ["pack", "source", "-o", "a.iso", "--key", "publisher.key"];
    desk.solution(&pack).success();
    desk
}

const PLACE: [&str; 7] = [
    "--key",
    "publisher.pub",
    "-e",
    "prod",
    "--no-cluster",
    "--kube-version",
    "1.34",
];
const MONITORS: &str = "--api-versions=monitoring.coreos.com/v1/PodMonitor";

fn render(desk: &Desk, more: &[&str]) -> Answer {
    desk.solution(&[&["render", "a.iso"], &PLACE[..], more].concat())
}

/// Returns the object of this kind and name in a rendering.
fn object<'a>(rendered: &'a Value, kind: &str, name: &str) -> &'a Value {
    let manifests = rendered["manifests"].as_array().unwrap().iter();
    let mut objects = manifests.map(|manifest| &manifest["object"]);
    let found = objects.find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("there is no {kind} {name}: {rendered:#}"))
}

#[test]
fn a_site_that_nobody_can_reach_gets_its_own_addresses_values_and_patches() {
    let desk = desk();
    let head = "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Site\nspec: ";
    let all = "{registry: push.test, pullRegistry: pull.test, pullSecret: login, \
        parameters: {example: {greeting: all}}, workloads: [{set: {labels: {team: a}}}]}";
    desk.write("site.yaml", format!("{head}{all}"));
    let own = "{parameters: {example: {greeting: own}}, patches: {example: [{target: {kind: ConfigMap}, \
        patch: '{\"data\": {\"patched\": \"yes\"}}'}]}}";
    desk.write("prod.yaml", format!("{head}{own}"));
    let files = [
        "--site-file",
        "site.yaml",
        "--environment-site-file",
        "prod.yaml",
    ];
    let rendered = render(&desk, &[&files[..], &[MONITORS, "--output=json"]].concat()).json();
    let config = object(&rendered, "ConfigMap", "web");
    assert_eq!(
        (&config["data"]["greeting"], &config["data"]["patched"]),
        (&"own".into(), &"yes".into())
    );
    let deployment = object(&rendered, "Deployment", "web");
    let pod = &deployment["spec"]["template"]["spec"];
    let image = pod["containers"][0]["image"].as_str().unwrap();
    assert!(
        image.starts_with("pull.test/example/example-server:1.0.0@sha256:"),
        "{image}"
    );
    assert_eq!(pod["imagePullSecrets"][0]["name"], "login");
    assert_eq!(
        deployment["spec"]["template"]["metadata"]["labels"]["team"],
        "a"
    );
    assert_eq!(pod["containers"][0]["args"][0], "(secret)");
    object(&rendered, "Deployment", "example-operator");
    object(&rendered, "Namespace", "prod");
    object(&rendered, "PodMonitor", "web");
    let manifests = rendered["manifests"].as_array().unwrap();
    let random = manifests
        .iter()
        .filter(|manifest| manifest["random"] == true);
    let random: Vec<&Value> = random
        .map(|manifest| &manifest["object"]["metadata"]["name"])
        .collect();
    assert_eq!(random, ["example-parameters-1", "web"]);
    let shown = render(
        &desk,
        &[
            "--registry=push.test",
            MONITORS,
            "--show-secrets",
            "--output=json",
        ],
    )
    .json();
    let args =
        &object(&shown, "Deployment", "web")["spec"]["template"]["spec"]["containers"][0]["args"];
    assert_eq!(args[0].as_str().unwrap().len(), "--password=".len() + 20);
}

#[test]
fn each_object_is_a_document_or_a_file_of_its_own() {
    let desk = desk();
    let registry = ["--registry", "push.test", MONITORS];
    let stream = render(&desk, &registry).success();
    let (first, rest) = stream.split_once("\n---\n").unwrap();
    assert!(first.starts_with("---\n# Source: environment\napiVersion: 'v1'\nkind: 'Namespace'\n"));
    assert!(rest.contains("# Source: set web\n# random: differs in each rendering\n"));
    let into = [&registry[..], &["--output-dir", "out"]].concat();
    let said = render(&desk, &into).success();
    let mut files: Vec<String> = fs::read_dir(desk.path("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(
        said,
        format!("{} objects of example-1.0.0 in `out`\n", files.len())
    );
    assert_eq!(files[0], "0001-namespace-prod.yaml");
    let all = files
        .iter()
        .map(|name| String::from_utf8(desk.read(&format!("out/{name}"))).unwrap());
    assert_eq!(all.collect::<String>(), stream);
    // Files of one rendering are not mixed with those of another.
    let refused = render(&desk, &into).failure(2);
    assert!(refused.contains("`out` is not empty"), "{refused}");
}

#[test]
fn what_cannot_be_rendered_is_said() {
    let desk = desk();
    let refused = render(&desk, &["--registry", "push.test"]).failure(1);
    assert!(refused.contains("PodMonitor"), "{refused}");
    let refused = render(&desk, &[]).failure(2);
    assert!(refused.contains("no registry is set"), "{refused}");
    let name = [&["render", "example"], &PLACE[..]].concat();
    let refused = desk.solution(&name).failure(2);
    assert!(
        refused.contains("cannot render `example` without a cluster"),
        "{refused}"
    );
    let old = [
        &["render", "a.iso"],
        &PLACE[..6],
        &["1.5", "--registry=push.test"],
    ]
    .concat();
    let refused = desk.solution(&old).failure(1);
    assert!(refused.contains("1.5"), "{refused}");
    let unmeant = ["--registry=push.test", MONITORS, "--set", "greting=a"];
    let refused = render(&desk, &unmeant).failure(1);
    assert!(refused.contains("did you mean `greeting`?"), "{refused}");
}
