//! Outages of parts of the cluster while the program works: its messages, its exit code, the resulting state, and the
//! completion by the same command.

use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::admission::Admission;
use crate::common::Answer;
use crate::gate::Gate;
use crate::site::{Site, assert_contains, eventually, variable};

/// The environment and its namespace.
const PLACE: &str = "outage";

/// The write of the operator's Deployment, after some of its other objects.
const DEPLOYMENT: &str =
    "deployments/example-operator?fieldManager=solution&fieldValidation=Strict&force=false HTTP";

/// The duration of etcd's outage. A Lease is valid for 30 s.
const OUTAGE: Duration = Duration::from_secs(20);

/// Runs an action of the cluster script on one of its servers.
pub(crate) fn server(action: &str, name: &str) {
    let directory = variable("SOLUTION_TEST_CLUSTER_DIR");
    let mut command = Command::new(variable("SOLUTION_TEST_CLUSTER"));
    Answer::from_command(command.args(["server", &directory, action, name])).success();
}

/// A server that answers nothing until this is dropped.
pub(crate) struct Paused(&'static str);

impl Paused {
    pub(crate) fn new(name: &'static str) -> Self {
        server("pause", name);
        Self(name)
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        server("continue", self.0);
    }
}

/// Returns a site with both versions, of which the first one runs.
fn site(name: &str) -> Site {
    let site = Site::new(name);
    site.import("1.1.0.iso", &[]).success();
    site.create_environment(PLACE);
    let into = ["-e", PLACE, "--pull-secret", "login"];
    site.import("1.0.0.iso", &into).success();
    site
}

fn upgrade(site: &Site, more: &[&str]) -> Command {
    let mut command = site.command();
    command.args(["deploy", "example", "1.1.0", "-e", PLACE]);
    command.args(["--ca-file", &variable("SOLUTION_TEST_REGISTRY_CA")]);
    command.args(more);
    command
}

fn status(site: &Site) -> Value {
    site.solution(&["status", "--output", "json"]).json()
}

/// Asserts the operator's version and condition, and the outcomes of incomplete changes.
#[track_caller]
fn assert_reported(site: &Site, version: &str, condition: &str, incomplete: &[&str]) {
    let status = status(site);
    let operator = &status["operators"][0];
    assert_eq!(operator["version"], version, "{status:#}");
    assert_eq!(operator["condition"], condition, "{status:#}");
    let found = status["incomplete"].as_array();
    let found = found.into_iter().flatten();
    let found: Vec<&str> = found
        .map(|change| change["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(found, incomplete, "{status:#}");
}

/// Asserts that the same command completes the change.
#[track_caller]
fn assert_completed(site: &Site) {
    Answer::from_command(&mut upgrade(site, &[])).success();
    assert_reported(site, "1.1.0", "ready", &[]);
}

#[test]
fn an_api_server_that_is_restarted_is_waited_for() {
    let site = site("outage-restart");
    let gate = Gate::before(&site, DEPLOYMENT);
    let answer = gate.run_during(&mut upgrade(&site, &[]), || {
        server("restart", "kube-apiserver");
    });
    answer.success();
    assert_reported(&site, "1.1.0", "ready", &[]);
}

#[test]
fn an_api_server_that_is_gone_ends_an_upgrade_and_the_same_command_completes_it() {
    let site = site("outage-gone");
    let gate = Gate::before(&site, DEPLOYMENT);
    let answer = gate.run_during(&mut upgrade(&site, &[]), || {
        server("stop", "kube-apiserver");
    });
    server("restart", "kube-apiserver");
    answer.failure(3);
    assert_reported(&site, "1.0.0", "ready", &["begun"]);
    assert_completed(&site);
}

#[test]
fn an_etcd_that_is_silent_for_a_while_is_waited_for() {
    let site = site("outage-etcd");
    let gate = Gate::before(&site, DEPLOYMENT);
    let answer = thread::scope(|scope| {
        gate.run_during(&mut upgrade(&site, &[]), || {
            let paused = Paused::new("etcd");
            scope.spawn(move || {
                thread::park_timeout(OUTAGE);
                drop(paused);
            });
        })
    });
    answer.success();
    assert_reported(&site, "1.1.0", "ready", &[]);
}

#[test]
fn a_kubelet_that_is_stopped_keeps_the_version_that_runs() {
    let site = site("outage-kubelet");
    assert_stopped_kubelet_keeps_version(&site);
    eventually("the pod of the failed version is gone", || {
        (phases(&site) == "Running").then_some(())
    });
    assert_resumed_kubelet_is_waited_for(&site);
}

/// Returns the phases of the operator's pods.
fn phases(site: &Site) -> String {
    let get = ["get", "pods", "--selector=app=example-operator"];
    let phases = "--output=jsonpath={.items[*].status.phase}";
    let get = [&get[..], &[phases]].concat();
    site.kubectl(PLACE, &get).stdout
}

fn assert_stopped_kubelet_keeps_version(site: &Site) {
    let paused = Paused::new("kubelet");
    // A pod that pulls first would end the command before any change.
    let at_once = ["--timeout", "15", "--no-pull-proof"];
    let text = Answer::from_command(&mut upgrade(site, &at_once)).failure(3);
    let words = [
        "1.1.0 did not become ready",
        "was rolled back to version 1.0.0",
    ];
    assert_contains(&text, &words);
    assert_reported(site, "1.0.0", "ready", &[]);
    drop(paused);
}

fn assert_resumed_kubelet_is_waited_for(site: &Site) {
    let paused = Paused::new("kubelet");
    let answer = thread::scope(|scope| {
        let answer = scope.spawn(|| Answer::from_command(&mut upgrade(site, &["--no-pull-proof"])));
        eventually("the new pod waits for the kubelet", || {
            phases(site).contains("Pending").then_some(())
        });
        drop(paused);
        answer.join().unwrap()
    });
    answer.success();
    assert_reported(site, "1.1.0", "ready", &[]);
}

#[test]
fn a_lost_image_and_a_full_quota_are_blockers_and_nothing_is_changed() {
    let site = site("outage-image");
    assert_full_quota_is_blocker(&site);
    assert_lost_image_is_named(&site);
    assert_completed(&site);
}

fn assert_lost_image_is_named(site: &Site) {
    let before = site.snapshot();
    let repository = "example-1.1.0/example-operator";
    let digest = site.tag(repository, "1.1.0").unwrap();
    let ca = std::path::PathBuf::from(variable("SOLUTION_TEST_REGISTRY_CA"));
    let image = format!("docker://{}/{repository}@{digest}", site.registry());
    let mut delete = Command::new("skopeo");
    delete
        .args(["delete", "--cert-dir"])
        .arg(ca.parent().unwrap());
    Answer::from_command(delete.arg(image)).success();
    let answer = Answer::from_command(&mut upgrade(site, &[]));
    let text = answer.failure(1);
    let words = "no longer has all of example-operator:1.1.0";
    assert_contains(&text, &[words, "hint: import the archive again"]);
    assert_eq!(site.snapshot(), before, "{text}");
    // The version's archive includes the image.
    site.import("1.1.0.iso", &[]).success();
}

const REFUSES: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: outage}
spec:
  matchConstraints:
    resourceRules:
      - {apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}
  validations:
    - {expression: 'false', message: no change on fridays}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: outage}
spec: {policyName: outage, validationActions: [Deny]}
";

const UNREACHABLE: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: outage}
webhooks:
  - name: outage.example.test
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
    timeoutSeconds: 1
    clientConfig: {url: 'https://127.0.0.1:9/'}
    rules:
      - {apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}
";

/// Creates the objects, and waits until the API server uses them.
fn create_admission(site: &Site, objects: &str) -> Admission {
    let admission = Admission::create(site, objects);
    eventually("changes of Deployments are refused", || {
        (!may_change(site)).then_some(())
    });
    admission
}

/// Removes them, and waits until the API server no longer uses them.
fn remove_admission(site: &Site, admission: Option<Admission>) {
    drop(admission);
    eventually("Deployments may be changed again", || {
        may_change(site).then_some(())
    });
}

fn may_change(site: &Site) -> bool {
    let annotate = ["annotate", "deployment/example-operator", "tried=yes"];
    let tried = [&annotate[..], &["--dry-run=server"]].concat();
    site.kubectl(PLACE, &tried).code == 0
}

#[test]
fn admission_that_refuses_is_a_blocker_and_later_an_incomplete_change() {
    let site = site("outage-admission");
    for (objects, words, code) in [
        (REFUSES, "no change on fridays", 1),
        (UNREACHABLE, "outage.example.test", 3),
    ] {
        let refused = create_admission(&site, objects);
        let before = site.snapshot();
        let answer = Answer::from_command(&mut upgrade(&site, &[]));
        let text = answer.failure(code);
        assert_contains(&text, &[words]);
        assert_eq!(site.snapshot(), before, "{text}");
        remove_admission(&site, Some(refused));
        // The same failure occurs during the write itself.
        let gate = Gate::before(&site, DEPLOYMENT);
        let mut refused = None;
        let answer = gate.run_during(&mut upgrade(&site, &[]), || {
            refused = Some(create_admission(&site, objects));
        });
        assert_contains(&answer.failure(code), &[words]);
        assert_reported(&site, "1.0.0", "ready", &["failed"]);
        let text = site.solution(&["status"]).failure(1);
        assert_contains(
            &text,
            &["is incomplete: deploy example 1.1.0", words, "hint:"],
        );
        remove_admission(&site, refused);
        assert_completed(&site);
        let back = ["rollback", "example", "-e", PLACE];
        let ca = variable("SOLUTION_TEST_REGISTRY_CA");
        site.solution(&[&back[..], &["--ca-file", &ca]].concat())
            .success();
    }
}

/// The namespace has no room for the new pod.
fn assert_full_quota_is_blocker(site: &Site) {
    let quota = ["create", "quota", "full", "--hard=pods=1"];
    site.kubectl(PLACE, &quota).success();
    eventually("the quota counts", || {
        let used = site.field(PLACE, "quota/full", "{.status.used.pods}");
        (used == "1").then_some(())
    });
    let before = site.snapshot();
    let text = Answer::from_command(&mut upgrade(site, &[])).failure(1);
    assert_contains(
        &text,
        &["exceeded quota: full", "hint:", "nothing was changed"],
    );
    assert_eq!(site.snapshot(), before, "{text}");
    site.kubectl(PLACE, &["delete", "quota", "full"]).success();
}
