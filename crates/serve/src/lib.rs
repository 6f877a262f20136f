//! A read-only OCI registry: it serves the pull part of the distribution specification over HTTP/1.1, directly from
//! ranges of open files. Nothing is copied or written.
//!
//! A [`Server`] serves a [`Content`], which combines the images of archives ([`ServedArchive`]). This crate knows HTTP,
//! TLS, a single login and metrics. It does not know how archives are opened and verified, the naming of their images,
//! or Kubernetes. Each file documents which bytes of a client it parses.
//!
//! The crate implements HTTP itself for two reasons (docs/decisions/0024). No request has a body, so only a small part
//! of the protocol is needed. And HTTP libraries do not support sending files with `sendfile`.
//!
//! Start with `connection.rs`, which handles a connection from its first request to its end.

mod answer;
mod compare;
mod connection;
mod connections;
mod content;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod head;
pub mod limits;
mod login;
mod metrics;
mod range;
mod respond;
mod route;
mod server;
mod shared;
mod tls;
mod wire;

pub use compare::BlobFault;
pub use content::{Conflict, Content, ServedArchive, ServedBlob, ServedImage};
pub use login::{LoginError, ReaderLogin};
pub use server::{Server, ServerHandle};
pub use shared::{AccessRecord, Event, ServerListener, ServerOptions};
pub use tls::{Tls, TlsError, tls};
