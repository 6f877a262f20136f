//! The reasons why a server's certificate is not accepted, as texts for users. They are separated by their remedies.

use jiff::Timestamp;
use rustls::CertificateError;
use rustls::pki_types::UnixTime;

/// The reason why the certificate of a server is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateReason {
    /// Its validity does not fit the clock of this machine. The text is a predicate with both times, if they are known.
    Dates(String),
    /// It is not trusted. The text is the cause.
    Untrusted(String),
}

impl From<&CertificateError> for CertificateReason {
    fn from(error: &CertificateError) -> Self {
        match error {
            CertificateError::ExpiredContext { time, not_after } => {
                let (now, end) = (date(*time), date(*not_after));
                Self::Dates(format!(
                    "expired at {end}; the clock of this machine says {now}"
                ))
            }
            CertificateError::NotValidYetContext { time, not_before } => {
                let (now, start) = (date(*time), date(*not_before));
                Self::Dates(format!(
                    "is valid from {start} on; the clock of this machine says {now}"
                ))
            }
            CertificateError::Expired => Self::Dates("has expired".to_owned()),
            CertificateError::NotValidYet => Self::Dates("is not valid yet".to_owned()),
            error => {
                let words = error.to_string();
                // The TLS library reports only an internal name for certificates as `openssl req -x509` creates them by
                // default.
                if words.contains("CaUsedAsEndEntity") {
                    let words = "it is the certificate of an authority (CA:TRUE), but a server needs a certificate for itself (CA:FALSE)";
                    return Self::Untrusted(words.to_owned());
                }
                Self::Untrusted(words)
            }
        }
    }
}

fn date(time: UnixTime) -> String {
    let seconds = time.as_secs();
    let time = i64::try_from(seconds).ok();
    let time = time.and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map_or_else(|| format!("second {seconds}"), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_of_a_certificate_are_told_with_the_clock() {
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let dates = |words: &str| CertificateReason::Dates(words.to_owned());
        let reason = |error| CertificateReason::from(&error);
        let (time, not_after) = (at(1_800_000_000), at(1_700_000_000));
        assert_eq!(
            reason(CertificateError::ExpiredContext { time, not_after }),
            dates(
                "expired at 2023-11-14T22:13:20Z; the clock of this machine says 2027-01-15T08:00:00Z"
            )
        );
        let (time, not_before) = (at(1_600_000_000), at(1_700_000_000));
        assert_eq!(
            reason(CertificateError::NotValidYetContext { time, not_before }),
            dates(
                "is valid from 2023-11-14T22:13:20Z on; the clock of this machine says 2020-09-13T12:26:40Z"
            )
        );
        let other = reason(CertificateError::UnknownIssuer);
        assert!(
            matches!(other, CertificateReason::Untrusted(_)),
            "{other:?}"
        );
    }
}
