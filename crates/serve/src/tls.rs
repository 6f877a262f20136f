//! The certificate of the server: [`tls`] builds the TLS configuration from PEM files. It can be replaced while the
//! server runs, before the old certificate expires.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A TLS configuration with a certificate and its key.
pub type Tls = Arc<ServerConfig>;

/// The reason why a certificate and a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The certificates cannot be read.
    #[error("the certificate is not PEM")]
    Certificate(#[source] pem::Error),
    /// The file has no certificate.
    #[error("the file has no certificate")]
    NoCertificate,
    /// The key cannot be read.
    #[error("the key is not PEM of a private key without a passphrase")]
    Key(#[source] pem::Error),
    /// The certificate and the key do not belong together, or their algorithm is not supported.
    #[error("the certificate and the key cannot be used")]
    Pair(#[source] rustls::Error),
}

/// Builds a configuration for TLS 1.2 and 1.3 from a certificate chain and its key, both as PEM.
pub fn tls(certificates: &[u8], key: &[u8]) -> Result<Tls, TlsError> {
    let chain = CertificateDer::pem_slice_iter(certificates).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(TlsError::Certificate)?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate);
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(TlsError::Key)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(TlsError::Pair)?.with_no_client_auth();
    let mut config = config
        .with_single_cert(chain, key)
        .map_err(TlsError::Pair)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_or_key_is_told_apart() {
        let refused = |certificate: &str| tls(certificate.as_bytes(), b"").unwrap_err();
        assert!(matches!(refused(""), TlsError::NoCertificate));
        let broken = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
        assert!(matches!(refused(broken), TlsError::Certificate(_)));
        let some = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
        assert!(matches!(refused(some), TlsError::Key(_)));
    }
}
