//! The scenarios by which upstream accepts its Solutions (`solutions.feature`, and the drafts that were never merged),
//! on the real cluster. Each scenario also checks the effects that upstream's only assume: the pod is deleted, a node
//! without the image pulls it from the registry, and the cleanup leaves no object behind.
//!
//! `docs/development/testing.md` maps scenarios to tests.

mod isolation;
mod node;

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::common::Answer;
use crate::delete::{content, listing};
use crate::site::{Site, eventually, variable};

const ENVIRONMENT: &str = "acceptance";
const CRD: &str = "crd/versionservers.example.metalk8s.test";

const SERVER: &str = "
apiVersion: example.metalk8s.test/v1alpha1
kind: VersionServer
metadata: {name: web}
spec: {replicas: 1, version: VERSION}
";

#[test]
fn a_solution_is_deployed_and_removed_without_a_trace() {
    let site = Site::new("accept-deploy");
    given_nothing_imported(&site);
    let before = listing(&site);

    when_imported(&site, "1.0.0");
    then_available(&site, json!([["1.0.0", false]]));
    when_activated(&site, "1.0.0");
    then_available(&site, json!([["1.0.0", true]]));
    then_definition_is_of(&site, "1.0.0");
    when_environment_is_made(&site);
    when_deployed(&site, "1.0.0");
    then_one_pod_runs(&site, "1.0.0");

    when_undeployed(&site);
    then_no_pod_runs(&site);
    when_deactivated(&site);
    then_no_definition_is_left(&site);
    when_environment_is_deleted(&site);
    when_unimported(&site, "1.0.0");
    then_nothing_is_left(&site, &before);
}

#[test]
fn a_solution_is_upgraded_and_outlives_the_version_before() {
    let site = Site::new("accept-upgrade");
    given_nothing_imported(&site);
    let before = listing(&site);

    when_imported(&site, "1.0.0");
    when_activated(&site, "1.0.0");
    when_environment_is_made(&site);
    when_deployed(&site, "1.0.0");
    then_one_pod_runs(&site, "1.0.0");
    when_a_server_is_asked_for(&site, "1.0.0");
    then_the_server_answers(&site, "1.0.0");

    when_imported(&site, "1.1.0");
    then_available(&site, json!([["1.0.0", true], ["1.1.0", false]]));
    let server = uid(&site, "versionserver/web");
    when_activated(&site, "1.1.0");
    then_definition_is_of(&site, "1.1.0");
    when_deployed(&site, "1.1.0");
    let operator = then_one_pod_runs(&site, "1.1.0");
    // The user's object is unchanged, and is served by the version that it names.
    assert_eq!(uid(&site, "versionserver/web"), server);
    then_the_server_answers(&site, "1.0.0");

    // Upstream unimports immediately. Here the images are still in use.
    then_unimporting_is_refused(&site, "1.0.0", "Deployment acceptance/web");
    when_a_server_is_asked_for(&site, "1.1.0");
    then_the_server_answers(&site, "1.1.0");
    // The old ReplicaSet does not count as a use.
    when_ejected(&site, "1.0.0");
    when_unimported(&site, "1.0.0");
    assert_eq!(then_one_pod_runs(&site, "1.1.0"), operator);
    when_the_node_is_emptied(&site);
    then_one_pod_runs(&site, "1.1.0");
    then_the_server_answers(&site, "1.1.0");

    when_server_is_given_up(&site);
    when_undeployed(&site);
    when_deactivated(&site);
    when_environment_is_deleted(&site);
    when_unimported(&site, "1.1.0");
    then_nothing_is_left(&site, &before);
}

