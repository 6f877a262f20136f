//! Failures in some clusters of a fleet, or of the program: the other clusters reach their state, clusters that were
//! not started are unchanged, and a second run completes the missing changes.

use std::process::{Child, Stdio};

use serde_json::Value;

use crate::charts::HELM;
use crate::fleet::kubectl;
use crate::fleet_apply::{CONFIG, Fleet, NAMES, ROLE, SETS, states};
use crate::fleet_waves::{Controllers, SERVER, named_states};
use crate::releases::pack;
use crate::site::{consent_id, eventually, variable};

/// An additional definition of a version.
const DEFINITION: &str = "---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.fleet.example.test}
spec:
  group: fleet.example.test
  scope: Namespaced
  names: {kind: Cart, plural: carts, singular: cart, listKind: CartList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
";

/// Replaces the user of a kubeconfig.
fn write_kubeconfig(all: &Fleet, member: usize, path: &str, user: &Value) {
    let view = ["config", "view", "--raw", "--output=json"];
    let mut config: Value = kubectl(&all.members[member], &view).json();
    config["users"][0]["user"] = user.clone();
    all.site.desk.write(path, config.to_string());
}

/// Changes a member's kubeconfig in the fleet's file.
fn set_kubeconfig(all: &Fleet, member: usize, path: &str) {
    let file = all.site.desk.path("fleet.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace(&all.members[member], path);
    std::fs::write(&file, text).unwrap();
}

#[test]
fn a_login_that_is_refused_a_plugin_that_hangs_and_a_conflict_are_said_at_once() {
    let all = Fleet::start("fleet-reach");
    let release = CONFIG.replace("VERSION", "1.1.0") + ROLE + DEFINITION;
    pack(&all.site, "1.1.0", SETS, &release);
    all.write("1.1.0", "", "");
    let user = serde_json::json!({"token": "nobody"});
    write_kubeconfig(&all, 1, "refused.kubeconfig", &user);
    let user = serde_json::json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "sleep", "args": ["300"],
        "interactiveMode": "Never",
    }});
    write_kubeconfig(&all, 2, "hangs.kubeconfig", &user);
    set_kubeconfig(&all, 1, "refused.kubeconfig");
    set_kubeconfig(&all, 2, "hangs.kubeconfig");
    let other = DEFINITION.replace("cart", "other").replace("Cart", "Other");
    let other = other
        .replace("others.fleet", "carts.fleet")
        .replace("plural: others", "plural: carts");
    all.site.desk.write("other.yaml", other);
    let path = all.site.desk.path("other.yaml");
    kubectl(
        &all.members[0],
        &["create", "--filename", path.to_str().unwrap()],
    )
    .success();

    let refused = all.apply(&["--timeout=8", "--skip-unreachable"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let conflict = "error: lab, shop 1.1.0 in prod: CRD `carts.fleet.example.test` already exists";
    assert!(refused.stderr.contains(conflict), "{refused:?}");
    for words in ["skipped   paris: ", "skipped   rome: "] {
        assert!(refused.stdout.contains(words), "{words}: {refused:?}");
    }
    let first = &all.members[0];
    let all = ["get", "namespaces", "--output=name"];
    let lab = kubectl(first, &all).success();
    assert!(!lab.contains("/prod"), "{lab}");
}

/// Starts to apply the file, with all required consents.
fn start_apply(all: &Fleet, more: &[&str]) -> Child {
    let refused = all.apply(&["--dry-run"]);
    let mut command = all.site.command();
    command
        .env("HELM", &*HELM)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command.args(["fleet", "apply", "fleet.yaml", "--key", "publisher.pub"]);
    command.args([
        "--ca-file",
        &variable("SOLUTION_TEST_REGISTRY_CA"),
        "--no-pull-proof",
    ]);
    if refused.code == 1 {
        command.args(["--accept", consent_id(&refused.failure(1))]);
    }
    command.args(more).spawn().unwrap()
}

fn kill(mut running: Child) {
    running.kill().unwrap();
    running.wait().unwrap();
}

/// Waits until a member has a Deployment of a version.
fn wait_for_version(all: &Fleet, member: usize, version: &str) {
    eventually("the Deployment is there", || {
        let field = "--output=jsonpath={.spec.template.spec.containers[0].args[0]}";
        let get = ["--namespace=prod", "get", "deployment", "shop", field];
        (kubectl(&all.members[member], &get).stdout == version).then_some(())
    });
}

fn expected_configs(version: &str) -> [String; 3] {
    NAMES.map(|name| format!("hello {name}, 3, {version}"))
}

#[test]
fn a_run_that_is_killed_and_a_cluster_that_dies_are_completed_by_running_again() {
    let all = Fleet::start("fleet-killed");
    for version in ["1.1.0", "1.2.0", "1.3.0"] {
        let release = (CONFIG.to_owned() + ROLE + SERVER).replace("VERSION", version);
        pack(&all.site, version, SETS, &release);
    }
    // The program is killed inside the first wave, and between it and the second one.
    all.write("1.1.0", ", soak: 30m", "");
    let running = start_apply(&all, &[]);
    wait_for_version(&all, 0, "1.1.0");
    kill(running);
    assert_eq!(all.configs()[1..], ["", ""]);
    let ready = Controllers::start(&all.members, "none");
    let mut running = start_apply(&all, &[]);
    let told = std::io::BufReader::new(running.stderr.take().unwrap());
    let mut told = std::io::BufRead::lines(told).map(Result::unwrap);
    assert!(told.any(|line| line.contains("soak time of wave first: 30 min left")));
    kill(running);
    assert_eq!(all.configs()[1..], ["", ""]);
    all.write("1.1.0", "", "");
    all.apply_accepting(&[]).success();
    assert_eq!(all.configs(), expected_configs("1.1.0"));

    // Two administrators apply at once: each finds the changes of the other.
    all.write("1.2.0", "", "");
    let both = [
        start_apply(&all, &["--wait"]),
        start_apply(&all, &["--wait"]),
    ];
    let both = both.map(|child| child.wait_with_output().unwrap());
    assert!(
        both.iter().any(|output| output.status.success()),
        "{both:?}"
    );
    all.apply(&[]).success();
    assert_eq!(all.configs(), expected_configs("1.2.0"));
    drop(ready);

    // A cluster stops while it is changed, and is started again.
    all.write("1.3.0", "", ", maxFailures: 1");
    let _ready = Controllers::start(&all.members[..2], "none");
    let running = start_apply(&all, &["--timeout=10"]);
    wait_for_version(&all, 2, "1.3.0");
    all.members.kill(2);
    let ended = running.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert_eq!(
        [0, 1].map(|member| all.config(member)),
        expected_configs("1.3.0")[..2]
    );
    all.members.restart_killed();
    let _all = Controllers::start(&all.members[2..], "none");
    let again: Value = all.apply(&["--output=json", "--wait"]).json();
    assert_eq!(states(&again), named_states(["done"; 3]), "{again:#}");
    assert_eq!(all.configs(), expected_configs("1.3.0"));
}
