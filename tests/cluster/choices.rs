//! Exceptions that an administrator allows, and rejections by a cluster's own policies.

use crate::common::Answer;
use crate::site::{Site, eventually, has_row};

/// Packs 1.0.0 again after a change to its solution.yaml.
fn repack(site: &Site, from: &str, to: &str, archive: &str) {
    let text = String::from_utf8(site.desk.read("1.0.0/solution.yaml")).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    site.desk
        .write("1.0.0/solution.yaml", text.replace(from, to));
    site.desk
        .solution(&["pack", "1.0.0", "-o", archive, "--key", "publisher.key"])
        .success();
}

#[test]
fn a_namespace_of_others_is_adopted_and_given_back() {
    let site = Site::new("adopt");
    create_adopted_environment(&site);
    let secrets = "{.imagePullSecrets[*].name}";
    let account = || site.field("adopted", "serviceaccount/default", secrets);
    let into = ["-e", "adopted", "--pull-secret", "login"];
    site.import("1.0.0.iso", &into).success();
    assert_eq!(account(), "corp login");
    assert_root_is_refused(&site, &into);
    site.solution(&["undeploy", "--yes", "example", "-e", "adopted"])
        .success();
    assert_eq!(account(), "corp");
    site.solution(&["environment", "delete", "--yes", "adopted"])
        .success();
    let space = site
        .kubectl("default", &["get", "namespace", "adopted", "--output=yaml"])
        .success();
    assert!(!space.contains("solutions.metalk8s"), "{space}");
    let left = site
        .kubectl("adopted", &["get", "secret/login", "--output=name"])
        .success();
    assert_eq!(left, "secret/login\n");
    let config = site
        .kubectl("adopted", &["get", "configmaps", "--output=name"])
        .success();
    assert!(!config.contains("metalk8s-environment"), "{config}");
}

/// Creates an environment in a namespace of others, whose pods must be restricted and already have a pull secret.
fn create_adopted_environment(site: &Site) {
    let kubectl = |arguments: &[&str]| site.kubectl("adopted", arguments);
    kubectl(&["create", "namespace", "adopted"]).success();
    let level = "pod-security.kubernetes.io/enforce=restricted";
    kubectl(&["label", "namespace", "adopted", level]).success();
    eventually("the default account is made", || {
        let patch = r#"{"imagePullSecrets":[{"name":"corp"}]}"#;
        let patched = kubectl(&["patch", "serviceaccount", "default", "--patch", patch]);
        (patched.code == 0).then_some(())
    });
    site.solution(&["environment", "create", "adopted", "--adopt", "namespace"])
        .success();
    site.create_login("adopted");
}

/// Asserts that an upgrade to pods that can run as root is refused, because the namespace rejects them.
fn assert_root_is_refused(site: &Site, into: &[&str]) {
    repack(
        site,
        "runAsNonRoot: true",
        "runAsNonRoot: false",
        "root.iso",
    );
    let before = site.snapshot();
    let text = site
        .import("root.iso", &[into, &["--replace"]].concat())
        .failure(1);
    assert!(
        text.contains("PodSecurity") && text.contains("runAsNonRoot"),
        "{text}"
    );
    assert_eq!(site.snapshot(), before);
}

#[test]
fn another_archive_of_a_version_replaces_it_only_when_told() {
    let site = Site::new("replace");
    site.import("1.0.0.iso", &[]).success();
    repack(
        &site,
        "display-name: Example",
        "display-name: Example again",
        "again.iso",
    );
    let before = site.snapshot();
    let text = site.import("again.iso", &[]).failure(1);
    assert!(
        text.contains("was already imported from a different archive")
            && text.contains("--replace"),
        "{text}"
    );
    assert_eq!(site.snapshot(), before);
    site.import("again.iso", &["--replace"]).success();
}

/// The permissions for every write of the example's import, except the one to create events, which the operator needs.
const WRITER: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: almost}
rules:
  - {apiGroups: ["", apps, rbac.authorization.k8s.io, coordination.k8s.io, apiextensions.k8s.io, example.metalk8s.test], resources: ["*"], verbs: ["get", "list", "watch", "create", "update", "patch", "delete"]}
"#;

