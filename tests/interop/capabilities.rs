//! What an archive has beyond images, as another reader understands it, which was written from the pages of its capabilities.

use crate::manifests::assert_read;

/// What another reader says of the archive in `tests/data`.
#[test]
fn another_reader_finds_programs_referrers_template_and_needs() {
    assert_read(
        "capabilities.py",
        include_bytes!("../data/capabilities-1.0.0/archive.iso.gz"),
        include_str!("../data/capabilities-1.0.0/expanded.json"),
    );
}
