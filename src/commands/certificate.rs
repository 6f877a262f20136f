//! The TLS certificate of a server: [`CertificateArguments`].

use std::path::PathBuf;

use clap::Args;
use serve::Tls;

use crate::disk;
use crate::failure::Failure;

/// The files with the certificate of a server and its key.
#[derive(Args, Clone, Debug)]
pub(super) struct CertificateArguments {
    /// The TLS certificate (PEM), followed by its intermediate certificates
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The secret key of the TLS certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

impl CertificateArguments {
    /// Returns true if the server has a certificate.
    pub(super) fn is_given(&self) -> bool {
        self.tls_cert.is_some()
    }

    /// Reads the current state of the files, if they are named.
    pub(super) fn read(&self) -> Result<Option<Tls>, Failure> {
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        let tls = serve::tls(&disk::read(certificate)?, &disk::read(key)?);
        tls.map(Some).map_err(|error| {
            let (certificate, key) = (certificate.display(), key.display());
            Failure::no(error)
                .context(format!("cannot use `{certificate}` and `{key}` for TLS"))
                .hint("use PEM files: the certificate followed by its intermediate certificates, and the key without a passphrase")
        })
    }
}
