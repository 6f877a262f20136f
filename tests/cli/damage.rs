//! Damage to an archive in transit: `validate` refuses it with the finding's id and a hint. One case of each finding is
//! enough here: `crates/archive/tests/tampering.rs` damages every region, every file and the ends of all parts.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;

use crate::common::Desk;

/// A change of the envelope's text.
type Change = fn(&str) -> String;

const SECTOR: u64 = 2048;
const ENVELOPE: u64 = 32 * SECTOR;
const CONTENTS: u64 = 64 * SECTOR;

fn flip(desk: &Desk, offset: u64) {
    let path = desk.path("example.iso");
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 1], offset).unwrap();
}

/// Returns the position of bytes in the archive: their first occurrence after the beginning of `CONTENTS`.
fn find(desk: &Desk, what: &[u8]) -> u64 {
    let bytes = desk.read("example.iso");
    let from = usize::try_from(CONTENTS).unwrap();
    let found = bytes[from..]
        .windows(what.len())
        .position(|window| window == what);
    let found = found.unwrap_or_else(|| panic!("{} is not there", String::from_utf8_lossy(what)));
    CONTENTS + u64::try_from(found).unwrap()
}

/// Changes the text of the envelope, 64 KiB long. Spaces before its end keep its size.
fn change_envelope(desk: &Desk, change: impl FnOnce(&str) -> String) {
    let mut bytes = desk.read("example.iso");
    let place = usize::try_from(ENVELOPE).unwrap()..usize::try_from(CONTENTS).unwrap();
    let text = std::str::from_utf8(&bytes[place.clone()]).unwrap();
    let changed = change(text.trim_end());
    let padded = format!("{changed:65535}\n");
    bytes[place].copy_from_slice(padded.as_bytes());
    desk.write("example.iso", bytes);
}

#[test]
fn not_an_archive() {
    let desk = Desk::with_archive();
    for bytes in [&b"hello"[..], b"", &[0; 10_000]] {
        desk.write("example.iso", bytes);
        let words = match bytes {
            [] => ["`example.iso` is empty", "copy the archive again"],
            _ => ["too short for an ISO 9660 image", "copy the archive again"],
        };
        desk.assert_refused(&["container.not-iso"], &words);
    }
    desk.write("example.iso", vec![b'x'; 100_000]);
    desk.assert_refused(
        &["container.not-iso"],
        &["not an ISO 9660 image", "check the path"],
    );
}

/// Commands that open an archive as their last argument.
const READERS: [&[&str]; 12] = [
    &["validate", "--key", "publisher.pub"],
    &["inspect"],
    &["ls"],
    &["cat", "manifest.yaml"],
    &["extract", "--to", "out"],
    &["compare", "example.iso"],
    &["values"],
    &["sign", "--key", "publisher.key"],
    &["rbac", "--key", "publisher.pub"],
    &[
        "mirrors",
        "--key",
        "publisher.pub",
        "--registry",
        "r.test",
        "--archive",
    ],
    &[
        "push",
        "--registry",
        "127.0.0.1:1",
        "--key",
        "publisher.pub",
    ],
    &[
        "import",
        "--registry",
        "127.0.0.1:1",
        "--key",
        "publisher.pub",
    ],
];

#[test]
fn every_verb_names_what_is_no_archive() {
    let desk = Desk::with_archive();
    std::fs::create_dir(desk.path("dir.iso")).unwrap();
    desk.write("mounted.iso/CONTENTS", "");
    desk.write("mounted.iso/statement.dsse.json", "");
    desk.write("empty.iso", "");
    desk.write("short.iso", "x");
    for reader in READERS {
        for (path, words) in [
            ("dir.iso", "`dir.iso` is a directory, not an archive"),
            (
                "mounted.iso",
                "`mounted.iso` is a directory with the files of an archive",
            ),
            ("empty.iso", "`empty.iso` is empty"),
            ("short.iso", "`short.iso` has 1 bytes, which is too short"),
            ("missing.iso", "No such file or directory"),
        ] {
            let arguments = match *reader {
                ["cat", file] => vec!["cat", path, file],
                _ => [reader, &[path]].concat(),
            };
            let answer = desk.solution(&arguments);
            assert!([1, 3].contains(&answer.code), "{answer:?}");
            assert!(answer.stderr.contains(words), "{answer:?}");
        }
    }
}

