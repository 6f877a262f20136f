//! The client certificate of a kubeconfig and its key. Only the API server judges a client certificate, so this program
//! presents any that kubectl presents, including X.509 version 1, which the TLS library does not parse.

use std::fs;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::AuthInfo;
use rustls::crypto::{CryptoProvider, KeyProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{Signer, SigningKey};
use rustls::{SignatureAlgorithm, SignatureScheme};
use serde_json::Value;

/// The marks of an encrypted key in PEM files: PKCS #8 (RFC 5958) by its label, older ones by a header (RFC 1421).
const ENCRYPTED: [&str; 2] = ["BEGIN ENCRYPTED PRIVATE KEY", "Proc-Type: 4,ENCRYPTED"];

/// Returns a provider (ring) that does not parse client certificates.
pub(crate) fn provider() -> CryptoProvider {
    CryptoProvider {
        key_provider: &OpaqueKeys,
        ..ring::default_provider()
    }
}

/// Loads keys without their public half. Where the TLS library knows it, it parses the certificate to compare both, and
/// refuses version 1; [`problem`] compares them instead.
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

/// Returns why a client certificate cannot be presented, where it is known. Files that cannot be read are reported when
/// the client is built.
pub(crate) fn problem(user: &AuthInfo) -> Option<&'static str> {
    // The key's text is reached by its serialized form alone.
    let user = serde_json::to_value(user).ok()?;
    let key = read(&user, "client-key")?;
    let text = String::from_utf8_lossy(&key);
    if ENCRYPTED.iter().any(|mark| text.contains(mark)) {
        return Some("has an encrypted client key, which kubectl does not support either");
    }
    let certificate = CertificateDer::from_pem_slice(&read(&user, "client-certificate")?).ok()?;
    let key = PrivateKeyDer::from_pem_slice(&key).ok()?;
    let key = ring::sign::any_supported_type(&key).ok()?;
    let is_other = public_key(&certificate)? != &*key.public_key()?;
    is_other.then_some("has a client key that does not belong to its client certificate")
}

fn read(user: &Value, field: &str) -> Option<Vec<u8>> {
    match user.get(format!("{field}-data")).and_then(Value::as_str) {
        Some(data) => STANDARD.decode(data).ok(),
        None => fs::read(user.get(field)?.as_str()?).ok(),
    }
}

/// Returns the `subjectPublicKeyInfo` of a certificate of any version (RFC 5280, section 4.1).
fn public_key(certificate: &[u8]) -> Option<&[u8]> {
    const VERSION: u8 = 0xa0;
    let (certificate, _) = element(certificate)?;
    let (fields, _) = element(certificate.content)?;
    let (first, mut rest) = element(fields.content)?;
    if first.tag == VERSION {
        rest = element(rest)?.1;
    }
    // The signature's algorithm, the issuer, the validity and the subject.
    for _ in 0..4 {
        rest = element(rest)?.1;
    }
    Some(element(rest)?.0.whole)
}

/// An element in DER (X.690, section 8.1).
struct Element<'a> {
    tag: u8,
    whole: &'a [u8],
    content: &'a [u8],
}

/// Returns the first element and the rest.
fn element(input: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let (&tag, rest) = input.split_first()?;
    let (&length, rest) = rest.split_first()?;
    let (length, rest) = if length < 0x80 {
        (usize::from(length), rest)
    } else {
        // No certificate is as long as a length of four bytes could say.
        let count = usize::from(length & 0x7f);
        let (digits, rest) = rest.split_at_checked(count).filter(|_| count <= 3)?;
        let length = digits
            .iter()
            .fold(0, |length, &digit| length << 8 | usize::from(digit));
        (length, rest)
    };
    let (content, after) = rest.split_at_checked(length)?;
    let whole = &input[..input.len() - after.len()];
    let element = Element {
        tag,
        whole,
        content,
    };
    Some((element, after))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

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

    fn user(directory: &Path, certificate: &str, key: &str) -> AuthInfo {
        let path = |name: &str| directory.join(name).display().to_string();
        AuthInfo {
            client_certificate: Some(path(certificate)),
            client_key: Some(path(key)),
            ..AuthInfo::default()
        }
    }

    #[tokio::test]
    async fn a_client_certificate_of_version_1_is_presented() {
        super::super::connect::install_crypto();
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
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
            let mut config = kube::Config::new("https://cluster.test".parse().unwrap());
            config.root_cert = Some(Vec::new());
            config.auth_info = user(directory, &format!("{kind}.crt"), &format!("{kind}.key"));
            assert_eq!(problem(&config.auth_info), None, "{kind}");
            let built = kube::Client::try_from(config);
            assert!(built.is_ok(), "{kind}: {:?}", built.err());
        }
        let other = problem(&user(directory, "ec.crt", "rsa.key"));
        assert!(
            other.is_some_and(|what| what.contains("does not belong")),
            "{other:?}"
        );
        openssl(
            directory,
            "pkey -in ec.key -aes256 -passout pass:secret -out locked.key",
        );
        let locked = problem(&user(directory, "ec.crt", "locked.key"));
        assert!(
            locked.is_some_and(|what| what.contains("encrypted")),
            "{locked:?}"
        );
    }

    #[test]
    fn what_is_no_certificate_has_no_public_key() {
        for bytes in [
            &b""[..],
            b"\x30",
            b"\x30\x84\xff\xff\xff\xff",
            b"\x30\x02\x30\x00",
        ] {
            assert_eq!(public_key(bytes), None);
        }
    }
}
