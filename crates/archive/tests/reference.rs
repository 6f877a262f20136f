//! A comparison with a second implementation of format 1, which was written from the specification alone. From the same
//! input both must produce the same archive, byte for byte: derived files, lists, order, statement, signatures, image.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

mod common;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::cases::{Case, cases};
use common::digest;
use serde_json::json;

/// The publisher's input in the form that the script reads.
fn description(case: &Case) -> String {
    let info = &case.info;
    let images = case.images.iter().map(
        |image| json!({"place": image.place, "ref": image.reference, "root": image.root.digest.hex()}),
    );
    let files = case
        .own
        .iter()
        .map(|(path, bytes)| json!({"path": path, "sha256": digest(bytes).hex()}));
    json!({
        "name": info.id.name(),
        "version": info.id.version(),
        "time": info.time,
        "upgradeFrom": info.upgrade_from,
        "expires": info.expires,
        "requires": info.requires,
        "optional": info.optional,
        "images": images.collect::<Vec<_>>(),
        "files": files.collect::<Vec<_>>(),
    })
    .to_string()
}

/// Writes the contents under their SHA-256, and the keys. Returns the paths of the keys.
fn write_inputs(case: &Case, directory: &Path) -> Vec<PathBuf> {
    let own = case.own.iter().map(|(_, bytes)| bytes);
    for bytes in own.chain(case.contents.values()) {
        fs::write(directory.join(digest(bytes).hex()), bytes).unwrap();
    }
    let keys = case.keys.iter().enumerate();
    keys.map(|(number, pem)| {
        let path = directory.join(format!("{number}.key"));
        fs::write(&path, pem).unwrap();
        path
    })
    .collect()
}

fn write(case: &Case) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let keys = write_inputs(case, directory.path());
    let input = directory.path().join("description");
    fs::write(&input, description(case)).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference.py");
    let output = Command::new("python3")
        .arg(script)
        .arg(directory.path())
        .args(keys)
        .stdin(File::open(input).unwrap())
        .stderr(Stdio::inherit())
        .output()
        .unwrap_or_else(|error| panic!("cannot run python3: {error} (install package python3)"));
    assert!(output.status.success(), "{}", case.info.id);
    output.stdout
}

#[test]
fn the_archives_are_those_of_the_description() {
    for case in cases() {
        let found = digest(&write(&case)).hex();
        assert_eq!(found, case.sha256, "{}: {}", case.info.id, case.reason);
    }
}
