//! The sets of objects of an archive as another reader expands them, which was written from docs/format-manifests.md.

use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::common::Desk;
use crate::judged::{ARCHIVE, must};

const READER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/manifests.py");

/// What another reader says that a site applies, of the archive in `tests/data`.
#[test]
fn another_reader_expands_the_objects_in_their_order() {
    let mut image = Vec::new();
    let archive = &include_bytes!("../data/manifests-0.1.0/archive.iso.gz")[..];
    GzDecoder::new(archive).read_to_end(&mut image).unwrap();
    let desk = Desk::new();
    desk.write(ARCHIVE, image);
    let arguments = [
        "-osirrox", "on", "-indev", ARCHIVE, "-extract", "/", "mounted",
    ];
    must(&desk.path(""), "xorriso", &arguments);
    must(&desk.path(""), "chmod", &["-R", "u+w", "mounted"]);
    let said = must(&desk.path(""), "python3", &[READER, "mounted"]);
    let said: Value = serde_json::from_slice(&said).unwrap();
    let expected: Value =
        serde_json::from_str(include_str!("../data/manifests-0.1.0/expanded.json")).unwrap();
    assert_eq!(said, expected);
}
