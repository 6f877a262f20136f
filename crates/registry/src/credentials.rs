//! The login for a registry ([`Credentials`]) and the errors of the places where logins are stored. Passwords are
//! never displayed, not even in debug output.

use std::fmt;
use std::str::FromStr;

use crate::limits;

/// A password or token. It has no `Display`, and `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a password or token.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the text. Callers may send or store it, and must not display it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The name of a user who logs in. It is not empty and has no colon, which ends it in `user:password` (RFC 7617,
/// section 2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Username(String);

impl Username {
    /// Returns the text form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The error for a name that cannot be used to log in.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a user name has 1 to {max} bytes, and no colon or control character", max = limits::USERNAME)]
pub struct UsernameError;

impl FromStr for Username {
    type Err = UsernameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_usable = (1..=limits::USERNAME).contains(&text.len())
            && !text.contains(|c: char| c == ':' || c.is_control());
        is_usable
            .then(|| Self(text.to_owned()))
            .ok_or(UsernameError)
    }
}

/// The login for one registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// No login.
    Anonymous,
    /// A user name and a password, given directly or to a token server.
    Password {
        /// The user name.
        username: String,
        /// The password.
        password: Secret,
    },
    /// An `OAuth2` refresh token for a token server (`identitytoken`).
    IdentityToken(Secret),
    /// A token that is sent to the registry unchanged (`registrytoken`).
    RegistryToken(Secret),
}

/// The reason why a login file or a credential helper cannot return or store credentials. Messages never repeat the
/// content of either.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The file is longer than any realistic login file.
    #[error("login file is longer than {max} bytes", max = limits::CREDENTIALS_FILE)]
    TooLong,
    /// The file is not the JSON that docker and podman write.
    #[error("login file is not valid: line {line}, column {column}")]
    Malformed {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// An `auth` entry is not base64 of `user:password`.
    #[error("login file has an entry for `{0}` that is not base64 of `user:password`")]
    Entry(String),
    /// The helper's name is not one word.
    #[error("login file names a credential helper with the invalid name `{0}`")]
    HelperName(String),
    /// The helper did not end in time.
    #[error("credential helper `{0}` did not answer within {limit} seconds", limit = limits::HELPER_TIMEOUT.as_secs())]
    HelperSlow(String),
    /// The helper stores one login per host.
    #[error(
        "credential helper `{program}` stores logins only for whole registries, not for `{address}`"
    )]
    HelperPath {
        /// The program.
        program: String,
        /// The address that the login is for.
        address: String,
    },
    /// The helper could not be run.
    #[error("cannot run credential helper `{0}`")]
    Helper(String, #[source] std::io::Error),
    /// The helper failed, or its answer is not usable.
    #[error("credential helper `{program}` gave no usable answer for `{key}`")]
    HelperAnswer {
        /// The program.
        program: String,
        /// The key that was requested.
        key: String,
    },
    /// The helper did not store or erase the login.
    #[error("credential helper `{program}` did not change the login for `{key}`")]
    HelperRefused {
        /// The program.
        program: String,
        /// The key that was to be changed.
        key: String,
    },
}
