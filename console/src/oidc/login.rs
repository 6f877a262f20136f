//! The steps of a login: [`LoginRequest`], [`LoginAttempt`], [`Callback`], [`Tokens`].

use std::fmt;
use std::time::{Duration, SystemTime};

use super::claims::User;
use super::error::{Check, Error};
use crate::secret;

/// The time that a user has for a login.
pub(crate) const LOGIN_TIME: Duration = Duration::from_mins(10);

/// The start of a login.
#[derive(Debug)]
pub(crate) struct LoginRequest {
    /// The address of the provider's login page for this attempt.
    pub(crate) url: String,
    pub(crate) attempt: LoginAttempt,
}

/// A login that has begun. The browser that began it keeps it in a cookie, which the callback removes.
pub(crate) struct LoginAttempt {
    pub(crate) state: String,
    pub(crate) nonce: String,
    pub(crate) verifier: String,
    pub(crate) started: SystemTime,
}

impl fmt::Debug for LoginAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LoginAttempt")
    }
}

impl LoginAttempt {
    pub(super) fn new(started: SystemTime) -> Result<Self, Error> {
        Ok(Self {
            state: secret::random()?,
            nonce: secret::random()?,
            verifier: secret::random()?,
            started,
        })
    }

    /// Returns true if the user took too long.
    pub(super) fn is_over(&self, now: SystemTime) -> bool {
        now.duration_since(self.started)
            .is_ok_and(|age| age > LOGIN_TIME)
    }

    /// Checks that a callback belongs to this attempt and comes from the issuer (RFC 9207).
    pub(super) fn check(
        &self,
        callback: &Callback,
        issuer: &str,
        names_issuer: bool,
    ) -> Result<(), Check> {
        if secret::digest(&callback.state) != secret::digest(&self.state) {
            return Err(Check::State);
        }
        match &callback.iss {
            Some(named) if named != issuer => Err(Check::CallbackIssuer),
            None if names_issuer => Err(Check::CallbackIssuer),
            _ => Ok(()),
        }
    }
}

/// The query of the request that a browser sends after the login at the provider.
#[derive(Clone, Default)]
pub(crate) struct Callback {
    pub(crate) state: String,
    pub(crate) code: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) iss: Option<String>,
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}

/// The tokens of a user.
#[derive(Clone)]
pub(crate) struct Tokens {
    /// The ID token, which also authenticates the user to a cluster that knows the provider.
    pub(crate) id_token: String,
    pub(crate) refresh_token: Option<String>,
    /// The end of the ID token.
    pub(crate) expires: SystemTime,
    pub(crate) user: User,
    pub(super) nonce: String,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("expires", &self.expires)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}
