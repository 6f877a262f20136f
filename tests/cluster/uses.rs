//! Uses of a version keep it: workloads with its images, in any namespace and of any owner, and custom resources. All
//! of them are listed at once, and only the flag with the version's name removes it anyway.

use serde_json::{Value, json};

use crate::common::Answer;
use crate::site::{Site, eventually, variable};

/// Workloads that a user created manually with an image of 1.0.0, and an object of its CRD.
const USES: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: IMAGE}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: '0 3 * * *'
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: web, image: IMAGE}]}}}}
---
apiVersion: v1
kind: Pod
metadata: {name: alone}
spec: {imagePullSecrets: [{name: login}], containers: [{name: web, image: IMAGE}]}
---
apiVersion: v1
kind: Pod
metadata: {name: waiting}
spec: {containers: [{name: web, image: IMAGE}]}
---
apiVersion: example.metalk8s.test/v1alpha1
kind: VersionServer
metadata: {name: served}
spec: {replicas: 1, version: 1.0.0}
";

/// Returns a site with both versions, the CRDs of 1.0.0, and uses of 1.0.0 in a namespace of no environment.
fn site_with_uses(prefix: &str) -> Site {
    let site = Site::new(prefix);
    for archive in ["1.0.0.iso", "1.1.0.iso"] {
        site.import(archive, &[]).success();
    }
    activate(&site, "1.0.0");
    let kubectl = |arguments: &[&str]| site.kubectl("users", arguments).success();
    kubectl(&["create", "namespace", "users"]);
    site.create_login("users");
    let image = format!(
        "{}/example-1.0.0/example-server:1.0.0",
        site.pull_registry()
    );
    let uses = USES.replace("IMAGE", &image);
    site.desk.write("uses.yaml", uses);
    kubectl(&["apply", "--filename", "uses.yaml"]);
    // The owner of the pods is named instead of the pods.
    let made = [
        "wait",
        "--for=create",
        "pod",
        "--selector=app=web",
        "--timeout=60s",
    ];
    kubectl(&made);
    // The other one only refers to an image, which its node never pulls.
    let runs = [
        "wait",
        "--for=jsonpath={.status.phase}=Running",
        "pod/alone",
    ];
    kubectl(&[&runs[..], &["--timeout=60s"]].concat());
    site
}

fn activate(site: &Site, version: &str) {
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let activate = ["activate", "example", version, "--ca-file", &ca];
    site.solution(&activate).success();
}

#[track_caller]
fn refused(site: &Site, words: &[&str], act: impl Fn() -> Answer) {
    let before = site.snapshot();
    let answer = act();
    for word in words {
        assert!(answer.stderr.contains(word), "`{word}`: {answer:?}");
    }
    assert_eq!((answer.code, site.snapshot()), (1, before), "{answer:?}");
}

#[test]
fn what_runs_anywhere_keeps_its_version() {
    let site = site_with_uses("uses");
    assert_missing_rights_are_named(&site);
    let unimport =
        |more: &[&str]| site.solution(&[&["unimport", "--yes", "example"], more].concat());
    let words = [
        "example 1.0.0 is active: its CRDs are in the cluster",
        "example-1.0.0 is used by objects in the cluster (4 in total): VersionServer users/served, \
         Deployment users/web, CronJob users/nightly, Pod users/alone",
        "to unimport it anyway, use `--even-if-used example-1.0.0`",
        "2 blockers found",
    ];
    refused(&site, &words, || unimport(&["1.0.0"]));
    refused(&site, &words, || unimport(&["1.0.0", "--dry-run"]));
    let answer = unimport(&["1.0.0", "--output", "json"]);
    let (code, answer) = (answer.code, answer.json());
    assert_eq!((code, &answer["answer"]), (1, &json!("no")), "{answer:#}");
    let image = format!(
        "{}/example-1.0.0/example-server:1.0.0",
        site.pull_registry()
    );
    assert_eq!(
        answer["uses"][1],
        json!({"kind": "Deployment", "namespace": "users", "name": "web", "image": image})
    );
    assert_eq!(answer["uses"].as_array().map(Vec::len), Some(4));
    let wrong = unimport(&["1.0.0", "--even-if-used", "example"]).failure(2);
    assert!(
        wrong.contains("does not name the Solution to remove: example-1.0.0"),
        "{wrong}"
    );

    // With the CRDs of the other version, the custom resource no longer belongs to this version.
    activate(&site, "1.1.0");
    let words = [
        "example-1.0.0 is used by objects in the cluster (3 in total): Deployment users/web, ",
        "1 blocker found",
    ];
    refused(&site, &words, || unimport(&["1.0.0"]));
    let forced = [
        "1.0.0",
        "--even-if-used",
        "example-1.0.0",
        "--output",
        "json",
    ];
    let gone = unimport(&forced).json();
    assert_eq!(
        gone["removed"],
        json!(["ConfigMap metalk8s-solutions/solution-example-1.0.0"])
    );
    assert_eq!(gone["uses"].as_array().map(Vec::len), Some(3), "{gone:#}");
    let alone = ["get", "pod/alone", "deployment/web", "versionserver/served"];
    // The server may still be loading the CRD that has just changed.
    eventually("all of them are still there", || {
        (site.kubectl("users", &alone).code == 0).then_some(())
    });
}

