//! TLS: one provider (ring), the system's certificate authorities and those that the caller gives, and who one is where
//! a server asks for a client certificate.

use rustls::client::WantsClientCert;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore};
use std::sync::Arc;

use crate::error::Error;
use crate::identity::ClientIdentity;

/// Whether the certificate authorities of the system count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SystemRoots {
    /// The system's authorities are trusted, beside those given.
    #[default]
    Trusted,
    /// Only the authorities given count.
    Ignored,
}

/// Files in which the distributions keep all authorities; the first that exists is used.
const SYSTEM_BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

pub(crate) fn client_config(
    ca: &[Vec<u8>],
    system_roots: SystemRoots,
    identity: Option<&ClientIdentity>,
) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    if system_roots == SystemRoots::Trusted {
        add_system_roots(&mut roots);
    }
    for (index, pem) in ca.iter().enumerate() {
        add_authority(&mut roots, pem).ok_or(Error::CertificateAuthority { index })?;
    }
    match identity {
        Some(identity) => Ok(identity.apply(trusting(roots))?),
        None => Ok(trusting(roots).with_no_client_auth()),
    }
}

impl ClientIdentity {
    /// Whether both belong together, and can be used.
    pub fn check(&self) -> Result<(), ::tls::IdentityError> {
        self.apply(trusting(RootCertStore::empty())).map(drop)
    }
}

/// Returns a configuration for a connection that never speaks TLS: the HTTP client wants to have it.
pub(crate) fn unused() -> ClientConfig {
    trusting(RootCertStore::empty()).with_no_client_auth()
}

fn trusting(roots: RootCertStore) -> ConfigBuilder<ClientConfig, WantsClientCert> {
    // The provider is named here and never taken from the process: whoever else links rustls cannot change it.
    let provider = Arc::new(::tls::provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has the cipher suites of TLS 1.2 and 1.3")
        .with_root_certificates(roots)
}

/// A machine without authorities, or with one broken among hundreds, can still reach registries whose authority is
/// given: what cannot be read is left out, as every TLS client does.
fn add_system_roots(roots: &mut RootCertStore) {
    let Some(bundle) = SYSTEM_BUNDLES
        .iter()
        .find_map(|path| std::fs::read(path).ok())
    else {
        return;
    };
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&bundle).filter_map(Result::ok));
}

/// Whether a text has certificates of authorities that can be used, and nothing that cannot.
#[must_use]
pub fn holds_authority(pem: &[u8]) -> bool {
    add_authority(&mut RootCertStore::empty(), pem).is_some()
}

/// All certificates of the text must be good: the user named this file, so leaving one out would be a silent no.
fn add_authority(roots: &mut RootCertStore, pem: &[u8]) -> Option<()> {
    let before = roots.len();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate.ok()?).ok()?;
    }
    (roots.len() > before).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_must_hold_a_certificate() {
        for pem in [
            &b""[..],
            b"not pem",
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ] {
            let result = client_config(&[pem.to_vec()], SystemRoots::Ignored, None);
            assert!(matches!(
                result,
                Err(Error::CertificateAuthority { index: 0 })
            ));
        }
        assert!(client_config(&[], SystemRoots::Ignored, None).is_ok());
    }
}
