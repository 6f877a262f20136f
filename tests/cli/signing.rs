//! Signing in a company: encrypted keys, external keys, and detached signatures.

use std::process::Stdio;

use schemas::PayloadType;
use signing::{Passphrase, SecretKey};

use crate::common::{Answer, Desk};

/// The range of the statement in an archive.
const STATEMENT: std::ops::Range<usize> = 65_536..2 * 65_536;

/// Returns a desk with an archive and an encrypted key, `locked`, whose passphrase is in `pass`.
fn desk_with_locked_key() -> Desk {
    let desk = Desk::with_archive();
    desk.write("pass", "open sesame\n");
    let keygen = ["keygen", "locked", "--encrypt", "--passphrase-file", "pass"];
    desk.solution(&keygen).success();
    desk
}

/// Runs the program without a terminal, as in CI.
fn run_without_terminal(desk: &Desk, arguments: &[&str], passphrase: Option<&str>) -> Answer {
    let program = desk.command();
    let mut command = std::process::Command::new("setsid");
    command
        .arg("--wait")
        .arg(program.get_program())
        .args(arguments)
        .current_dir(desk.path(""))
        .env_clear()
        .env("HOME", desk.path(""))
        .stdin(Stdio::null());
    if let Some(passphrase) = passphrase {
        command.env("SOLUTION_KEY_PASSPHRASE", passphrase);
    }
    Answer::from_command(&mut command)
}

fn archive_id(desk: &Desk) -> String {
    let shown = desk.solution(&["inspect", "example.iso", "--output", "json"]);
    shown.json()["archiveId"].as_str().unwrap().to_owned()
}

#[test]
fn an_encrypted_key_signs_with_its_passphrase() {
    let desk = desk_with_locked_key();
    let pem = String::from_utf8(desk.read("locked.key")).unwrap();
    assert!(
        pem.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----"),
        "{pem}"
    );
    let passphrase = Passphrase::new(b"open sesame".to_vec().into()).unwrap();
    let key = SecretKey::from_encrypted_pem(&pem, &passphrase).unwrap();
    let public = String::from_utf8(desk.read("locked.pub")).unwrap();
    assert_eq!(key.public().to_pem(), public);
    let pack = ["pack", "source", "-o", "a.iso", "--key", "locked.key"];
    let given = [&pack[..], &["--passphrase-file", "pass"]].concat();
    desk.solution(&given).success();
    desk.solution(&["validate", "a.iso", "--key", "locked.pub"])
        .success();
    let sign = ["sign", "example.iso", "--key", "locked.key"];
    run_without_terminal(&desk, &sign, Some("open sesame")).success();
    desk.solution(&["validate", "example.iso", "--key", "locked.pub"])
        .success();
    // Standard input works too, with any line ending.
    let mut command = desk.command();
    command.args(["pack", "source", "-o", "b.iso", "--key", "locked.key"]);
    desk.write("input", "open sesame\r\n");
    let input = std::fs::File::open(desk.path("input")).unwrap();
    command.args(["--passphrase-file", "-"]).stdin(input);
    Answer::from_command(&mut command).success();
    assert!(
        desk.read("a.iso") == desk.read("b.iso"),
        "the archives differ"
    );
}

