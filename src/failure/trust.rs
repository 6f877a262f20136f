//! What the errors of trust come to: in keys that are given, and in the policies of this machine.

use std::io;
use std::path::Path;

use files::ownership::OwnershipError;
use signing::{PolicyError, TrustError};

use super::{Answer, Failure, Judge, Outcome};

const EXPOSED: &str = "remove write access for other users (`chown`, `chmod go-w`), or choose another directory with HOME or XDG_CONFIG_HOME: every user with write access there decides which keys are trusted";

fn usage(hint: &'static str) -> Answer {
    Answer(Outcome::Usage, Some(hint))
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
            | Self::Pattern { .. } => usage("correct the policy: nothing was changed"),
        }
    }
}

/// Nobody's signature can be trusted, where no key is given and no policy stands.
pub(crate) fn nobody_trusted() -> Failure {
    Failure::usage("cannot verify signatures: no public key is given, and this machine trusts none")
        .for_setup()
        .hint("pass the publisher's key with `--key`, or trust it with `solution trust add`; to check everything else, use `validate --skip-signature`")
}

/// A number of keys is given, and no keys.
pub(crate) fn no_keys() -> Failure {
    Failure::usage("cannot use `--threshold`: no public key is given or configured")
        .hint("pass the keys with `--key`; a policy in `solution trust list` has its own threshold")
}

/// A folder of policies cannot be read, or is not to be believed.
pub(crate) fn policies(error: anyhow::Error) -> Failure {
    let exposed = matches!(error.downcast_ref(), Some(OwnershipError::Exposed { .. }));
    let failure = match error.downcast_ref::<io::Error>() {
        Some(_) => Failure::unknown(error),
        None => Failure::no(error),
    };
    failure.hint(if exposed {
        EXPOSED
    } else {
        "correct or remove the policy: no key is trusted while a policy is invalid"
    })
}

/// Policies cannot stand beside each other.
pub(crate) fn together(error: PolicyError) -> Failure {
    Failure::no(error).hint("run `solution trust list` to see the files")
}

/// A policy without one of its keys would be none.
pub(crate) fn without_key(path: &Path, error: PolicyError) -> Failure {
    let context = format!(
        "without this key `{}` is not a valid policy",
        path.display()
    );
    let hint = "remove the whole policy by its name, or edit the file";
    Failure::no(error).context(context).hint(hint)
}
