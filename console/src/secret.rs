//! Random texts that cannot be guessed: the access token, and the ids of sessions, plans and runs.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// Returns a random text of 64 hex digits (256 bits).
///
/// # Errors
///
/// Fails if the system has no random numbers.
pub(crate) fn random() -> Result<String, getrandom::Error> {
    let half = || {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map(|()| u128::from_be_bytes(bytes))
    };
    Ok(format!("{:032x}{:032x}", half()?, half()?))
}

/// A SHA-256 digest, by which secrets are found and compared. The time of a comparison shows nothing about a secret.
pub(crate) fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret).into()
}

/// The token by which the user of this machine logs in to a console on a loopback address.
#[derive(Clone)]
pub struct AccessToken(String);

impl AccessToken {
    /// Creates a random token.
    ///
    /// # Errors
    ///
    /// Fails if the system has no random numbers.
    pub fn random() -> Result<Self, getrandom::Error> {
        random().map(Self)
    }

    /// Returns the path and query that log in with this token.
    #[must_use]
    pub fn login_path(&self) -> String {
        format!("/login?token={}", self.0)
    }

    pub(crate) fn is(&self, given: &str) -> bool {
        digest(&self.0) == digest(given)
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessToken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_and_differs_from_every_other() {
        let [one, other] = [(); 2].map(|()| AccessToken::random().unwrap());
        assert_eq!(one.0.len(), 64);
        assert!(one.is(&one.0) && !one.is(&other.0) && !one.is(""));
        assert_eq!(format!("{one:?}"), "AccessToken");
    }
}
