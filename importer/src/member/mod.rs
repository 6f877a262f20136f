//! The clusters of a fleet: the access to each (`identity`), its declared networks (`network`) and its other facts
//! (`facts`).

pub(crate) mod facts;
pub(crate) mod identity;
pub(crate) mod network;