#[test]
fn an_archive_that_is_not_there_is_told_before_keys_are_asked_for() {
    let desk = Desk::new();
    for verb in ["validate", "import", "push", "rbac"] {
        for keys in [&[][..], &["--key", "nobody.pub"]] {
            let registry: &[&str] = match verb {
                "import" | "push" => &["--registry", "127.0.0.1:1"],
                _ => &[],
            };
            let answer = desk.solution(&[&[verb, "missing.iso"], keys, registry].concat());
            assert_eq!(answer.code, 3, "{answer:?}");
            let first = answer.stderr.lines().next().unwrap();
            assert!(first.contains("missing.iso"), "{answer:?}");
        }
    }
}

#[test]
fn what_cannot_be_read_is_no_answer() {
    let desk = Desk::with_key();
    let text = desk
        .solution(&["validate", "nowhere.iso", "--key", "publisher.pub"])
        .failure(3);
    assert!(
        text.contains("`nowhere.iso`") && text.contains("No such file"),
        "{text}"
    );
    let text = desk
        .solution(&["validate", "publisher.pub", "--key", "nobody.pub"])
        .failure(3);
    assert!(
        text.contains("`nobody.pub`") && text.contains("No such file"),
        "{text}"
    );
}

#[test]
fn truncated() {
    let desk = Desk::with_archive();
    let bytes = desk.read("example.iso");
    desk.write("example.iso", &bytes[..bytes.len() / 2]);
    let words = ["copy the archive again from the source"];
    desk.assert_refused(&["container.truncated"], &words);
    // The file is cut so early that nothing identifies it as an archive.
    desk.write("example.iso", &bytes[..1000]);
    desk.assert_refused(&["container.not-iso"], &["copy the archive again"]);
}

/// `dd` adds zeros after the image when it copies a disc.
#[test]
fn a_copy_with_padding_is_whole_again_after_the_command_in_its_finding() {
    let desk = Desk::with_archive();
    let mut bytes = desk.read("example.iso");
    let size = bytes.len();
    bytes.resize(size + 150 * 2048, 0);
    desk.write("example.iso", bytes);
    let report = desk.assert_refused(&["container.too-large"], &["copies from optical discs"]);
    let message = report["findings"][0]["message"].as_str().unwrap();
    let told = format!("`truncate -s {size} FILE`");
    assert!(message.contains(&told), "{message}");
    let file = desk.path("example.iso");
    let file = std::fs::OpenOptions::new().write(true).open(file).unwrap();
    file.set_len(size as u64).unwrap();
    desk.report(&["--key", "publisher.pub"], 0);
}

#[test]
fn flipped_bits_in_what_is_not_data() {
    let desk = Desk::with_archive();
    let bytes = desk.read("example.iso");
    for offset in [16 * SECTOR + 200, bytes.len() as u64 - 1] {
        desk.write("example.iso", &bytes);
        flip(&desk, offset);
        let report = desk.assert_refused(&["container.metadata"], &["treat it as tampering"]);
        assert_eq!(report["findings"][0]["place"], format!("byte {offset}"));
    }
}

