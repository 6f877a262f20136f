//! The client certificate for TLS and its key, in the form of PEM files. [`ClientIdentity`] is checked when the client
//! is set up; [`ShownIdentity`] explains why a server refused it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::ClientConfig;
use rustls::client::WantsClientCert;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::time_provider::TimeProvider;
use tls::IdentityError;

use crate::credentials::Secret;
use crate::error::Error;

/// A client certificate and its key. The key is not displayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The certificate and the intermediate certificates, as PEM.
    pub certificate: Vec<u8>,
    /// The key, as PEM.
    pub key: Secret,
}

impl ClientIdentity {
    pub(crate) fn apply(
        &self,
        builder: rustls::ConfigBuilder<ClientConfig, WantsClientCert>,
    ) -> Result<ClientConfig, IdentityError> {
        let chain = self.chain()?;
        let key = self.key.reveal().as_bytes();
        tls::check(&self.certificate, key)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| IdentityError::NoKey)?;
        let config = builder.with_client_auth_cert(chain, key);
        config.map_err(|_| IdentityError::Unsupported)
    }

    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
        let chain =
            CertificateDer::pem_slice_iter(&self.certificate).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|_| IdentityError::NoCertificate)?;
        Some(chain)
            .filter(|chain| !chain.is_empty())
            .ok_or(IdentityError::NoCertificate)
    }
}

/// The client certificate, if any, and the clock by which TLS validates the certificates of servers.
#[derive(Clone, Debug)]
pub(crate) struct ShownIdentity {
    pub(crate) certificate: Option<Vec<u8>>,
    pub(crate) clock: Arc<dyn TimeProvider>,
}

impl ShownIdentity {
    pub(crate) fn now(&self) -> Option<SystemTime> {
        let now = self.clock.current_time()?;
        Some(SystemTime::UNIX_EPOCH + Duration::from_secs(now.as_secs()))
    }

    /// Adds the cause to a server's refusal of the client certificate: no certificate, or an expired one.
    pub(crate) fn explain(&self, error: Error) -> Error {
        let Error::CertificateRefused(operation, reason) = error else {
            return error;
        };
        let Some(certificate) = &self.certificate else {
            // Many servers send the same alert for a missing certificate as for a refused one.
            return Error::CertificateRequired(operation);
        };
        match self.now().and_then(|now| tls::expiry(certificate, now)) {
            Some(reason) => Error::CertificateExpired(operation, reason),
            None => Error::CertificateRefused(operation, reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(certificate: &str, key: &str) -> Result<(), IdentityError> {
        let identity = ClientIdentity {
            certificate: certificate.as_bytes().to_vec(),
            key: Secret::new(key.to_owned()),
        };
        assert!(!format!("{identity:?}").contains("AAAA"));
        identity.check()
    }

    #[test]
    fn what_is_no_pair_is_told_apart() {
        let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        for (certificate, key, expected) in [
            ("", key, IdentityError::NoCertificate),
            (key, key, IdentityError::NoCertificate),
            (certificate, "", IdentityError::NoKey),
            (certificate, certificate, IdentityError::NoKey),
            (
                certificate,
                "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
                IdentityError::Encrypted,
            ),
            (
                certificate,
                "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n-----END EC PRIVATE KEY-----\n",
                IdentityError::Encrypted,
            ),
            (certificate, key, IdentityError::Unsupported),
        ] {
            assert_eq!(identity(certificate, key), Err(expected));
        }
    }
}
