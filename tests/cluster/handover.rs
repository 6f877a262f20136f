//! A Solution changes from an operator to a release that is packaged as it is, and back. The old program stops before
//! the new one starts, and shared objects are handed over.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::charts;
use crate::gate::Gate;
use crate::releases::{import, pack};
use crate::site::Site;

/// The operator: the example's server, which answers probes.
const OPERATOR: &str = "  operator:
    image: {name: server, tag: 1.0.0}
    command: [example-server]
    template:
      spec:
        containers:
          - name: manager
            readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
";

/// The same program as a release, with an additional page that is applied first.
const RELEASE: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: shop-operator, namespace: shop-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: page, namespace: shop-system}
spec:
  selector: {matchLabels: {app: page}}
  template:
    metadata: {labels: {app: page}}
    spec:
      containers:
        - name: page
          image: registry.example.test/example/server:1.0.0
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop-operator, namespace: shop-system}
spec:
  selector: {matchLabels: {app: shop-operator}}
  template:
    metadata: {labels: {app: shop-operator}}
    spec:
      serviceAccountName: shop-operator
      containers:
        - name: server
          image: registry.example.test/example/server:1.0.0
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
";

const OWN: &str = "  manifests: [{name: shop, files: [release.yaml], namespaces: [{name: shop-system, fixed: false}]}]\n";

/// The objects of both forms.
const SHARED: [&str; 2] = ["deployment/shop-operator", "serviceaccount/shop-operator"];

fn uids(site: &Site) -> Vec<String> {
    let uid = |object: &&str| site.field("prod", object, "{.metadata.uid}");
    SHARED.iter().map(uid).collect()
}

/// Returns the names of all pods, including terminating ones.
fn pods(site: &Site) -> BTreeSet<String> {
    let get = ["get", "pods", "--output=name"];
    let pods = site.kubectl("prod", &get).success();
    pods.lines().map(str::to_owned).collect()
}

fn deployments(site: &Site) -> Vec<String> {
    let get = ["get", "deployments", "--output=json"];
    let list: Value = site.kubectl("prod", &get).json();
    let all = list["items"].as_array().unwrap().iter();
    all.map(|pod| {
        format!(
            "{} {}",
            pod["metadata"]["name"].as_str().unwrap(),
            pod["status"]["readyReplicas"]
        )
    })
    .collect()
}

/// Runs a command, and returns which of the earlier pods still existed right before a request.
fn pods_before_request(
    site: &Site,
    request: &'static str,
    command: &mut std::process::Command,
) -> Vec<String> {
    let former = pods(site);
    assert!(!former.is_empty());
    let gate = Gate::before(site, request);
    let mut seen = None;
    gate.run_during(command, || seen = Some(pods(site)))
        .success();
    let seen = seen.expect("the request was made");
    former.intersection(&seen).cloned().collect()
}

#[test]
fn an_operator_becomes_a_release_and_an_operator_again() {
    let site = Site::new("handover");
    let empty = site.new_environment("prod");
    let first = pack(&site, "1.0.0", OPERATOR, RELEASE);
    import(&site, &first, &[]).success();
    assert_eq!(deployments(&site), ["shop-operator 1"]);
    assert_operator_comes_back(&site);
    let shared = uids(&site);

    let second = pack(&site, "2.1.0", OWN, RELEASE);
    let planned = import(&site, &second, &["--dry-run"]).success();
    let words = "Deployment prod/shop-operator stops before its replacement starts";
    assert!(planned.contains(words), "{planned}");
    let into = ["-e", "prod", "--pull-secret", "login"];
    let made = "PATCH /apis/apps/v1/namespaces/prod/deployments/page?fieldManager=solution&fieldValidation=Strict&force=false HTTP";
    let left = pods_before_request(&site, made, &mut site.import_command(&second, &into));
    assert_eq!(left, [""; 0], "the operator ran beside the release");
    assert_eq!(uids(&site), shared);
    assert_eq!(deployments(&site), ["page 1", "shop-operator 1"]);
    let left = site.objects_in("prod");
    assert!(!left.contains_key("ConfigMap shop-operator-config"));
    let operator = &left["Deployment shop-operator"];
    let annotations = operator["metadata"]["annotations"].to_string();
    assert!(!annotations.contains("stopped"), "{annotations}");
    let container = &operator["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["name"], "server");
    assert!(container["command"].is_null(), "{container}");

    let mut rollback = site.command();
    rollback.args(["rollback", "shop", "-e", "prod"]);
    let ca = crate::site::variable("SOLUTION_TEST_REGISTRY_CA");
    rollback.args(["--ca-file", &ca]);
    let applied =
        "deployments/shop-operator?fieldManager=solution&fieldValidation=Strict&force=false HTTP";
    let left = pods_before_request(&site, applied, &mut rollback);
    assert_eq!(left, [""; 0], "the release ran beside the operator");
    assert_eq!(uids(&site), shared);
    assert_eq!(deployments(&site), ["shop-operator 1"]);

    site.solution(&["undeploy", "--yes", "shop", "-e", "prod"])
        .success();
    site.until_as_before("prod", &empty, &[]);
}

/// The operator is restored if the release does not become ready.
fn assert_operator_comes_back(site: &Site) {
    // A release whose operator selects other pods cannot take the Deployment over. The Deployment is recreated without
    // consent, because it has no pods at that point.
    let other = RELEASE.replace("{app: shop-operator}", "{app: other}");
    let broken = other.replace("port: 8080", "port: 8081");
    let second = pack(site, "2.0.0", OWN, &broken);
    let planned = import(site, &second, &["--dry-run"]).success();
    assert!(
        planned.contains("  -/+ Deployment prod/shop-operator\n"),
        "{planned}"
    );
    let failed = import(site, &second, &["--timeout", "20"]);
    assert_ne!(failed.code, 0, "{failed:?}");
    let words = "was rolled back to version 1.0.0";
    assert!(failed.stderr.contains(words), "{failed:?}");
    assert_eq!(deployments(site), ["shop-operator 1"]);
    let after = site.objects_in("prod");
    let container = &after["Deployment shop-operator"]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["name"], "manager");
    assert!(!after.contains_key("Deployment page"));
}

