//! The Helm charts of an archive, read by an independent reader that was written from docs/reference/format-charts.md.

use crate::manifests::assert_read;

/// The independent reader returns the installed charts of the archive in `tests/data`.
#[test]
fn another_reader_finds_the_artifacts_and_expands_the_values() {
    assert_read(
        "charts.py",
        include_bytes!("../data/charts-1.0.0/archive.iso.gz"),
        include_str!("../data/charts-1.0.0/expanded.json"),
    );
}
