//! What can be wrong with a key.

use crate::limits;

/// The reason why a text is not a key, or none can be made.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Larger than [`limits::PEM_SIZE`].
    #[error("a key file of {0} bytes is too large; at most {max} are read", max = limits::PEM_SIZE)]
    Size(usize),
    /// No PEM at all, or more than one block of it.
    #[error("the key is not one PEM block (`-----BEGIN … KEY-----`)")]
    NotPem,
    /// Encrypted, and read without a passphrase.
    #[error("the secret key is encrypted, and needs its passphrase")]
    Encrypted,
    /// Encrypted in a way that is not supported.
    #[error(
        "the secret key is encrypted with {0}; only PBES2 with PBKDF2 (SHA-2) or scrypt, and AES, is supported"
    )]
    Encryption(String),
    /// The key derivation costs more than [`limits::PBKDF2_ITERATIONS`], [`limits::SCRYPT_MEMORY`] or
    /// [`limits::SCRYPT_WORK`].
    #[error(
        "decrypting the secret key would take more time or memory than any legitimate key needs"
    )]
    Work,
    /// The passphrase is not that of the key, or the key is damaged.
    #[error("the passphrase does not decrypt the secret key")]
    Passphrase,
    /// Nothing is protected by nothing.
    #[error("the passphrase is empty")]
    PassphraseEmpty,
    /// Longer than [`limits::PASSPHRASE`].
    #[error("the passphrase has more than {max} bytes", max = limits::PASSPHRASE)]
    PassphraseSize,
    /// A public key in place of a secret one.
    #[error("this is a public key; a secret key is needed here")]
    SecretExpected,
    /// A secret key in place of a public one.
    #[error(
        "this is a secret key; a public key is needed here: `openssl pkey -in KEY -pubout -out PUBLIC-KEY`"
    )]
    PublicExpected,
    /// PEM of something else.
    #[error("`{0}` is not the kind of key that `openssl genpkey -algorithm ed25519` makes")]
    Label(String),
    /// Another algorithm.
    #[error("the key is of algorithm {0}; only Ed25519 is supported")]
    Algorithm(String),
    /// Not the encoding that its label promises.
    #[error("the key is malformed")]
    Malformed,
    /// A public key for which signatures can be made without its secret.
    #[error("the public key is weak (a point of small order, or not in canonical form)")]
    Weak,
    /// The system has no random numbers.
    #[error("cannot get random numbers for a key")]
    Random(#[source] getrandom::Error),
}
