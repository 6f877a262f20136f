//! Foreign programs judge archives by `solution pack`: writer, reader and validator share code, so only others can say
//! that an archive is what ISO 9660, OCI and DSSE ask for. A missing program fails the test with its package's name.

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
mod foreign;
mod format;
mod helm;
mod images;
mod installed;
mod judged;
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
mod trees;
mod upstream;
mod yaml;
