//! A Job in the cluster runs commands with its own account: the Job of the documentation, with this node's files in
//! place of a site's volumes.

use serde_json::{Value, json};

use crate::common::programs;
use crate::site::{Site, eventually, variable};

/// The page with the Job.
const PAGE: &str = include_str!("../../docs/how-to/operate/in-cluster.md");

/// The namespace of the account whose permissions the tests print.
const NAMESPACE: &str = "default";

/// The Job of the page.
fn job() -> Value {
    let (_, block) = PAGE.split_once("```yaml\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    schemas::yaml::documents(block.as_bytes())
        .unwrap()
        .remove(0)
}

/// Runs the page's Job with other arguments, and returns its output.
fn run_job(site: &Site, image: &str, arguments: &[&str]) -> String {
    let mut job = job();
    job["metadata"]["namespace"] = json!(NAMESPACE);
    let name = job["metadata"]["name"].as_str().unwrap().to_owned();
    job["spec"]["backoffLimit"] = json!(0);
    let pod = &mut job["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], "importer");
    // The registries have names that only the node can resolve.
    pod["hostNetwork"] = json!(true);
    pod["imagePullSecrets"] = json!([{ "name": "login" }]);
    let place = |path: &str| json!({ "path": path, "type": "" });
    let desk = site.desk.path("");
    let login = variable("REGISTRY_AUTH_FILE");
    let authority = variable("SOLUTION_TEST_REGISTRY_CA");
    let mounts = [
        ("desk", desk.to_str().unwrap(), "/desk"),
        ("programs", programs().to_str().unwrap(), "/programs"),
        ("login", &login, "/login"),
        ("authority", &authority, "/authority"),
    ];
    let volumes = mounts.map(|(name, path, _)| json!({ "name": name, "hostPath": place(path) }));
    let scratch = pod["volumes"].as_array().unwrap().iter();
    let scratch = scratch
        .filter(|volume| volume["name"] == "scratch")
        .cloned();
    pod["volumes"] = volumes.into_iter().chain(scratch).collect();
    let container = &mut pod["containers"][0];
    container["image"] = json!(image);
    container["command"] = json!(["/programs/solution"]);
    container["args"] = json!(arguments);
    container["env"] = json!([{ "name": "REGISTRY_AUTH_FILE", "value": "/login" }]);
    container["securityContext"] = json!({ "runAsUser": 0 });
    let mounts =
        mounts.map(|(name, _, path)| json!({ "name": name, "mountPath": path, "readOnly": true }));
    let scratch = container["volumeMounts"].as_array().unwrap().iter();
    let scratch = scratch.filter(|mount| mount["name"] == "scratch").cloned();
    container["volumeMounts"] = mounts.into_iter().chain(scratch).collect();
    site.desk.write("job.json", job.to_string());
    site.kubectl(NAMESPACE, &["create", "--filename", "job.json"])
        .success();
    let job = format!("job/{name}");
    eventually("the Job has ended", || {
        let conditions = site.field(NAMESPACE, &job, "{.status.conditions[*].type}");
        let mut conditions = conditions.split(' ');
        conditions
            .any(|condition| matches!(condition, "Complete" | "Failed"))
            .then_some(())
    });
    let printed = site.kubectl(NAMESPACE, &["logs", &job]).success();
    let complete = site.field(NAMESPACE, &job, "{.status.succeeded}");
    let delete = ["delete", &job, "--cascade=foreground"];
    site.kubectl(NAMESPACE, &delete).success();
    assert_eq!(complete, "1", "{printed}");
    printed
}

#[test]
fn a_job_imports_and_checks_the_registry_with_its_own_account() {
    let site = Site::new("inside");
    site.create_environment("prod");
    // All tests share the account's namespace.
    let before = [
        "delete",
        "job/import-example",
        "secret/login",
        "--ignore-not-found",
    ];
    site.kubectl(NAMESPACE, &before).success();
    site.create_login(NAMESPACE);
    site.import("1.0.0.iso", &[]).success();
    let image = format!(
        "{}/example-1.0.0/example-server:1.0.0",
        site.pull_registry()
    );
    let registry = format!("--registry={}", site.registry());
    let reach = [
        "--key=/desk/publisher.pub",
        "--ca-file=/authority",
        &registry,
    ];
    let nodes = format!("--pull-registry={}", site.pull_registry());
    let into = ["-e", "prod", "--pull-secret", "login", &nodes];
    let import = [&["import", "/desk/1.1.0.iso"], &into[..]].concat();
    let printed = run_job(&site, &image, &[&import[..], &reach].concat());
    assert!(
        printed.contains("it is ready in environment prod"),
        "{printed}"
    );
    let history = site.solution(&["history", "--limit", "1"]).success();
    assert!(history.contains(" example   1.1.0 "), "{history}");
    let verify = ["registry", "verify", "example", "1.1.0"];
    let printed = run_job(&site, &image, &[&verify[..], &reach].concat());
    assert!(printed.contains("example-1.1.0"), "{printed}");
    let login = ["delete", "secret", "login"];
    site.kubectl(NAMESPACE, &login).success();
}
