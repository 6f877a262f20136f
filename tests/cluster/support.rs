//! The content of a support bundle of an environment, and the content that it must not have.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::site::{Site, eventually};

/// Returns the files of a bundle, by their paths.
fn unpack_bundle(site: &Site, bundle: &str) -> BTreeMap<String, String> {
    let list = site.desk.run("tar", &["-tf", bundle]).success();
    let paths = list.lines().map(|path| {
        let text = site.desk.run("tar", &["-xOf", bundle, path]).success();
        (path.to_owned(), text)
    });
    paths.collect()
}

/// Grants the user a role in `prod`, in addition to permissions from other tests.
fn grant(site: &Site, role: &[&str]) {
    let create = [&["create", "role"], role].concat();
    site.kubectl("prod", &create).success();
    let (role, user) = (
        format!("--role={}", role[0]),
        "--serviceaccount=default:importer",
    );
    let bind = ["create", "rolebinding", "reads-secrets", &role, user];
    site.kubectl("prod", &bind).success();
}

#[test]
fn a_support_bundle_has_structure_and_logs_but_neither_free_text_nor_known_secrets() {
    let site = Site::new("support");
    site.create_environment("prod");
    let may_read = ["secrets", "--verb=get,list", "--resource=secrets"];
    grant(&site, &may_read);
    site.import("1.0.0.iso", &["-e", "prod", "--pull-secret", "login"])
        .success();
    // A pod whose container has ended twice, with environment variables that nobody else may read.
    let image = site.field(
        "prod",
        "deployment/example-operator",
        "{.spec.template.spec.containers[0].image}",
    );
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "ends", "annotations": { "example.com/note": "Zu7fr31t" } },
        "spec": {
            "imagePullSecrets": [{ "name": "login" }],
            "containers": [{
                "name": "main",
                "image": image,
                // The program's log contains the unknown option.
                "command": ["example-operator", "--known4711"],
                "args": ["--pass", "Zu7fr31t"],
                "env": [{ "name": "PASSWORD", "value": "hunter2" }],
            }],
        },
    });
    let literal = "--from-literal=password=known4711";
    site.kubectl("prod", &["create", "secret", "generic", "own", literal])
        .success();
    site.desk.write("pod.json", pod.to_string());
    site.kubectl("prod", &["create", "--filename", "pod.json"])
        .success();
    // Until the next start, the node keeps only the log of the last run.
    eventually("the container waits for its next start", || {
        let reason = "{.status.containerStatuses[0].state.waiting.reason}";
        let reason = site.field("prod", "pod/ends", reason);
        (reason == "CrashLoopBackOff").then_some(())
    });
    let command = ["support-bundle", "-e", "prod", "--out", "prod.tar"];
    site.solution(&command).success();
    site.solution(&command).failure(3);
    let files = unpack_bundle(&site, "prod.tar");
    let json = |path: &str| serde_json::from_str::<Value>(&files[path]).unwrap();
    let contents = json("CONTENTS.json");
    let listed = contents["files"].as_array().unwrap().len();
    assert_eq!(listed + 1, files.len(), "{contents:#}");
    assert!(
        files.keys().any(|path| path.ends_with("main.previous.log")),
        "{contents:#}"
    );
    let is_log = |path: &&String| path.starts_with("prod/logs/example-operator-");
    let log = files.keys().find(is_log).unwrap();
    assert!(!files[log].is_empty());
    assert_eq!(json("environment.json")["environment"], "prod");
    assert_eq!(json("history.json")["revisions"][0]["version"], "1.0.0");
    assert_eq!(json("versions.json")["kubernetes"], "v1.36.2");
    let pods = json("prod/pods.json");
    assert_eq!(pods.as_array().unwrap().len(), 2, "{pods:#}");
    assert!(!json("prod/events.json").as_array().unwrap().is_empty());
    assert_eq!(contents["missing"], json!([]));
    for (path, text) in &files {
        for secret in ["hunter2", "known4711", "Zu7fr31t"] {
            let is_logged = secret == "Zu7fr31t" && path.contains("/logs/");
            assert!(is_logged || !text.contains(secret), "{path} has {secret}");
        }
    }
    free_text_is_included_once_it_is_confirmed(&site);
    let absent = ["support-bundle", "-e", "nowhere", "--out", "nowhere.tar"];
    site.solution(&absent).failure(1);
    assert!(!site.desk.path("nowhere.tar").exists());
}

fn free_text_is_included_once_it_is_confirmed(site: &Site) {
    let full = ["support-bundle", "-e", "prod", "--out", "full.tar"];
    let full = [&full[..], &["--include-text"]].concat();
    site.solution(&full).failure(1);
    assert!(!site.desk.path("full.tar").exists());
    site.solution(&[&full[..], &["--yes"]].concat()).success();
    let full = unpack_bundle(site, "full.tar");
    assert!(full["prod/pods.json"].contains("hunter2"));
    for (path, text) in &full {
        assert!(!text.contains("known4711"), "{path}");
    }
}
