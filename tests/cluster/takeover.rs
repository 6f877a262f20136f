//! A site that the program of commit 85c7835 filled is taken over. Its records, objects and registry content are read,
//! deployed, rolled back and removed, although its capabilities were drafts and its records had no format
//! (tests/data/85c7835).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::charts::solution;
use crate::common::Answer;
use crate::imported_versions::skopeo;
use crate::site::{Site, variable};

/// The prefix in the registry, which the records contain.
const PREFIX: &str = "takeover";

const RECORDS: &str = "metalk8s-solutions";

fn data(name: &str) -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/85c7835");
    data.join(name)
}

fn list(name: &str) -> Vec<Value> {
    let list: Value = serde_json::from_slice(&fs::read(data(name)).unwrap()).unwrap();
    list["items"].as_array().unwrap().clone()
}

/// Pushes the heads, images and charts of the recorded registry.
fn push() {
    let index = fs::read(data("registry/index.json")).unwrap();
    let index: Value = serde_json::from_slice(&index).unwrap();
    let layout = data("registry");
    let registry = variable("SOLUTION_TEST_PUSH_REGISTRY");
    for entry in index["manifests"].as_array().unwrap() {
        let name = &entry["annotations"]["org.opencontainers.image.ref.name"];
        let name = name.as_str().unwrap();
        let from = format!("oci:{}:{name}", layout.display());
        let to = format!("docker://{registry}/{PREFIX}/{name}");
        let copy = ["copy", "--quiet", "--all", "--preserve-digests"];
        let copy = [&copy[..], &["--dest-cert-dir"]].concat();
        skopeo(&copy, &[from, to]).success();
    }
}

/// Applies objects as one of their recorded field managers. Returns the recorded uid of each object, with its new one.
fn apply(site: &Site, manager: &str, objects: &[Value]) -> Vec<(String, String)> {
    let mut bare = objects.to_vec();
    for object in &mut bare {
        // The server assigns the uid.
        object["metadata"].as_object_mut().unwrap().remove("uid");
    }
    let list = json!({"apiVersion": "v1", "kind": "List", "items": bare});
    site.desk.write("kept.json", list.to_string());
    let manager = format!("--field-manager={manager}");
    let apply = ["apply", "--server-side", "--output=json", &manager];
    let mut kubectl = Command::new("kubectl");
    kubectl.args(apply).arg("--filename");
    let applied = Answer::from_command(kubectl.arg(site.desk.path("kept.json"))).json();
    let applied = applied["items"].as_array().unwrap();
    assert_eq!(applied.len(), objects.len());
    let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap().to_owned();
    let uids = objects.iter().zip(applied);
    uids.map(|(then, now)| (uid(then), uid(now))).collect()
}

/// Fills the cluster with the recorded objects, with new uids.
fn create_recorded_objects(site: &Site) {
    let (spaces, mut applied): (Vec<_>, Vec<_>) = list("applied.json")
        .into_iter()
        .partition(|object| object["kind"] == "Namespace");
    let mut uids = apply(site, "solution", &spaces);
    for environment in ["prod", "test"] {
        site.create_login(environment);
    }
    let login = site.field("prod", "secret/login", r"{.data.\.dockerconfigjson}");
    for object in &mut applied {
        if object["type"] == "kubernetes.io/dockerconfigjson" {
            object["data"][".dockerconfigjson"] = json!(login);
        }
    }
    uids.extend(apply(site, "solution", &applied));
    apply(site, "helm", &list("installed.json"));
    apply(site, "Helm", &list("stored.json"));
    let mut records = json!(list("records.json")).to_string();
    for (then, now) in uids {
        records = records.replace(&then, &now);
    }
    let records: Vec<Value> = serde_json::from_str(&records).unwrap();
    // The namespace is kept between tests.
    let create = ["create", "namespace", RECORDS];
    site.kubectl("default", &create);
    apply(site, "solution", &records);
    for environment in ["prod", "test"] {
        let up = ["wait", "--for=condition=Available", "--timeout=90s"];
        let up = [&up[..], &["deployments", "--all"]].concat();
        site.kubectl(environment, &up).success();
    }
}

