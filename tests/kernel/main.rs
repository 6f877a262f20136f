//! Debian's kernel mounts archives in an emulated machine, as the Linux machine of a site would: what it shows must be
//! what was signed. `tests/kernel/guest` makes the machine, `tests/kernel/boot` runs it.
//!
//! The kernel numbers files by their directory records, so files with one content have one link count and still a
//! number each: numbers are not compared.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

#[path = "../common/mod.rs"]
mod common;
mod fuse;
#[allow(dead_code, reason = "this test needs a part of it")]
#[path = "../interop/judged.rs"]
mod judged;
mod large;
mod machine;
mod mounts;
#[allow(dead_code, reason = "this test needs a part of it")]
#[path = "../common/stages.rs"]
mod stages;
