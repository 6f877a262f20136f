//! What the errors of login files and credential helpers come to.

use std::io;

use files::ownership::OwnershipError;
use registry::CredentialsError;

use super::{Answer, Failure, Judge, no, unknown};

const EXPOSED: &str = "whoever can write there can read or replace your logins: leave that to root and yourself (`chown`, `chmod go-w`), or name another file with `--authfile`";
const CORRECT: &str =
    "nothing was changed: correct the file, or name another one with `--authfile`";
const HELPER: &str = "the login file names it in `credHelpers` or `credsStore`: see whether it works by itself, or remove it there";

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
