//! Changing what is there: trying and applying, writing what was decided about what was seen, and removing.

pub(crate) mod apply;
pub(crate) mod diff;
pub(crate) mod drift;
pub(crate) mod put;
pub(crate) mod remove;
pub(crate) mod rewrite;
