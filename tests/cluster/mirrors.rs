//! Images that workloads request from another registry are pulled from the site's registry.

use std::fs;

use serde_json::json;

use crate::common::Answer;
use crate::node_registry::NodeRegistry;
use crate::site::{Site, eventually, variable};

/// The registry in the example's `ref`s. It does not exist.
pub(crate) const SOURCE: &str = "registry.example.test";

/// Creates the nodes' login as a Secret for images of [`SOURCE`].
pub(crate) fn login_for_source(site: &Site, namespace: &str) {
    let file = fs::read_to_string(variable("SOLUTION_TEST_PULL_SECRET")).unwrap();
    let host = variable("SOLUTION_TEST_PULL_REGISTRY");
    site.desk.write("source.json", file.replace(&host, SOURCE));
    let secret = [
        "create",
        "secret",
        "generic",
        "source",
        "--type=kubernetes.io/dockerconfigjson",
        "--from-file=.dockerconfigjson=source.json",
    ];
    site.kubectl(namespace, &secret).success();
}

pub(crate) fn start(site: &Site, namespace: &str, name: &str, image: &str) -> Answer {
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name },
        "spec": {
            "containers": [{ "name": "server", "image": image, "imagePullPolicy": "Always" }],
            "imagePullSecrets": [{ "name": "source" }],
            "terminationGracePeriodSeconds": 0,
        },
    });
    let file = format!("{name}.json");
    site.desk.write(&file, pod.to_string());
    site.kubectl(namespace, &["create", "--filename", &file])
}

/// Returns the node's message for a container that is neither running nor pulling.
pub(crate) fn state(site: &Site, namespace: &str, pod: &str) -> Option<String> {
    let state = "{.status.containerStatuses[0].state}";
    let state = site.field(namespace, &format!("pod/{pod}"), state);
    let decided = !state.is_empty() && !state.contains("ContainerCreating");
    decided.then_some(state)
}

#[test]
fn a_pod_starts_from_the_name_that_the_archive_says_workloads_ask_for() {
    let site = Site::new("mirrors");
    site.create_environment("mirrors");
    login_for_source(&site, "mirrors");
    site.import("1.0.0.iso", &[]).success();
    let image = format!("{SOURCE}/example/server:1.0.0");
    start(&site, "mirrors", "untold", &image).success();
    let refused = eventually("the node was not told", || {
        state(&site, "mirrors", "untold")
    });
    assert!(refused.contains("ErrImagePull"), "{refused}");

    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let flags = ["mirrors", "example", "1.0.0", "--ca-file", &ca];
    let shown = site.solution(&[&flags[..], &["--output", "json"]].concat());
    let shown = shown.json();
    let told = NodeRegistry::configure(SOURCE, &shown["files"]);
    start(&site, "mirrors", "by-tag", &image).success();
    let server = shown["images"]
        .as_array()
        .unwrap()
        .iter()
        .find(|mirrored| mirrored["ref"] == image.as_str())
        .unwrap();
    let at = format!("{}/mirror/{image}", site.pull_registry());
    assert_eq!(server["address"], at.as_str());
    let digest = site.tag(&format!("mirror/{SOURCE}/example/server"), "1.0.0");
    let pinned = format!("{SOURCE}/example/server@{}", digest.unwrap());
    start(&site, "mirrors", "by-digest", &pinned).success();
    for pod in ["by-tag", "by-digest"] {
        let started = eventually(pod, || state(&site, "mirrors", pod));
        assert!(started.contains("startedAt"), "{pod}: {started}");
    }
    drop(told);
}

#[test]
fn a_name_that_workloads_ask_for_is_not_moved_to_another_image() {
    let site = Site::new("mirrors-moved");
    site.import("1.0.0.iso", &[]).success();
    let text = String::from_utf8(site.desk.read("1.1.0/solution.yaml")).unwrap();
    let same = format!("{SOURCE}/example/server:1.0.0");
    site.desk.write(
        "1.1.0/solution.yaml",
        text.replace(&format!("{SOURCE}/example/server:1.1.0"), &same),
    );
    let pack = ["pack", "1.1.0", "-o", "same.iso", "--key", "publisher.key"];
    site.desk.solution(&pack).success();
    let before = site.snapshot();
    let refused = site.import("same.iso", &[]);
    assert_eq!((refused.code, site.snapshot()), (1, before), "{refused:?}");
    let words = format!("mirror/{same} already exists with a different digest");
    assert!(refused.stderr.contains(&words), "{refused:?}");
    assert!(refused.stderr.contains("--replace"), "{refused:?}");
}

#[test]
fn an_archive_says_what_nodes_need_before_it_is_imported() {
    let site = Site::new("mirrors-archive");
    let of = |more: &[&str]| {
        let always = ["mirrors", "--output", "json"];
        site.solution(&[&always[..], more].concat()).json()
    };
    let registry = site.pull_registry();
    let archive = ["--archive", "1.0.0.iso", "--key", "publisher.pub"];
    let before = of(&[&archive[..], &["--registry", &registry]].concat());
    site.import("1.0.0.iso", &[]).success();
    assert_eq!(of(&[]), before);
    assert_eq!(before["images"].as_array().unwrap().len(), 2);
    let absent = site.solution(&["mirrors", "example", "3.0.0"]).failure(1);
    assert!(absent.contains("example 3.0.0 is not imported"), "{absent}");
}
