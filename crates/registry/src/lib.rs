//! A client of the OCI distribution protocol. It verifies all content in transit:
//!
//! - A push reads the source once, hashes every byte, and withholds the end of each blob until its digest matches.
//! - A pull resumes interrupted downloads and accepts a blob only after its digest matches.
//!
//! The crate also accesses container engines and single files of web sites, because their content arrives over HTTP as
//! well.
//!
//! It knows registries, repositories, blobs and manifests. It must not depend on archives or Kubernetes, and it reads
//! no environment variables: the caller passes logins and certificates as bytes.
//!
//! Start with `push.rs`, then read `upload.rs` for the upload of one blob. `transport.rs` handles logins and redirects.

mod activity;
mod address;
mod answer;
mod auth;
mod aws;
mod blobs;
mod buffers;
mod challenge;
mod client;
mod concurrent;
mod credentials;
mod ecr;
mod engine;
mod error;
mod events;
mod failure;
mod hash_sink;
mod helper;
mod identity;
mod job;
mod journal;
mod json;
mod known_content;
pub mod limits;
mod lists;
mod login_document;
mod logins;
mod manifests;
mod open_upload;
mod origin;
mod pace;
mod probe;
mod pull;
mod push;
mod push_manifests;
mod questions;
mod referrers;
mod retry;
#[cfg(test)]
mod scripted;
mod sent_bytes;
mod session;
mod site;
mod source;
mod survey;
mod tls;
mod transport;
mod turns;
mod upload;
mod upload_requests;
mod verify;
mod wire;
mod writer;

pub use ::tls::{ExpiryError, IdentityError};
pub use address::{
    AddressError, DOCKER_HUB, ImageLocation, Reference, RegistryAddress, RepositoryPath,
};
pub use aws::{EcrApi, EcrEndpoint, EndpointError};
pub use client::{Client, ClientOptions, PartSizes, PlainHttp, Proxies};
pub use credentials::{Credentials, CredentialsError, Secret, Username, UsernameError};
pub use engine::{Engine, EngineError, EngineImage};
pub use error::{Cause, Error, Operation, Refusal};
pub use events::{BlobArrival, Event, ManifestArrival};
pub use hash_sink::HashSink;
pub use identity::ClientIdentity;
pub use job::{
    BlobCount, BlobPush, FailedBlob, ManifestOutcome, ManifestPush, PushJob, PushReport,
};
pub use journal::UploadJournal;
pub use known_content::KnownContent;
pub use login_document::{LoginDocument, LoginKeeper};
pub use logins::Logins;
pub use manifests::{ManifestDeletion, RegistryManifest};
pub use pace::LeastRate;
pub use probe::{Abilities, Ability, BodyLimit, Chunks, PushProbe, Space};
pub use pull::{BlobPull, BlobSink, FailedPull, OpenSink, SinkRefusal, pull};
pub use push::push;
pub use retry::{Attempts, RetryPolicy};
pub use sent_bytes::SentBytes;
pub use site::{SiteAddress, WebSite};
pub use source::BlobContent;
pub use tls::{AuthorityError, CertificateAuthority};
pub use verify::{Fault, FaultyContent, VerifyReport, verify};
