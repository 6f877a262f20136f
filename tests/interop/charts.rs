//! The Helm charts of an archive as another reader understands them, which was written from docs/reference/format-charts.md.

use crate::manifests::assert_read;

/// What another reader says that a site installs, of the archive in `tests/data`.
#[test]
fn another_reader_finds_the_artifacts_and_expands_the_values() {
    assert_read(
        "charts.py",
        include_bytes!("../data/charts-1.0.0/archive.iso.gz"),
        include_str!("../data/charts-1.0.0/expanded.json"),
    );
}
