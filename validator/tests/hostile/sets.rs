//! Malicious sets of manifests that a publisher has signed. They must be refused in linear time.

use std::fs;
use std::time::{Duration, Instant};

use crate::source::Source;
use crate::subject::{Subject, options, report};

/// A limit far above the actual time of each test, and far below the time of a quadratic algorithm.
const LONG: Duration = Duration::from_mins(1);

const NOTES: &str = "manifests/notes/0001-configmap-notes.yaml";

/// Returns the findings for a good archive with sets after a change.
fn found(change: impl FnOnce(&mut Source)) -> Vec<&'static str> {
    let mut source = Source::good();
    source.carry();
    change(&mut source);
    ids(&Subject::pack(&source).bytes)
}

/// Returns the distinct ids of the findings for an archive.
fn ids(bytes: &[u8]) -> Vec<&'static str> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("example.iso");
    fs::write(&path, bytes).unwrap();
    let begin = Instant::now();
    let report = report(&path, &options());
    assert!(begin.elapsed() < LONG, "{:?}", begin.elapsed());
    let mut ids: Vec<&str> = report.findings().iter().map(|finding| finding.id).collect();
    ids.dedup();
    ids
}

fn config_map(data: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: notes, namespace: shared}}, data: {data}}}\n"
    )
}

#[test]
fn what_is_no_attack_is_accepted() {
    assert_eq!(found(|_| {}), [""; 0]);
}

#[test]
fn objects_of_no_set_and_at_no_place_are_refused() {
    let object = config_map("{}");
    assert_eq!(
        found(|source| source.put(
            "manifests/hidden/0001-configmap-notes.yaml",
            object.as_str()
        )),
        ["manifests.unexpected"]
    );
    assert_eq!(
        found(|source| source.put("manifests/notes/0009-configmap-notes.yaml", object.as_str())),
        ["manifests.unexpected", "manifests.repeated"]
    );
    // The same number with fewer leading zeros.
    assert_eq!(
        found(|source| source.put("manifests/notes/01-configmap-notes.yaml", object.as_str())),
        ["manifests.unexpected", "manifests.repeated"]
    );
    assert_eq!(
        found(|source| source.put(
            "manifests/notes/99999999999999999999999-configmap-notes.yaml",
            object.as_str()
        )),
        ["manifests.unexpected"]
    );
}

#[test]
fn very_many_objects_are_refused_unread() {
    let ids = found(|source| {
        for number in 2..=20_000 {
            source.put(
                &format!("manifests/notes/{number:04}-configmap-x.yaml"),
                "x",
            );
        }
    });
    assert_eq!(ids, ["manifests.budget"]);
}

#[test]
fn bombs_of_aliases_and_deep_nesting_are_refused() {
    let mut bomb = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}", level - 1);
        let list = vec![before; 10].join(", ");
        bomb.extend([
            "b",
            &level.to_string(),
            ": &a",
            &level.to_string(),
            " [",
            &list,
            "]\n",
        ]);
    }
    assert_eq!(found(|source| source.put(NOTES, bomb)), ["manifests.yaml"]);
    let deep = config_map(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    assert_eq!(found(|source| source.put(NOTES, deep)), ["manifests.yaml"]);
    let long = format!(
        "{{a: &a {}, b: [{}]}}",
        "x".repeat(1_000_000),
        vec!["*a"; 80].join(", ")
    );
    assert_eq!(
        found(|source| source.put(NOTES, config_map(&long))),
        ["manifests.yaml"]
    );
}

/// Texts of nearly four million bytes, which a careless implementation would scan repeatedly.
#[test]
fn long_texts_of_what_looks_like_placeholders_take_no_longer_than_others() {
    const SIZE: usize = 3_900_000;
    let text = |piece: &str, end: &str| {
        let count = (SIZE - end.len()) / piece.len();
        config_map(&format!("{{a: '{}{end}'}}", piece.repeat(count)))
    };
    for (piece, end, expected) in [
        ("$(image:", "", &["manifests.placeholder"][..]),
        ("$(image:", ")", &["manifests.placeholder"]),
        ("$$(image:", "", &[]),
        ("$(imag", "", &[]),
        ("$", "", &[]),
        ("$(image:server)", "", &[]),
        ("$(image.aaaaaaaa", "", &[]),
        (
            "registry.example.test/org/server:1 ",
            "",
            &["manifests.not-compiled"],
        ),
        (
            "registry.example.test/org/other:1 ",
            "",
            &["manifests.image-mentioned"],
        ),
        ("a.shared.svc ", "", &[]),
    ] {
        let found = found(|source| source.put(NOTES, text(piece, end)));
        assert_eq!(found, expected, "{piece}");
    }
}

/// One word of an object differs on media that was signed with another.
#[test]
fn an_object_that_was_changed_after_it_was_signed_is_refused() {
    let mut source = Source::good();
    source.carry();
    let mut bytes = Subject::pack(&source).bytes;
    let (signed, forged) = (
        b"name: notes, namespace: shared",
        b"name: noted, namespace: shared",
    );
    let at = bytes
        .windows(signed.len())
        .position(|window| window == signed)
        .unwrap();
    bytes[at..at + forged.len()].copy_from_slice(forged);
    assert_eq!(ids(&bytes), ["integrity.damaged"]);
}
