//! Keys, signatures and the threshold rule: Ed25519 over DSSE's pre-authentication encoding.
//!
//! The only crate that depends on a signature algorithm. It knows which keys count for which Solution, and how many
//! must have signed. It must not know paths, images or archives, and reads no files: keys come as the PEM text that
//! `openssl genpkey -algorithm ed25519` makes, encrypted ones with their passphrase.
//!
//! The algorithm of a signature follows from the public key (its `SubjectPublicKeyInfo`), never from the envelope, so
//! another algorithm can be added without a way to choose the weaker one.
//!
//! Open `trust.rs` first, which has the one rule.

mod encrypted;
mod error;
mod key;
pub mod limits;
mod policy;
mod sign;
mod trust;

pub use encrypted::Passphrase;
pub use error::KeyError;
pub use key::{PublicKey, SecretKey};
pub use policy::{Policies, Policy, PolicyError};
pub use sign::pre_authentication_encoding;
pub use trust::{Signers, Trust, TrustError, VerifyError, verify};
