//! The history of changes, and rollbacks of an environment to earlier revisions by their receipts.

use std::fs;

use serde_json::{Value, json};

use crate::common::Answer;
use crate::gate::Gate;
use crate::site::{Site, eventually, variable};

/// Returns a site into which both versions were imported, with an environment `back`, and without the archives.
fn site(prefix: &str) -> Site {
    let site = Site::new(prefix);
    for version in ["1.0.0", "1.1.0"] {
        let archive = format!("{version}.iso");
        site.import(&archive, &[]).success();
        fs::remove_file(site.desk.path(&archive)).unwrap();
    }
    site.create_environment("back");
    site
}

/// Runs a command that reads the archive of an imported version.
fn run_with_archive(site: &Site, arguments: &[&str]) -> Answer {
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    site.solution(&[arguments, &["-e", "back", "--ca-file", &ca]].concat())
}

fn deploy(site: &Site, more: &[&str]) -> Answer {
    run_with_archive(site, &[&["deploy", "example"], more].concat())
}

fn rollback(site: &Site, more: &[&str]) -> Answer {
    run_with_archive(site, &[&["rollback", "example"], more].concat())
}

fn history(site: &Site) -> Vec<Value> {
    let arguments = ["history", "example", "-e", "back", "--output", "json"];
    let answer = site.solution(&arguments);
    assert_eq!(answer.code, 0, "{answer:?}");
    answer.json()["revisions"].as_array().unwrap().clone()
}

/// Returns the newest changes: verb, version, previous version, outcome.
fn newest(site: &Site, count: usize) -> Value {
    let history = history(site);
    let shown = history[..count].iter().map(|receipt| {
        let before = &receipt["places"][0]["from"]["version"];
        json!([
            receipt["verb"],
            receipt["version"],
            before,
            receipt["outcome"]
        ])
    });
    shown.collect()
}

/// Returns the version of the image that the operator's pods run, or an empty text without such pods.
fn running_version(site: &Site) -> String {
    let of_pods = "{range .items[*]}{.spec.containers[0].image}{end}";
    let output = format!("--output=jsonpath={of_pods}");
    let get = ["get", "pods", "--selector=app=example-operator", &output];
    let image = site.kubectl("back", &get).success();
    let mut versions = ["1.0.0", "1.1.0"].into_iter();
    let of = |version: &&str| image.contains(&format!("/example-{version}/example-operator@"));
    let found = versions.find(of).unwrap_or_else(|| panic!("{image}"));
    found.to_owned()
}

/// Waits until only pods of this version exist.
fn wait_for_version(site: &Site, version: &str) {
    eventually("the operator's pods are those of the version", || {
        (running_version(site) == version).then_some(())
    });
}

#[test]
fn an_environment_goes_back_to_what_ran_there() {
    let site = site("history");
    let none = rollback(&site, &[]).failure(1);
    let words = "the history has no earlier version of example in namespace `back`";
    assert!(none.contains(words), "{none}");
    deploy(&site, &["1.0.0", "--pull-secret", "login"]).success();
    let first = history(&site)[0]["revision"].to_string();
    deploy(&site, &["1.1.0"]).success();
    assert_history_is_shown(&site);
    assert_other_revisions_are_refused(&site);
    assert_rolled_back(&site, &first);
    assert_lost_versions_are_refused(&site, &first);
}

/// Asserts that both deployments are in the history, and in the table.
fn assert_history_is_shown(site: &Site) {
    let both = json!([
        ["deploy", "1.1.0", "1.0.0", "done"],
        ["deploy", "1.0.0", null, "done"]
    ]);
    assert_eq!(newest(site, 2), both);
    let table = site.solution(&["history", "--limit", "1"]).success();
    let titles = "REVISION  TIME                  COMMAND  SOLUTION  VERSION  PREVIOUS  ENVIRONMENT  RESULT  BY\n";
    assert!(table.starts_with(titles), "{table}");
    let row = "  deploy   example   1.1.0    1.0.0     back         done    ";
    assert!(table.contains(row), "{table}");
    assert_eq!(table.lines().count(), 2, "{table}");
}

