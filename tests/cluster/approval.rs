//! Plans that a second person signs. They are applied if they are still valid. Otherwise they are refused, and the
//! message names the changes.

use schemas::{Envelope, PayloadType};
use serde_json::json;

use crate::common::Answer;
use crate::site::{Site, variable};

/// Returns a site with version 1.0.0, the environment `approved`, and the keys of two people besides the publisher's.
fn site(prefix: &str) -> Site {
    let site = Site::new(prefix);
    site.import("1.0.0.iso", &[]).success();
    site.create_environment("approved");
    for name in ["reviewer", "stranger"] {
        site.desk.solution(&["keygen", name]).success();
    }
    site
}

/// Plans to deploy a version in `approved`.
fn plan(site: &Site, version: &str, file: &str) -> Answer {
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let deploy = ["deploy", "example", version, "-e", "approved"];
    let more = ["--pull-secret", "login", "--ca-file", &ca];
    site.solution(&[&deploy[..], &more, &["--plan-out", file]].concat())
}

fn apply(site: &Site, file: &str, more: &[&str]) -> Answer {
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let always = ["apply", "--plan", file, "--ca-file", &ca];
    site.solution(&[&always[..], more].concat())
}

/// Asserts that a plan is refused with these words, and that nothing is written.
#[track_caller]
fn assert_refused(site: &Site, file: &str, more: &[&str], words: &[&str]) {
    let before = site.snapshot();
    let answer = apply(site, file, more);
    assert_eq!((answer.code, site.snapshot()), (1, before), "{answer:?}");
    for word in words {
        assert!(answer.stderr.contains(word), "{word}: {answer:?}");
    }
}

/// Writes a copy of a plan file with a change to its plan, with or without its signatures.
fn edit(site: &Site, file: &str, copy: &str, change: [&str; 2], signed: bool) {
    let bytes = site.desk.read(file);
    let envelope = Envelope::from_slice_of(PayloadType::Plan, &bytes).unwrap();
    let payload = String::from_utf8(envelope.payload().to_vec()).unwrap();
    assert!(payload.contains(change[0]), "{}: {payload}", change[0]);
    let payload = payload.replace(change[0], change[1]).into_bytes();
    let mut edited = Envelope::unsigned(PayloadType::Plan, payload).unwrap();
    for signature in envelope.signatures().filter(|_| signed) {
        edited.add(signature).unwrap();
    }
    site.desk.write(copy, edited.to_bytes());
}

fn running_version(site: &Site) -> String {
    let object = "configmap/metalk8s-environment";
    site.field("approved", object, "{.data.example}")
}

const APPROVED: [&str; 2] = ["--approved-by", "reviewer.pub"];

#[test]
fn a_plan_that_a_second_person_signed_is_applied_once() {
    let site = site("approval");
    let before = site.snapshot();
    let planned = plan(&site, "1.0.0", "plan.json");
    assert_eq!((planned.code, site.snapshot()), (0, before), "{planned:?}");
    let there = plan(&site, "1.0.0", "plan.json").failure(3);
    assert!(there.contains("exists"), "{there}");
    let unsigned = ["is not signed", "solution sign"];
    assert_refused(&site, "plan.json", &APPROVED, &unsigned);

    // The signer sees the original output of the plan, without the cluster.
    let shown = site.desk.solution(&["inspect", "plan.json"]).success();
    assert!(shown.contains(planned.stdout.lines().next().unwrap()));
    assert!(shown.contains("diff      create Deployment approved/example-operator"));
    let sign = ["sign", "plan.json", "--key", "reviewer.key"];
    let shown = site.desk.solution(&sign).success();
    assert!(
        shown.contains("    + Deployment approved/example-operator\n"),
        "{shown}"
    );
    let other = ["--approved-by", "stranger.pub"];
    assert_refused(&site, "plan.json", &other, &["signed by 0 of the 1 keys"]);
    let both = [APPROVED, other].concat();
    assert_refused(&site, "plan.json", &both, &["signed by 1 of the 2 keys"]);

    let before = site.snapshot();
    let dry = [&both[..], &["--approvals", "1", "--dry-run"]].concat();
    let tried = apply(&site, "plan.json", &dry);
    assert_eq!((tried.code, site.snapshot()), (0, before), "{tried:?}");
    let receipt = [&APPROVED[..], &["--output", "json"]].concat();
    let receipt = apply(&site, "plan.json", &receipt);
    assert_eq!(receipt.json()["deployed"], json!(["approved", "approved"]));
    assert_eq!(running_version(&site), "1.0.0");

    let before = site.snapshot();
    let again = apply(&site, "plan.json", &APPROVED);
    assert_eq!((again.code, site.snapshot()), (0, before), "{again:?}");
    assert!(
        again.stdout.contains("already applied: nothing to do"),
        "{again:?}"
    );
}

