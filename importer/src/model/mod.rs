//! The types that all other folders share: requests, the layers of a configuration, events, errors and blockers. They
//! describe a change and do not read or write a cluster.

pub(crate) mod blocker;
pub(crate) mod differences;
pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod layer;
pub(crate) mod parameters;
pub(crate) mod renderings;
pub(crate) mod request;
pub(crate) mod writer;
