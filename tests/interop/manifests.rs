//! The manifest sets of an archive, expanded by an independent reader that was written from
//! docs/reference/format-manifests.md.

use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::common::Desk;
use crate::tools::{ARCHIVE, run_tool};

/// Runs a reader next to this file on an archive, and asserts its output.
pub(crate) fn assert_read(reader: &str, archive: &[u8], expected: &str) {
    let mut image = Vec::new();
    GzDecoder::new(archive).read_to_end(&mut image).unwrap();
    let desk = Desk::new();
    desk.write(ARCHIVE, image);
    let arguments = [
        "-osirrox", "on", "-indev", ARCHIVE, "-extract", "/", "mounted",
    ];
    run_tool(&desk.path(""), "xorriso", &arguments);
    run_tool(&desk.path(""), "chmod", &["-R", "u+w", "mounted"]);
    let reader = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/interop")
        .join(reader);
    let said = run_tool(
        &desk.path(""),
        "python3",
        &[reader.to_str().unwrap(), "mounted"],
    );
    let said: Value = serde_json::from_slice(&said).unwrap();
    let expected: Value = serde_json::from_str(expected).unwrap();
    assert_eq!(said, expected);
}

/// The independent reader returns the applied objects of the archive in `tests/data`.
#[test]
fn another_reader_expands_the_objects_in_their_order() {
    assert_read(
        "manifests.py",
        include_bytes!("../data/manifests-1.0.0/archive.iso.gz"),
        include_str!("../data/manifests-1.0.0/expanded.json"),
    );
}
