//! Independent tools check archives of `solution pack`. The project's writer, reader and validator share code, so only
//! other tools can show that an archive conforms to ISO 9660, OCI and DSSE. If a tool is missing, the test fails with
//! its package's name.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

mod alerts;
mod capabilities;
mod cat;
mod charts;
#[path = "../common/mod.rs"]
mod common;
mod console_solution;
mod foreign;
mod format;
mod helm;
mod images;
mod installed;
mod keys;
mod manifests;
mod packages;
mod reproducible;
mod sboms;
mod signatures;
mod signing;
#[path = "../common/stages.rs"]
mod stages;
#[path = "../common/terminal.rs"]
mod terminal;
mod tools;
mod trees;
mod upstream;
mod yaml;