#[test]
fn what_somebody_made_anew_stays_and_is_named() {
    let site = Site::new("stranger");
    site.create_environment("prod");
    let archive = pack(&site, "1.0.0", OWN, RELEASE);
    import(&site, &archive, &[]).success();
    let account = ["get", "serviceaccount", "shop-operator", "--output=json"];
    let mut account: Value = site.kubectl("prod", &account).json();
    let metadata = account["metadata"].as_object_mut().unwrap();
    metadata.retain(|field, _| ["name", "namespace", "labels"].contains(&field.as_str()));
    let delete = ["delete", "serviceaccount", "shop-operator"];
    site.kubectl("prod", &delete).success();
    site.apply(&account.to_string()).success();

    let undone = site
        .solution(&["undeploy", "--yes", "shop", "-e", "prod"])
        .success();
    let words = "ServiceAccount prod/shop-operator is kept: it is not the object that was applied";
    assert!(undone.contains(words), "{undone}");
    let name = site.field("prod", "serviceaccount/shop-operator", "{.metadata.name}");
    assert_eq!(name, "shop-operator");
    assert_eq!(deployments(&site), [""; 0]);
}

/// The same release as a chart.
const CHARTED: &str = "  charts: [{name: web, source: 'dir:web'}]\n";

#[test]
fn what_an_operator_has_becomes_a_sets_and_a_charts_and_stays_the_object_that_it_is() {
    let site = charts::site("handover-chart");
    let packed = |version: &str, spec: &str| {
        site.desk.write("1.0.0/release.yaml", RELEASE);
        let templates = RELEASE.replace(", namespace: shop-system", "");
        site.desk.write("1.0.0/web/templates/all.yaml", templates);
        let metadata = format!("apiVersion: v2\nname: web\nversion: {version}\n");
        site.desk.write("1.0.0/web/Chart.yaml", metadata);
        charts::pack_tree(&site, version, spec)
    };
    charts::import(&site, &packed("1.0.0", OPERATOR), &[]).success();
    let shared = uids(&site);
    charts::import(&site, &packed("2.0.0", OWN), &[]).success();
    assert_eq!(uids(&site), shared);

    let third = packed("3.0.0", CHARTED);
    let refused = charts::import(&site, &third, &[]).failure(1);
    let words = "ServiceAccount prod/shop-operator";
    assert!(refused.contains(words), "{refused}");
    let taking = ["--adopt", "objects", "--force-conflicts"];
    let planned = charts::import(&site, &third, &[&taking[..], &["--dry-run"]].concat());
    let planned = planned.success();
    assert!(!planned.contains("- Deployment"), "{planned}");
    charts::import(&site, &third, &taking).success();
    assert_eq!(uids(&site), shared);
    assert_eq!(deployments(&site), ["page 1", "shop-operator 1"]);
    assert_eq!(charts::statuses(&site), ["deployed"]);
    let again = charts::import(&site, &third, &[]).success();
    assert!(again.contains("0 objects changed"), "{again}");
}
