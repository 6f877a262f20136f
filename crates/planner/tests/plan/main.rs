//! Plans, and applying them to a site in memory.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod interrupted;
mod model;
mod releases;
mod tables;
