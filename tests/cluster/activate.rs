//! Versions that are activated without a deployment: their CRDs come from the site's records. CRDs of a newer version
//! are only removed if no object needs them.

use std::fs;

use serde_json::{Value, json};

use crate::common::Answer;
use crate::site::{Site, variable};

const CRD: &str = "versionservers.example.metalk8s.test";

const SERVER: &str = "
apiVersion: example.metalk8s.test/v1alpha1
kind: VersionServer
metadata: {name: web}
spec: {replicas: 0, version: 1.1.0, greeting: hello}
";

/// Returns a site into which both versions were imported, without the archives.
fn site_without_archives(prefix: &str) -> Site {
    let site = Site::new(prefix);
    for version in ["1.0.0", "1.1.0"] {
        let archive = format!("{version}.iso");
        site.import(&archive, &[]).success();
        fs::remove_file(site.desk.path(&archive)).unwrap();
    }
    site
}

fn with_ca(site: &Site, arguments: &[&str], more: &[&str]) -> Answer {
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    site.solution(&[arguments, more, &["--ca-file", &ca]].concat())
}

fn activate(site: &Site, more: &[&str]) -> Answer {
    with_ca(site, &["activate", "example"], more)
}

fn deploy(site: &Site, more: &[&str]) -> Answer {
    with_ca(site, &["deploy", "example", "-e", "active"], more)
}

/// Returns the version whose CRD is in the cluster, by its label, and whether it is served.
fn served_definition(site: &Site) -> String {
    let version = r"{.metadata.labels.solutions\.metalk8s\.scality\.com/version}";
    let established = r#"{.status.conditions[?(@.type=="Established")].status}"#;
    let path = format!("{version} {established}");
    site.field("default", &format!("crd/{CRD}"), &path)
}

/// Returns the active versions: from upstream's list, and from the program's output.
fn active_versions(site: &Site) -> [Vec<String>; 2] {
    let list = site.field(
        "metalk8s-solutions",
        "configmap/metalk8s-solutions",
        "{.data.example}",
    );
    let list: Value = serde_json::from_str(&list).unwrap();
    let status = site.solution(&["status", "--output", "json"]).json();
    let versions = |entries: &Value, version: &str| {
        let entries = entries.as_array().unwrap().iter();
        let active = entries.filter(|entry| entry["active"] == true);
        let version = |entry: &Value| entry.pointer(version).unwrap().as_str().unwrap().to_owned();
        active.map(version).collect()
    };
    [
        versions(&list, "/version"),
        versions(&status["versions"], "/record/version"),
    ]
}

#[track_caller]
fn assert_refused(site: &Site, words: &[&str], act: impl Fn() -> Answer) {
    let before = site.snapshot();
    let text = act().failure(1);
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    assert_eq!(site.snapshot(), before, "{text}");
}

#[test]
fn a_version_is_activated_after_the_archive_was_ejected() {
    let site = site_without_archives("activate");
    let before = site.snapshot();
    let plan = activate(&site, &["--dry-run", "--output", "json"]);
    assert_eq!(
        (plan.code, site.snapshot()),
        (0, before.clone()),
        "{plan:?}"
    );
    assert_eq!(plan.json()["crds"][0]["action"], "create");
    assert_eq!(active_versions(&site), [vec![], vec![] as Vec<String>]);

    let receipt = activate(&site, &["--output", "json"]).json();
    let crd = format!("CustomResourceDefinition {CRD}");
    let list = "ConfigMap metalk8s-solutions/metalk8s-solutions";
    assert_eq!(receipt["objects"], json!([crd, list]));
    assert_eq!(receipt["activated"], json!([CRD]));
    assert_eq!(receipt.get("deployed"), None);
    assert_eq!(served_definition(&site), "1.1.0 True");
    assert_eq!(active_versions(&site), [["1.1.0"], ["1.1.0"]]);

    let settled = site.snapshot();
    let again = activate(&site, &["--output", "json"]).json();
    assert_eq!((&again["objects"], site.snapshot()), (&json!([]), settled));

    let text = site.solution(&["deactivate", "--yes", "example"]).success();
    assert!(text.contains("1 object removed"), "{text}");
    // Both changes have receipts, and no other object is left.
    let receipt = |object: &&str| object.contains("solutions.metalk8s.scality.com/receipt");
    let [after, before] = [site.snapshot(), before].map(|objects| {
        let (receipts, others): (Vec<&str>, Vec<&str>) = objects.lines().partition(receipt);
        (receipts.len(), others.join("\n"))
    });
    assert_eq!((after.0, after.1), (before.0 + 2, before.1));
    assert_crd_of_others_is_adopted_when_told(&site);
}

#[test]
fn crds_go_back_only_where_nothing_needs_the_newer_ones() {
    let site = site_without_archives("activate-back");
    site.create_environment("active");
    assert_deployment_finds_crds(&site);
    assert_newer_crds_are_kept_while_needed(&site);
}

/// Deploys 1.0.0, and activates 1.1.0.
fn assert_deployment_finds_crds(site: &Site) {
    activate(site, &["1.0.0"]).success();
    let more = ["1.0.0", "--pull-secret", "login", "--output", "json"];
    let receipt = deploy(site, &more).json();
    assert_eq!(receipt["deployed"], json!(["active", "active"]));
    let objects = receipt["objects"].to_string();
    assert!(!objects.contains("CustomResourceDefinition"), "{objects}");
    assert_eq!(served_definition(site), "1.0.0 True");
    // The CRDs of a newer version are applied before its operator.
    activate(site, &[]).success();
    assert_eq!(served_definition(site), "1.1.0 True");
    let runs = site.field(
        "active",
        "configmap/metalk8s-environment",
        "{.data.example}",
    );
    assert_eq!(runs, "1.0.0");
}

