//! The client certificate of a kubeconfig. It is checked before the connection, and it explains why the server refuses
//! the user.

use std::error::Error as StdError;
use std::time::SystemTime;
use std::{fs, io};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::AuthInfo;
use serde_json::Value;

use crate::error::Error;

/// The client certificate of a user and its key, as PEM.
pub(crate) struct ClientCertificate {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl ClientCertificate {
    /// Returns the certificate and the key. Unreadable files are reported when the client is built.
    pub(crate) fn read(user: &AuthInfo) -> Option<Self> {
        // The key is private in kube's type and only accessible in its serialized form.
        let user = serde_json::to_value(user).ok()?;
        Some(Self {
            certificate: read(&user, "client-certificate")?,
            key: read(&user, "client-key")?,
        })
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        tls::check(&self.certificate, &self.key).map_err(Error::Identity)
    }

    /// Returns the error that explains a refusal by the validity of the certificate.
    pub(crate) fn explain(&self, error: Error, now: SystemTime) -> Error {
        let is_refused = match &error {
            Error::Unauthorized { .. } => true,
            Error::Unreachable { source, .. } => is_alert(&**source),
            _ => false,
        };
        let expiry = is_refused.then(|| tls::expiry(&self.certificate, now));
        expiry.flatten().map_or(error, Error::Expiry)
    }
}

fn read(user: &Value, field: &str) -> Option<Vec<u8>> {
    match user.get(format!("{field}-data")).and_then(Value::as_str) {
        Some(data) => STANDARD.decode(data).ok(),
        None => fs::read(user.get(field)?.as_str()?).ok(),
    }
}

/// Checks whether the server aborted the TLS handshake with an alert, as it does for a client certificate that it
/// rejects.
fn is_alert(error: &(dyn StdError + 'static)) -> bool {
    if let Some(rustls::Error::AlertReceived(_)) = error.downcast_ref() {
        return true;
    }
    // `source` of an `io::Error` does not return the wrapped error.
    let inside = error.downcast_ref::<io::Error>();
    let inside = inside.and_then(io::Error::get_ref);
    let inside = inside.map(|inside| inside as &(dyn StdError + 'static));
    inside.or(error.source()).is_some_and(is_alert)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_of_the_server_is_found_below_other_errors() {
        let alert = rustls::Error::AlertReceived(rustls::AlertDescription::CertificateExpired);
        let alert = io::Error::other(io::Error::other(alert));
        assert!(is_alert(&alert));
        assert!(!is_alert(&io::Error::other("no route")));
    }
}