#[test]
fn a_downgrade_leaves_the_environment_as_it_was_before_the_upgrade() {
    let site = Site::new("accept-downgrade");
    when_imported(&site, "1.1.0");
    // An import without a deployment only reports it.
    let text = site.import("1.0.0.iso", &[]).success();
    let words = "a newer version, 1.1.0, has already been imported";
    assert!(text.contains(words), "{text}");
    when_activated(&site, "1.1.0");
    when_environment_is_made(&site);
    when_deployed(&site, "1.0.0");
    then_one_pod_runs(&site, "1.0.0");
    let before = content(&site);
    when_deployed(&site, "1.1.0");
    then_one_pod_runs(&site, "1.1.0");
    assert_ne!(content(&site), before);
    let into = ["-e", ENVIRONMENT, "--pull-secret", "login"];
    let import = |more: &[&str]| site.import("1.0.0.iso", &[&into[..], more].concat());
    for refused in [deploy(&site, &["1.0.0"]), import(&[])] {
        let refused = refused.failure(1);
        assert!(refused.contains("--allow-downgrade"), "{refused}");
    }
    then_one_pod_runs(&site, "1.1.0");
    import(&["--allow-downgrade"]).success();
    then_one_pod_runs(&site, "1.0.0");
    assert_eq!(content(&site), before);
    // The newer version's definitions are kept, because other environments may need them.
    then_definition_is_of(&site, "1.1.0");
}

#[test]
fn an_image_comes_from_the_registry_until_its_version_is_removed() {
    let site = Site::new("accept-pull");
    when_environment_is_made(&site);
    for version in ["1.0.0", "1.1.0"] {
        when_imported(&site, version);
    }
    let pull = |version: &str| {
        let image = format!("example-{version}/example-server:{version}");
        node::run_while_empty(&site, ENVIRONMENT, node::forget_images);
        node::pull(
            &site,
            ENVIRONMENT,
            &format!("{}/{image}", site.pull_registry()),
        )
    };
    let pushed = site.tag("example-1.0.0/example-server", "1.0.0").unwrap();
    when_ejected(&site, "1.0.0");
    let pulled = pull("1.0.0").unwrap();
    assert!(pulled.ends_with(&pushed), "{pulled} is not {pushed}");
    when_unimported(&site, "1.0.0");
    let refused = pull("1.0.0").unwrap_err();
    assert!(refused.contains("failed to resolve"), "{refused}");
    // The two versions share layers.
    pull("1.1.0").unwrap();
}

#[test]
fn an_operator_comes_back_on_a_node_that_lost_every_image() {
    let site = Site::new("accept-node");
    when_imported(&site, "1.0.0");
    when_environment_is_made(&site);
    when_deployed(&site, "1.0.0");
    when_a_server_is_asked_for(&site, "1.0.0");
    then_the_server_answers(&site, "1.0.0");
    when_ejected(&site, "1.0.0");
    let operator = then_one_pod_runs(&site, "1.0.0");
    node::restart_kubelet(&site);
    assert_eq!(then_one_pod_runs(&site, "1.0.0"), operator);
    when_the_node_is_emptied(&site);
    let again = then_one_pod_runs(&site, "1.0.0");
    assert_ne!(again["uid"], operator["uid"]);
    then_the_server_answers(&site, "1.0.0");
    site.solution(&["status"]).success();
}

fn given_nothing_imported(site: &Site) {
    let status = site.solution(&["status", "--output", "json"]).json();
    for list in ["versions", "environments", "operators", "notes"] {
        assert_eq!(status[list], json!([]), "{status:#}");
    }
    assert_eq!(site.tag("example-1.0.0/example-server", "1.0.0"), None);
}

fn when_imported(site: &Site, version: &str) {
    site.import(&format!("{version}.iso"), &[]).success();
}

fn when_ejected(site: &Site, version: &str) {
    fs::remove_file(site.desk.path(&format!("{version}.iso"))).unwrap();
}

/// Runs a command that reads from the site's registry.
fn with_registry(site: &Site, arguments: &[&str], more: &[&str]) -> Answer {
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    site.solution(&[arguments, more, &["--ca-file", &ca]].concat())
}

fn when_activated(site: &Site, version: &str) {
    with_registry(site, &["activate", "example"], &[version]).success();
}

