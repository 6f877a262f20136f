//! What the errors of login files and credential helpers come to.

use std::io;

use files::ownership::OwnershipError;
use registry::CredentialsError;

use super::{Answer, Failure, Judge, no, unknown};

const EXPOSED: &str = "remove write access for other users (`chown`, `chmod go-w`), or name another file with `--authfile`: every user with write access there can read or replace your logins";
const CORRECT: &str =
    "correct the file, or name another one with `--authfile`: nothing was changed";
const HELPER: &str = "check the credential helper by itself, or remove it from `credHelpers` or `credsStore` of the login file";

impl Judge for CredentialsError {
    fn answer(&self) -> Answer {
        match self {
            Self::TooLong | Self::Malformed { .. } | Self::Entry { .. } | Self::HelperName(_) => {
                no(CORRECT)
            }
            Self::HelperPath { .. } => {
                no("log in to the registry as a whole, or name another file with `--authfile`")
            }
            Self::Helper { .. }
            | Self::HelperSlow { .. }
            | Self::HelperAnswer { .. }
            | Self::HelperRefused { .. } => unknown(HELPER),
        }
    }
}

/// A login file cannot be read, or is not to be changed.
pub(crate) fn logins(error: anyhow::Error) -> Failure {
    if let Some(answer) = error.downcast_ref().map(CredentialsError::answer) {
        return Failure::judged(answer, error);
    }
    let exposed = matches!(
        error.downcast_ref(),
        Some(OwnershipError::Exposed { .. } | OwnershipError::Dangling(_))
    );
    let failure = match error.downcast_ref::<io::Error>() {
        Some(_) => Failure::unknown(error),
        None => Failure::no(error),
    };
    failure.hint(if exposed { EXPOSED } else { CORRECT })
}
