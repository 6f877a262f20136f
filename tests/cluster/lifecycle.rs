//! The lifecycle of a Solution: two environments, an upgrade of one, and its removal.

use std::process::Command;

use serde_json::Value;

use crate::common::Answer;
use crate::site::{Site, eventually};

const SERVER: &str = "
apiVersion: example.metalk8s.test/v1alpha1
kind: VersionServer
metadata: {name: web}
spec: {replicas: 1, version: VERSION}
";

/// Creates an object of the operator and waits until its server answers.
fn serve(site: &Site, environment: &str, version: &str) -> String {
    site.desk
        .write("server.yaml", SERVER.replace("VERSION", version));
    site.kubectl(environment, &["apply", "--filename", "server.yaml"])
        .success();
    // The pod of the previous version may still answer.
    eventually("the server of the version answers", || {
        let ready = site.kubectl(
            environment,
            &[
                "get",
                "versionserver",
                "web",
                "--output=jsonpath={.status.phase}/{.status.version}",
            ],
        );
        (ready.stdout == format!("Ready/{version}")).then_some(())?;
        let address = pod_address(site, environment)?;
        let answer = Answer::from_command(Command::new("curl").args([
            "--silent",
            "--max-time",
            "2",
            &format!("http://{address}:8080/"),
        ]));
        (answer.code == 0 && answer.stdout.contains(version)).then_some(answer.stdout)
    })
}

fn pod_address(site: &Site, environment: &str) -> Option<String> {
    let pods = site.kubectl(
        environment,
        &[
            "get",
            "pods",
            "--selector=app.kubernetes.io/instance=web",
            "--output=json",
        ],
    );
    let pods: Value = serde_json::from_str(&pods.stdout).ok()?;
    let running = pods["items"]
        .as_array()?
        .iter()
        .find(|pod| pod["status"]["phase"] == "Running")?;
    running["status"]["podIP"].as_str().map(str::to_owned)
}

/// Returns the operator's pod: its name, start time and image identify it. The pod of the previous version may still
/// terminate.
fn operator_pod(site: &Site, environment: &str) -> String {
    let get = ["get", "pods", "--selector=app=example-operator"];
    let pods = site.kubectl(environment, &[&get[..], &["--output=json"]].concat());
    let pods = pods.json();
    let stays = |pod: &&Value| pod["metadata"]["deletionTimestamp"].is_null();
    let named = |pod: &Value| {
        let image = &pod["spec"]["containers"][0]["image"];
        let [name, start] = [&pod["metadata"]["name"], &pod["status"]["startTime"]];
        format!("{name} {start} {image}")
    };
    let pods = pods["items"].as_array().unwrap().iter();
    pods.filter(stays).map(named).collect()
}

fn running(site: &Site, environment: &str) -> String {
    site.field(
        environment,
        "configmap/metalk8s-environment",
        "{.data.example}",
    )
}

fn deploy(site: &Site, version: &str, environment: &str) -> Answer {
    let archive = format!("{version}.iso");
    site.import(
        &archive,
        &[
            "--environment",
            environment,
            "--pull-secret",
            "login",
            "--output",
            "json",
        ],
    )
}

#[test]
fn two_environments_live_their_own_lives() {
    let site = Site::new("lifecycle");
    for version in ["1.0.0", "1.1.0"] {
        site.desk
            .solution(&[
                "validate",
                &format!("{version}.iso"),
                "--key",
                "publisher.pub",
            ])
            .success();
    }
    for environment in ["test", "prod"] {
        site.create_environment(environment);
        let receipt = deploy(&site, "1.0.0", environment);
        assert_eq!(receipt.code, 0, "{receipt:?}");
        assert_eq!(receipt.json()["deployed"][0], environment);
        assert_eq!(running(&site, environment), "1.0.0");
        assert!(serve(&site, environment, "1.0.0").contains("1.0.0"));
    }
    assert_second_import_changes_nothing(&site);
    assert_upgrade_is_isolated(&site);
    assert_downgrade_refused(&site);
    assert_dry_run_writes_nothing(&site);
    assert_endpoint_followed(&site);
    assert_environment_removed(&site);
}

fn assert_second_import_changes_nothing(site: &Site) {
    let before = site.snapshot();
    let receipt = deploy(site, "1.0.0", "prod").json();
    assert_eq!(receipt["uploaded"]["blobs"], 0, "{receipt}");
    assert_eq!(receipt["objects"], serde_json::json!([]), "{receipt}");
    assert_eq!(site.snapshot(), before);
}

fn assert_upgrade_is_isolated(site: &Site) {
    let prod = operator_pod(site, "prod");
    assert_eq!(deploy(site, "1.1.0", "test").code, 0);
    assert_eq!(running(site, "test"), "1.1.0");
    assert_eq!(running(site, "prod"), "1.0.0");
    assert!(serve(site, "test", "1.1.0").contains("1.1.0"));
    assert_eq!(
        operator_pod(site, "prod"),
        prod,
        "the operator of prod was touched"
    );
    assert!(serve(site, "prod", "1.0.0").contains("1.0.0"));
    let status = site.solution(&["status", "--output", "json"]).json();
    let versions = status["versions"].as_array().unwrap();
    assert_eq!(versions.len(), 2, "{status}");
    assert_eq!(versions[1]["active"], true, "{status}");
}

fn assert_downgrade_refused(site: &Site) {
    let before = site.snapshot();
    let answer = deploy(site, "1.0.0", "test").failure(1);
    assert!(
        answer.contains("1.1.0 is running, and") && answer.contains("--allow-downgrade"),
        "{answer}"
    );
    assert_eq!(site.snapshot(), before);
}

