//! The clusters of a fleet: how each is reached, which one it is, and what is known of it.

pub(crate) mod facts;
pub(crate) mod identity;
pub(crate) mod network;
