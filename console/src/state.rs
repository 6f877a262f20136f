//! The state of a console ([`Console`]), which all requests share.

use std::net::SocketAddr;

use axum::http::HeaderMap;
use axum::http::header::{COOKIE, HOST};

use crate::plans::Plans;
use crate::program::Program;
use crate::runs::Runs;
use crate::secret::AccessToken;
use crate::session::Sessions;
use crate::site::Site;

/// The state of a console.
#[derive(Debug)]
pub struct Console {
    pub(crate) site: Site,
    pub(crate) plans: Plans,
    pub(crate) runs: Runs,
    pub(crate) sessions: Sessions,
    token: AccessToken,
    /// The hosts by which browsers may address the console.
    hosts: Vec<String>,
    pub(crate) cookie: String,
}

impl Console {
    /// Creates a console for the users of this machine at a loopback address. Whoever knows the token can log in.
    #[must_use]
    pub fn on_loopback(program: Program, address: SocketAddr, token: AccessToken) -> Self {
        let port = address.port();
        let own = address.to_string();
        Self {
            site: Site::new(program),
            plans: Plans::default(),
            runs: Runs::default(),
            sessions: Sessions::default(),
            token,
            hosts: vec![own, format!("localhost:{port}")],
            // Browsers do not separate the cookies of different ports.
            cookie: format!("solution-console-{port}"),
        }
    }

    /// Returns true if this is the access token.
    pub(crate) fn is_token(&self, given: &str) -> bool {
        self.token.is(given)
    }

    /// Returns the value of the `Set-Cookie` header that stores the id of a session.
    pub(crate) fn set_cookie(&self, id: &str) -> String {
        format!("{}={id}; Path=/; HttpOnly; SameSite=Strict", self.cookie)
    }

    /// Returns the id of the session in a request.
    pub(crate) fn session_id<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let cookies = headers.get_all(COOKIE).into_iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';'));
        pairs.find_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.cookie).then_some(value)
        })
    }

    /// Returns true if the request names this console as its host.
    pub(crate) fn is_own_host(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(HOST).and_then(|value| value.to_str().ok());
        host.is_some_and(|host| self.hosts.iter().any(|own| own == host))
    }
}
