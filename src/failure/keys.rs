//! What the errors of keys come to.

use std::path::Path;

use signing::KeyError;

use super::{Failure, UNKNOWN, no};

/// A key file is not one to sign with.
pub(crate) fn key(path: &Path, error: KeyError) -> Failure {
    let answer = match &error {
        KeyError::Passphrase => no(
            "check the key file with `openssl pkey -in KEY`: if the passphrase is right, the file is damaged",
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
            no("create one with `solution keygen` or `openssl genpkey -algorithm ed25519`")
        }
        KeyError::Random(_) => UNKNOWN,
    };
    Failure::judged(answer, error).context(format!("`{}` is not a signing key", path.display()))
}
