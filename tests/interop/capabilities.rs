//! The optional capabilities of an archive, read by an independent reader that was written from their documentation.

use crate::manifests::assert_read;

/// The independent reader finds the content of the archive in `tests/data`.
#[test]
fn another_reader_finds_programs_referrers_template_and_needs() {
    assert_read(
        "capabilities.py",
        include_bytes!("../data/capabilities-1.0.0/archive.iso.gz"),
        include_str!("../data/capabilities-1.0.0/expanded.json"),
    );
}
