//! Writes to a cluster: apply and dry-run, conditional writes, and deletion.

pub(crate) mod apply;
pub(crate) mod diff;
pub(crate) mod drift;
pub(crate) mod put;
pub(crate) mod remove;
pub(crate) mod rewrite;
