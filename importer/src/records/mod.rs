//! The records of a site in its cluster: ConfigMaps with the imported versions, the environments, their deployments and
//! the receipts of all changes. Each file reads and writes one kind of record. [`state::ClusterState`] collects the
//! records that decisions depend on, and [`visibility`] reads what a user with few permissions may see.

pub(crate) mod cleanup;
pub(crate) mod dependencies;
#[cfg(test)]
pub(crate) mod earlier_formats;
pub(crate) mod history;
pub(crate) mod inventory;
pub(crate) mod namespace_record;
pub(crate) mod receipt;
pub(crate) mod receipts;
pub(crate) mod record;
pub(crate) mod site;
pub(crate) mod state;
pub(crate) mod storage;
pub(crate) mod visibility;