#[test]
fn without_the_right_passphrase_nothing_is_signed() {
    let desk = desk_with_locked_key();
    let before = desk.read("example.iso");
    let sign = ["sign", "example.iso", "--key", "locked.key"];
    let text = run_without_terminal(&desk, &sign, None).failure(2);
    for word in [
        "no terminal",
        "--passphrase-file",
        "SOLUTION_KEY_PASSPHRASE",
    ] {
        assert!(text.contains(word), "{text}");
    }
    let text = run_without_terminal(&desk, &sign, Some("open sesam")).failure(1);
    assert!(text.contains("does not decrypt the secret key"), "{text}");
    assert!(!text.contains("sesam"), "{text}");
    desk.write("empty", "\nopen sesame\n");
    let text = desk
        .solution(&[&sign[..], &["--passphrase-file", "empty"]].concat())
        .failure(1);
    assert!(text.contains("passphrase is empty"), "{text}");
    let text = desk
        .solution(&[&sign[..], &["--passphrase-file", "nowhere"]].concat())
        .failure(3);
    assert!(text.contains("`nowhere`"), "{text}");
    assert!(desk.read("example.iso") == before, "it was written to");
    // `pack` checks the passphrase before it starts.
    let pack = ["pack", "source", "-o", "a.iso", "--key", "locked.key"];
    run_without_terminal(&desk, &pack, Some("wrong")).failure(1);
    assert!(!desk.path("a.iso").exists());
    // The same applies to a new key: no file is left behind.
    let keygen = ["keygen", "other", "--encrypt"];
    run_without_terminal(&desk, &keygen, None).failure(2);
    let text = desk
        .solution(&["keygen", "other", "--passphrase-file", "pass"])
        .failure(2);
    assert!(text.contains("--encrypt"), "{text}");
    let names = desk.names();
    assert!(
        !names.iter().any(|name| name.starts_with("other")),
        "{names:?}"
    );
}

#[test]
fn a_key_that_is_elsewhere_signs_what_it_is_given() {
    let desk = Desk::with_archive();
    let before = desk.read("example.iso");
    let out = ["sign", "example.iso", "--payload-out", "payload"];
    let text = desk.solution(&out).success();
    assert!(text.contains(&archive_id(&desk)), "{text}");
    assert!(desk.read("example.iso") == before, "it was written to");
    let text = desk.solution(&out).failure(3);
    assert!(
        text.contains("`payload`") && text.contains("exists"),
        "{text}"
    );
    let payload = desk.read("payload");
    assert!(payload.starts_with(b"DSSEv1 28 application/vnd.in-toto+json "));
    // This code replaces the external signer.
    let device = SecretKey::generate().unwrap();
    desk.write("device.pub", device.public().to_pem());
    let start = payload.windows(2).position(|two| two == b" {").unwrap() + 1;
    let signature = device.sign(PayloadType::Statement, &payload[start..]).bytes;
    let text: String = {
        use std::fmt::Write as _;
        signature.iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        })
    };
    desk.write("hex", text);
    desk.write("raw", &signature);
    let mut wrong = signature.clone();
    wrong[5] ^= 1;
    desk.write("wrong", &wrong);
    let attach = |file: &str, key: &str, more: &[&str]| {
        let attach = ["sign", "example.iso", "--attach", file, "--key", key];
        desk.solution(&[&attach[..], more].concat())
    };
    for (file, key, words) in [
        ("wrong", "device.pub", "not made over this archive"),
        ("raw", "publisher.pub", "not made over this archive"),
        ("hex", "device.pub", "`hex` is not an Ed25519 signature"),
        ("raw", "publisher.key", "a public key is needed"),
    ] {
        let text = attach(file, key, &[]).failure(1);
        assert!(text.contains(words), "{file} {key}: {text}");
    }
    assert!(desk.read("example.iso") == before, "it was written to");
    attach("raw", "device.pub", &["--detached"]).success();
    assert!(desk.read("example.iso") == before, "it was written to");
    let both = [
        "--key",
        "publisher.pub",
        "--key",
        "device.pub",
        "--threshold",
        "2",
    ];
    desk.report(&both, 0);
    // A signature in both places counts once.
    attach("raw", "device.pub", &[]).success();
    assert!(desk.read("example.iso") != before);
    let report = desk.report(&both, 0);
    assert_eq!(report["signers"].as_array().unwrap().len(), 2);
    assert_eq!(report["judged"]["threshold"], 2, "{report:#}");
    let text = attach("raw", "device.pub", &[]).failure(1);
    assert!(text.contains("signed by key"), "{text}");
}

