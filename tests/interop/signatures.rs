//! Signatures are made and checked with OpenSSL alone, by the very lines of `README.txt` and of docs/reference/format.md.

use std::fs;
use std::path::Path;

use crate::judged::{ARCHIVE, FORMAT, Judged, STATEMENT, ask, must, text};

/// The lines of docs/reference/format.md in the block below a heading.
fn block(heading: &str) -> String {
    let start = FORMAT
        .find(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("docs/reference/format.md has no `{heading}`"));
    let (_, block) = FORMAT[start..].split_once("```sh\n").unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

/// The lines of `README.txt` by which an archive is checked without the program.
fn readme(root: &Path) -> String {
    let readme = fs::read_to_string(root.join("README.txt")).unwrap();
    let (_, lines) = readme
        .split_once("\nVerify the archive without that program")
        .unwrap();
    let (lines, _) = lines
        .split_once("\nIf there are multiple signatures")
        .unwrap();
    let lines: Vec<&str> = lines
        .lines()
        .filter(|line| line.starts_with("  "))
        .collect();
    assert_eq!(lines.len(), 7, "{lines:?}");
    lines.join("\n")
}

/// Runs lines where only the archive, its tree and a public key are; the tree is mounted at `/mnt` in the lines.
fn accepts(judged: &Judged, lines: &str, public: &str) -> bool {
    let work = tempfile::tempdir().unwrap();
    fs::copy(judged.desk.path(ARCHIVE), work.path().join("example.iso")).unwrap();
    fs::copy(judged.desk.path(public), work.path().join("publisher.pub")).unwrap();
    let root = judged.desk.path("mounted");
    let script = lines.replace("/mnt", root.to_str().unwrap());
    must(work.path(), "openssl", &["version"]);
    let verdict = ask(work.path(), "sh", &["-e", "-c", &script]);
    if verdict.good {
        let id = text(work.path(), "sha256sum", &["payload"]);
        let shown = judged
            .desk
            .solution(&["inspect", ARCHIVE, "--output", "json"])
            .json();
        assert_eq!(shown["archiveId"], format!("sha256:{}", &id[..64]));
    }
    verdict.good
}

fn alter(root: &Path, path: &str, from: &str, to: &str) {
    let text = fs::read_to_string(root.join(path)).unwrap();
    assert!(text.contains(from), "{path}");
    fs::write(root.join(path), text.replacen(from, to, 1)).unwrap();
}

/// Replaces the line of a file in `SHA256SUMS` by one that fits.
fn cover_up(root: &Path, path: &str) {
    let sums = fs::read_to_string(root.join("SHA256SUMS")).unwrap();
    let line = sums
        .lines()
        .find(|line| line.ends_with(&format!("  {path}")))
        .unwrap();
    let altered = text(root, "sha256sum", &[path]);
    alter(root, "SHA256SUMS", &format!("{line}\n"), &altered);
}

#[test]
fn the_lines_of_readme_and_format_accept_archives_and_no_other_key() {
    for judged in Judged::all() {
        let root = judged.unpacked();
        judged.desk.solution(&["keygen", "stranger"]).success();
        for lines in [readme(&root), block("## 12. Verify manually")] {
            assert!(accepts(&judged, &lines, "publisher.pub"), "{lines}");
            assert!(!accepts(&judged, &lines, "stranger.pub"), "{lines}");
        }
    }
}

#[test]
fn the_lines_refuse_what_was_altered() {
    let judged = Judged::example();
    let root = judged.unpacked();
    let ways = [readme(&root), block("## 12. Verify manually")];
    let refused = |why: &str| {
        for lines in &ways {
            assert!(!accepts(&judged, lines, "publisher.pub"), "{why}: {lines}");
        }
    };
    alter(
        &root,
        "manifest.yaml",
        "kind: 'Solution'",
        "kind: 'solution'",
    );
    refused("an altered file");
    cover_up(&root, "manifest.yaml");
    refused("an altered list");
    alter(
        &root,
        "manifest.yaml",
        "kind: 'solution'",
        "kind: 'Solution'",
    );
    cover_up(&root, "manifest.yaml");
    assert!(accepts(&judged, &ways[0], "publisher.pub"), "not as it was");
    fs::write(root.join("evil.yaml"), "kind: Evil\n").unwrap();
    assert!(
        !accepts(&judged, &ways[1], "publisher.pub"),
        "an unlisted file"
    );
    // README.txt says that sha256sum does not notice that.
    assert!(accepts(&judged, &ways[0], "publisher.pub"));
}

#[test]
fn counter_signatures_are_checked_one_by_one() {
    let judged = Judged::example();
    let before = judged.desk.read(ARCHIVE);
    judged.desk.solution(&["keygen", "reviewer"]).success();
    judged
        .desk
        .solution(&["sign", ARCHIVE, "--key", "reviewer.key"])
        .success();
    let after = judged.desk.read(ARCHIVE);
    assert!(
        before[..STATEMENT.start] == after[..STATEMENT.start],
        "bytes before the statement"
    );
    assert!(
        before[STATEMENT.end..] == after[STATEMENT.end..],
        "bytes behind the statement"
    );
    assert!(before != after);
    let root = judged.unpacked();
    let readme = readme(&root);
    // As README.txt says: each line in place of the first.
    let accepted_by = |key: &str| -> Vec<usize> {
        let nth = |n: &usize| readme.replace("head -n 1", &format!("sed -n {n}p"));
        (1..=2).filter(|n| accepts(&judged, &nth(n), key)).collect()
    };
    let (publisher, reviewer) = (accepted_by("publisher.pub"), accepted_by("reviewer.pub"));
    assert_eq!(publisher.len(), 1);
    assert_eq!(reviewer.len(), 1);
    assert_ne!(publisher, reviewer);
    // The lines of docs/reference/format.md find the signature of a key by the key's id.
    let format = block("## 12. Verify manually");
    for key in ["publisher.pub", "reviewer.pub"] {
        assert!(accepts(&judged, &format, key), "{key}");
    }
}

/// Ed25519 has one signature for a key and a message, and an envelope one spelling.
#[test]
fn openssl_and_coreutils_make_the_same_envelope() {
    for judged in Judged::all() {
        let lines = block("### A signature by another program")
            .replace("example.iso", ARCHIVE)
            .replace("hsm.pem", "publisher.key");
        must(&judged.directory(), "sh", &["-e", "-c", &lines]);
        let made = judged.desk.read(&format!("{ARCHIVE}.dsse.json"));
        assert!(
            made == judged.desk.read(ARCHIVE)[STATEMENT],
            "the envelopes differ"
        );
    }
}

#[test]
fn a_signature_by_openssl_beside_the_archive_counts() {
    let judged = Judged::example();
    let directory = judged.directory();
    must(
        &directory,
        "openssl",
        &["genpkey", "-algorithm", "ed25519", "-out", "hsm.pem"],
    );
    must(
        &directory,
        "openssl",
        &["pkey", "-in", "hsm.pem", "-pubout", "-out", "hsm.pub"],
    );
    let lines = block("### A signature by another program").replace("example.iso", ARCHIVE);
    must(&directory, "sh", &["-e", "-c", &lines]);
    let both = [
        "validate",
        ARCHIVE,
        "--key",
        "publisher.pub",
        "--key",
        "hsm.pub",
        "--threshold",
        "2",
    ];
    judged.desk.solution(&both).success();
    let beside = format!("{ARCHIVE}.dsse.json");
    let mut bytes = judged.desk.read(&beside);
    assert_eq!(bytes.len(), 65_536);
    // Any other spelling is refused: here the line feed goes from the end to the front.
    bytes.rotate_right(1);
    judged.desk.write(&beside, bytes);
    judged.desk.solution(&both).failure(1);
}