/// Asserts that a revision is refused that does not exist, or that deployed nothing.
fn assert_other_revisions_are_refused(site: &Site) {
    let made = site.solution(&["history", "--output", "json"]).json();
    let made = made["revisions"].as_array().unwrap();
    let made = made
        .iter()
        .find(|change| change["verb"] == "createEnvironment");
    let made = made.unwrap()["revision"].to_string();
    let before = site.snapshot();
    for (to, words) in [
        ("999", "revision 999 is not in the history".to_owned()),
        (
            &made,
            format!("revision {made} did not deploy example in namespace `back`"),
        ),
    ] {
        let refused = rollback(site, &["--to", to]).failure(1);
        assert!(refused.contains(&words), "{words}: {refused}");
    }
    assert_eq!(site.snapshot(), before);
}

/// Rolls back from 1.1.0 to 1.0.0, and in the end to the revision `first`, which deployed 1.0.0.
fn assert_rolled_back(site: &Site, first: &str) {
    // The plan is shown, and not applied.
    let before = site.snapshot();
    let plan = rollback(site, &["--dry-run", "--diff"]).success();
    for words in [
        "rollback  to example 1.0.0 (it ran before revision ",
        "runs 1.1.0 now",
        "-    app.kubernetes.io/version: '1.1.0'",
    ] {
        assert!(plan.contains(words), "{words}: {plan}");
    }
    assert_eq!(site.snapshot(), before);
    // The rollback uses the pull secret of that revision.
    let receipt = rollback(site, &["--output", "json"]).json();
    assert_eq!(receipt["deployed"], json!(["back", "back"]));
    wait_for_version(site, "1.0.0");
    let back = &history(site)[0];
    assert_eq!(back["revision"], receipt["revision"]);
    assert_eq!(back["places"][0]["to"]["pullSecret"], "login", "{back}");
    assert_eq!(
        newest(site, 1)[0],
        json!(["rollback", "1.0.0", "1.1.0", "done"])
    );
    // A second rollback reverts the first one, and any revision can be named.
    rollback(site, &[]).success();
    wait_for_version(site, "1.1.0");
    rollback(site, &["--to", first]).success();
    wait_for_version(site, "1.0.0");
    // A command without changes writes no receipt.
    let before = site.snapshot();
    rollback(site, &["--to", first]).success();
    assert_eq!(site.snapshot(), before);
}

/// Changes the receipt of the revision `first`, and unimports 1.1.0, which ran before 1.0.0.
fn assert_lost_versions_are_refused(site: &Site, first: &str) {
    // The archive of that revision differs from the imported one.
    let receipt = format!("configmap/receipt-{first:0>6}");
    let text = site.field("metalk8s-solutions", &receipt, r"{.data.receipt\.json}");
    let mut other: Value = serde_json::from_str(&text).unwrap();
    other["places"][0]["to"]["archiveId"] = json!(format!("sha256:{}", "0".repeat(64)));
    let data = json!({ "data": { "receipt.json": other.to_string() } }).to_string();
    let patch = ["patch", &receipt, "--type=merge", "--patch", &data];
    site.kubectl("metalk8s-solutions", &patch).success();
    let refused = rollback(site, &["--to", first]).failure(1);
    assert!(
        refused.contains("was later imported from a different archive"),
        "{refused}"
    );
    // An unreadable receipt is reported, and blocks nothing.
    let data = json!({ "data": { "receipt.json": "{" } }).to_string();
    let patch = ["patch", &receipt, "--type=merge", "--patch", &data];
    site.kubectl("metalk8s-solutions", &patch).success();
    let text = site.solution(&["history"]).success();
    assert!(text.contains("is not a readable receipt"), "{text}");
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let activate = ["activate", "example", "1.0.0", "--ca-file", &ca];
    site.solution(&activate).success();
    site.solution(&["unimport", "--yes", "example", "1.1.0"])
        .success();
    let refused = rollback(site, &[]).failure(1);
    assert!(
        refused.contains("example 1.1.0 is not imported"),
        "{refused}"
    );
}

#[test]
fn a_failed_upgrade_stands_in_the_history_with_its_reason() {
    let site = site("history-failed");
    deploy(&site, &["1.0.0", "--pull-secret", "login"]).success();
    assert_failed_upgrade_is_recorded(&site);
    assert_events_are_created(&site);
    // An undeploy can be rolled back too.
    rollback(&site, &[]).success();
    wait_for_version(&site, "1.0.0");
    assert_killed_upgrades_are_recorded(&site);
}

