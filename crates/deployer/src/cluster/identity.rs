//! The client certificate of a kubeconfig: whether it can be presented, and whether it explains that the server refuses
//! the user.

use std::error::Error as StdError;
use std::time::SystemTime;
use std::{fs, io};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use kube::config::AuthInfo;
use serde_json::Value;
use tls::Validity;

use crate::error::{Error, ExpiryError};

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

    /// Returns the cause of an error where the server refuses the certificate for its validity. Only then this machine's
    /// clock counts: it may be wrong, and the server's decides.
    pub(crate) fn explain(&self, error: Error, now: SystemTime) -> Error {
        let is_refused = match &error {
            Error::Unauthorized { .. } => true,
            Error::Unreachable { source, .. } => is_alert(&**source),
            _ => false,
        };
        let validity = is_refused.then(|| tls::validity(&self.certificate));
        let expiry = validity.flatten().and_then(|it| expiry(it, now));
        expiry.map_or(error, Error::Expiry)
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

fn expiry(validity: Validity, now: SystemTime) -> Option<ExpiryError> {
    let Validity { from, until } = validity;
    let now = Timestamp::try_from(now).ok()?;
    let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    if now > until {
        Some(ExpiryError::Expired { until, now })
    } else if now < from {
        Some(ExpiryError::NotYetValid { from, now })
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_refused_client_certificate_is_called_expired_or_not_yet_valid_with_both_times() {
        let at = |seconds: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let validity = || Validity {
            from: "2026-01-01T00:00:00Z".to_owned(),
            until: "2026-12-31T00:00:00Z".to_owned(),
        };
        let alert = rustls::Error::AlertReceived(rustls::AlertDescription::CertificateExpired);
        let alert = io::Error::other(io::Error::other(alert));
        assert!(is_alert(&alert));
        assert!(!is_alert(&io::Error::other("no route")));
        let told = |now| expiry(validity(), now).map(|it| it.to_string());
        assert_eq!(told(at(1_780_000_000)), None);
        assert_eq!(
            told(at(1_800_000_000)).unwrap(),
            "the client certificate expired at 2026-12-31T00:00:00Z; this machine's clock says 2027-01-15T08:00:00Z"
        );
        assert_eq!(
            told(at(1_700_000_000)).unwrap(),
            "the client certificate is not valid before 2026-01-01T00:00:00Z; this machine's clock says 2023-11-14T22:13:20Z"
        );
    }
}
