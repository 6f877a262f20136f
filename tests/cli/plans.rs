//! Plan files and receipts without a cluster: they are read and signed, and refused without the required approval.

use schemas::{Envelope, PayloadType};
use serde_json::json;
use signing::SecretKey;

use crate::common::Desk;

/// A plan to activate a version, as `--plan-out` writes it.
const PLAN: &str = r#"{"planVersion":1,"plannedBy":"alice@desk","plannedAt":"2026-01-01T00:00:00Z","cluster":"8b1ecb6e-0000-4000-8000-000000000000","solution":"example-1.0.0","archiveId":"sha256:0101010101010101010101010101010101010101010101010101010101010101","request":{"registry":"registry.test/apps","pullRegistry":null,"goal":"activated","allowed":{"adopt":{"namespace":"refuse","crds":"refuse"},"replace":"refuse","signers":"refuse","forget":"refuse","downgrade":"refuse","create":"refuse","conflicts":"refuse","migrate":"refuse"},"accepted":[],"verb":"activate","fromSite":[],"wait":300},"plan":{"context":null,"server":"https://site.test","kubernetes":"v1.36.2","solution":"example-1.0.0","archiveId":"sha256:0101010101010101010101010101010101010101010101010101010101010101","registry":"registry.test/apps","pullRegistry":"registry.test/apps","images":2,"imagesPresent":2,"bytes":10,"bytesToPush":0,"recorded":true,"crds":[{"object":"CustomResourceDefinition shops.example.test","action":"create"}],"target":null,"notes":[],"findings":[]},"defaults":[],"objects":[{"diff":"@@ -0,0 +1 @@\n+kind: Shop\n","live":null}],"decided":{"records":"sha256:0202020202020202020202020202020202020202020202020202020202020202","objects":"sha256:0303030303030303030303030303030303030303030303030303030303030303"}}"#;

/// Returns a desk with a plan, and the keys `alice` and `bob`.
fn desk() -> Desk {
    let desk = Desk::new();
    for name in ["alice", "bob"] {
        desk.solution(&["keygen", name]).success();
    }
    write(&desk, "plan.json", PLAN);
    desk
}

fn write(desk: &Desk, name: &str, payload: &str) {
    let envelope = Envelope::unsigned(PayloadType::Plan, payload.as_bytes().to_vec()).unwrap();
    desk.write(name, envelope.to_bytes());
}

fn secret(desk: &Desk, name: &str) -> SecretKey {
    let pem = String::from_utf8(desk.read(&format!("{name}.key"))).unwrap();
    SecretKey::from_pem(&pem).unwrap()
}

fn sign(desk: &Desk, more: &[&str]) -> String {
    desk.solution(&[&["sign", "plan.json"], more].concat())
        .success()
}

/// Returns the message for a plan that may not be applied. The program refuses it before it contacts the cluster.
fn refusal(desk: &Desk, more: &[&str], code: i32) -> String {
    let apply = ["apply", "--plan", "plan.json", "--kubeconfig", "none"];
    desk.solution(&[&apply[..], more].concat()).failure(code)
}

