//! The image addresses of a site for the tools of a cluster: containerd and Kustomize.

use serde_json::{Value, json};

use crate::mirrors::{SOURCE, login_for_source, start, state};
use crate::node_registry::NodeRegistry;
use crate::site::{Site, eventually};

#[test]
fn a_node_pulls_by_its_own_name_what_was_pushed_without_its_cluster() {
    let site = Site::new("image-map");
    site.create_environment("image-map");
    login_for_source(&site, "image-map");
    let before = site.snapshot();
    let layout = ["--repository-layout", "ref", "--no-cluster"];
    let form = ["--image-map", "containerd", "--output", "json"];
    let mut import = site.import_command("1.0.0.iso", &[&layout[..], &form].concat());
    // This cluster is unreachable.
    import.env("KUBECONFIG", "/nonexistent");
    let answer = crate::common::Answer::from_command(&mut import);
    assert_eq!(answer.code, 0, "{answer:?}");
    let shown = answer.json();
    assert_eq!(shown["needsCluster"], json!(["CRDs", "operator"]));
    assert_eq!(site.snapshot(), before);
    let told = NodeRegistry::configure(SOURCE, &shown["imageMapFiles"]);
    let image = format!("{SOURCE}/example/server:1.0.0");
    start(&site, "image-map", "by-tag", &image).success();
    let started = eventually("by-tag", || state(&site, "image-map", "by-tag"));
    assert!(started.contains("startedAt"), "{started}");
    drop(told);
}

#[test]
fn an_overlay_gets_the_list_of_an_import_with_a_cluster() {
    let site = Site::new("image-map-list");
    site.import("1.0.0.iso", &[]).success();
    let import = site.import("1.0.0.iso", &["--image-map", "kustomize"]);
    let list = import.success();
    let pod = |image: &str| {
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": { "name": "pod" },
            "spec": { "containers": [{ "name": "server", "image": image }] },
        })
    };
    let asked = format!("{SOURCE}/example/server:1.0.0");
    site.desk.write("site/pod.json", pod(&asked).to_string());
    let text = format!("{list}resources: [pod.json]\n");
    site.desk.write("site/kustomization.yaml", text);
    let made = site.kubectl("default", &["kustomize", "site"]).success();
    let digest = site.tag("example-1.0.0/example-server", "1.0.0").unwrap();
    let registry = site.pull_registry();
    let expected = pod(&format!("{registry}/example-1.0.0/example-server@{digest}"));
    let made: Value = schemas::yaml::from_slice(made.as_bytes()).unwrap();
    assert_eq!(made, expected);
    // The JSON receipt contains both.
    let flags = ["--image-map", "kustomize", "--output", "json"];
    let receipt = site.import("1.0.0.iso", &flags).json();
    assert_eq!(receipt["imageMapFiles"][0]["text"], list);
    assert_eq!(receipt["imageMap"].as_array().unwrap().len(), 2);
}
