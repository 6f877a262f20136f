//! The client certificate of a kubeconfig: whether it can be presented, and whether it explains that the server refuses
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
    /// Returns what can be read. Files that cannot be read are reported when the client is built.
    pub(crate) fn read(user: &AuthInfo) -> Option<Self> {
        // The key's text is reached by its serialized form alone.
        let user = serde_json::to_value(user).ok()?;
        Some(Self {
            certificate: read(&user, "client-certificate")?,
            key: read(&user, "client-key")?,
        })
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        tls::check(&self.certificate, &self.key).map_err(Error::Identity)
    }

    /// Returns the cause of an error where the server refuses the certificate for its validity.
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

/// Whether the server ended the TLS handshake, as it does for a client certificate that it does not accept.
fn is_alert(error: &(dyn StdError + 'static)) -> bool {
    if let Some(rustls::Error::AlertReceived(_)) = error.downcast_ref() {
        return true;
    }
    // An error of the system does not name the one inside as its source.
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
