//! What the errors of keys and of trust in them come to.

use std::path::Path;

use signing::{KeyError, PolicyError, TrustError};

use super::{Answer, Failure, Judge, Outcome, UNKNOWN, no};

fn usage(hint: &'static str) -> Answer {
    Answer(Outcome::Usage, Some(hint))
}

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

impl Judge for TrustError {
    fn answer(&self) -> Answer {
        match self {
            Self::Empty | Self::Repeated(_) => usage("give each key once with `--key`"),
            Self::ThresholdMissing { .. } | Self::ThresholdTooHigh { .. } => {
                usage("set how many of the keys must have signed with `--threshold`")
            }
        }
    }
}

impl Judge for PolicyError {
    /// Of a policy that is about to be written.
    fn answer(&self) -> Answer {
        match self {
            Self::Trust { source, .. } => source.answer(),
            Self::Key { .. }
            | Self::Count { .. }
            | Self::Policies(_)
            | Self::Name(_)
            | Self::Pattern { .. } => usage("nothing was changed"),
        }
    }
}

/// Nobody's signature can be trusted, where no key is given and no policy stands.
pub(crate) fn nobody_trusted() -> Failure {
    Failure::usage("no key is given or trusted on this machine, so no signature can be trusted")
        .hint("give the publisher's key with `--key`, or trust it with `solution trust add`; `validate --skip-signature` checks everything else")
}
