//! Blockers of an import: each one gives one clear message with a hint and the right exit code, and changes nothing.

use std::os::unix::fs::FileExt as _;
use std::process::Command;

use crate::common::Answer;
use crate::site::{Site, assert_contains, eventually, variable};

/// Runs a command that must be refused, and asserts that the cluster is unchanged.
#[track_caller]
fn assert_refused(site: &Site, code: i32, answer: impl FnOnce() -> Answer) -> String {
    let before = site.snapshot();
    let text = answer().failure(code);
    assert_eq!(site.snapshot(), before, "{text}");
    text
}

#[test]
fn a_registry_that_cannot_be_used() {
    let site = Site::new("registry-refusals");
    let import = |registry: &str, more: &[&str]| {
        let mut command = site.command();
        command
            .args([
                "import",
                "1.0.0.iso",
                "--key",
                "publisher.pub",
                "--registry",
                registry,
            ])
            .args(more);
        command
    };
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let nobody = assert_refused(&site, 3, || {
        Answer::from_command(&mut import("127.0.0.1:9", &["--plain-http"]))
    });
    assert_contains(&nobody, &["127.0.0.1:9", "no connection", "hint:"]);
    let unknown = assert_refused(&site, 3, || {
        Answer::from_command(&mut import("nowhere.test:5443", &["--ca-file", &ca]))
    });
    assert_contains(&unknown, &["nowhere.test:5443", "no connection"]);
    let untrusted = assert_refused(&site, 1, || {
        Answer::from_command(&mut import(&site.registry(), &[]))
    });
    assert_contains(&untrusted, &["certificate is not trusted", "--ca-file"]);
    let anonymous = assert_refused(&site, 1, || {
        Answer::from_command(
            import(&site.registry(), &["--ca-file", &ca]).env_remove("REGISTRY_AUTH_FILE"),
        )
    });
    assert_contains(&anonymous, &["requires a login", "podman login"]);
    let host = variable("SOLUTION_TEST_PUSH_REGISTRY");
    site.desk.write(
        "wrong.json",
        format!(r#"{{"auths":{{"{host}":{{"auth":"aW1wb3J0ZXI6d3Jvbmc="}}}}}}"#),
    );
    let wrong = assert_refused(&site, 1, || {
        Answer::from_command(
            import(&site.registry(), &["--ca-file", &ca])
                .env("REGISTRY_AUTH_FILE", site.desk.path("wrong.json")),
        )
    });
    assert_contains(&wrong, &["credentials were rejected", "log in again"]);
}

#[test]
fn a_tag_that_somebody_else_pushed() {
    let site = Site::new("tag-refusal");
    let certificates = std::path::PathBuf::from(variable("SOLUTION_TEST_REGISTRY_CA"));
    let certificates = certificates.parent().unwrap().to_str().unwrap().to_owned();
    let from = format!(
        "oci:{}:1.1.0",
        site.desk.path("1.1.0/images/example-server").display()
    );
    let to = format!(
        "docker://{}/example-1.0.0/example-server:1.0.0",
        site.registry()
    );
    let copy = [
        "--insecure-policy",
        "copy",
        "--dest-cert-dir",
        &certificates,
        &from,
        &to,
    ];
    Answer::from_command(Command::new("skopeo").args(copy)).success();
    let theirs = site.tag("example-1.0.0/example-server", "1.0.0");
    let text = assert_refused(&site, 1, || site.import("1.0.0.iso", &[]));
    assert_contains(
        &text,
        &["already exists with a different digest", "--replace"],
    );
    assert_eq!(site.tag("example-1.0.0/example-server", "1.0.0"), theirs);
    assert_eq!(
        site.tag("example-1.0.0/example-operator", "1.0.0"),
        None,
        "something was pushed"
    );
}

#[test]
fn a_cluster_that_cannot_be_used() {
    let site = Site::new("cluster-refusals");
    let text = Answer::from_command(
        site.import_command("1.0.0.iso", &[])
            .env("KUBECONFIG", "nowhere"),
    )
    .failure(3);
    assert_contains(&text, &["no kubeconfig found", "--kubeconfig"]);
    let gone = std::fs::read_to_string(variable("KUBECONFIG")).unwrap();
    let server = gone.lines().find(|line| line.contains("server:")).unwrap();
    let (key, _) = server.split_once("server:").unwrap();
    site.desk.write(
        "gone.kubeconfig",
        gone.replace(server, &format!("{key}server: https://127.0.0.1:9")),
    );
    let text = Answer::from_command(
        site.import_command("1.0.0.iso", &[])
            .env("KUBECONFIG", "gone.kubeconfig"),
    )
    .failure(3);
    assert_contains(&text, &["127.0.0.1:9", "no response"]);
    assert_eq!(
        site.tag("example-1.0.0/example-operator", "1.0.0"),
        None,
        "something was pushed"
    );
}

#[test]
fn rights_that_are_missing() {
    let site = Site::new("rights-refusal");
    let token = create_reader(&site);
    let text = assert_refused(&site, 1, || {
        Answer::from_command(
            site.import_command("1.0.0.iso", &["-e", "rights", "--create-environment"])
                .env("KUBECONFIG", &token),
        )
    });
    assert_contains(
        &text,
        &[
            "this user may not",
            "create",
            "--context",
            "nothing was changed",
        ],
    );
    assert_eq!(
        site.tag("example-1.0.0/example-operator", "1.0.0"),
        None,
        "something was pushed"
    );
}

/// Returns a kubeconfig of a ServiceAccount that may only read.
fn create_reader(site: &Site) -> String {
    let kubectl = |arguments: &[&str]| site.kubectl("default", arguments).success();
    kubectl(&["create", "serviceaccount", "reader"]);
    kubectl(&[
        "create",
        "clusterrolebinding",
        "reader",
        "--clusterrole=view",
        "--serviceaccount=default:reader",
    ]);
    kubectl(&[
        "create",
        "clusterrole",
        "lister",
        "--verb=get,list",
        "--resource=nodes,namespaces,customresourcedefinitions.apiextensions.k8s.io",
    ]);
    kubectl(&[
        "create",
        "clusterrolebinding",
        "lister",
        "--clusterrole=lister",
        "--serviceaccount=default:reader",
    ]);
    site.create_account("reader")
}

#[test]
fn namespaces_that_are_taken() {
    let site = Site::new("namespace-refusals");
    site.kubectl("default", &["create", "namespace", "taken"])
        .success();
    let text = assert_refused(&site, 1, || {
        site.import("1.0.0.iso", &["-e", "taken", "--create-environment"])
    });
    assert_contains(
        &text,
        &["namespace `taken` already exists", "--adopt namespace"],
    );
    site.solution(&["environment", "create", "theirs"])
        .success();
    let text = assert_refused(&site, 1, || {
        site.import(
            "1.0.0.iso",
            &["-e", "ours", "-n", "theirs", "--create-environment"],
        )
    });
    assert_contains(
        &text,
        &["belongs to the environment `theirs`", "--namespace"],
    );
    let text = assert_refused(&site, 1, || {
        site.import("1.0.0.iso", &["-e", "theirs", "--pull-secret", "login"])
    });
    assert_contains(
        &text,
        &[
            "Secret `login` does not exist in namespace `theirs`",
            "kubectl --namespace theirs create secret",
        ],
    );
    assert_eq!(
        site.tag("example-1.0.0/example-operator", "1.0.0"),
        None,
        "something was pushed"
    );
}

#[test]
fn archives_that_are_not_trusted() {
    let site = Site::new("trust-refusals");
    site.desk.solution(&["keygen", "other"]).success();
    let import = |archive: &str, key: &str| {
        let mut command = site.command();
        command.args([
            "import",
            archive,
            "--key",
            key,
            "--registry",
            &site.registry(),
        ]);
        command.args(["--ca-file", &variable("SOLUTION_TEST_REGISTRY_CA")]);
        Answer::from_command(&mut command)
    };
    let text = assert_refused(&site, 1, || import("1.0.0.iso", "other.pub"));
    assert_contains(&text, &["nothing was imported", "signature"]);
    site.desk
        .solution(&["pack", "1.0.0", "-o", "unsigned.iso", "--unsigned"])
        .success();
    let text = assert_refused(&site, 1, || import("unsigned.iso", "publisher.pub"));
    assert_contains(&text, &["unsigned", "nothing was imported"]);
    assert_eq!(
        site.tag("example-1.0.0/example-operator", "1.0.0"),
        None,
        "something was pushed"
    );
}

/// A flipped bit in a layer is detected during the push: its upload is cancelled, no tag that needs it is created, and
/// the cluster is not changed.
#[test]
fn damage_that_is_found_while_pushing() {
    let site = Site::new("damage");
    let iso = site.desk.path("1.0.0.iso");
    let middle = std::fs::metadata(&iso).unwrap().len() / 3;
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&iso)
        .unwrap();
    // The blobs are sorted by size, and the largest one is by far the largest file, so the middle of the image is in
    // it.
    let mut byte = [0];
    file.read_exact_at(&mut byte, middle).unwrap();
    file.write_all_at(&[byte[0] ^ 1], middle).unwrap();
    let text = assert_refused(&site, 1, || {
        site.import("1.0.0.iso", &["-e", "damaged", "--create-environment"])
    });
    assert_contains(
        &text,
        &[
            "damaged or altered",
            "the cluster was not changed",
            "treat it as tampering",
        ],
    );
    assert_eq!(
        site.tag("example-1.0.0/example-operator", "1.0.0"),
        None,
        "a tag needs the damaged blob"
    );
    // After the repair, the same command completes.
    file.write_all_at(&byte, middle).unwrap();
    site.import("1.0.0.iso", &[]).success();
    assert!(
        site.tag("example-1.0.0/example-operator", "1.0.0")
            .is_some()
    );
}

