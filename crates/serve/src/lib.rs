//! A read-only OCI registry over files: the pull half of the distribution specification, over HTTP/1.1, of contents that
//! lie at known places of files that are open. Nothing is copied, and nothing is written.
//!
//! What is served is a [`Content`], put together from what archives bring ([`ServedArchive`]). This crate knows HTTP, TLS,
//! one login and metrics. It must not know how archives are opened and verified, which names their images get, nor
//! Kubernetes. Each of its files says which of a client's bytes it reads.
//!
//! The server speaks HTTP by itself, for two reasons (docs/decisions/0024): no request has a body, so that little of the
//! protocol is left; and only so the system can send files by itself, which libraries do not allow.
//!
//! Open `converse.rs` first: one connection from its first request to its end.

mod answer;
mod compare;
mod content;
mod converse;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod guests;
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
pub use server::{Server, Shelf};
pub use shared::{AccessRecord, Event, ReadMode, ServerListener, ServerOptions};
pub use tls::{Tls, TlsError, tls};