fn when_environment_is_made(site: &Site) {
    site.create_environment(ENVIRONMENT);
    let label = r"{.metadata.labels.solutions\.metalk8s\.scality\.com/environment}";
    let namespace = format!("namespace/{ENVIRONMENT}");
    assert_eq!(site.field("default", &namespace, label), ENVIRONMENT);
}

fn deploy(site: &Site, more: &[&str]) -> Answer {
    let into = ["--environment", ENVIRONMENT, "--pull-secret", "login"];
    with_registry(site, &["deploy", "example"], &[more, &into].concat())
}

fn when_deployed(site: &Site, version: &str) {
    deploy(site, &[version]).success();
    let running = "configmap/metalk8s-environment";
    assert_eq!(site.field(ENVIRONMENT, running, "{.data.example}"), version);
}

fn when_a_server_is_asked_for(site: &Site, version: &str) {
    let server = SERVER.replace("VERSION", version);
    site.desk.write("server.yaml", server);
    let apply = ["apply", "--filename", "server.yaml"];
    site.kubectl(ENVIRONMENT, &apply).success();
}

fn when_server_is_given_up(site: &Site) {
    let delete = ["delete", "versionserver", "web"];
    site.kubectl(ENVIRONMENT, &delete).success();
    eventually("what the operator made for it is gone", || {
        let get = ["get", "deployments,pods", "--output=name"];
        let selected = ["--selector=app.kubernetes.io/instance=web"];
        let left = site.kubectl(ENVIRONMENT, &[&get[..], &selected].concat());
        left.success().is_empty().then_some(())
    });
}

fn when_the_node_is_emptied(site: &Site) {
    node::run_while_empty(site, ENVIRONMENT, || {
        node::forget_images();
        node::restart_kubelet(site);
    });
}

fn when_undeployed(site: &Site) {
    let undeploy = ["undeploy", "--yes", "example", "--environment", ENVIRONMENT];
    site.solution(&undeploy).success();
}

fn when_deactivated(site: &Site) {
    site.solution(&["deactivate", "--yes", "example"]).success();
}

fn when_environment_is_deleted(site: &Site) {
    site.solution(&["environment", "delete", "--yes", ENVIRONMENT])
        .success();
    let gone = site.kubectl("default", &["get", "namespace", ENVIRONMENT]);
    assert!(gone.stderr.contains("NotFound"), "{gone:?}");
}

/// Unimports a version with its images.
fn when_unimported(site: &Site, version: &str) {
    let unimport = ["unimport", "--yes", "example", version];
    with_registry(site, &unimport, &["--images"]).success();
    for image in ["example-operator", "example-server"] {
        let repository = format!("example-{version}/{image}");
        assert_eq!(site.tag(&repository, version), None, "{image}");
    }
}

/// Asserts the versions as `[version, active]`: upstream's list as upstream reads it, and the program's output.
#[expect(
    clippy::needless_pass_by_value,
    reason = "a literal at every place that calls it"
)]
fn then_available(site: &Site, versions: Value) {
    let list = site.field(
        "metalk8s-solutions",
        "configmap/metalk8s-solutions",
        "{.data.example}",
    );
    let list: Value = serde_json::from_str(&list).unwrap();
    let pairs = |list: &Value, version: &str| -> Value {
        let entries = list.as_array().unwrap().iter();
        let pair = |entry: &Value| json!([entry.pointer(version).unwrap(), entry["active"]]);
        entries.map(pair).collect()
    };
    assert_eq!(pairs(&list, "/version"), versions);
    let status = site.solution(&["status", "--output", "json"]).json();
    assert_eq!(pairs(&status["versions"], "/record/version"), versions);
}

fn then_definition_is_of(site: &Site, version: &str) {
    let label = r"{.metadata.labels.solutions\.metalk8s\.scality\.com/version}";
    let established = r#"{.status.conditions[?(@.type=="Established")].status}"#;
    let path = format!("{label} {established}");
    let expected = format!("{version} True");
    assert_eq!(site.field("default", CRD, &path), expected);
}