#[test]
fn an_active_version_is_forgotten_only_after_its_crds() {
    let site = Site::new("uses-active");
    site.import("1.0.0.iso", &[]).success();
    activate(&site, "1.0.0");
    let unimport =
        |more: &[&str]| site.solution(&[&["unimport", "--yes", "example", "1.0.0"], more].concat());
    let message = "example 1.0.0 is active: its CRDs are in the cluster";
    let fix = "activate another version with `solution crds activate example VERSION`, \
               or `solution crds deactivate example` first";
    let text = format!("error: {message}\nhint: {fix}\nnothing was changed: 1 blocker found\n");
    // No flag forces this, because the version of the CRDs would be unknown afterwards.
    let force = ["--even-if-used", "example-1.0.0"];
    for more in [&[][..], &["--dry-run"], &force] {
        refused(&site, &[&text], || unimport(more));
    }
    let before = site.snapshot();
    let answer = unimport(&["--output", "json"]).json();
    let active = json!({"id": "active", "solution": "example", "version": "1.0.0"});
    assert_eq!(
        answer["obstacles"],
        json!([{"message": message, "fix": fix, "obstacle": active}])
    );
    assert_eq!(site.snapshot(), before);

    site.solution(&["deactivate", "--yes", "example"]).success();
    let gone = unimport(&["--output", "json"]).json();
    let record = "solution-example-1.0.0";
    assert_eq!(
        gone["removed"],
        json!([format!("ConfigMap metalk8s-solutions/{record}")])
    );
    let left = ["get", "crd,configmap", "--output=name"];
    let left = site.kubectl("metalk8s-solutions", &left).success();
    assert!(!left.contains("example"), "{left}");
}

#[test]
fn crds_stay_with_what_needs_them() {
    let site = site_with_uses("uses-crds");
    let deactivate =
        |more: &[&str]| site.solution(&[&["deactivate", "--yes", "example"], more].concat());
    let words = [
        "objects of kind VersionServer still exist (1 in total): VersionServer users/served",
        "to delete custom resources with their CRDs, use `--even-if-used example`",
        "example is used by objects in the cluster (3 in total): Deployment users/web, ",
        "2 blockers found",
    ];
    refused(&site, &words, || deactivate(&[]));
    let gone = deactivate(&["--even-if-used", "example", "--output", "json"]).json();
    let crd = "CustomResourceDefinition versionservers.example.metalk8s.test";
    assert_eq!(gone["removed"], json!([crd]));
    let kinds: Vec<&Value> = gone["uses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|workload| &workload["kind"])
        .collect();
    assert_eq!(kinds, ["VersionServer", "Deployment", "CronJob", "Pod"]);
    site.kubectl("users", &["get", "deployment/web"]).success();
}

/// Unimports a version as a user without the permissions to find its uses.
fn assert_missing_rights_are_named(site: &Site) {
    // This user may read records and CRDs.
    let rules = json!([
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
        {
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "verbs": ["get", "list"],
        },
    ]);
    let clerk = site.create_account_with_rules("clerk", &rules);
    let words = [
        "this user may not list pods",
        "this user may not list deployments.apps",
        "this user may not list cronjobs.batch",
        "this user may not delete configmaps in namespace metalk8s-solutions",
    ];
    refused(site, &words, || {
        site.solution(&[
            "unimport",
            "--yes",
            "example",
            "1.1.0",
            "--kubeconfig",
            &clerk,
        ])
    });
}

#[test]
fn an_environment_says_at_once_what_is_in_it() {
    let site = Site::new("uses-environment");
    site.create_environment("full");
    let into = ["-e", "full", "--pull-secret", "login"];
    site.import("1.0.0.iso", &into).success();
    let run = [
        "create",
        "deployment",
        "mine",
        "--image=nobody.test/mine",
        "--replicas=0",
    ];
    site.kubectl("full", &run).success();
    let delete = || site.solution(&["environment", "delete", "--yes", "full"]);
    let words = [
        "example 1.0.0 is deployed in `full`",
        "run `solution undeploy example --environment full` first",
        "workloads would be deleted (1 in total): Deployment full/mine",
        "--delete-resources",
        "2 blockers found",
    ];
    refused(&site, &words, delete);
}
