//! The configuration that a provider publishes ([`Metadata`]; OpenID Connect Discovery 1.0).

use reqwest::Url;
use serde::Deserialize;

use super::error::{Check, Error};
use super::settings::https_url;
use super::transport::Answer;

/// The scopes to ask for. The first one makes a request one of OpenID Connect.
const SCOPES: [&str; 5] = ["openid", "profile", "email", "groups", "offline_access"];

#[derive(Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    end_session_endpoint: Option<String>,
    scopes_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    authorization_response_iss_parameter_supported: Option<bool>,
}

/// The configuration of a provider.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) authorization: Url,
    pub(crate) token: Url,
    pub(crate) keys: Url,
    pub(crate) end_session: Option<Url>,
    /// The scopes to ask for, separated by spaces.
    pub(crate) scopes: String,
    /// The ways in which clients can prove their identity.
    authentication: Vec<String>,
    /// Whether the provider names itself in its callbacks (RFC 9207).
    pub(crate) names_issuer: bool,
}

/// The way in which a client sends its secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecretTransport {
    Header,
    Body,
}

impl Metadata {
    /// Reads and checks the configuration of an issuer.
    pub(crate) fn parse(answer: &Answer, issuer: &str) -> Result<Self, Error> {
        let document: Document = answer.content()?;
        if document.issuer != issuer {
            return Err(Check::ConfiguredIssuer.into());
        }
        let end_session = document.end_session_endpoint.as_deref();
        let end_session = end_session.map(|url| endpoint("end_session_endpoint", url));
        let supported = document.scopes_supported.unwrap_or_default();
        let is_supported = |scope: &&str| {
            *scope == SCOPES[0]
                || supported.is_empty()
                || supported.iter().any(|name| name == scope)
        };
        let scopes: Vec<&str> = SCOPES.into_iter().filter(is_supported).collect();
        let authentication = document.token_endpoint_auth_methods_supported;
        Ok(Self {
            authorization: endpoint("authorization_endpoint", &document.authorization_endpoint)?,
            token: endpoint("token_endpoint", &document.token_endpoint)?,
            keys: endpoint("jwks_uri", &document.jwks_uri)?,
            end_session: end_session.transpose()?,
            scopes: scopes.join(" "),
            authentication: authentication.unwrap_or_default(),
            names_issuer: document.authorization_response_iss_parameter_supported == Some(true),
        })
    }

    /// Returns how to send the client secret. Providers that do not say accept it in the header.
    pub(crate) fn secret_transport(&self) -> Result<SecretTransport, Check> {
        let accepts = |method: &str| self.authentication.iter().any(|name| name == method);
        if self.authentication.is_empty() || accepts("client_secret_basic") {
            Ok(SecretTransport::Header)
        } else if accepts("client_secret_post") {
            Ok(SecretTransport::Body)
        } else {
            Err(Check::ClientAuthentication)
        }
    }
}

fn endpoint(name: &'static str, url: &str) -> Result<Url, Check> {
    https_url(url).ok_or(Check::Endpoint(name))
}