#[test]
fn flipped_bits_in_data() {
    let desk = Desk::with_archive();
    flip(&desk, find(&desk, b"kind: CustomResourceDefinition"));
    let words = ["signed: damaged or altered", "treat it as tampering"];
    desk.assert_refused(&["integrity.damaged"], &words);
    let answer = desk.solution(&["validate", "example.iso", "--key", "publisher.pub"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    assert_eq!(answer.stdout.lines().last(), Some("refused: example 1.0.0"));
    let crd = "operator/deploy/crds/versionservers_crd.yaml";
    let start = format!("error[integrity.damaged]: {crd}: is not what key ");
    assert!(answer.stderr.starts_with(&start), "{answer:?}");
    let hint = "\n  hint: copy the archive again from the source; if it fails again, treat it as tampering\n";
    assert!(answer.stderr.ends_with(hint), "{answer:?}");
}

#[test]
fn a_list_that_is_not_the_signed_one() {
    let desk = Desk::with_archive();
    flip(&desk, CONTENTS + 5);
    desk.assert_refused(&["integrity.list"], &["CONTENTS", "treat it as tampering"]);
}

#[test]
fn envelopes_of_another_spelling() {
    let desk = Desk::with_archive();
    let bytes = desk.read("example.iso");
    let changes: [(&str, Change); 4] = [
        ("duplicate key", |text| {
            text.replacen('{', r#"{"payload":"","#, 1)
        }),
        ("spaces", |text| text.replacen(':', ": ", 1)),
        ("one signature twice", |text| {
            let (start, list) = text.split_once('[').unwrap();
            let one = list.strip_suffix("]}").unwrap();
            format!("{start}[{one},{one}]}}")
        }),
        ("empty", |_| String::new()),
    ];
    for (name, change) in changes {
        desk.write("example.iso", &bytes);
        change_envelope(&desk, change);
        let report = desk.assert_refused(&["signature.envelope"], &["byte 65536"]);
        assert_eq!(
            report["findings"][0]["place"], "statement.dsse.json",
            "{name}"
        );
    }
}

#[test]
fn a_statement_that_was_altered() {
    let desk = Desk::with_archive();
    // Change a base64 digit near the end of the payload, inside a digest.
    change_envelope(&desk, |text| {
        let at = text.find("\",\"payloadType").unwrap() - 40;
        let other = if text.as_bytes()[at] == b'A' {
            "B"
        } else {
            "A"
        };
        format!("{}{other}{}", &text[..at], &text[at + 1..])
    });
    desk.assert_refused(&["signature.invalid"], &["altered after signing"]);
}

#[test]
fn a_large_envelope_is_never_read_whole() {
    // The statement is replaced by a gigabyte. Only 64 KiB of it are read.
    let desk = Desk::with_archive();
    let file = OpenOptions::new()
        .write(true)
        .open(desk.path("example.iso"))
        .unwrap();
    file.set_len(1 << 30).unwrap();
    for offset in [ENVELOPE, CONTENTS] {
        file.write_all_at(&[b' '; 4096], offset).unwrap();
    }
    desk.assert_refused(&["signature.envelope"], &["byte 65536"]);
}

#[test]
fn keys_that_do_not_count() {
    let desk = Desk::with_archive();
    desk.solution(&["keygen", "other"]).success();
    let wrong = desk.report(&["--key", "other.pub"], 1);
    assert_eq!(wrong["findings"][0]["id"], "signature.untrusted");
    let message = wrong["findings"][0]["message"].as_str().unwrap();
    assert!(
        message.starts_with("signed by key ") && message.ends_with(", which is not trusted"),
        "{message}"
    );
    let few = desk.report(
        &[
            "--key",
            "other.pub",
            "--key",
            "publisher.pub",
            "--threshold",
            "2",
        ],
        1,
    );
    assert_eq!(few["findings"][0]["id"], "signature.threshold");
    let message = few["findings"][0]["message"].as_str().unwrap();
    assert!(message.contains("1 of 2 trusted keys"), "{message}");
}

#[test]
fn keys_that_are_given_wrongly() {
    let desk = Desk::with_archive();
    desk.solution(&["keygen", "other"]).success();
    let refused = |arguments: &[&str], code: i32, words: &[&str]| {
        let text = desk
            .solution(&[&["validate", "example.iso"], arguments].concat())
            .failure(code);
        for word in words {
            assert!(text.contains(word), "`{word}` is not in: {text}");
        }
    };
    let pub_key = ["--key", "publisher.pub"];
    let twice = [pub_key, pub_key].concat();
    refused(
        &[&twice[..], &["--threshold", "2"]].concat(),
        2,
        &["is given twice", "each key once"],
    );
    refused(
        &["--key", "other.pub", "--key", "publisher.pub"],
        2,
        &["2 keys are trusted", "`--threshold`"],
    );
    refused(
        &["--key", "publisher.pub", "--threshold", "2"],
        2,
        &["2 signatures", "`--threshold`"],
    );
    refused(
        &["--key", "publisher.pub", "--threshold", "0"],
        2,
        &["--threshold"],
    );
    refused(
        &["--key", "publisher.key"],
        1,
        &["`publisher.key`", "this is a secret key", "openssl pkey"],
    );
    refused(&["--key", "example.iso"], 3, &["`example.iso`"]);
    refused(
        &["--key", "publisher.pub", "--skip-signature"],
        2,
        &["--skip-signature"],
    );
}
