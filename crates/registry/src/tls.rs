//! The TLS configuration: the crypto provider (ring), the trusted certificate authorities, and the client certificate.
//! [`CertificateAuthority`] holds authorities that are trusted in addition to the system's.

use std::fmt;
use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, TrustAnchor};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore};

use crate::error::Error;
use crate::identity::ClientIdentity;

/// The files in which Linux distributions store all authorities. The first existing file is used.
const SYSTEM_BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

pub(crate) fn client_config(
    ca: &[CertificateAuthority],
    trust_system_roots: bool,
    identity: Option<&ClientIdentity>,
) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    if trust_system_roots {
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
    /// Checks that the certificate and the key belong together and are supported.
    pub fn check(&self) -> Result<(), ::tls::IdentityError> {
        self.apply(trusting(RootCertStore::empty())).map(drop)
    }
}

/// Returns a configuration for connections without TLS, which the HTTP client requires nevertheless.
pub(crate) fn config_without_tls() -> ClientConfig {
    trusting(RootCertStore::empty()).with_no_client_auth()
}

fn trusting(roots: RootCertStore) -> ConfigBuilder<ClientConfig, WantsClientCert> {
    // An explicit provider is independent of other users of rustls in the process, which could set a different default.
    let provider = Arc::new(::tls::provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has the cipher suites of TLS 1.2 and 1.3")
        .with_root_certificates(roots)
}

/// Adds the system's authorities. Missing files and unparsable certificates are skipped, as TLS clients usually do:
/// registries with a configured authority must stay reachable.
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

/// The error for a file of authorities without a usable certificate.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin} holds no certificate (PEM) that can be used")]
pub struct AuthorityError {
    /// The source of the text.
    origin: String,
}

impl CertificateAuthority {
    /// Reads the authorities from a text; `origin` names its source in an error. Every certificate must be valid,
    /// because skipping one would silently ignore the user's choice.
    pub fn new(origin: impl fmt::Display, pem: Vec<u8>) -> Result<Self, AuthorityError> {
        match anchors(&pem) {
            Some(anchors) => Ok(Self { pem, anchors }),
            None => Err(AuthorityError {
                origin: origin.to_string(),
            }),
        }
    }

    /// Returns the texts of all authorities, joined.
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
        assert!(client_config(&[], false, None).is_ok());
    }
}
