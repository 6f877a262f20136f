//! The gate between Helm and a cluster, a proxy to the API server. Helm has no credentials: its kubeconfig names a
//! server on loopback that is part of this process, with a user name and password for this run alone.
//! [`GatePass::decide`] evaluates each request, and permitted ones are sent with the credentials of this process. The
//! gate closes when its value is dropped, and refuses writes once the Lease is lost. Therefore, a Helm process that
//! outlives this one cannot write anything.

mod discovery;
mod forward;
mod policy;
mod protobuf;
mod serve;
mod target;
mod wire;

pub(crate) use forward::{Note, Writing};
pub(crate) use policy::{GatePass, Lookups, Readable};
pub(crate) use serve::{Course, Gate};
pub(crate) use target::{Looked, ObjectPath};
