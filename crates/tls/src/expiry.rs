//! Explanation of a server's refusal by the dates of the client certificate: [`expiry`]. TLS libraries report only
//! that the peer refused the certificate.

use std::time::SystemTime;

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::der::{self, Validity};

/// The reason why a client certificate is not valid at present.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ExpiryError {
    /// The certificate has expired.
    #[error("the client certificate expired at {until}; this machine's clock says {now}")]
    Expired {
        /// The end of its validity.
        until: String,
        /// The present time.
        now: String,
    },
    /// The certificate is not valid yet.
    #[error("the client certificate is not valid before {from}; this machine's clock says {now}")]
    NotYetValid {
        /// The start of its validity.
        from: String,
        /// The present time.
        now: String,
    },
}

/// Returns why the first certificate in a PEM text is not valid at a time. Call it only after the server has refused
/// the certificate: the server's clock decides, and the clock of this machine may be wrong.
#[must_use]
pub fn expiry(certificate: &[u8], now: SystemTime) -> Option<ExpiryError> {
    let certificate = CertificateDer::from_pem_slice(certificate).ok()?;
    compare(der::validity(&certificate)?, now)
}

fn compare(validity: Validity, now: SystemTime) -> Option<ExpiryError> {
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
    fn a_client_certificate_is_called_expired_or_not_yet_valid_with_both_times() {
        let at = |seconds: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let validity = || Validity {
            from: "2026-01-01T00:00:00Z".to_owned(),
            until: "2026-12-31T00:00:00Z".to_owned(),
        };
        let told = |now| compare(validity(), now).map(|expiry| expiry.to_string());
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