/// An upgrade whose operator never becomes ready is rolled back, and the previous version keeps running.
#[test]
fn an_upgrade_that_does_not_come() {
    let site = Site::new("rollback");
    site.create_environment("rollback");
    site.import("1.0.0.iso", &["-e", "rollback", "--pull-secret", "login"])
        .success();
    let source = site.desk.path("1.1.0/solution.yaml");
    let text = std::fs::read_to_string(&source).unwrap();
    let broken = text.replace("  operator:\n", "  operator:\n    command: [/nowhere]\n");
    assert_ne!(text, broken);
    std::fs::write(&source, broken).unwrap();
    site.desk
        .solution(&[
            "pack",
            "1.1.0",
            "-o",
            "broken.iso",
            "--key",
            "publisher.key",
        ])
        .success();
    let answer = site.import("broken.iso", &["-e", "rollback", "--pull-secret", "login"]);
    assert_ne!(answer.code, 0, "{answer:?}");
    assert_contains(
        &answer.stderr,
        &[
            "1.1.0 did not become ready",
            "was rolled back to version 1.0.0",
            "/nowhere",
        ],
    );
    assert_eq!(
        site.field(
            "rollback",
            "configmap/metalk8s-environment",
            "{.data.example}"
        ),
        "1.0.0"
    );
    eventually("the operator of 1.0.0 is ready", || {
        let image = site.field("rollback", "deployment/example-operator", "{.spec.template.spec.containers[0].image}/{.status.readyReplicas}/{.status.updatedReplicas}");
        (image.contains("example-1.0.0") && image.ends_with("/1/1")).then_some(())
    });
}
