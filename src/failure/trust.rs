//! Outcomes and hints for errors of keys, certificates, logins and trust policies. A file that cannot be read has an
//! unknown outcome, and a rejected key or signature is a refusal.

use std::io;
use std::path::Path;

use files::owned::OwnedError;
use files::ownership::OwnershipError;
use registry::{AuthorityError, CredentialsError};
use signing::{KeyError, PolicyError, TrustError};
use sources::CertificatesError;

use super::{Answer, Failure, Judge, NO, Outcome, UNKNOWN, no, unknown};

/// Returns the failure for a file that is not a usable signing key.
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

const EXPOSED_CERTIFICATES: &str = "remove write access for other users (`chown`, `chmod go-w`), or name another directory with `--cert-dir`: every user with write access there can impersonate the registry";

const NO_CERTIFICATE: &str = "use a PEM file that begins with -----BEGIN CERTIFICATE-----";

impl Judge for AuthorityError {
    fn answer(&self) -> Answer {
        no(NO_CERTIFICATE)
    }
}

impl Judge for CertificatesError {
    fn answer(&self) -> Answer {
        match self {
            Self::Authority(error) => error.answer(),
            Self::Identity(_, source) => source.answer(),
            Self::Path(OwnershipError::Exposed { .. } | OwnershipError::Dangling(_))
            | Self::File(OwnedError::Exposed(_)) => no(EXPOSED_CERTIFICATES),
            Self::Path(OwnershipError::Io(..)) | Self::File(OwnedError::Io(..)) | Self::Io(..) => {
                UNKNOWN
            }
            Self::Several(_) => {
                no("keep one pair there, or name a directory with one pair with `--cert-dir`")
            }
            Self::Half(_) => no(
                "name a client certificate NAME.cert, its key NAME.key, and a certificate authority NAME.crt",
            ),
            Self::Missing(_) => {
                no("pass the directory that directly contains the files to `--cert-dir`")
            }
            Self::Path(OwnershipError::Links(_) | OwnershipError::NotADirectory(_))
            | Self::File(OwnedError::Link(_) | OwnedError::Kind(_) | OwnedError::Size { .. })
            | Self::Many(_) => NO,
        }
    }
}

const EXPOSED_LOGINS: &str = "remove write access for other users (`chown`, `chmod go-w`), or name another file with `--authfile`: every user with write access there can read or replace your logins";
const CORRECT: &str =
    "correct the file, or name another one with `--authfile`: nothing was changed";
const HELPER: &str = "check the credential helper by itself, or remove it from `credHelpers` or `credsStore` of the login file";

impl Judge for CredentialsError {
    fn answer(&self) -> Answer {
        match self {
            Self::TooLong | Self::Malformed { .. } | Self::Entry(..) | Self::HelperName(_) => {
                no(CORRECT)
            }
            Self::HelperPath { .. } => {
                no("log in to the registry as a whole, or name another file with `--authfile`")
            }
            Self::Helper(..)
            | Self::HelperSlow(..)
            | Self::HelperAnswer { .. }
            | Self::HelperRefused { .. } => unknown(HELPER),
        }
    }
}

/// Returns the failure for a login file that cannot be read or changed.
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
    failure.hint(if exposed { EXPOSED_LOGINS } else { CORRECT })
}

const EXPOSED_POLICIES: &str = "remove write access for other users (`chown`, `chmod go-w`), or choose another directory with HOME or XDG_CONFIG_HOME: every user with write access there decides which keys are trusted";

fn usage(hint: &'static str) -> Answer {
    Answer(Outcome::Usage, Some(hint))
}

impl Judge for TrustError {
    fn answer(&self) -> Answer {
        match self {
            Self::Empty | Self::Repeated(_) => usage("give each key once with `--key`"),
            Self::ThresholdMissing(..) | Self::ThresholdTooHigh { .. } => {
                usage("set how many of the keys must have signed with `--threshold`")
            }
        }
    }
}

impl Judge for PolicyError {
    /// Returns the answer for a policy that the program was about to write.
    fn answer(&self) -> Answer {
        match self {
            Self::Trust(_, source) => source.answer(),
            Self::Key { .. }
            | Self::Count { .. }
            | Self::Policies(_)
            | Self::Name(_)
            | Self::Pattern { .. } => usage("correct the policy: nothing was changed"),
        }
    }
}

/// Returns the failure if neither a key nor a policy is available.
pub(crate) fn nobody_trusted() -> Failure {
    Failure::usage("cannot verify signatures: no public key is given, and this machine trusts none")
        .for_setup()
        .hint("pass the publisher's key with `--key`, or trust it with `solution trust add`; to check everything else, use `validate --skip-signature`")
}

/// Returns the failure for a threshold without keys.
pub(crate) fn no_keys() -> Failure {
    Failure::usage("cannot use `--threshold`: no public key is given or configured")
        .hint("pass the keys with `--key`; a policy in `solution trust list` has its own threshold")
}

/// Returns the failure for a policy directory that cannot be read or trusted.
pub(crate) fn policies(error: anyhow::Error) -> Failure {
    let exposed = matches!(error.downcast_ref(), Some(OwnershipError::Exposed { .. }));
    let failure = match error.downcast_ref::<io::Error>() {
        Some(_) => Failure::unknown(error),
        None => Failure::no(error),
    };
    failure.hint(if exposed {
        EXPOSED_POLICIES
    } else {
        "correct or remove the policy: no key is trusted while a policy is invalid"
    })
}

/// Returns the failure for policies that contradict each other.
pub(crate) fn together(error: PolicyError) -> Failure {
    Failure::no(error).hint("run `solution trust list` to see the files")
}

/// Returns the failure for removing a key that the policy needs.
pub(crate) fn without_key(path: &Path, error: PolicyError) -> Failure {
    let context = format!(
        "without this key `{}` is not a valid policy",
        path.display()
    );
    let hint = "remove the whole policy by its name, or edit the file";
    Failure::no(error).context(context).hint(hint)
}
