//! Keys, signatures and trust policies: Ed25519 over the pre-authentication encoding of DSSE.
//!
//! [`SecretKey`] signs, [`verify`] checks the signatures of an envelope against a [`Trust`], and [`Policies`] select
//! the trust for a Solution. This is the only crate that depends on a signature algorithm. It does not know paths,
//! images or archives, and it reads no files: keys are passed as the PEM text that `openssl genpkey -algorithm ed25519`
//! writes, encrypted keys together with their passphrase.
//!
//! The algorithm of a signature follows from the public key (its `SubjectPublicKeyInfo`) and never from the envelope.
//! Another algorithm can therefore be added without giving an attacker the choice of the weaker one.
//!
//! Start with `trust.rs`, which contains the rule for accepting signatures.

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
