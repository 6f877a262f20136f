//! Archives of later versions of the tools. A reader refuses an unknown mandatory capability by its name. It verifies
//! optional content like everything else, and ignores it.

use archive::{ArchiveFile, StatementInfo};
use schemas::{Envelope, PayloadType, Statement};
use signing::SecretKey;

use crate::common::Desk;
use crate::stages;

const TRUST: [&str; 2] = ["--key", "publisher.pub"];
const LAYOUT_2: (&str, &str) = ("\"layout\":1,", "\"layout\":2,");
const STATEMENT: std::ops::Range<usize> = 65_536..131_072;

fn key(desk: &Desk) -> SecretKey {
    let pem = String::from_utf8(desk.read("publisher.key")).unwrap();
    SecretKey::from_pem(&pem).unwrap()
}

/// Returns a desk with the example's archive, with more files and another statement.
fn desk_with_extensions(more: &[(&str, &str)], say: impl FnOnce(&mut StatementInfo)) -> Desk {
    let desk = Desk::with_archive();
    let path = desk.path("example.iso");
    let listed = stages::list(&path);
    let mut info = stages::statement_info(&listed);
    say(&mut info);
    let more = more.iter();
    let more =
        more.map(|(path, text)| ArchiveFile::from_bytes(path.parse().unwrap(), (*text).into()));
    let files = stages::files(&listed).into_iter().chain(more).collect();
    let signed = stages::unsigned(info, files).sign(&[key(&desk)]).unwrap();
    stages::write(signed, &path);
    desk
}

/// Signs the archive with another payload.
fn sign_payload(desk: Desk, change: impl FnOnce(&[u8]) -> Vec<u8>) -> Desk {
    let mut image = desk.read("example.iso");
    let envelope = Envelope::from_slice(&image[STATEMENT]).unwrap();
    let mut envelope = Envelope::new(change(envelope.payload())).unwrap();
    envelope
        .add(key(&desk).sign(PayloadType::Statement, envelope.payload()))
        .unwrap();
    image[STATEMENT].copy_from_slice(&envelope.to_bytes());
    desk.write("example.iso", image);
    desk
}

/// Returns a desk with the example's archive, with other texts in its statement.
fn change_statement(edits: &[(&str, &str)]) -> Desk {
    sign_payload(Desk::with_archive(), |payload| {
        let mut payload = String::from_utf8(payload.to_vec()).unwrap();
        for (from, to) in edits {
            assert!(payload.contains(from), "{from} is not in {payload}");
            payload = payload.replacen(from, to, 1);
        }
        payload.into_bytes()
    })
}

/// Asserts that every command that reads an archive refuses it with these words, and changes nothing. `import` refuses
/// it before it contacts a registry or a cluster: this test has neither.
#[track_caller]
fn assert_refused_by_every_command(desk: &Desk, words: &[&str]) {
    let before = (desk.names(), desk.read("example.iso"));
    let import = ["--registry", "registry.invalid"];
    let verbs: [(&str, &[&str]); 4] = [
        ("validate", &TRUST),
        ("inspect", &[]),
        ("sign", &["--key", "publisher.key"]),
        ("import", &[&TRUST[..], &import[..]].concat()),
    ];
    for (verb, more) in verbs {
        let said = desk
            .solution(&[&[verb, "example.iso"], more].concat())
            .failure(1);
        for word in words {
            assert!(said.contains(word), "{verb}: `{word}` is not in: {said}");
        }
    }
    assert!(
        (desk.names(), desk.read("example.iso")) == before,
        "it was touched"
    );
}

#[test]
fn a_capability_that_is_not_known_is_refused_by_its_name() {
    let desk = desk_with_extensions(&[("charts/app.tgz", "a chart")], |info| {
        info.requires = vec!["charts-2.0.0".parse().unwrap()];
        info.optional = vec!["charts".to_owned()];
    });
    desk.assert_refused(
        &["container.layout"],
        &["`charts-2.0.0`", "a newer version is needed"],
    );
    assert_refused_by_every_command(&desk, &["requires `charts-2.0.0`"]);
}

#[test]
fn a_layout_that_is_not_known_is_refused_with_its_number() {
    let desk = change_statement(&[LAYOUT_2]);
    desk.assert_refused(&["container.layout"], &["layout 2", "newer version"]);
    assert_refused_by_every_command(&desk, &["layout 2"]);
}