fn then_no_definition_is_left(site: &Site) {
    let gone = site.kubectl("default", &["get", CRD]);
    assert!(gone.stderr.contains("NotFound"), "{gone:?}");
}

/// Returns the pods of the operator, in any state.
fn operators(site: &Site) -> Vec<Value> {
    let get = ["get", "pods", "--selector=app=example-operator"];
    let get = [&get[..], &["--output=json"]].concat();
    let pods = site.kubectl(ENVIRONMENT, &get).json();
    pods["items"].as_array().unwrap().clone()
}

/// Waits until the operator's only pod is a ready one of this version. Returns its uid, image and number of restarts.
fn then_one_pod_runs(site: &Site, version: &str) -> Value {
    let pod = eventually("one pod runs", || {
        let pods = operators(site);
        let [pod] = &pods[..] else { return None };
        let ready = &pod["status"]["containerStatuses"][0]["ready"];
        (ready == true && pod["metadata"]["deletionTimestamp"].is_null()).then(|| pod.clone())
    });
    let labels = &pod["metadata"]["labels"];
    assert_eq!(labels["app.kubernetes.io/version"], version, "{labels:#}");
    let repository = format!("example-{version}/example-operator");
    let digest = site.tag(&repository, version).unwrap();
    let image = format!("{}/{repository}@{digest}", site.pull_registry());
    assert_eq!(pod["spec"]["containers"][0]["image"], *image);
    let status = &pod["status"]["containerStatuses"][0];
    // The node reports the reference that was pulled first.
    let pulled = status["imageID"].as_str().unwrap();
    assert!(pulled.ends_with(&digest), "{status:#}");
    json!({"uid": pod["metadata"]["uid"], "image": image, "restarts": status["restartCount"]})
}

fn then_no_pod_runs(site: &Site) {
    assert_eq!(operators(site), [] as [Value; 0]);
}

fn uid(site: &Site, object: &str) -> String {
    site.field(ENVIRONMENT, object, "{.metadata.uid}")
}

/// Waits until the pods of the server have this version and are ready.
fn then_the_server_answers(site: &Site, version: &str) {
    eventually("the server answers", || {
        let phase = "{.status.phase}/{.status.version}/{.status.readyReplicas}";
        let phase = site.field(ENVIRONMENT, "versionserver/web", phase);
        let images = r"{range .items[*]}{.spec.containers[0].image} {.status.containerStatuses[0].ready}{end}";
        let output = format!("--output=jsonpath={images}");
        let get = ["get", "pods", "--selector=app.kubernetes.io/instance=web"];
        let pods = site.kubectl(ENVIRONMENT, &[&get[..], &[&output]].concat());
        let image = format!("{}/example-{version}/example-server", site.pull_registry());
        let pods = pods.success();
        let only = pods.matches("example-server").count() == 1;
        let ready = only && pods.starts_with(&image) && pods.ends_with(" true");
        (ready && phase == format!("Ready/{version}/1")).then_some(())
    });
}

fn then_unimporting_is_refused(site: &Site, version: &str, used: &str) {
    let before = site.snapshot();
    let refused = site
        .solution(&["unimport", "--yes", "example", version])
        .failure(1);
    assert!(refused.contains(used), "{refused}");
    assert_eq!(site.snapshot(), before);
}

/// Asserts that no object of any kind is left, except the records of signers and changes.
fn then_nothing_is_left(site: &Site, before: &BTreeSet<String>) {
    let after = listing(site);
    let changed: Vec<&String> = before.symmetric_difference(&after).collect();
    assert!(changed.is_empty(), "{changed:#?}");
    let listed = site.field(
        "metalk8s-solutions",
        "configmap/metalk8s-solutions",
        "{.data}",
    );
    assert!(!listed.contains("example"), "{listed}");
}
