//! The proxy between Helm and the API server. Helm has no credentials: its kubeconfig names a server on loopback that
//! is part of this process, with a user name and password for this run alone. [`ProxyPolicy::decide`] evaluates each
//! request, and permitted ones are sent with the credentials of this process. The proxy closes when its value is
//! dropped, and refuses writes once the Lease is lost. Therefore, a Helm process that outlives this one cannot write
//! anything.

mod discovery;
mod forward;
mod policy;
mod protobuf;
mod serve;
mod target;
mod wire;

pub(crate) use self::forward::{Note, Writing};
pub(crate) use self::policy::{Lookups, ProxyPolicy, Readable};
pub(crate) use self::serve::{HelmProxy, RunState};
pub(crate) use self::target::{LookupTarget, ObjectPath};
