//! The decision of an import: which objects are written and removed, which effects need consent, and what blocks the
//! import. [`decision::Decision::make`] is the entry point. [`planner`] computes one deployment, and `rights` checks the
//! permissions of the user. Nothing in this folder writes to the cluster.

pub(crate) mod consent;
pub(crate) mod decision;
pub(crate) mod deployment;
mod planner;
pub(crate) mod prerequisites;
pub(crate) mod proof;
pub(crate) mod rights;
mod setting;
pub(crate) mod trial;