#[test]
fn signatures_of_several_reviewers_gather_beside_a_medium_that_is_only_read() {
    let desk = Desk::with_archive();
    let before = desk.read("example.iso");
    for name in ["a", "b"] {
        desk.solution(&["keygen", name]).success();
        let key = format!("{name}.key");
        let text = desk
            .solution(&["sign", "example.iso", "--key", &key, "--detached"])
            .success();
        assert!(text.contains("example.iso.dsse.json"), "{text}");
    }
    assert!(desk.read("example.iso") == before, "it was written to");
    let all = ["--key", "publisher.pub", "--key", "a.pub", "--key", "b.pub"];
    desk.report(&[&all[..], &["--threshold", "3"]].concat(), 0);
    let shown = desk
        .solution(&["inspect", "example.iso", "--output", "json"])
        .json();
    assert_eq!(shown["signatures"].as_array().unwrap().len(), 3);
    // If one of two keys fails, none is used.
    desk.solution(&["keygen", "c"]).success();
    let beside = desk.read("example.iso.dsse.json");
    let two = ["sign", "example.iso", "--key", "c.key", "--key", "a.key"];
    let text = desk.solution(&[&two[..], &["--detached"]].concat());
    let text = text.failure(1);
    assert!(text.contains("signed by key"), "{text}");
    assert!(
        desk.read("example.iso.dsse.json") == beside,
        "half was written"
    );
    // Every command names a malformed envelope by its file name.
    desk.write("example.iso.dsse.json", &beside[1..]);
    for verb in [
        &["validate", "example.iso", "--key", "publisher.pub"][..],
        &["inspect", "example.iso"],
        &["sign", "example.iso", "--key", "c.key", "--detached"],
    ] {
        let text = desk.solution(verb).failure(1);
        assert!(text.contains("`example.iso.dsse.json`"), "{text}");
        assert!(text.contains("hint: "), "{text}");
    }
}

#[test]
fn a_statement_travels_alone_and_is_signed_by_its_id_only() {
    let desk = Desk::with_archive();
    let id = archive_id(&desk);
    desk.solution(&["keygen", "reviewer"]).success();
    let statement = desk.read("example.iso")[STATEMENT].to_vec();
    desk.write("statement.dsse.json", &statement);
    let sign = ["sign", "statement.dsse.json", "--key", "reviewer.key"];
    let text = desk.solution(&sign).failure(2);
    assert!(text.contains(&id) && text.contains("--expect"), "{text}");
    let other = format!("sha256:{}", "0".repeat(64));
    let text = desk
        .solution(&[&sign[..], &["--expect", &other]].concat())
        .failure(1);
    assert!(text.contains("not the expected one"), "{text}");
    assert!(desk.read("statement.dsse.json") == statement);
    let expect = ["--expect", &id];
    desk.solution(&[&sign[..], &expect, &["--detached"]].concat())
        .failure(2);
    desk.solution(&[&sign[..], &expect].concat()).success();
    // The whole envelope is attached again, with its signature.
    let attach = ["sign", "example.iso", "--attach", "statement.dsse.json"];
    let text = desk
        .solution(&[&attach[..], &["--key", "reviewer.pub", "--expect", &other]].concat())
        .failure(1);
    assert!(text.contains("nothing was signed"), "{text}");
    desk.solution(&["keygen", "stranger"]).success();
    let text = desk
        .solution(&[&attach[..], &["--key", "stranger.pub"]].concat())
        .failure(1);
    assert!(text.contains("has no signature by key"), "{text}");
    desk.solution(&[&attach[..], &["--key", "reviewer.pub", "--expect", &id]].concat())
        .success();
    desk.report(&["--key", "reviewer.pub"], 0);
}

#[test]
fn two_do_not_sign_at_once() {
    let desk = Desk::with_archive();
    desk.solution(&["keygen", "reviewer"]).success();
    let file = std::fs::File::open(desk.path("example.iso")).unwrap();
    file.lock().unwrap();
    let sign = ["sign", "example.iso", "--key", "reviewer.key"];
    let text = desk.solution(&sign).failure(3);
    assert!(
        text.contains("is being signed by another program"),
        "{text}"
    );
    file.unlock().unwrap();
    desk.solution(&sign).success();
}