#[test]
fn a_plan_is_shown_as_it_was_when_it_was_made() {
    let desk = desk();
    let shown = desk.solution(&["inspect", "plan.json"]);
    assert!(shown.stderr.contains("not verified"), "{shown:?}");
    let shown = shown.success();
    for line in [
        "planned   2026-01-01T00:00:00Z by unknown user (alice@desk)",
        "signature none",
        "cluster   https://site.test (Kubernetes v1.36.2)",
        "    + CustomResourceDefinition shops.example.test",
        "+kind: Shop",
        "1 to create, 0 to change, 0 to remove",
    ] {
        assert!(shown.contains(line), "{line} is not in {shown}");
    }
    // The permissions that the plan allows are part of the approval.
    assert!(!shown.contains("allows"), "{shown}");
    let replace = r#""replace":"allow","signers":"allow""#;
    let allowing = PLAN.replace(r#""replace":"refuse","signers":"refuse""#, replace);
    write(&desk, "allowing.json", &allowing);
    let shown = desk.solution(&["inspect", "allowing.json"]).success();
    let allows = "allows    --replace, --change-signers\n";
    assert!(shown.contains(allows), "{shown}");
    let shown = desk.solution(&["inspect", "plan.json", "--output", "json"]);
    assert_eq!(
        shown.json()["plan"]["diffs"][0]["diff"],
        "@@ -0,0 +1 @@\n+kind: Shop\n"
    );
}

#[test]
fn what_is_for_archives_says_nothing_of_a_plan() {
    let desk = desk();
    for flags in [&["--files"][..], &["--registry", "registry.test/apps"]] {
        let refused = desk.solution(&[&["inspect", "plan.json"], flags].concat());
        let words = format!(
            "cannot use `{}` with `plan.json`: it is a plan, not an archive",
            flags[0]
        );
        let refused = refused.failure(2);
        assert!(refused.contains(&words), "{refused}");
    }
}

#[test]
fn each_who_must_approve_a_plan_signs_it_with_a_key_of_his_own() {
    let desk = desk();
    let shown = sign(&desk, &["--key", "alice.key"]);
    assert!(shown.contains("+ CustomResourceDefinition"), "{shown}");
    let twice = ["sign", "plan.json", "--key", "alice.key"];
    let text = desk.solution(&twice).failure(1);
    assert!(text.contains("already signed by key"), "{text}");
    let alice = ["--approved-by", "alice.pub"];
    let both = [&alice[..], &["--approved-by", "bob.pub"]].concat();
    let text = refusal(&desk, &both, 1);
    assert!(text.contains("signed by 1 of the 2 keys"), "{text}");
    let text = refusal(&desk, &[alice, alice].concat(), 2);
    assert!(
        text.contains("given twice") && text.contains("--approved-by"),
        "{text}"
    );
    let text = refusal(&desk, &[&both[..], &["--approvals", "3"]].concat(), 2);
    assert!(text.contains("--approvals"), "{text}");
    sign(&desk, &["--key", "bob.key"]);
    // With the approval, the program contacts the cluster.
    let text = refusal(&desk, &both, 3);
    assert!(text.contains("cannot use the cluster"), "{text}");
}

#[test]
fn a_plan_that_was_edited_after_it_was_signed_is_refused() {
    let desk = desk();
    sign(&desk, &["--key", "alice.key"]);
    let bytes = desk.read("plan.json");
    let signed = Envelope::from_slice_of(PayloadType::Plan, &bytes).unwrap();
    for [from, to] in [
        ["\"create\"}", "\"keep\"}"],
        ["\"plannedBy\":\"alice@", "\"plannedBy\":\"bob@"],
        ["\"plannedAt\":\"2026", "\"plannedAt\":\"2025"],
        ["\"plannedAt\"", "\"plannedUser\":\"bob\",\"plannedAt\""],
    ] {
        let edited = PLAN.replace(from, to).into_bytes();
        assert_ne!(edited, PLAN.as_bytes(), "{from}");
        let mut edited = Envelope::unsigned(PayloadType::Plan, edited).unwrap();
        edited.add(signed.signatures().next().unwrap()).unwrap();
        desk.write("plan.json", edited.to_bytes());
        let text = refusal(&desk, &["--approved-by", "alice.pub"], 1);
        assert!(
            text.contains("who changed it after it was signed"),
            "{text}"
        );
    }
}

#[test]
fn a_signature_over_the_same_bytes_as_a_statement_approves_nothing() {
    let desk = desk();
    let key = secret(&desk, "alice");
    let mut envelope = Envelope::unsigned(PayloadType::Plan, PLAN.as_bytes().to_vec()).unwrap();
    let signature = key.sign(PayloadType::Statement, envelope.payload());
    envelope.add(signature).unwrap();
    desk.write("plan.json", envelope.to_bytes());
    refusal(&desk, &["--approved-by", "alice.pub"], 1);
}

#[test]
fn a_key_in_a_device_and_a_copy_of_the_plan_bring_their_signatures() {
    let desk = desk();
    desk.write("copy.json", desk.read("plan.json"));
    let payload = ["sign", "plan.json", "--payload-out", "payload"];
    desk.solution(&payload).success();
    let kind = PayloadType::Plan;
    let message = signing::pre_authentication_encoding(kind.as_str(), PLAN.as_bytes());
    assert!(message.starts_with(b"DSSEv1 38 application/vnd.solutions.plan.v1+json "));
    assert!(desk.read("payload") == message, "it is another message");
    // This code replaces the external signer.
    let signature = secret(&desk, "alice").sign(kind, PLAN.as_bytes());
    desk.write("alice.sig", signature.bytes);
    let text = desk
        .solution(&[
            "sign",
            "plan.json",
            "--attach",
            "alice.sig",
            "--key",
            "bob.pub",
        ])
        .failure(1);
    assert!(text.contains("no signature of this plan by key"), "{text}");
    sign(&desk, &["--attach", "alice.sig", "--key", "alice.pub"]);
    desk.solution(&["sign", "copy.json", "--key", "bob.key"])
        .success();
    sign(&desk, &["--attach", "copy.json", "--key", "bob.pub"]);
    let both = ["--approved-by", "alice.pub", "--approved-by", "bob.pub"];
    refusal(&desk, &both, 3);
}

#[test]
fn only_the_plan_that_was_looked_at_is_signed_and_where_plans_are_signed() {
    let desk = desk();
    let zero = format!("sha256:{}", "0".repeat(64));
    let key = ["sign", "plan.json", "--key", "alice.key"];
    let other = [&key[..], &["--expect", &zero]].concat();
    let text = desk.solution(&other).failure(1);
    assert!(text.contains("not the expected one"), "{text}");
    let beside = [&key[..], &["--detached"]].concat();
    let text = desk.solution(&beside).failure(2);
    assert!(text.contains("--detached"), "{text}");
    let shown = desk.solution(&["inspect", "plan.json", "--output", "json"]);
    let id = shown.json()["planId"].as_str().unwrap().to_owned();
    sign(&desk, &["--key", "alice.key", "--expect", &id]);
}

#[test]
fn what_is_no_plan_file_is_said_to_be_none() {
    let desk = Desk::with_archive();
    desk.write(
        "statement.json",
        &desk.read("example.iso")[65_536..2 * 65_536],
    );
    write(
        &desk,
        "later.json",
        &PLAN.replace("\"planVersion\":1", "\"planVersion\":2"),
    );
    write(
        &desk,
        "more.json",
        &PLAN.replace("\"defaults\"", "\"more\":1,\"defaults\""),
    );
    for (file, words) in [
        (
            "statement.json",
            "not `application/vnd.solutions.plan.v1+json`",
        ),
        ("later.json", "the plan has version 2"),
        ("more.json", "unknown field `more`"),
    ] {
        let text = desk.solution(&["apply", "--plan", file]).failure(1);
        assert!(
            text.contains("is not a plan file") && text.contains(words),
            "{text}"
        );
    }
    // An archive and its statement are signed as without a plan.
    let id = desk
        .solution(&["inspect", "example.iso", "--output", "json"])
        .json();
    let id = id["archiveId"].as_str().unwrap();
    desk.solution(&["keygen", "bob"]).success();
    for archive in ["statement.json", "example.iso"] {
        let sign = ["sign", archive, "--key", "bob.key", "--expect", id];
        desk.solution(&sign).success();
    }
}

/// Writes a receipt that `alice` signed, with these additional fields.
fn write_receipt(desk: &Desk, name: &str, more: &str) {
    let receipt = format!(
        r#"{{"schemaVersion":1,"revision":7,"at":"2026-01-02T03:04:05Z","by":"me@here",{more}"verb":"deploy","solution":"shop","version":"1.0.0","places":[],"outcome":"done","written":[],"removed":[]}}"#
    );
    let kind = PayloadType::Receipt;
    let mut envelope = Envelope::unsigned(kind, receipt.into_bytes()).unwrap();
    let signature = secret(desk, "alice").sign(kind, envelope.payload());
    envelope.add(signature).unwrap();
    desk.write(name, envelope.to_bytes());
}

#[test]
fn a_receipt_proves_a_change_of_the_cluster_that_it_names_and_of_no_other() {
    let desk = desk();
    let here = "00000000-0000-4000-8000-000000000001";
    let other = "00000000-0000-4000-8000-000000000002";
    let named = format!(r#""user":"alice","clusterUid":"{here}","fleet":"shops","#);
    write_receipt(&desk, "named.json", &named);
    write_receipt(&desk, "earlier.json", "");
    let verify = |file: &str, more: &[&str]| {
        let verify = ["receipt", "verify", file, "--key", "alice.pub"];
        desk.solution(&[&verify[..], more].concat())
    };
    let shown = verify("named.json", &["--cluster", here]).success();
    for line in [
        "alice (me@here)",
        &format!("cluster     {here}"),
        "fleet       shops",
        "valid: `named.json`",
    ] {
        assert!(shown.contains(line), "{line} is not in {shown}");
    }
    let json = verify("named.json", &["--cluster", here, "--output", "json"]).json();
    assert_eq!(json["cluster"], json!({"uid": here, "matches": true}));
    assert_eq!(json["change"]["clusterUid"], here, "{json}");

    let text = verify("named.json", &["--cluster", other]).failure(1);
    assert!(
        text.contains(&format!("to another cluster: UID {here}, not {other}")),
        "{text}"
    );
    // A receipt of version 1.0.0 still verifies, and names no cluster.
    let shown = verify("earlier.json", &[]).success();
    assert!(shown.contains("unknown user (me@here)"), "{shown}");
    assert!(shown.contains("cluster     not recorded"), "{shown}");
    let text = verify("earlier.json", &["--cluster", here]).failure(1);
    assert!(text.contains("cluster not recorded"), "{text}");
    let json = verify("earlier.json", &["--cluster", here, "--output", "json"]);
    assert_eq!(json.code, 1, "{json:?}");
    let json = json.json();
    assert_eq!(json["cluster"], json!({"uid": here, "matches": null}));
    assert_eq!(json["valid"], true);

    // Without a UID, the program asks the cluster of the kubeconfig.
    let own = ["--cluster", "--kubeconfig", "none"];
    let text = verify("named.json", &own).failure(3);
    assert!(text.contains("cannot use the cluster"), "{text}");
    let text = verify("named.json", &["--context", "a"]).failure(2);
    assert!(text.contains("--cluster"), "{text}");
    verify("named.json", &["--cluster", "site-b"]).failure(2);
}
