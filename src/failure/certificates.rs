//! What the errors of directories with certificates come to.

use files::owned::OwnedError;
use files::ownership::OwnershipError;
use registry::AuthorityError;
use sources::CertificatesError;

use super::{Answer, Judge, NO, UNKNOWN, no};

const EXPOSED: &str = "remove write access for other users (`chown`, `chmod go-w`), or name another directory with `--cert-dir`: every user with write access there can impersonate the registry";

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
            Self::Identity { source, .. } => source.answer(),
            Self::Path(OwnershipError::Exposed { .. } | OwnershipError::Dangling(_))
            | Self::File(OwnedError::Exposed(_)) => no(EXPOSED),
            Self::Path(OwnershipError::Io { .. })
            | Self::File(OwnedError::Io { .. })
            | Self::Io { .. } => UNKNOWN,
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
