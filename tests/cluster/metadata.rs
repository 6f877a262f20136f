//! Metadata of a definition that could harm a cluster: owner references for the garbage collector, finalizers, and
//! labels or annotations that other controllers react to.

use serde_json::Value;

use crate::site::{Site, eventually};

const CRD: &str = "crd/versionservers.example.metalk8s.test";
const FILE: &str = "1.0.0/operator/deploy/crds/versionservers_crd.yaml";

/// Only a cluster-scoped object can own another one, and no cluster has this node.
const OWNER: &str =
    "{apiVersion: v1, kind: Node, name: gone, uid: 7d3c0a0e-0000-4000-8000-000000000000}";

/// Packs 1.0.0 with all of this metadata in its definition, and returns the warnings.
fn pack_with_metadata(site: &Site) -> String {
    let text = String::from_utf8(site.desk.read(FILE)).unwrap();
    let name = "  name: versionservers.example.metalk8s.test\n";
    assert!(text.contains(name), "{text}");
    let marks = format!(
        "{name}  ownerReferences: [{OWNER}]\n  \
        finalizers: [example.metalk8s.test/never]\n  \
        labels: {{team: web, app.kubernetes.io/instance: theirs, solutions.metalk8s.scality.com/version: 9.9.9}}\n  \
        annotations:\n    \
        controller-gen.kubebuilder.io/version: v0.17.0\n    \
        solutions.metalk8s.scality.com/adopted: 'true'\n    \
        argocd.argoproj.io/tracking-id: theirs\n"
    );
    site.desk.write(FILE, text.replacen(name, &marks, 1));
    let pack = [
        "pack",
        "1.0.0",
        "-o",
        "marked.iso",
        "--key",
        "publisher.key",
    ];
    let answer = site.desk.solution(&pack);
    let warned = answer.stderr.clone();
    answer.success();
    warned
}

fn live(site: &Site, object: &str) -> Value {
    let text = site
        .kubectl("marked", &["get", object, "--output=json"])
        .success();
    serde_json::from_str(&text).unwrap()
}

/// Waits until the garbage collector has deleted a new object with the same owner.
fn collect_garbage(site: &Site) {
    site.desk.write(
        "canary.yaml",
        format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: canary, ownerReferences: [{OWNER}]}}}}"
        ),
    );
    let create = ["create", "--filename", "canary.yaml"];
    site.kubectl("marked", &create).success();
    eventually("the canary is collected", || {
        let get = [
            "get",
            "configmap/canary",
            "--ignore-not-found",
            "--output=name",
        ];
        site.kubectl("marked", &get)
            .success()
            .is_empty()
            .then_some(())
    });
}

#[test]
fn metadata_of_a_definition_that_others_act_on_does_not_arrive() {
    let site = Site::new("metadata");
    let warned = pack_with_metadata(&site);
    assert!(
        warned.contains("warning[operator.crd-metadata]"),
        "{warned}"
    );
    assert!(warned.contains("`ownerReferences`"), "{warned}");
    site.create_environment("marked");
    site.import("marked.iso", &["-e", "marked", "--pull-secret", "login"])
        .success();

    let definition = live(&site, CRD);
    let metadata = &definition["metadata"];
    assert!(metadata["ownerReferences"].is_null(), "{metadata:#}");
    // The API server adds its own finalizer only on deletion.
    assert!(metadata["finalizers"].is_null(), "{metadata:#}");
    let annotations = metadata["annotations"].as_object().unwrap();
    assert_eq!(
        annotations.keys().collect::<Vec<_>>(),
        ["controller-gen.kubebuilder.io/version"]
    );
    let labels = metadata["labels"].as_object().unwrap();
    assert_eq!(labels["team"], "web");
    assert_eq!(labels["solutions.metalk8s.scality.com/version"], "1.0.0");
    assert!(
        !labels.contains_key("app.kubernetes.io/instance"),
        "{labels:?}"
    );

    site.desk.write(
        "server.yaml",
        "{apiVersion: example.metalk8s.test/v1alpha1, kind: VersionServer, \
        metadata: {name: web}, spec: {replicas: 0, version: 1.0.0}}",
    );
    site.kubectl("marked", &["create", "--filename", "server.yaml"])
        .success();
    let server = live(&site, "versionserver/web");
    collect_garbage(&site);
    assert_eq!(live(&site, CRD)["metadata"]["uid"], metadata["uid"]);
    assert_eq!(
        live(&site, "versionserver/web")["metadata"]["uid"],
        server["metadata"]["uid"]
    );

    site.kubectl("marked", &["delete", "versionserver/web"])
        .success();
    for undo in [
        &["undeploy", "--yes", "example", "-e", "marked"][..],
        &["environment", "delete", "--yes", "marked"],
        &["deactivate", "--yes", "example"],
        &["unimport", "--yes", "example", "1.0.0"],
    ] {
        site.solution(undo).success();
    }
    let left = site.kubectl(
        "default",
        &["get", CRD, "--ignore-not-found", "--output=name"],
    );
    assert_eq!(
        left.success(),
        "",
        "it was adopted from nobody, and so it goes"
    );
}

/// The API server's built-in groups and resources equal the program's tables.
#[test]
fn what_kubernetes_serves_itself_is_known() {
    let site = Site::new("tables");
    let raw = |path: &str| -> Value {
        let text = site.kubectl("default", &["get", "--raw", path]).success();
        serde_json::from_str(&text).unwrap()
    };
    let names = |list: &Value, field: &str| -> Vec<String> {
        let items = list.as_array().unwrap().iter();
        items
            .map(|item| item[field].as_str().unwrap().to_owned())
            .collect()
    };
    let mut lists = vec![(String::new(), "/api/v1".to_owned())];
    for group in raw("/apis")["groups"].as_array().unwrap() {
        let name = group["name"].as_str().unwrap();
        // Other tests may have left or may be creating these.
        if name.ends_with(".metalk8s.test") {
            continue;
        }
        assert!(schemas::is_kubernetes_group(name), "{name}");
        for version in names(&group["versions"], "groupVersion") {
            lists.push((name.to_owned(), format!("/apis/{version}")));
        }
    }
    for (group, path) in lists {
        for resource in raw(&path)["resources"].as_array().unwrap() {
            let name = resource["name"].as_str().unwrap();
            let plural = name.split('/').next().unwrap();
            let in_namespace = resource["namespaced"] == true;
            assert_eq!(
                schemas::is_cluster_scoped(&group, plural),
                !in_namespace,
                "{name} of {group}"
            );
        }
    }
}
