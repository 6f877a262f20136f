//! Requests to the provider ([`Transport`]) with limits for the time and the size of each answer.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use serde::de::DeserializeOwned;

use super::error::{Error, Object};
use super::settings::SettingsError;

/// The largest answer, in bytes.
const LARGEST: usize = 1024 * 1024;

/// The HTTP client.
#[derive(Debug)]
pub(crate) struct Transport(Client);

impl Transport {
    /// Creates a client that trusts these authorities (PEM), or without them those of the system.
    pub(crate) fn new(ca: Option<&[u8]>, time_limit: Duration) -> Result<Self, SettingsError> {
        // An explicit provider is independent of other users of rustls in the process.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring has the cipher suites of TLS 1.2 and 1.3")
            .with_root_certificates(roots(ca)?)
            .with_no_client_auth();
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .https_only(true)
            .redirect(reqwest::redirect::Policy::none())
            // The proxies of the environment are ignored.
            .no_proxy()
            .referer(false)
            .timeout(time_limit)
            .build();
        let client = client.map_err(|error| SettingsError::Client(cause(error)))?;
        Ok(Self(client))
    }

    pub(crate) async fn get(&self, url: &Url, object: Object) -> Result<Answer, Error> {
        send(self.0.get(url.clone()), object).await
    }

    /// Sends a form, with the client id and secret in the header if they are given.
    pub(crate) async fn post(
        &self,
        url: &Url,
        form: String,
        login: Option<[&str; 2]>,
        object: Object,
    ) -> Result<Answer, Error> {
        let request = self.0.post(url.clone()).body(form);
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let request = match login {
            Some([user, password]) => request.basic_auth(user, Some(password)),
            None => request,
        };
        send(request, object).await
    }
}

async fn send(request: RequestBuilder, object: Object) -> Result<Answer, Error> {
    let failed = |error| Error::unavailable(object, &cause(error));
    let request = request.header(ACCEPT, "application/json");
    let mut response = request.send().await.map_err(failed)?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > LARGEST {
            return Err(Error::unavailable(object, "the answer has more than 1 MiB"));
        }
        body.extend_from_slice(&chunk);
    }
    let status = response.status();
    Ok(Answer {
        object,
        status,
        body,
    })
}

/// An answer of the provider.
pub(crate) struct Answer {
    object: Object,
    pub(crate) status: StatusCode,
    body: Vec<u8>,
}

impl Answer {
    /// Returns the content of a successful answer.
    pub(crate) fn content<T: DeserializeOwned>(&self) -> Result<T, Error> {
        if self.status != StatusCode::OK {
            return Err(self.unexpected_status());
        }
        // The text of the error would quote the answer, which can contain tokens.
        let failed = |error: serde_json::Error| {
            let (line, column) = (error.line(), error.column());
            let cause = format!("the answer is not as expected at line {line}, column {column}");
            Error::unavailable(self.object, &cause)
        };
        serde_json::from_slice(&self.body).map_err(failed)
    }

    /// Returns the content of an answer with an error, if it has the expected form.
    pub(crate) fn error_content<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }

    pub(crate) fn unexpected_status(&self) -> Error {
        let cause = format!("it answered with the HTTP status {}", self.status.as_u16());
        Error::unavailable(self.object, &cause)
    }
}

fn roots(ca: Option<&[u8]>) -> Result<RootCertStore, SettingsError> {
    let mut roots = RootCertStore::empty();
    let Some(ca) = ca else {
        // A system without usable authorities is reported when a connection fails.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    for certificate in CertificateDer::pem_slice_iter(ca) {
        let certificate = certificate.map_err(|_| SettingsError::Authority)?;
        let added = roots.add(certificate);
        added.map_err(|_| SettingsError::Authority)?;
    }
    if roots.is_empty() {
        return Err(SettingsError::Authority);
    }
    Ok(roots)
}

/// Returns the causes of an error, without the URL, whose query can contain secrets.
fn cause(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return "it did not answer in time".to_owned();
    }
    let error = error.without_url();
    let causes = std::iter::successors(error.source(), |cause| (**cause).source());
    let causes = causes.map(ToString::to_string);
    let texts: Vec<String> = std::iter::once(error.to_string()).chain(causes).collect();
    texts.join(": ")
}
