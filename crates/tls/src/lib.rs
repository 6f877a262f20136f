//! TLS client certificates ([`provider`], [`check`]), and explanations for refused certificates ([`expiry`],
//! [`CertificateReason`]).
//!
//! Only the server decides whether it accepts a client certificate. Every certificate that other programs can present
//! is therefore presented, including X.509 version 1, which the TLS library does not parse.

mod der;
mod expiry;
mod server;

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, KeyProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{Signer, SigningKey};
use rustls::{SignatureAlgorithm, SignatureScheme};

pub use expiry::{ExpiryError, expiry};
pub use server::CertificateReason;

/// The markers of an encrypted key in PEM files: the label of PKCS #8 (RFC 5958), or a header in older formats (RFC
/// 1421).
const ENCRYPTED: [&str; 2] = ["BEGIN ENCRYPTED PRIVATE KEY", "Proc-Type: 4,ENCRYPTED"];

/// The reason why a certificate and a key cannot be used together. It contains nothing of the key.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum IdentityError {
    /// The file contains no certificate.
    #[error("the certificate is not PEM that begins with `-----BEGIN CERTIFICATE-----`")]
    NoCertificate,
    /// The file contains no private key.
    #[error("the key is not PEM of a private key")]
    NoKey,
    /// The key is encrypted.
    #[error("the key is encrypted with a passphrase")]
    Encrypted,
    /// The key does not belong to the certificate.
    #[error("the key does not belong to the certificate")]
    OtherKey,
    /// The kind of key or certificate is not supported, although neither file is damaged.
    #[error("the certificate or the kind of key is not supported")]
    Unsupported,
}

/// Returns a provider (ring) that does not parse client certificates. Callers must therefore [`check`] them.
#[must_use]
pub fn provider() -> CryptoProvider {
    CryptoProvider {
        key_provider: &OpaqueKeys,
        ..ring::default_provider()
    }
}

/// A key provider that hides the public half of keys. If the TLS library knows the public half, it parses the
/// certificate to compare both, which fails for version 1. [`check`] compares them instead.
#[derive(Debug)]
struct OpaqueKeys;

impl KeyProvider for OpaqueKeys {
    fn load_private_key(
        &self,
        key: PrivateKeyDer<'static>,
    ) -> Result<Arc<dyn SigningKey>, rustls::Error> {
        Ok(Arc::new(OpaqueKey(ring::sign::any_supported_type(&key)?)))
    }
}

#[derive(Debug)]
struct OpaqueKey(Arc<dyn SigningKey>);

impl SigningKey for OpaqueKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        self.0.choose_scheme(offered)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.0.algorithm()
    }
}

/// Checks that a certificate and a key, both as PEM, belong together and can be presented.
pub fn check(certificate: &[u8], key: &[u8]) -> Result<(), IdentityError> {
    let text = String::from_utf8_lossy(key);
    let certificate =
        CertificateDer::from_pem_slice(certificate).map_err(|_| IdentityError::NoCertificate)?;
    if ENCRYPTED.iter().any(|mark| text.contains(mark)) {
        return Err(IdentityError::Encrypted);
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| IdentityError::NoKey)?;
    let key = ring::sign::any_supported_type(&key).map_err(|_| IdentityError::Unsupported)?;
    let of_key = key.public_key().ok_or(IdentityError::Unsupported)?;
    let of_certificate = der::public_key(&certificate).ok_or(IdentityError::Unsupported)?;
    if of_certificate == &*of_key {
        Ok(())
    } else {
        Err(IdentityError::OtherKey)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;
    use std::time::{Duration, SystemTime};

    use rustls::{ClientConfig, RootCertStore};

    use super::*;

    fn openssl(directory: &Path, arguments: &str) {
        let run = Command::new("openssl")
            .args(arguments.split(' '))
            .current_dir(directory)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "openssl {arguments}: {said}");
    }

    #[test]
    fn certificates_of_version_1_belong_to_their_keys_of_every_kind() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let read = |name: &str| fs::read(directory.join(name)).unwrap();
        for (kind, options) in [
            ("rsa", "-algorithm RSA -pkeyopt rsa_keygen_bits:2048"),
            ("ec", "-algorithm EC -pkeyopt ec_paramgen_curve:P-256"),
            ("ed25519", "-algorithm ED25519"),
        ] {
            openssl(directory, &format!("genpkey {options} -out {kind}.key"));
            let request = format!("req -new -key {kind}.key -subj /CN=alice -out {kind}.csr");
            openssl(directory, &request);
            let sign = format!("x509 -req -in {kind}.csr -signkey {kind}.key -out {kind}.crt");
            openssl(directory, &sign);
            let certificate = read(&format!("{kind}.crt"));
            let checked = check(&certificate, &read(&format!("{kind}.key")));
            assert_eq!(checked, Ok(()), "{kind}");
            let chain = vec![CertificateDer::from_pem_slice(&certificate).unwrap()];
            let key = PrivateKeyDer::from_pem_file(directory.join(format!("{kind}.key")));
            let built = ClientConfig::builder_with_provider(Arc::new(provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(RootCertStore::empty())
                .with_client_auth_cert(chain, key.unwrap());
            assert!(built.is_ok(), "{kind}: {:?}", built.err());
            let later = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365 * 200);
            let expired = expiry(&certificate, later);
            assert!(
                matches!(expired, Some(ExpiryError::Expired { .. })),
                "{kind}: {expired:?}"
            );
        }
        let other = check(&read("ec.crt"), &read("rsa.key"));
        assert_eq!(other, Err(IdentityError::OtherKey));
        let lock = "pkey -in ec.key -aes256 -passout pass:secret -out locked.key";
        openssl(directory, lock);
        let locked = check(&read("ec.crt"), &read("locked.key"));
        assert_eq!(locked, Err(IdentityError::Encrypted));
    }
}
