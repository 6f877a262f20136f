//! The errors of reading and creating keys. Keys are PEM texts, which may be encrypted.

use crate::limits;

/// The reason why a text is not a usable key, or a key cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The key file is larger than [`limits::PEM_SIZE`].
    #[error("a key file of {0} bytes is too large; at most {max} are read", max = limits::PEM_SIZE)]
    Size(usize),
    /// The text has no PEM block, or more than one.
    #[error("the key is not one PEM block (`-----BEGIN … KEY-----`)")]
    NotPem,
    /// The key is encrypted, but no passphrase was given.
    #[error("the secret key is encrypted, and needs its passphrase")]
    Encrypted,
    /// The key is encrypted with an unsupported scheme.
    #[error(
        "the secret key is encrypted with {0}; only PBES2 with PBKDF2 (SHA-2) or scrypt, and AES, is supported"
    )]
    Encryption(String),
    /// The key derivation exceeds [`limits::PBKDF2_ITERATIONS`], [`limits::SCRYPT_MEMORY`] or [`limits::SCRYPT_WORK`].
    #[error(
        "decrypting the secret key would take more time or memory than any legitimate key needs"
    )]
    Work,
    /// The passphrase is not that of the key, or the key is damaged.
    #[error("the passphrase does not decrypt the secret key")]
    Passphrase,
    /// The passphrase is empty and would protect nothing.
    #[error("the passphrase is empty")]
    PassphraseEmpty,
    /// The passphrase is longer than [`limits::PASSPHRASE`].
    #[error("the passphrase has more than {max} bytes", max = limits::PASSPHRASE)]
    PassphraseSize,
    /// A public key where a secret key is expected.
    #[error("this is a public key; a secret key is needed here")]
    SecretExpected,
    /// A secret key where a public key is expected.
    #[error(
        "this is a secret key; a public key is needed here: `openssl pkey -in KEY -pubout -out PUBLIC-KEY`"
    )]
    PublicExpected,
    /// A PEM block of another kind.
    #[error("`{0}` is not the kind of key that `openssl genpkey -algorithm ed25519` makes")]
    Label(String),
    /// A key of another algorithm.
    #[error("the key is of algorithm {0}; only Ed25519 is supported")]
    Algorithm(String),
    /// The content does not have the encoding that its label names.
    #[error("the key is malformed")]
    Malformed,
    /// A public key for which signatures can be forged.
    #[error("the public key is weak (a point of small order, or not in canonical form)")]
    Weak,
    /// The operating system provides no random numbers.
    #[error("cannot get random numbers for a key")]
    Random(#[source] getrandom::Error),
}
