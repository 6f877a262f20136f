//! The address of the console in browsers ([`PublicUrl`]).

use std::fmt;
use std::str::FromStr;

use axum::http::Uri;
use axum::http::uri::{PathAndQuery, Scheme};

/// The address of a console in browsers: `https://`, a host, and a port if it is not 443. It comes from the
/// configuration, never from a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    host: String,
}

/// The reason why a text is not the address of a console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicUrlError;

impl fmt::Display for PublicUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected `https://HOST[:PORT]` without a path")
    }
}

impl std::error::Error for PublicUrlError {}

impl FromStr for PublicUrl {
    type Err = PublicUrlError;

    fn from_str(text: &str) -> Result<Self, PublicUrlError> {
        let uri: Uri = text.parse().map_err(|_| PublicUrlError)?;
        let is_root = matches!(
            uri.path_and_query().map(PathAndQuery::as_str),
            None | Some("/")
        );
        let authority = uri
            .authority()
            .filter(|authority| !authority.as_str().contains('@'));
        let authority = authority.filter(|_| is_root && uri.scheme() == Some(&Scheme::HTTPS));
        let authority = authority.ok_or(PublicUrlError)?.as_str();
        // Browsers omit the default port.
        let host = authority.strip_suffix(":443").unwrap_or(authority);
        let host = host.to_ascii_lowercase();
        Ok(Self { host })
    }
}

impl PublicUrl {
    /// Returns the host, with the port if it is not 443, as browsers send it.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Returns the address of a path, which begins with a slash.
    pub(crate) fn join(&self, path: &str) -> String {
        format!("{self}{path}")
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}", self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_https_with_a_host_and_nothing_else() {
        let host = |text: &str| text.parse().map(|url: PublicUrl| url.host);
        assert_eq!(
            host("https://Console.Site.test").unwrap(),
            "console.site.test"
        );
        assert_eq!(
            host("https://console.site.test:443/").unwrap(),
            "console.site.test"
        );
        assert_eq!(host("https://[::1]:8440").unwrap(), "[::1]:8440");
        for text in [
            "",
            "console.site.test",
            "http://console.site.test",
            "https://me@console.site.test",
            "https://console.site.test/path",
            "https://console.site.test/?a",
        ] {
            assert_eq!(host(text), Err(PublicUrlError), "{text}");
        }
    }
}
