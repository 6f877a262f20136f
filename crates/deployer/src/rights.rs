//! Whether we may do what will be needed.

pub(crate) mod access;
pub(crate) mod grants;
pub(crate) mod rules;
