//! Archives by later versions of the tools. What a reader of today must understand and does not, it refuses by its name;
//! what it may overlook, it checks as everything else and leaves alone.

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

/// The example's archive with more files, under a statement that says more.
fn later(more: &[(&str, &str)], say: impl FnOnce(&mut StatementInfo)) -> Desk {
    let desk = Desk::with_archive();
    let path = desk.path("example.iso");
    let listed = stages::list(&path);
    let mut info = stages::info(&listed);
    say(&mut info);
    let more = more.iter();
    let more =
        more.map(|(path, text)| ArchiveFile::from_bytes(path.parse().unwrap(), (*text).into()));
    let files = stages::files(&listed).into_iter().chain(more).collect();
    let signed = stages::unsigned(info, files).sign(&[key(&desk)]).unwrap();
    stages::write(signed, &path);
    desk
}

/// The archive with another payload, signed.
fn resigned(desk: Desk, change: impl FnOnce(&[u8]) -> Vec<u8>) -> Desk {
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

/// The example's archive with other texts in its statement.
fn restated(edits: &[(&str, &str)]) -> Desk {
    resigned(Desk::with_archive(), |payload| {
        let mut payload = String::from_utf8(payload.to_vec()).unwrap();
        for (from, to) in edits {
            assert!(payload.contains(from), "{from} is not in {payload}");
            payload = payload.replacen(from, to, 1);
        }
        payload.into_bytes()
    })
}

/// Every verb that reads an archive says no, in these words, and changes nothing. An import does so before it looks for a
/// registry or a cluster: here is neither.
#[track_caller]
fn refused_by_every_verb(desk: &Desk, words: &[&str]) {
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
    let desk = later(&[("charts/app.tgz", "a chart")], |info| {
        info.requires = vec!["charts-2.0.0".parse().unwrap()];
        info.optional = vec!["charts".to_owned()];
    });
    desk.refused(
        &["container.layout"],
        &["`charts-2.0.0`", "a newer version is needed"],
    );
    refused_by_every_verb(&desk, &["requires `charts-2.0.0`"]);
}

#[test]
fn a_layout_that_is_not_known_is_refused_with_its_number() {
    let desk = restated(&[LAYOUT_2]);
    desk.refused(&["container.layout"], &["layout 2", "newer version"]);
    refused_by_every_verb(&desk, &["layout 2"]);
}

/// A reader may not overlook it just because it does not know the number: what else the statement says is not asked.
#[test]
fn a_capability_counts_before_the_layout() {
    let charts = (r#""requires":[]"#, r#""requires":["charts-2.0.0"]"#);
    let desk = restated(&[LAYOUT_2, charts]);
    desk.refused(&["container.layout"], &["`charts-2.0.0`"]);
}

const MORE: [(&str, &str); 4] = [
    ("sbom/app.spdx.json", "{}"),
    ("sbom/deep/er/empty", ""),
    ("note.txt", "one file"),
    ("trust", "reserved for later, and a file"),
];

fn with_more() -> Desk {
    later(&MORE, |info| {
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
    desk.refused(
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
        let desk = resigned(with_more(), |payload| {
            let mut statement = Statement::from_slice(payload).unwrap();
            statement.predicate.optional = declared.iter().map(ToString::to_string).collect();
            statement.to_bytes()
        });
        desk.refused(&["container.undeclared"], &["declare"]);
    }
}

/// A declaration gives nothing another meaning, and asks for nothing.
#[test]
fn declaring_what_has_a_meaning_changes_nothing() {
    let names = [
        "operator",
        "images",
        "manifest.yaml",
        "nothing-of-this-name",
        "../x",
    ];
    let desk = later(&[], |info| {
        info.optional = names.map(str::to_owned).to_vec();
    });
    let report = desk.report(&TRUST, 0);
    assert_eq!(report["findings"], serde_json::json!([]));
    assert_eq!(report["images"], 2);
}

#[test]
fn fields_that_are_not_known_are_ignored() {
    let desk = restated(&[
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

/// Only unknown *fields* are ignored: a field that has a meaning must have a value of its kind.
#[test]
fn values_that_are_not_known_are_refused() {
    for edit in [
        (r#""requires":[]"#, r#""requires":["Charts 2"]"#),
        (r#""requires":[]"#, r#""requires":{}"#),
        (r#""layout":1"#, r#""layout":"1""#),
        ("archive/v1", "archive/v2"),
    ] {
        restated(&[edit]).refused(&["signature.statement"], &[]);
    }
}