fn assert_dry_run_writes_nothing(site: &Site) {
    let before = site.snapshot();
    let plan = site
        .import(
            "1.1.0.iso",
            &["-e", "prod", "--pull-secret", "login", "--dry-run"],
        )
        .success();
    assert!(
        plan.contains("runs 1.0.0 now")
            && plan.contains("    ~ Deployment prod/example-operator\n"),
        "{plan}"
    );
    assert_eq!(site.snapshot(), before);
}

/// Asserts that the server's image comes from OperatorConfig alone: a new endpoint there changes the pod.
fn assert_endpoint_followed(site: &Site) {
    let from = format!("{}/example-1.0.0", site.pull_registry());
    let to = format!("{}-moved/example-1.0.0", site.pull_registry());
    copy_image(site, "example-1.0.0/example-server");
    let config = site.field(
        "prod",
        "configmap/example-operator-config",
        "{.data.operator\\.yaml}",
    );
    assert!(config.contains(&from), "{config}");
    let data =
        serde_json::json!({ "data": { "operator.yaml": config.replace(&from, &to) } }).to_string();
    site.kubectl(
        "prod",
        &[
            "patch",
            "configmap",
            "example-operator-config",
            "--type=merge",
            "--patch",
            &data,
        ],
    )
    .success();
    site.kubectl(
        "prod",
        &["rollout", "restart", "deployment/example-operator"],
    )
    .success();
    let image = "--output=jsonpath={.items[*].spec.containers[0].image}";
    eventually("the server's pod follows the endpoint", || {
        let pods = site.kubectl(
            "prod",
            &[
                "get",
                "pods",
                "--selector=app.kubernetes.io/instance=web",
                image,
            ],
        );
        pods.stdout.contains(&to).then_some(())
    });
    assert!(serve(site, "prod", "1.0.0").contains("1.0.0"));
    // Importing again restores the archive's state, if a flag allows to take it from other field managers.
    let force = ["-e", "prod", "--force-conflicts", "--output=json"];
    let receipt = site.import("1.0.0.iso", &force).json();
    assert!(
        receipt["objects"]
            .to_string()
            .contains("example-operator-config"),
        "{receipt}"
    );
}

fn copy_image(site: &Site, repository: &str) {
    let certificates = std::path::PathBuf::from(crate::site::variable("SOLUTION_TEST_REGISTRY_CA"));
    let certificates = certificates.parent().unwrap().to_str().unwrap().to_owned();
    let from = format!("docker://{}/{repository}:1.0.0", site.registry());
    let to = format!("docker://{}-moved/{repository}:1.0.0", site.registry());
    let copy = [
        "--insecure-policy",
        "copy",
        "--src-cert-dir",
        &certificates,
        "--dest-cert-dir",
        &certificates,
        &from,
        &to,
    ];
    Answer::from_command(Command::new("skopeo").args(copy)).success();
}

fn assert_environment_removed(site: &Site) {
    let prod = operator_pod(site, "prod");
    let answer = site
        .solution(&["environment", "delete", "--yes", "test"])
        .failure(1);
    assert!(answer.contains("undeploy example"), "{answer}");
    site.solution(&["undeploy", "--yes", "example", "--environment", "test"])
        .success();
    assert_eq!(operator_pod(site, "test"), "");
    delete_environment(site, "test");
    let left = site.kubectl("test", &["get", "namespace", "test"]);
    assert!(left.stderr.contains("NotFound"), "{left:?}");
    let roles = site
        .kubectl(
            "default",
            &["get", "clusterroles,clusterrolebindings", "--output=name"],
        )
        .success();
    assert!(!roles.contains(":test:"), "{roles}");
    assert_eq!(operator_pod(site, "prod"), prod);
    assert!(serve(site, "prod", "1.0.0").contains("1.0.0"));
    cleanup(site);
}

/// Asserts that used objects are named, and deleted only with consent.
fn delete_environment(site: &Site, name: &str) {
    let delete = ["environment", "delete", "--yes", name];
    let before = site.snapshot();
    let refused = site.solution(&delete).failure(1);
    for word in [
        format!("VersionServer {name}/web"),
        "--delete-resources".to_owned(),
    ] {
        assert!(refused.contains(&word), "`{word}` is not in: {refused}");
    }
    let shown = site
        .solution(&[&delete[..], &["--delete-resources", "--dry-run"]].concat())
        .success();
    let gone = format!("    - Namespace {name}\n");
    assert!(shown.contains(&gone), "{shown}");
    assert_eq!(site.snapshot(), before);
    site.solution(&[&delete[..], &["--delete-resources"]].concat())
        .success();
}

/// Removes everything, in the order that the program requires.
fn cleanup(site: &Site) {
    let refused = site
        .solution(&["unimport", "--yes", "example", "1.0.0"])
        .failure(1);
    assert!(refused.contains("undeploy example"), "{refused}");
    site.solution(&["undeploy", "--yes", "example", "--environment", "prod"])
        .success();
    let refused = site
        .solution(&["deactivate", "--yes", "example"])
        .failure(1);
    assert!(
        refused.contains("objects of kind VersionServer still exist"),
        "{refused}"
    );
    delete_environment(site, "prod");
    site.solution(&["deactivate", "--yes", "example"]).success();
    for version in ["1.0.0", "1.1.0"] {
        site.solution(&["unimport", "--yes", "example", version])
            .success();
    }
    let status = site.solution(&["status", "--output", "json"]).json();
    assert_eq!(status["versions"], serde_json::json!([]));
    assert_eq!(status["environments"], serde_json::json!([]));
}
