//! `solution pack` with images from a real registry, with network faults, and from podman, and logins to a registry. If
//! a program is missing, the test fails with its name.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../../crates/registry/tests/docker_registry/server.rs"]
#[allow(dead_code, reason = "each test crate uses a part")]
mod server;

mod certificates;
mod charts;
mod configured;
mod ecr;
mod engine;
mod exports;
mod guide;
mod logins;
mod preflight;
mod prune;
mod readback;
mod referrers;
mod registries;
mod resuming;
mod serving;
mod setup;
mod shipped;
#[path = "../common/terminal.rs"]
mod terminal;
mod without_cluster;
