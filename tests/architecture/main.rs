//! What docs/development/architecture.md draws and CONTRIBUTING.md asks for, compared with the sources.

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
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/change/src");
    for file in fs::read_dir(source).unwrap() {
        let path = file.unwrap().path();
        let text = source::read(&path.with_extension(""));
        for word in ["async", "await", "Cluster"] {
            let found = text.split_whitespace().any(|it| it == word);
            assert!(!found, "`{word}` in {}", path.display());
        }
    }
}
