//! Files of web sites, such as chart repositories. [`WebSite`] reads them within a limit and with the login of this
//! site only.
//!
//! Known attacks, and the code that stops each of them:
//!
//! - An address without TLS or with another scheme: [`WebSite::resolve`].
//! - Redirects, endless answers and silent peers: `transport`, as for registries.
//! - A request for the login by another host: `transport`; or through a token server: `Auth::basic_only`.

use std::str::FromStr;

use bytes::Bytes;
use progress::ProgressSink;
use reqwest::header::{ACCEPT_ENCODING, HeaderValue};
use reqwest::{Method, StatusCode, Url};

use crate::address::{AddressError, RegistryAddress};
use crate::answer::bad;
use crate::auth::{Auth, TokenScope};
use crate::client::{ClientOptions, PlainHttp};
use crate::error::{Error, Operation, RegistryVerb};
use crate::events::Event;
use crate::retry::{RetryPolicy, retrying};
use crate::transport::{OutgoingRequest, Transport};
use crate::wire::ClientWire;
use crate::{limits, origin};

/// The address of a web site, `https://HOST[:PORT][/PATH]`, or `http://…` if that is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteAddress {
    url: Url,
    login: RegistryAddress,
}

impl SiteAddress {
    /// Returns the address for which to look up a login.
    #[must_use]
    pub fn login(&self) -> &RegistryAddress {
        &self.login
    }
}

impl FromStr for SiteAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = || AddressError::Url(text.chars().take(80).collect());
        let mut url = Url::parse(text).map_err(|_| refuse())?;
        let has_login = !url.username().is_empty() || url.password().is_some();
        let is_plain = url.query().is_none() && url.fragment().is_none() && !has_login;
        if !matches!(url.scheme(), "http" | "https") || !is_plain || text.len() > limits::LOCATION {
            return Err(refuse());
        }
        if !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        let host = host(&url);
        // If the path does not match the grammar of repositories, the login is that of the host.
        let login = format!("{host}{}", url.path()).parse();
        let login = login.or_else(|_| host.parse())?;
        Ok(Self { url, login })
    }
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// A web site and the login for it.
pub struct WebSite {
    transport: Transport,
    base: Url,
    retry: RetryPolicy,
}

impl std::fmt::Debug for WebSite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Site")
            .field("base", &self.base.as_str())
            .finish_non_exhaustive()
    }
}

impl WebSite {
    /// Creates a client for the site at this address. Sends nothing yet.
    pub fn new(address: &SiteAddress, options: ClientOptions) -> Result<Self, Error> {
        let allowed = match options.plain_http {
            PlainHttp::Never => false,
            PlainHttp::Loopback => address.login.is_loopback(),
            PlainHttp::Always => true,
        };
        if address.url.scheme() == "http" && !allowed {
            return Err(Error::PlainHttpAsked(host(&address.url)));
        }
        Ok(Self {
            transport: Transport {
                wire: ClientWire::from_options(&options)?,
                auth: Auth::basic_only(options.credentials),
            },
            base: address.url.clone(),
            retry: options.retry,
        })
    }

    /// Reads a file of at most `limit` bytes. `file` is a path below the site's address, or a full URL.
    pub async fn read(
        &self,
        file: &str,
        limit: usize,
        tell: ProgressSink<'_, Event>,
    ) -> Result<Bytes, Error> {
        let url = self.resolve(file)?;
        let operation = operation(url.path(), host(&url));
        let read = || self.ask(&operation, &url, limit);
        match read().await {
            // If the server has never answered, a wrong name is more likely than a short outage, so there is no retry.
            Err(error @ Error::Unreachable(..)) if !self.transport.wire.has_answered() => {
                Err(error)
            }
            Err(error) if error.is_retried() => retrying(self.retry, read, tell).await,
            result => result,
        }
    }

    /// Returns the URL of a file. File names come from an index of the site and are not trusted.
    fn resolve(&self, file: &str) -> Result<Url, Error> {
        let operation = operation(file, host(&self.base));
        let url = self.base.join(file).ok();
        let mut url = url
            .filter(|_| file.len() <= limits::LOCATION)
            .ok_or_else(|| bad(&operation, "its address is not a URL"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad(&operation, "its address holds a login"));
        }
        if !origin::may_give(&url, &self.base) {
            return Err(bad(&operation, "its address does not use HTTPS"));
        }
        url.set_fragment(None);
        Ok(url)
    }