/// A reader checks the capability first, even if it does not know the layout's number.
#[test]
fn a_capability_counts_before_the_layout() {
    let charts = (r#""requires":[]"#, r#""requires":["charts-2.0.0"]"#);
    let desk = change_statement(&[LAYOUT_2, charts]);
    desk.assert_refused(&["container.layout"], &["`charts-2.0.0`"]);
}

const MORE: [(&str, &str); 4] = [
    ("sbom/app.spdx.json", "{}"),
    ("sbom/deep/er/empty", ""),
    ("note.txt", "one file"),
    ("trust", "reserved for later, and a file"),
];

fn with_more() -> Desk {
    desk_with_extensions(&MORE, |info| {
        info.optional = ["sbom", "note.txt", "trust"].map(str::to_owned).to_vec();
    })
}

#[test]
fn what_may_be_overlooked_is_listed_and_laid_out_but_not_interpreted() {
    let desk = with_more();
    let report = desk.report(&TRUST, 0);
    assert_eq!(report["findings"], serde_json::json!([]));
    assert_eq!(report["verdict"], "accepted");
    let plain = Desk::with_archive().report(&TRUST, 0);
    assert_eq!(report["images"], plain["images"]);
    assert_eq!(report["files"], plain["files"].as_u64().unwrap() + 4);
    let shown = desk
        .solution(&["inspect", "example.iso", "--files"])
        .success();
    for (path, _) in MORE {
        assert!(shown.contains(path), "{path} is not in: {shown}");
    }
    // A second signature can be added.
    desk.solution(&["keygen", "second"]).success();
    desk.solution(&["sign", "example.iso", "--key", "second.key"])
        .success();
    let both = [&TRUST[..], &["--key", "second.pub", "--threshold", "2"]].concat();
    desk.report(&both, 0);
}

#[test]
fn what_may_be_overlooked_is_verified_all_the_same() {
    let desk = with_more();
    let mut image = desk.read("example.iso");
    let at = image
        .windows(8)
        .position(|bytes| bytes == b"one file")
        .unwrap();
    image[at] ^= 1;
    desk.write("example.iso", image);
    desk.assert_refused(
        &["integrity.damaged"],
        &["note.txt", "treat it as tampering"],
    );
}

#[test]
fn a_name_that_nobody_declared_is_refused() {
    for declared in [
        &[][..],
        &["sbom", "note.txt"],
        &["sbom", "note.txt", "trus"],
    ] {
        let desk = sign_payload(with_more(), |payload| {
            let mut statement = Statement::from_slice(payload).unwrap();
            statement.predicate.optional = declared.iter().map(ToString::to_string).collect();
            statement.to_bytes()
        });
        desk.assert_refused(&["container.undeclared"], &["declare"]);
    }
}

/// A declaration does not change the meaning of other fields, and adds no requirement.
#[test]
fn declaring_what_has_a_meaning_changes_nothing() {
    let names = [
        "operator",
        "images",
        "manifest.yaml",
        "nothing-of-this-name",
        "../x",
    ];
    let desk = desk_with_extensions(&[], |info| {
        info.optional = names.map(str::to_owned).to_vec();
    });
    let report = desk.report(&TRUST, 0);
    assert_eq!(report["findings"], serde_json::json!([]));
    assert_eq!(report["images"], 2);
}

#[test]
fn fields_that_are_not_known_are_ignored() {
    let desk = change_statement(&[
        (
            r#""predicate":{"#,
            r#""predicate":{"mood":{"colour":[1,"blue",null,true]},"#,
        ),
        (r#""contents":{"#, r#""contents":{"md5":"no","#),
        (r#""digest":{"#, r#""digest":{"sha512":"no","#),
        (r#"{"_type""#, r#"{"later":{},"_type""#),
    ]);
    let report = desk.report(&TRUST, 0);
    assert_eq!(report["findings"], serde_json::json!([]));
}

/// Only unknown *fields* are ignored. A known field must have a valid value.
#[test]
fn values_that_are_not_known_are_refused() {
    for edit in [
        (r#""requires":[]"#, r#""requires":["Charts 2"]"#),
        (r#""requires":[]"#, r#""requires":{}"#),
        (r#""layout":1"#, r#""layout":"1""#),
        ("archive/v1", "archive/v2"),
    ] {
        change_statement(&[edit]).assert_refused(&["signature.statement"], &[]);
    }
}
