//! What the errors of keys come to.

use std::path::Path;

use signing::KeyError;

use super::{Failure, UNKNOWN, no};

/// A key file is not one to sign with.
pub(crate) fn key(path: &Path, error: KeyError) -> Failure {
    let answer = match &error {
        KeyError::Passphrase => no(
            "if the passphrase is right, the key file is damaged: check it with `openssl pkey -in KEY`",
        ),
        KeyError::Encryption(_) | KeyError::Work => {
            no("encrypt it again: `openssl pkcs8 -topk8 -in KEY -out NEW-KEY`")
        }
        KeyError::Size(_)
        | KeyError::NotPem
        | KeyError::Encrypted
        | KeyError::PassphraseEmpty
        | KeyError::PassphraseSize
        | KeyError::SecretExpected
        | KeyError::PublicExpected
        | KeyError::Label(_)
        | KeyError::Algorithm(_)
        | KeyError::Malformed
        | KeyError::Weak => {
            no("make one with `solution keygen`, or with `openssl genpkey -algorithm ed25519`")
        }
        KeyError::Random(_) => UNKNOWN,
    };
    Failure::judged(answer, error)
        .context(format!("`{}` is not a key to sign with", path.display()))
}
