//! The types that plans and changes are made of: requests, the records of a site, the owners of objects, and obstacles.

pub(crate) mod authority;
pub(crate) mod cleanup;
pub(crate) mod config_map;
pub(crate) mod destination;
#[cfg(test)]
pub(crate) mod earlier;
pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod evidence;
pub(crate) mod fleet;
pub(crate) mod inventory;
pub(crate) mod labelled;
pub(crate) mod layer;
pub(crate) mod look;
pub(crate) mod lookups;
pub(crate) mod namespace_record;
pub(crate) mod needed;
pub(crate) mod obstacle;
pub(crate) mod own;
pub(crate) mod parameters;
pub(crate) mod receipt;
pub(crate) mod receipts;
pub(crate) mod record;
pub(crate) mod renderings;
pub(crate) mod request;
pub(crate) mod sight;
pub(crate) mod signers;
pub(crate) mod site;
pub(crate) mod space;
pub(crate) mod state;
pub(crate) mod unmet;
pub(crate) mod unpulled;
pub(crate) mod uses;
pub(crate) mod verb;
pub(crate) mod workloads;
pub(crate) mod writer;
