//! The settings of the provider and of this client ([`Settings`]).

use std::fmt;

use reqwest::Url;

/// The settings of the identity provider, and of the console as its client.
#[derive(Clone)]
pub(crate) struct Settings {
    /// The issuer: an https URL, spelled as the provider spells it.
    pub(crate) issuer: String,
    /// The client id that the provider knows for the console.
    pub(crate) client_id: String,
    /// The client secret. Without it, the console is a public client.
    pub(crate) client_secret: Option<String>,
    /// The URL of the console to which the provider sends browsers after a login. It is https, or http on a loopback
    /// address.
    pub(crate) redirect_uri: String,
    /// The certificate authorities (PEM) of the provider. They replace those of the system.
    pub(crate) ca: Option<Vec<u8>>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("issuer", &self.issuer)
            .field("client_id", &self.client_id)
            .field("redirect_uri", &self.redirect_uri)
            .finish_non_exhaustive()
    }
}

/// The reason why settings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The issuer is not accepted.
    #[error("the issuer must be an https URL without user, query and fragment")]
    Issuer,
    /// The client id is empty.
    #[error("the client id is empty")]
    ClientId,
    /// The redirect URI is not accepted.
    #[error(
        "the redirect URI must be an https URL, or an http URL of a loopback address, without user and fragment"
    )]
    RedirectUri,
    /// The certificate authorities cannot be read.
    #[error("the certificate authority is not a certificate in PEM")]
    Authority,
    /// The HTTP client cannot be created.
    #[error("cannot create the HTTP client: {0}")]
    Client(String),
}

impl Settings {
    /// Returns the URL of the provider's configuration.
    ///
    /// # Errors
    ///
    /// Fails if the settings cannot be used.
    pub(crate) fn configuration_url(&self) -> Result<Url, SettingsError> {
        if self.client_id.is_empty() {
            return Err(SettingsError::ClientId);
        }
        let redirect = Url::parse(&self.redirect_uri).ok().filter(|url| {
            let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url));
            is_safe && is_plain(url)
        });
        redirect.ok_or(SettingsError::RedirectUri)?;
        let issuer = https_url(&self.issuer).filter(|url| url.query().is_none());
        issuer.ok_or(SettingsError::Issuer)?;
        let issuer = self.issuer.trim_end_matches('/');
        https_url(&format!("{issuer}/.well-known/openid-configuration"))
            .ok_or(SettingsError::Issuer)
    }
}

/// Parses an https URL without user and fragment.
pub(crate) fn https_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    (url.scheme() == "https" && is_plain(&url)).then_some(url)
}

fn is_plain(url: &Url) -> bool {
    url.username().is_empty() && url.password().is_none() && url.fragment().is_none()
}

fn is_loopback(url: &Url) -> bool {
    matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"))
}
