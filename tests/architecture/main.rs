//! Tests of the rules in docs/development/architecture.md and CONTRIBUTING.md against the sources.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod arguments;
mod commands;
mod modules;
mod packages;
mod source;

use std::fs;
use std::path::Path;

#[test]
fn a_change_is_decided_without_asking_a_cluster() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/planner/src");
    for file in fs::read_dir(source).unwrap() {
        let path = file.unwrap().path();
        let text = source::read(&path.with_extension(""));
        for word in ["async", "await", "Cluster"] {
            let found = text.split_whitespace().any(|candidate| candidate == word);
            assert!(!found, "`{word}` in {}", path.display());
        }
    }
}
