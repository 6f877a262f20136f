//! The gate between Helm and a cluster. Helm has no credentials: its kubeconfig names a server on loopback that is part of
//! this process, and a name and password of this run alone. What Helm asks there is judged by [`Passage::decide`], and what
//! may pass is sent over our own connection. The gate is there as long as its value: without this process, or once its
//! Lease is lost, a Helm that still runs can do nothing any more.

mod discovery;
mod forward;
mod policy;
mod serve;
mod target;
mod wire;

#[expect(unused_imports, reason = "changes go through it next")]
pub(crate) use forward::{Note, Writing};
#[expect(unused_imports, reason = "changes go through it next")]
pub(crate) use policy::{Lookup, Lookups, Passage, Planned};
pub(crate) use serve::{Course, Gate};
pub(crate) use target::Looked;
#[expect(unused_imports, reason = "changes go through it next")]
pub(crate) use target::Place;
