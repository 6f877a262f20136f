//! The cookies of the console ([`Cookie`]).

use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;

use crate::oidc::LOGIN_TIME;

/// A cookie that scripts cannot read.
#[derive(Debug)]
pub(crate) struct Cookie {
    name: String,
    attributes: String,
}

impl Cookie {
    /// Returns the cookie with the session of a console at a loopback address.
    pub(crate) fn on_loopback(port: u16) -> Self {
        Self {
            // Browsers do not separate the cookies of different ports.
            name: format!("solution-console-{port}"),
            attributes: "Path=/; HttpOnly; SameSite=Strict".to_owned(),
        }
    }

    /// Returns the cookie with the session of a user of an identity provider. Because of its prefix, other hosts of the
    /// same domain cannot set it (RFC 6265bis, section 4.1.3.2). Browsers send it after the redirection by the provider,
    /// which `SameSite=Strict` would prevent.
    pub(crate) fn of_session() -> Self {
        Self {
            name: "__Host-solution-console".to_owned(),
            attributes: "Path=/; Secure; HttpOnly; SameSite=Lax".to_owned(),
        }
    }

    /// Returns the cookie with the state of a login that has begun.
    pub(crate) fn of_login() -> Self {
        let seconds = LOGIN_TIME.as_secs();
        Self {
            name: "__Host-solution-login".to_owned(),
            attributes: format!("Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={seconds}"),
        }
    }

    /// Returns the value of the cookie in a request.
    pub(crate) fn value<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let cookies = headers.get_all(COOKIE).into_iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';'));
        pairs.find_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.name).then_some(value)
        })
    }

    /// Adds the cookie to a response. The value must be printable ASCII without spaces, quotes, commas, semicolons and
    /// backslashes.
    pub(crate) fn set(&self, response: &mut Response, value: &str) {
        append(
            response,
            &format!("{}={value}; {}", self.name, self.attributes),
        );
    }

    /// Removes the cookie from the browser.
    pub(crate) fn remove(&self, response: &mut Response) {
        append(
            response,
            &format!("{}=; {}; Max-Age=0", self.name, self.attributes),
        );
    }

    /// Returns the name of the cookie.
    #[cfg(test)]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

fn append(response: &mut Response, cookie: &str) {
    let cookie = HeaderValue::from_str(cookie).expect("the value has only printable characters");
    response.headers_mut().append(SET_COOKIE, cookie);
}