/// Upgrades from 1.0.0 to 1.1.0, and deploys 1.0.0 again.
fn assert_newer_crds_are_kept_while_needed(site: &Site) {
    activate(site, &["1.0.0"]).success();
    assert_eq!(active_versions(site), [["1.0.0"], ["1.0.0"]]);

    deploy(site, &["1.1.0", "--pull-secret", "login"]).success();
    site.desk.write("server.yaml", SERVER);
    let apply = ["apply", "--filename", "server.yaml"];
    // No operator watches this namespace, so none creates objects during the test.
    site.kubectl("default", &apply).success();
    let back = || activate(site, &["1.0.0"]);
    let held = format!("CRD `{CRD}`: existing objects are not compatible with version 1.0.0: ");
    let held = [
        &held,
        ".spec.greeting of v1alpha1: the field is removed (1 object; the first is VersionServer default/web)",
        "change these objects to match the CRD",
    ];
    let running = [
        "example 1.1.0 is deployed in the environment `active`",
        "2 blockers found",
    ];
    assert_refused(site, &[&held[..], &running[..]].concat(), back);

    // Deploying the older version keeps them. Then only the object needs them.
    deploy(site, &["1.0.0", "--allow-downgrade"]).success();
    assert_eq!(served_definition(site), "1.1.0 True");
    let one = ["1 blocker found"];
    assert_refused(site, &[&held[..], &one[..]].concat(), back);
    // An object that loses no data blocks nothing.
    let remove = r#"--patch=[{"op": "remove", "path": "/spec/greeting"}]"#;
    let patch = ["patch", "versionserver", "web", "--type=json", remove];
    site.kubectl("default", &patch).success();
    back().success();
    assert_eq!(served_definition(site), "1.0.0 True");
}

/// Another user creates the CRD, and later labels it as that of another Solution.
fn assert_crd_of_others_is_adopted_when_told(site: &Site) {
    let file = "1.0.0/operator/deploy/crds/versionservers_crd.yaml";
    let create = ["create", "--filename", file];
    site.kubectl("default", &create).success();
    let words = ["belongs to no Solution", "--adopt crds"];
    assert_refused(site, &words, || activate(site, &["1.0.0"]));
    activate(site, &["1.0.0", "--adopt", "crds"]).success();
    assert_eq!(served_definition(site), "1.0.0 True");
    site.solution(&["deactivate", "--yes", "example"]).success();
    assert_eq!(served_definition(site), " True", "it was there before");

    let owner = "solutions.metalk8s.scality.com/solution=other";
    let label = ["label", "crd", CRD, owner];
    site.kubectl("default", &label).success();
    let words = ["belongs to another Solution, `other`"];
    assert_refused(site, &words, || {
        activate(site, &["1.0.0", "--adopt", "crds"])
    });
}

/// Packs a version again after a change to its tree.
fn repack(site: &Site, version: &str, archive: &str) {
    let pack = ["pack", version, "-o", archive, "--key", "publisher.key"];
    site.desk.solution(&pack).success();
}

#[test]
fn a_crd_that_only_the_newer_version_has_is_named() {
    let site = Site::new("activate-more");
    let crds = "1.1.0/operator/deploy/crds";
    let crd = String::from_utf8(site.desk.read(&format!("{crds}/versionservers_crd.yaml")));
    let more = crd.unwrap().replace("[vs]", "[ms]");
    let more = more.replace("versionserver", "moreserver");
    let more = more.replace("VersionServer", "MoreServer");
    site.desk
        .write(&format!("{crds}/moreservers_crd.yaml"), more);
    repack(&site, "1.1.0", "more.iso");
    for archive in ["1.0.0.iso", "more.iso"] {
        site.import(archive, &[]).success();
    }
    activate(&site, &[]).success();
    let words = [
        "CRD `moreservers.example.metalk8s.test` of version 1.1.0 is in the cluster, and version 1.0.0 does not have it",
        "solution crds deactivate",
        "1 blocker found",
    ];
    assert_refused(&site, &words, || activate(&site, &["1.0.0"]));
    site.solution(&["deactivate", "--yes", "example"]).success();
    activate(&site, &["1.0.0"]).success();
    assert_eq!(active_versions(&site), [["1.0.0"], ["1.0.0"]]);
}

#[test]
fn where_there_is_nothing_to_activate_that_is_said() {
    let site = Site::new("activate-nothing");
    let crd = "1.0.0/operator/deploy/crds/versionservers_crd.yaml";
    fs::remove_file(site.desk.path(crd)).unwrap();
    repack(&site, "1.0.0", "without.iso");
    let words = ["no version of example is imported", "solution status"];
    assert_refused(&site, &words, || activate(&site, &[]));
    site.import("without.iso", &[]).success();
    let words = ["example 3.0.0 is not imported", "solution status"];
    assert_refused(&site, &words, || activate(&site, &["3.0.0"]));
    let words = [
        "example-1.0.0 has no CRDs, so there is nothing to activate",
        "solution deploy",
    ];
    assert_refused(&site, &words, || activate(&site, &[]));
}
