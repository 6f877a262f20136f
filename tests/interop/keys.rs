//! Keys are exchanged between OpenSSL and the program in both directions.

use crate::common::Desk;
use crate::tools::{run_tool, run_tool_for_text};

#[test]
fn openssl_reads_our_keys() {
    let desk = Desk::new();
    let made = desk
        .solution(&["keygen", "ours", "--output", "json"])
        .json();
    let directory = desk.path("");
    let shown = run_tool_for_text(
        &directory,
        "openssl",
        &["pkey", "-in", "ours.key", "-noout", "-text"],
    );
    assert!(
        shown.to_uppercase().contains("ED25519 PRIVATE-KEY"),
        "{shown}"
    );
    let public = run_tool(
        &directory,
        "openssl",
        &["pkey", "-in", "ours.key", "-pubout"],
    );
    assert_eq!(public, desk.read("ours.pub"));
    let again = run_tool(&directory, "openssl", &["pkey", "-in", "ours.key"]);
    assert_eq!(again, desk.read("ours.key"));
    let script = "openssl pkey -pubin -in ours.pub -outform DER | sha256sum";
    let id = run_tool_for_text(&directory, "sh", &["-e", "-c", script]);
    assert_eq!(id.split_whitespace().next(), made["keyId"].as_str());
}

#[test]
fn keys_by_openssl_sign_and_check() {
    let desk = Desk::with_archive();
    let directory = desk.path("");
    run_tool(
        &directory,
        "openssl",
        &["genpkey", "-algorithm", "ed25519", "-out", "theirs.pem"],
    );
    run_tool(
        &directory,
        "openssl",
        &["pkey", "-in", "theirs.pem", "-pubout", "-out", "theirs.pub"],
    );
    desk.solution(&["pack", "source", "-o", "theirs.iso", "--key", "theirs.pem"])
        .success();
    desk.solution(&["validate", "theirs.iso", "--key", "theirs.pub"])
        .success();
    let refused = desk
        .solution(&["validate", "theirs.iso", "--key", "publisher.pub"])
        .failure(1);
    assert!(refused.contains("signature.untrusted"), "{refused}");
    // A key of another algorithm by OpenSSL is reported with the algorithm's name.
    run_tool(
        &directory,
        "openssl",
        &["genpkey", "-algorithm", "ed448", "-out", "other.pem"],
    );
    let refused = desk
        .solution(&["pack", "source", "-o", "other.iso", "--key", "other.pem"])
        .failure(1);
    assert!(refused.contains("Ed448"), "{refused}");
}
