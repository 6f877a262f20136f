//! TLS: one provider (ring), the system's certificate authorities and those that the caller gives, and who one is where
//! a server asks for a client certificate.

use std::fmt;
use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, TrustAnchor};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore};

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
    ca: &[CertificateAuthority],
    system_roots: SystemRoots,
    identity: Option<&ClientIdentity>,
) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    if system_roots == SystemRoots::Trusted {
        add_system_roots(&mut roots);
    }
    for authority in ca {
        roots.extend(authority.anchors.iter().cloned());
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

/// Certificate authorities that are trusted in addition to the system's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateAuthority {
    pem: Vec<u8>,
    anchors: Vec<TrustAnchor<'static>>,
}

/// An error of a text that is to have certificates of authorities.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin} holds no certificate (PEM) that can be used")]
pub struct AuthorityError {
    /// Where the text is from.
    origin: String,
}

impl CertificateAuthority {
    /// Returns the authorities of a text, from the place that an error names. All its certificates must be good: leaving
    /// one out would be a silent no to the user who named the place.
    pub fn new(origin: impl fmt::Display, pem: Vec<u8>) -> Result<Self, AuthorityError> {
        match anchors(&pem) {
            Some(anchors) => Ok(Self { pem, anchors }),
            None => Err(AuthorityError {
                origin: origin.to_string(),
            }),
        }
    }

    /// Returns the texts of several, in one.
    #[must_use]
    pub fn join(all: &[Self]) -> String {
        let all: Vec<&[u8]> = all
            .iter()
            .map(|authority| authority.pem.as_slice())
            .collect();
        String::from_utf8_lossy(&all.join(&b'\n')).into_owned()
    }
}

fn anchors(pem: &[u8]) -> Option<Vec<TrustAnchor<'static>>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate.ok()?).ok()?;
    }
    (!roots.is_empty()).then_some(roots.roots)
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
            let error = CertificateAuthority::new("`ca.pem`", pem.to_vec()).unwrap_err();
            let words = "`ca.pem` holds no certificate (PEM) that can be used";
            assert_eq!(error.to_string(), words);
        }
        assert!(client_config(&[], SystemRoots::Ignored, None).is_ok());
    }
}