#[test]
fn a_rule_that_the_importer_does_not_hold() {
    let site = Site::new("grants");
    site.desk.write("writer.yaml", WRITER);
    let kubectl = |arguments: &[&str]| site.kubectl("default", arguments).success();
    kubectl(&["apply", "--filename", "writer.yaml"]);
    kubectl(&["create", "serviceaccount", "almost"]);
    kubectl(&[
        "create",
        "clusterrolebinding",
        "almost",
        "--clusterrole=almost",
        "--serviceaccount=default:almost",
    ]);
    let config = site.create_account("almost");
    let before = site.snapshot();
    let answer = Answer::from_command(
        site.import_command("1.0.0.iso", &["-e", "grants", "--create-environment"])
            .env("KUBECONFIG", config),
    );
    let text = answer.failure(1);
    assert!(
        text.contains("gives the operator the right to") && text.contains("events"),
        "{text}"
    );
    assert_eq!(
        text.matches("which this user does not hold").count(),
        2,
        "create and patch, and nothing else: {text}"
    );
    assert_eq!(site.snapshot(), before);
}

/// A first deployment that does not become ready cannot be rolled back. It is kept, is shown, and can be undeployed
/// together with its environment.
#[test]
fn a_first_deployment_that_does_not_come_can_be_undone() {
    let site = Site::new("first");
    repack(
        &site,
        "  operator:\n",
        "  operator:\n    command: [/nowhere]\n",
        "broken.iso",
    );
    let login = crate::site::variable("SOLUTION_TEST_PULL_SECRET");
    let new = [
        "-e",
        "first",
        "--create-environment",
        "--pull-login",
        &login,
    ];
    let answer = site.import("broken.iso", &new);
    assert_ne!(answer.code, 0, "{answer:?}");
    assert!(answer.stderr.contains("/nowhere"), "{answer:?}");
    let status = site.solution(&["status"]).failure(1);
    let row = ["first", "example", "1.0.0", "0/1", "not ready"];
    assert!(has_row(&status, &row), "{status}");
    assert!(status.contains("/nowhere"), "{status}");
    // One of these lines is the command that prints the full reason.
    let mut lines = status.lines();
    let full = lines.find_map(|line| line.strip_prefix("  full reason: solution "));
    let full: Vec<&str> = full.unwrap().split(' ').collect();
    let full = site.solution(&full).failure(1);
    assert!(full.contains("/nowhere"), "{full}");
    let text = site
        .solution(&["environment", "delete", "--yes", "first"])
        .failure(1);
    assert!(text.contains("undeploy example"), "{text}");
    site.import("broken.iso", &["-e", "first", "--dry-run"])
        .success();
    for undo in [
        &["undeploy", "--yes", "example", "-e", "first"][..],
        &["environment", "delete", "--yes", "first"],
    ] {
        site.solution(undo).success();
    }
    let gone = site.kubectl("default", &["get", "namespace", "first"]);
    assert_ne!(gone.code, 0, "it was made for the environment: {gone:?}");
}

#[test]
fn an_object_of_others_is_not_taken() {
    let site = Site::new("owners");
    site.create_environment("owners");
    site.kubectl(
        "owners",
        &[
            "create",
            "role",
            "example-operator",
            "--verb=get",
            "--resource=pods",
        ],
    )
    .success();
    let before = site.snapshot();
    let text = site
        .import("1.0.0.iso", &["-e", "owners", "--pull-secret", "login"])
        .failure(1);
    assert!(
        text.contains("Role owners/example-operator already exists and belongs to no Solution"),
        "{text}"
    );
    assert_eq!(site.snapshot(), before);
}

#[test]
fn namespaces_that_are_for_no_environment() {
    let site = Site::new("reserved");
    for namespace in ["metalk8s-solutions", "default", "kube-system"] {
        let text = site
            .import(
                "1.0.0.iso",
                &[
                    "-e",
                    "mine",
                    "-n",
                    namespace,
                    "--create-environment",
                    "--adopt",
                    "namespace",
                ],
            )
            .failure(1);
        assert!(
            text.contains(&format!(
                "namespace `{namespace}` is reserved and cannot belong to an environment"
            )),
            "{text}"
        );
        let create = [
            "environment",
            "create",
            "mine",
            "--namespace",
            namespace,
            "--adopt",
            "namespace",
        ];
        site.solution(&create).failure(1);
    }
}