/// Runs a command that needs consent again, and accepts exactly these blockers.
fn run_accepting(site: &Site, verb: &[&str], blockers: &[&str]) -> Value {
    let dry = ["--dry-run", "--output", "json"];
    let plan = solution(site, &[verb, &dry].concat());
    assert_eq!(plan.code, 1, "{plan:?}");
    let plan: Value = plan.json();
    let found = plan["obstacles"].as_array().unwrap().iter();
    let found: Vec<&Value> = found.map(|entry| &entry["obstacle"]).collect();
    let ids: Vec<&str> = found
        .iter()
        .map(|blocker| blocker["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, blockers, "{plan:#}");
    let accept = found
        .iter()
        .map(|blocker| blocker["acceptId"].as_str().unwrap());
    let accept: Vec<&str> = accept.flat_map(|id| ["--accept", id]).collect();
    solution(site, &[verb, &accept, &["--output", "json"]].concat()).json()
}

/// Returns the formats of these records of deployments.
fn formats(site: &Site, names: &[&str]) -> Vec<String> {
    let format = |name: &&str| site.field(RECORDS, &format!("configmap/{name}"), "{.data.format}");
    names.iter().map(format).collect()
}

/// Returns the id of a version's archive, as that program recorded it.
fn archive_id(version: &str) -> Value {
    let name = format!("solution-shop-{version}");
    let records = list("records.json");
    let mut records = records.iter();
    let map = records.find(|record| record["metadata"]["name"] == name.as_str());
    let record = map.unwrap()["data"]["record.json"].as_str().unwrap();
    let record: Value = serde_json::from_str(record).unwrap();
    record["archiveId"].clone()
}

#[test]
fn a_site_of_drafts_is_taken_over_and_goes_without_a_rest() {
    let site = Site::new(PREFIX);
    let bind = ["create", "clusterrolebinding", "takeover"];
    let to = [
        "--clusterrole=cluster-admin",
        "--serviceaccount=default:importer",
    ];
    site.kubectl("default", &[&bind[..], &to].concat())
        .success();
    push();
    create_recorded_objects(&site);
    let before = site.snapshot();
    assert_old_state(&site);
    assert_eq!(site.snapshot(), before);
    roll_back(&site);
    remove_everything(&site);
}

/// Asserts that the state is reported as before, and that a version can still be read as an archive.
fn assert_old_state(site: &Site) {
    let status = solution(site, &["status", "--output", "json"]).json();
    for (number, version) in ["1.1.0", "1.0.0"].into_iter().enumerate() {
        let operator = &status["operators"][number];
        let seen = (&operator["version"], &operator["condition"]);
        assert_eq!(seen, (&json!(version), &json!("ready")), "{status:#}");
    }
    let history = solution(site, &["history", "--output", "json"]).json();
    assert_eq!(history["revisions"].as_array().unwrap().len(), 6);
    let export = ["export", "shop", "1.0.0", "-o", "out.iso", "--ca-file"];
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let export = [&export[..], &[&ca, "--output", "json"]].concat();
    let exported = solution(site, &export).json();
    assert_eq!(exported["archiveId"], archive_id("1.0.0"), "{exported:#}");
}

/// Deploys the previous version from its head. The objects are kept, with the generated and chosen values.
fn roll_back(site: &Site) {
    let names = ["carried.prod.shop", "namespace-prod"];
    assert_eq!(formats(site, &names), ["", ""]);
    let kept = ["deployment/app", "deployment/web", "secret/web"];
    let uids = || kept.map(|object| site.field("prod", object, "{.metadata.uid}"));
    let were = uids();
    let password = site.field("prod", "configmap/only-1.1.0", "{.data.password}");
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let back = ["deploy", "shop", "1.0.0", "-e", "prod", "--ca-file", &ca];
    let back = [&back[..], &["--allow-downgrade"]].concat();
    let receipt = run_accepting(site, &back, &["not-recorded", "not-accepted"]);
    assert_eq!(receipt["uploaded"]["blobs"], 0, "{receipt:#}");
    assert_eq!(uids(), were);
    let secret = "{.data.password} {.data.token}";
    let chosen = site.field("prod", "configmap/only-1.0.0", secret);
    assert_eq!(chosen, format!("{password} t0ken-of-prod"));
    let greeting = site.field("prod", "configmap/app", "{.data.greeting}");
    assert_eq!(greeting, "hi first");
    let gone = ["get", "configmap", "only-1.1.0"];
    site.kubectl("prod", &gone).failure(1);
    assert_eq!(formats(site, &names), ["4", "4"]);
    let settled = site.snapshot();
    let again = solution(site, &[&back[..], &["--output", "json"]].concat()).json();
    assert_eq!((&again["objects"], site.snapshot()), (&json!([]), settled));
}

/// Removes everything: the objects that were taken over, and those that only that program has ever changed.
fn remove_everything(site: &Site) {
    solution(site, &["undeploy", "--yes", "shop", "-e", "prod"]).success();
    let other = ["undeploy", "--yes", "shop", "-e", "test"];
    run_accepting(site, &other, &["not-recorded"]);
    for environment in ["prod", "test"] {
        let left = site.objects_in(environment).into_keys();
        let is_named = |line: &String| {
            ["app", "shop", "release"]
                .iter()
                .any(|part| line.contains(part))
        };
        let left: Vec<String> = left.filter(is_named).collect();
        assert_eq!(left, [""; 0], "{environment}");
    }
    let extra = ["get", "namespace/shop-extra", "clusterrole/shop-nodes"];
    site.kubectl("default", &extra).failure(1);
    solution(site, &["deactivate", "--yes", "shop"]).success();
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    for version in ["1.0.0", "1.1.0"] {
        let forget = [
            "unimport",
            "--yes",
            "shop",
            version,
            "--images",
            "--ca-file",
            &ca,
        ];
        solution(site, &forget).success();
    }
    for environment in ["prod", "test"] {
        let delete = [
            "environment",
            "delete",
            "--yes",
            environment,
            "--delete-resources",
        ];
        solution(site, &delete).success();
    }
    let records = ["get", "configmaps", "--output=name"];
    let records = site.kubectl(RECORDS, &records).success();
    for name in ["carried", "namespace-", "solution-shop"] {
        assert!(!records.contains(name), "{records}");
    }
}