    async fn ask(&self, operation: &Operation, url: &Url, limit: usize) -> Result<Bytes, Error> {
        let mut ask = OutgoingRequest::new(Method::GET, url.clone(), TokenScope::none());
        // Compression in transit would change the bytes and thus the digest.
        let identity = HeaderValue::from_static("identity");
        ask.headers.insert(ACCEPT_ENCODING, identity);
        let answer = self.transport.send(operation, &self.base, ask).await?;
        let boxed = || Box::new(operation.clone());
        match answer.status() {
            StatusCode::NOT_FOUND | StatusCode::GONE => Err(Error::Missing(boxed())),
            // `transport` sends the login to the site's own origin only.
            StatusCode::UNAUTHORIZED => Err(Error::LoginRequired(boxed())),
            _ => {
                let answer = answer.success(operation).await?;
                answer.body(operation, limit).await
            }
        }
    }
}

fn operation(file: &str, host: String) -> Operation {
    Operation {
        verb: RegistryVerb::ReadFile(file.chars().take(limits::MESSAGE).collect()),
        host,
        repository: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(address: &str, plain_http: PlainHttp) -> Result<WebSite, Error> {
        let options = ClientOptions {
            plain_http,
            ..ClientOptions::default()
        };
        WebSite::new(&address.parse().unwrap(), options)
    }

    #[test]
    fn sites_have_plain_addresses() {
        for (text, url, login) in [
            ("https://R.test", "https://r.test/", "r.test"),
            ("https://r.test/a/b", "https://r.test/a/b/", "r.test/a/b"),
            (
                "https://r.test:444/a/",
                "https://r.test:444/a/",
                "r.test:444/a",
            ),
            ("https://r.test/A", "https://r.test/A/", "r.test"),
            ("http://[::1]:80/", "http://[::1]/", "[::1]"),
        ] {
            let address: SiteAddress = text.parse().unwrap();
            assert_eq!(address.url.as_str(), url);
            assert_eq!(address.login().to_string(), login, "{text}");
        }
        for text in [
            "",
            "r.test",
            "ftp://r.test",
            "file:///etc",
            "https://",
            "https://u@r.test/",
            "https://u:p@r.test/",
            "https://r.test/?a=b",
            "https://r.test/#a",
        ] {
            assert!(text.parse::<SiteAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn plain_http_is_spoken_where_registries_may() {
        let [here, there] = ["http://127.0.0.1:1", "http://r.test"];
        for (address, plain, allowed) in [
            (here, PlainHttp::Loopback, true),
            (here, PlainHttp::Never, false),
            (there, PlainHttp::Loopback, false),
            (there, PlainHttp::Always, true),
            ("https://r.test", PlainHttp::Never, true),
        ] {
            assert_eq!(site(address, plain).is_ok(), allowed, "{address} {plain:?}");
        }
    }

    #[test]
    fn files_are_where_nobody_can_change_them_on_the_way() {
        let site = site("https://r.test/charts", PlainHttp::Always).unwrap();
        for (file, url) in [
            ("index.yaml", "https://r.test/charts/index.yaml"),
            ("/a.tgz", "https://r.test/a.tgz"),
            ("../a.tgz", "https://r.test/a.tgz"),
            ("//s.test/a.tgz", "https://s.test/a.tgz"),
            ("https://s.test/a.tgz?b=c#d", "https://s.test/a.tgz?b=c"),
        ] {
            assert_eq!(site.resolve(file).unwrap().as_str(), url);
        }
        for file in [
            "http://r.test/a.tgz",
            "http://127.0.0.1/a.tgz",
            "file:///etc/passwd",
            "oci://r.test/a:1.0.0",
            "https://u:p@r.test/a.tgz",
            "https://[",
            &"a".repeat(20_000),
        ] {
            assert!(site.resolve(file).is_err(), "{file}");
        }
    }
}
