//! Debian's kernel mounts archives in an emulated machine, as a site's Linux machine does, and must show the signed
//! content. `tests/kernel/guest` builds the machine, `tests/kernel/boot` runs it.
//!
//! The kernel numbers files by their directory records. Files with the same content share a link count, but not a
//! number, so the tests do not compare numbers.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

#[path = "../common/mod.rs"]
mod common;
mod fuse;
mod large;
mod machine;
mod mounts;
#[allow(dead_code, reason = "this test needs a part of it")]
#[path = "../common/stages.rs"]
mod stages;
#[allow(dead_code, reason = "this test needs a part of it")]
#[path = "../interop/tools.rs"]
mod tools;
