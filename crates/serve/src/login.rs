//! The single login that a server can require (HTTP Basic authentication, RFC 7617): [`ReaderLogin`]. The server
//! stores only a hash, and answers wrong logins after a delay.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::limits;

/// The login for reading. Only the hash of name and password is stored. Comparing hashes does not reveal by its timing
/// how much of a password was correct.
#[derive(Clone)]
pub struct ReaderLogin(Sha256Hash);

type Sha256Hash = [u8; 32];

impl fmt::Debug for ReaderLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login")
    }
}

/// The reason why a name and a password cannot be used as a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// The password is empty.
    #[error("the password is empty")]
    Empty,
    /// The user name contains the separator between name and password.
    #[error("the user name has a colon")]
    Colon,
    /// The login is longer than [`limits::LOGIN`].
    #[error("user name and password have more than {max} bytes", max = limits::LOGIN)]
    TooLong,
}

impl ReaderLogin {
    /// Creates a login from a user name and a password.
    pub fn new(name: &str, password: &[u8]) -> Result<Self, LoginError> {
        if name.contains(':') {
            return Err(LoginError::Colon);
        }
        if password.is_empty() {
            return Err(LoginError::Empty);
        }
        if name.len() + password.len() >= limits::LOGIN {
            return Err(LoginError::TooLong);
        }
        let both = [name.as_bytes(), b":", password].concat();
        Ok(Self(Sha256::digest(both).into()))
    }

    /// Returns whether `Authorization` contains the login.
    pub(crate) fn is_in(&self, authorization: Option<&str>) -> bool {
        let given = authorization.and_then(|text| {
            let (scheme, encoded) = text.trim().split_once(' ')?;
            let is_basic = scheme.eq_ignore_ascii_case("basic") && encoded.len() <= limits::HEAD;
            is_basic.then(|| STANDARD.decode(encoded.trim()).ok())?
        });
        given.is_some_and(|given| Sha256Hash::from(Sha256::digest(given)) == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_name_and_password_log_in() {
        let login = ReaderLogin::new("reader", b"a:b").unwrap();
        let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
        assert!(login.is_in(Some(&basic("reader:a:b"))));
        assert!(login.is_in(Some(&basic("reader:a:b").replace("Basic", "basic"))));
        for wrong in ["reader:a", "reader:", "reader", "other:a:b", ""] {
            assert!(!login.is_in(Some(&basic(wrong))), "{wrong}");
        }
        for wrong in [None, Some("Basic"), Some("Basic !"), Some("Bearer a")] {
            assert!(!login.is_in(wrong), "{wrong:?}");
        }
        assert_eq!(
            ReaderLogin::new("a:b", b"c").unwrap_err(),
            LoginError::Colon
        );
        assert_eq!(ReaderLogin::new("a", b"").unwrap_err(), LoginError::Empty);
        let long = [b'a'; limits::LOGIN];
        assert_eq!(
            ReaderLogin::new("a", &long).unwrap_err(),
            LoginError::TooLong
        );
    }
}