/// Upgrades to a version that nodes cannot pull, and finally undeploys 1.0.0.
fn assert_failed_upgrade_is_recorded(site: &Site) {
    let wrong = r#"{"auths":{"registry.nodes.test:5443":{"auth":"bm9kZTp3cm9uZw=="}}}"#;
    site.desk.write("wrong.json", wrong);
    let create = [
        "create",
        "secret",
        "generic",
        "wrong",
        "--type=kubernetes.io/dockerconfigjson",
        "--from-file=.dockerconfigjson=wrong.json",
    ];
    site.kubectl("back", &create).success();
    // A pod that pulls first would stop the change before it starts.
    let wrong = ["1.1.0", "--pull-secret", "wrong", "--no-pull-proof"];
    deploy(site, &wrong).failure(1);
    let failed = json!([["deploy", "1.1.0", "1.0.0", "rolledBack"]]);
    assert_eq!(newest(site, 1), failed);
    let receipt = &history(site)[0];
    let reason = receipt["reason"].as_str().unwrap();
    assert!(
        reason.contains("does not accept the credentials"),
        "{receipt}"
    );
    let revision = receipt["revision"].to_string();
    let refused = rollback(site, &["--to", &revision]).failure(1);
    assert!(refused.contains(" failed, so "), "{refused}");
    // Only the running version was deployed before.
    let none = rollback(site, &[]).failure(1);
    assert!(
        none.contains("the history has no earlier version"),
        "{none}"
    );
    site.solution(&["undeploy", "--yes", "example", "-e", "back"])
        .success();
}

/// Asserts that there is an event for the deployment, the failed upgrade and the removal.
fn assert_events_are_created(site: &Site) {
    let columns = "--output=custom-columns=:.type,:.reason,:.regarding.kind,:.note";
    let get = ["get", "events.events.k8s.io", "--no-headers", columns];
    let events = site.kubectl("back", &get).success();
    for [severity, reason, kind, note] in [
        [
            "Normal",
            "Deployed",
            "Deployment",
            "example 1.0.0 is deployed (revision ",
        ],
        [
            "Warning",
            "RolledBack",
            "Deployment",
            "example 1.1.0 did not become ready and was rolled back to 1.0.0 (revision ",
        ],
        [
            "Normal",
            "Undeployed",
            "Namespace",
            "example 1.0.0 is undeployed (revision ",
        ],
    ] {
        let mut lines = events.lines();
        let told = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().take(3).collect();
            words == [severity, reason, kind] && line.contains(note)
        };
        assert!(lines.any(told), "{reason}: {events}");
    }
}

/// An upgrade that was killed is incomplete until the next change records that it was interrupted.
fn assert_killed_upgrades_are_recorded(site: &Site) {
    let kill_before = |request: &'static str| {
        let ca = variable("SOLUTION_TEST_REGISTRY_CA");
        let upgrade = ["deploy", "example", "-e", "back", "--ca-file", &ca];
        Gate::before(site, request).kill(site, site.command().args(upgrade));
    };
    let begun = json!(["deploy", "1.1.0", "1.0.0", "begun"]);
    let interrupted = json!(["deploy", "1.1.0", "1.0.0", "interrupted"]);
    kill_before(
        "deployments/example-operator?fieldManager=solution&fieldValidation=Strict&force=false HTTP",
    );
    assert_eq!(newest(site, 1), json!([begun]));
    // The program is killed again when only the end of its receipt is missing: the record names the new version.
    let next = history(site)[0]["revision"].as_u64().unwrap() + 1;
    let end = format!(
        "configmaps/receipt-{next:06}?fieldManager=solution&fieldValidation=Strict&force=true HTTP"
    );
    kill_before(end.leak());
    assert_eq!(newest(site, 2), json!([begun, interrupted]));
    wait_for_version(site, "1.1.0");
    rollback(site, &[]).success();
    wait_for_version(site, "1.0.0");
    let back = json!(["rollback", "1.0.0", "1.1.0", "done"]);
    assert_eq!(newest(site, 3), json!([back, interrupted, interrupted]));
}

/// Returns the history for a user with this key: the exit code, and the state of each change's signature.
fn history_with_key(site: &Site, key: &str) -> (i32, Value, Value) {
    let answer = site.solution(&["history", "--key", key, "--output", "json"]);
    let (code, history) = (answer.code, answer.json());
    let changes = history["revisions"].as_array().unwrap().iter();
    let signatures = changes.map(|change| change["signature"].clone()).collect();
    (code, signatures, history)
}

