//! The client of the site's identity provider: OpenID Connect Core 1.0 with the authorization code flow and PKCE.
//!
//! [`Provider::begin`] returns the address of the provider's login page, and an attempt that the caller stores.
//! [`Provider::finish`] exchanges the code that comes back for tokens, and [`Provider::refresh`] renews them. Every
//! answer of the provider is limited in size and time, and is checked before it is used.

mod claims;
mod discovery;
mod error;
mod id_token;
mod keys;
mod login;
mod provider;
mod settings;
mod transport;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use claims::User;
pub(crate) use error::Error;
pub(crate) use login::{Callback, LOGIN_TIME, LoginAttempt, Tokens};
pub(crate) use provider::Provider;
pub(crate) use settings::Settings;
pub use settings::SettingsError;