#[test]
fn what_moved_since_a_plan_was_made_is_named_and_nothing_is_written() {
    let site = site("approval-moved");
    plan(&site, "1.0.0", "first.json").success();
    apply(&site, "first.json", &[]).success();
    site.import("1.1.0.iso", &[]).success();
    plan(&site, "1.1.0", "plan.json").success();
    let sign = ["sign", "plan.json", "--key", "reviewer.key"];
    site.desk.solution(&sign).success();

    let operator = "deployment/example-operator";
    let annotate = |mark: &str| {
        let annotate = ["annotate", operator, mark];
        site.kubectl("approved", &annotate).success();
    };
    annotate("who=somebody");
    let object = "these objects have changed: Deployment approved/example-operator";
    assert_refused(
        &site,
        "plan.json",
        &APPROVED,
        &[object, "create a new plan"],
    );
    annotate("who-");
    let dry = [&APPROVED[..], &["--dry-run"]].concat();
    apply(&site, "plan.json", &dry).success();

    // An edited plan has no valid signature, and it differs from the new plan.
    let running = ["\"running\":\"1.0.0\"", "\"running\":\"1.0.1\""];
    edit(&site, "plan.json", "edited.json", running, true);
    let words = ["is not the one that key", "changed it after it was signed"];
    assert_refused(&site, "edited.json", &APPROVED, &words);
    edit(&site, "plan.json", "bare.json", running, false);
    assert_refused(
        &site,
        "bare.json",
        &[],
        &["the plan has changed since the file was written"],
    );
    let staging = ["\"server\":\"https://", "\"server\":\"https://staging."];
    edit(&site, "plan.json", "staging.json", staging, false);
    assert_refused(&site, "staging.json", &[], &["the server's address"]);
    let cluster = site.field("default", "namespace/kube-system", "{.metadata.uid}");
    let elsewhere = [cluster.as_str(), "8b1ecb6e-0000-4000-8000-000000000000"];
    edit(&site, "plan.json", "elsewhere.json", elsewhere, false);
    let words = ["created for another cluster", "--context"];
    assert_refused(&site, "elsewhere.json", &[], &words);

    // The plan for the earlier version no longer applies, and this one is still valid.
    apply(&site, "plan.json", &APPROVED).success();
    assert_eq!(self::running_version(&site), "1.1.0");
    let words = ["version 1.1.0 is running, and 1.0.0 is older"];
    assert_refused(&site, "first.json", &[], &words);
}

#[test]
fn a_plan_for_a_medium_takes_that_medium_only() {
    let site = Site::new("approval-medium");
    let before = site.snapshot();
    site.import("1.0.0.iso", &["--plan-out", "plan.json"])
        .success();
    assert_eq!(site.snapshot(), before);
    let without = [
        "example 1.0.0 is not imported",
        "add the path of the archive",
    ];
    assert_refused(&site, "plan.json", &[], &without);
    let key = ["--key", "publisher.pub"];
    let other = [&["1.1.0.iso"], &key[..]].concat();
    assert_refused(
        &site,
        "plan.json",
        &other,
        &["the plan is for archive sha256:"],
    );
    let right = [&["1.0.0.iso"], &key[..]].concat();
    let receipt = [&right[..], &["--output", "json"]].concat();
    let receipt = apply(&site, "plan.json", &receipt);
    assert_eq!(receipt.json()["solution"], "example-1.0.0", "{receipt:?}");
    let again = apply(&site, "plan.json", &[]).success();
    assert!(again.contains("already applied: nothing to do"), "{again}");

    // Nobody else may read a password.
    site.create_environment("approved");
    let login =
        json!({ "auths": { variable("SOLUTION_TEST_PULL_REGISTRY"): { "auth": "bm9kZTpwYXNz" } } });
    site.desk.write("nodes.json", login.to_string());
    let with = [
        "-e",
        "approved",
        "--pull-login",
        "nodes.json",
        "--plan-out",
        "b.json",
    ];
    let text = site.import("1.0.0.iso", &with).failure(2);
    assert!(text.contains("contains a password"), "{text}");
    assert!(!site.desk.path("b.json").exists());
}