#[test]
fn a_receipt_that_was_changed_or_removed_is_found_by_the_sites_key() {
    let site = Site::new("history-signed");
    site.desk.solution(&["keygen", "site"]).success();
    let sign = |arguments: &[&str]| {
        let signed = ["--receipt-key", "site.key"];
        site.solution(&[arguments, &signed].concat()).success()
    };
    sign(&["environment", "create", "one"]);
    sign(&["environment", "create", "two"]);
    let text = sign(&["environment", "delete", "--yes", "two"]);
    let words = "recorded as revision 3 of the cluster's history";
    assert!(text.contains(words), "{text}");

    let all = |signature: &str| json!([signature, signature, signature]);
    let (code, signatures, history) = history_with_key(&site, "site.pub");
    assert_eq!((code, signatures), (0, all("valid")), "{history:#}");
    let key = &history["revisions"][0]["signedBy"][0];
    let short = &key.as_str().unwrap()[..12];
    let text = site.solution(&["history", "--key", "site.pub"]).success();
    let words = format!("  signed by key {short}");
    assert_eq!(text.matches(&words).count(), 3, "{text}");
    let (code, signatures, _) = history_with_key(&site, "publisher.pub");
    assert_eq!((code, signatures), (1, all("invalid")));
    let unchecked = site.solution(&["history", "--output", "json"]).json();
    assert_eq!(unchecked["revisions"][0]["signature"], "unchecked");

    // Without the cluster, the receipt gives the same result.
    let write = ["history", "--receipt", "2", "--out", "receipt.json"];
    site.solution(&write).success();
    site.solution(&write).failure(3);
    let verify = |key: &str| {
        let verify = ["receipt", "verify", "receipt.json", "--key", key];
        site.solution(&[&verify[..], &["--output", "json"]].concat())
    };
    let said = verify("site.pub");
    assert_eq!((said.code, &said.json()["valid"]), (0, &json!(true)));
    let change = said.json()["change"].clone();
    assert_eq!(change, history["revisions"][1]);
    let said = verify("publisher.pub");
    assert_eq!((said.code, &said.json()["change"]), (1, &json!(null)));
    let bytes = site.desk.read("receipt.json");
    site.desk.write("receipt.json", &bytes[1..]);
    let said = verify("site.pub");
    assert!(
        said.failure(1)
            .contains("is not the signed receipt of a change")
    );
    let absent = ["history", "--receipt", "9", "--out", "absent.json"];
    let said = site.solution(&absent).failure(1);
    assert!(said.contains("no receipt of revision 9"), "{said}");

    // Another user with write access to the records names a different author.
    let records = "metalk8s-solutions";
    let map = "configmap/receipt-000002";
    let receipt = site.field(records, map, r"{.data.receipt\.json}");
    let by = serde_json::from_str::<Value>(&receipt).unwrap()["by"].clone();
    let forged = receipt.replace(by.as_str().unwrap(), "nobody@nowhere");
    assert_ne!(forged, receipt);
    let patch = json!({ "data": { "receipt.json": forged } }).to_string();
    let patch = ["patch", map, "--type=merge", "--patch", &patch];
    site.kubectl(records, &patch).success();
    let (code, signatures, history) = history_with_key(&site, "site.pub");
    let expected = json!(["valid", "invalid", "valid"]);
    assert_eq!((code, signatures), (1, expected), "{history:#}");
    assert_eq!(history["changed"], json!([2]), "{history:#}");
    let text = site.solution(&["history"]).success();
    let words = "note: the receipt of revision 2 was changed after the next revision recorded it";
    assert!(text.contains(words), "{text}");

    site.kubectl(records, &["delete", map]).success();
    let (code, signatures, history) = history_with_key(&site, "site.pub");
    assert_eq!((code, signatures), (1, json!(["valid", "valid"])));
    assert_eq!(history["missing"], json!([{ "first": 2, "last": 2 }]));
    site.solution(&["environment", "delete", "--yes", "one"])
        .success();
    let (_, signatures, _) = history_with_key(&site, "site.pub");
    assert_eq!(signatures, json!(["none", "valid", "valid"]));
}
