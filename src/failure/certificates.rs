//! What the errors of directories with certificates come to.

use files::owned::OwnedError;
use files::ownership::OwnershipError;
use registry::AuthorityError;
use sources::CertificatesError;

use super::{Answer, Judge, NO, UNKNOWN, no};

const EXPOSED: &str = "whoever can write there decides who is believed to be the registry: leave that to root and yourself (`chown`, `chmod go-w`), or name another directory with `--cert-dir`";

const NO_CERTIFICATE: &str = "give a PEM file that begins with -----BEGIN CERTIFICATE-----";

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
                no("leave one pair there, or name a directory with one by `--cert-dir`")
            }
            Self::Half(_) => {
                no("a client certificate is NAME.cert, its key NAME.key; an authority is NAME.crt")
            }
            Self::Missing(_) => no("`--cert-dir` names the directory that has the files itself"),
            Self::Path(OwnershipError::Links(_) | OwnershipError::NotADirectory(_))
            | Self::File(OwnedError::Link(_) | OwnedError::Kind(_) | OwnedError::Size { .. })
            | Self::Many(_) => NO,
        }
    }
}
