//! What an attacker can do to a small signed archive: tens of thousands of mutations, none of which may be accepted, panic,
//! or take long or much memory; and forgeries made with care, each of which only one check can catch.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod forgeries;
mod image;
mod mutations;
mod subject;
mod variants;

#[path = "../validator/source.rs"]
#[expect(dead_code, reason = "the tests of findings use the rest")]
mod source;
