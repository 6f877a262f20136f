//! Signatures are created and verified with OpenSSL alone, with the commands of `README.txt` and of
//! docs/reference/format.md.

use std::fs;
use std::path::Path;

use crate::tools::{
    ARCHIVE, FORMAT, PackedArchive, STATEMENT, run_tool, run_tool_for_text, try_tool,
};

/// Returns the commands of docs/reference/format.md in the block below a heading.
fn block(heading: &str) -> String {
    let start = FORMAT
        .find(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("docs/reference/format.md has no `{heading}`"));
    let (_, block) = FORMAT[start..].split_once("```sh\n").unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

/// Returns the commands of `README.txt` that verify an archive without the program.
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

/// Runs commands with only the archive, its tree and a public key, and returns whether they succeed. The commands mount
/// the tree at `/mnt`.
fn succeeds_with(packed: &PackedArchive, lines: &str, public: &str) -> bool {
    let work = tempfile::tempdir().unwrap();
    fs::copy(packed.desk.path(ARCHIVE), work.path().join("example.iso")).unwrap();
    fs::copy(packed.desk.path(public), work.path().join("publisher.pub")).unwrap();
    let root = packed.desk.path("mounted");
    let script = lines.replace("/mnt", root.to_str().unwrap());
    run_tool(work.path(), "openssl", &["version"]);
    let output = try_tool(work.path(), "sh", &["-e", "-c", &script]);
    if output.good {
        let id = run_tool_for_text(work.path(), "sha256sum", &["payload"]);
        let shown = packed
            .desk
            .solution(&["inspect", ARCHIVE, "--output", "json"])
            .json();
        assert_eq!(shown["archiveId"], format!("sha256:{}", &id[..64]));
    }
    output.good
}

fn alter(root: &Path, path: &str, from: &str, to: &str) {
    let text = fs::read_to_string(root.join(path)).unwrap();
    assert!(text.contains(from), "{path}");
    fs::write(root.join(path), text.replacen(from, to, 1)).unwrap();
}

/// Replaces the line of a changed file in `SHA256SUMS` by its new checksum.
fn fix_checksum(root: &Path, path: &str) {
    let sums = fs::read_to_string(root.join("SHA256SUMS")).unwrap();
    let line = sums
        .lines()
        .find(|line| line.ends_with(&format!("  {path}")))
        .unwrap();
    let altered = run_tool_for_text(root, "sha256sum", &[path]);
    alter(root, "SHA256SUMS", &format!("{line}\n"), &altered);
}

#[test]
fn the_lines_of_readme_and_format_accept_archives_and_no_other_key() {
    for packed in PackedArchive::all() {
        let root = packed.unpacked();
        packed.desk.solution(&["keygen", "stranger"]).success();
        for lines in [readme(&root), block("## 12. Verify manually")] {
            assert!(succeeds_with(&packed, &lines, "publisher.pub"), "{lines}");
            assert!(!succeeds_with(&packed, &lines, "stranger.pub"), "{lines}");
        }
    }
}

#[test]
fn the_lines_refuse_what_was_altered() {
    let packed = PackedArchive::example();
    let root = packed.unpacked();
    let ways = [readme(&root), block("## 12. Verify manually")];
    let refused = |why: &str| {
        for lines in &ways {
            assert!(
                !succeeds_with(&packed, lines, "publisher.pub"),
                "{why}: {lines}"
            );
        }
    };
    alter(
        &root,
        "manifest.yaml",
        "kind: 'Solution'",
        "kind: 'solution'",
    );
    refused("an altered file");
    fix_checksum(&root, "manifest.yaml");
    refused("an altered list");
    alter(
        &root,
        "manifest.yaml",
        "kind: 'solution'",
        "kind: 'Solution'",
    );
    fix_checksum(&root, "manifest.yaml");
    assert!(
        succeeds_with(&packed, &ways[0], "publisher.pub"),
        "not as it was"
    );
    fs::write(root.join("evil.yaml"), "kind: Evil\n").unwrap();
    assert!(
        !succeeds_with(&packed, &ways[1], "publisher.pub"),
        "an unlisted file"
    );
    // README.txt documents that sha256sum does not detect this.
    assert!(succeeds_with(&packed, &ways[0], "publisher.pub"));
}

#[test]
fn counter_signatures_are_checked_one_by_one() {
    let packed = PackedArchive::example();
    let before = packed.desk.read(ARCHIVE);
    packed.desk.solution(&["keygen", "reviewer"]).success();
    packed
        .desk
        .solution(&["sign", ARCHIVE, "--key", "reviewer.key"])
        .success();
    let after = packed.desk.read(ARCHIVE);
    assert!(
        before[..STATEMENT.start] == after[..STATEMENT.start],
        "bytes before the statement"
    );
    assert!(
        before[STATEMENT.end..] == after[STATEMENT.end..],
        "bytes behind the statement"
    );
    assert!(before != after);
    let root = packed.unpacked();
    let readme = readme(&root);
    // README.txt says to try each signature line in place of the first one.
    let accepted_by = |key: &str| -> Vec<usize> {
        let nth = |n: &usize| readme.replace("head -n 1", &format!("sed -n {n}p"));
        (1..=2)
            .filter(|n| succeeds_with(&packed, &nth(n), key))
            .collect()
    };
    let (publisher, reviewer) = (accepted_by("publisher.pub"), accepted_by("reviewer.pub"));
    assert_eq!(publisher.len(), 1);
    assert_eq!(reviewer.len(), 1);
    assert_ne!(publisher, reviewer);
    // The commands of docs/reference/format.md find a key's signature by the key's id.
    let format = block("## 12. Verify manually");
    for key in ["publisher.pub", "reviewer.pub"] {
        assert!(succeeds_with(&packed, &format, key), "{key}");
    }
}

/// Ed25519 has one signature for a key and a message, and an envelope has one spelling.
#[test]
fn openssl_and_coreutils_make_the_same_envelope() {
    for packed in PackedArchive::all() {
        let lines = block("### A signature by another program")
            .replace("example.iso", ARCHIVE)
            .replace("hsm.pem", "publisher.key");
        run_tool(&packed.directory(), "sh", &["-e", "-c", &lines]);
        let made = packed.desk.read(&format!("{ARCHIVE}.dsse.json"));
        assert!(
            made == packed.desk.read(ARCHIVE)[STATEMENT],
            "the envelopes differ"
        );
    }
}

#[test]
fn a_signature_by_openssl_beside_the_archive_counts() {
    let packed = PackedArchive::example();
    let directory = packed.directory();
    run_tool(
        &directory,
        "openssl",
        &["genpkey", "-algorithm", "ed25519", "-out", "hsm.pem"],
    );
    run_tool(
        &directory,
        "openssl",
        &["pkey", "-in", "hsm.pem", "-pubout", "-out", "hsm.pub"],
    );
    let lines = block("### A signature by another program").replace("example.iso", ARCHIVE);
    run_tool(&directory, "sh", &["-e", "-c", &lines]);
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
    packed.desk.solution(&both).success();
    let beside = format!("{ARCHIVE}.dsse.json");
    let mut bytes = packed.desk.read(&beside);
    assert_eq!(bytes.len(), 65_536);
    // Any other spelling is refused: here the line feed moves from the end to the front.
    bytes.rotate_right(1);
    packed.desk.write(&beside, bytes);
    packed.desk.solution(&both).failure(1);
}
