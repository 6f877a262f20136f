//! The identity of a client in TLS: a certificate and its key, as PEM files have them.

use rustls::ClientConfig;
use rustls::client::WantsClientCert;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::credentials::Secret;

/// The marks of an encrypted key in PEM files: PKCS #8 (RFC 5958) by its label, older ones by a header (RFC 1421).
const ENCRYPTED: [&str; 2] = ["BEGIN ENCRYPTED PRIVATE KEY", "Proc-Type: 4,ENCRYPTED"];

/// A client certificate and its key. The key has no text form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The certificate, and those between it and its authority: PEM.
    pub certificate: Vec<u8>,
    /// The key: PEM.
    pub key: Secret,
}

/// The reason why a certificate and a key are no identity. Nothing of the key is repeated.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum IdentityError {
    /// There is no certificate in the file.
    #[error("the certificate is not PEM that begins with `-----BEGIN CERTIFICATE-----`")]
    NoCertificate,
    /// There is no key in the file.
    #[error("the key is not PEM of a private key")]
    NoKey,
    /// The key is encrypted.
    #[error("the key is encrypted with a passphrase")]
    Encrypted,
    /// The key belongs to another certificate.
    #[error("the key does not belong to the certificate")]
    OtherKey,
    /// The kind of key or certificate is not supported, though neither file is damaged.
    #[error("the certificate or the kind of key is not supported")]
    Unsupported,
}

impl ClientIdentity {
    pub(crate) fn apply(
        &self,
        builder: rustls::ConfigBuilder<ClientConfig, WantsClientCert>,
    ) -> Result<ClientConfig, IdentityError> {
        let chain = self.chain()?;
        let config = builder.with_client_auth_cert(chain, self.private_key()?);
        config.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => IdentityError::OtherKey,
            _ => IdentityError::Unsupported,
        })
    }

    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
        let chain =
            CertificateDer::pem_slice_iter(&self.certificate).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|_| IdentityError::NoCertificate)?;
        Some(chain)
            .filter(|chain| !chain.is_empty())
            .ok_or(IdentityError::NoCertificate)
    }

    fn private_key(&self) -> Result<PrivateKeyDer<'static>, IdentityError> {
        let text = self.key.reveal();
        if ENCRYPTED.iter().any(|mark| text.contains(mark)) {
            return Err(IdentityError::Encrypted);
        }
        PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| IdentityError::NoKey)
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
