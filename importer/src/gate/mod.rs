//! The gate between Helm and a cluster. Helm has no credentials: its kubeconfig names a server on loopback that is part of
//! this process, and a name and password of this run alone. What Helm asks there is judged by [`GatePass::decide`], and what
//! may pass is sent over our own connection. The gate is there as long as its value: without this process, or once its
//! Lease is lost, a Helm that still runs can do nothing any more.

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
