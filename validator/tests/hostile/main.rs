//! Attacks on a small signed archive. The tests check tens of thousands of mutations, of which none may be accepted,
//! panic, or take much time or memory, and careful forgeries that only one check each can detect.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod forgeries;
mod image;
mod mutations;
mod seeds;
mod sets;
mod subject;
mod variants;

#[path = "../validator/source.rs"]
#[expect(dead_code, reason = "the tests of findings use the rest")]
mod source;

use std::collections::BTreeSet;

/// The table in the documentation lists exactly the existing forgeries.
#[test]
fn the_table_of_forgeries_is_complete() {
    let sources = [
        include_str!("forgeries/mod.rs"),
        include_str!("forgeries/around.rs"),
        include_str!("forgeries/descriptors.rs"),
        include_str!("forgeries/names.rs"),
        include_str!("forgeries/places.rs"),
        include_str!("forgeries/records.rs"),
        include_str!("forgeries/signatures.rs"),
    ];
    let tests = sources.concat();
    let tests: BTreeSet<&str> = tests
        .split("#[test]\nfn ")
        .skip(1)
        .map(|text| text.split('(').next().unwrap())
        .collect();
    let docs = include_str!("../../../docs/development/testing.md");
    let table = docs.split("| forgery | test |\n").nth(1).unwrap();
    let table = table.split("\n\n").next().unwrap();
    let named: BTreeSet<&str> = table.split('`').skip(1).step_by(2).collect();
    assert_eq!(named, tests);
}
