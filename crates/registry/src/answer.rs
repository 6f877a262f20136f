//! What a registry answers, read within limits, and where it points.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderName, LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode, Url};

use crate::error::{Error, Operation};
use crate::failure::{self, from_reqwest};
use crate::limits;

/// The head of an answer, and its body on request.
#[derive(Debug)]
pub(crate) struct Answer(pub(crate) Response);

impl Answer {
    pub(crate) fn status(&self) -> StatusCode {
        self.0.status()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.0.headers().get(name)?.to_str().ok()
    }

    pub(crate) fn header_texts<'a>(
        &'a self,
        name: &'a HeaderName,
    ) -> impl Iterator<Item = &'a str> {
        let values = self.0.headers().get_all(name).iter();
        values.filter_map(|value| value.to_str().ok())
    }

    pub(crate) fn location(&self) -> Option<&str> {
        self.header(LOCATION.as_str())
    }

    /// The whole body, if it is not longer than `limit` bytes.
    pub(crate) async fn body(self, operation: &Operation, limit: usize) -> Result<Bytes, Error> {
        let (body, complete) = self.read(operation, limit).await?;
        if complete {
            Ok(body)
        } else {
            let operation = Box::new(operation.clone());
            Err(Error::AnswerTooLong { operation, limit })
        }
    }

    /// As much of an error answer as is worth looking at.
    pub(crate) async fn error_body(self, operation: &Operation) -> Bytes {
        let read = self.read(operation, limits::ERROR_BODY).await;
        read.map(|(body, _)| body).unwrap_or_default()
    }

    /// The next piece of the body; `None` at its end.
    pub(crate) async fn piece(&mut self, operation: &Operation) -> Result<Option<Bytes>, Error> {
        let piece = tokio::time::timeout(limits::IDLE_TIMEOUT, self.0.chunk()).await;
        let piece = piece.map_err(|_| Error::TimedOut {
            operation: Box::new(operation.clone()),
            limit: limits::IDLE_TIMEOUT,
        })?;
        piece.map_err(|error| from_reqwest(operation, error))
    }

    async fn read(mut self, operation: &Operation, limit: usize) -> Result<(Bytes, bool), Error> {
        let mut body = Vec::new();
        loop {
            match self.piece(operation).await? {
                None => return Ok((body.into(), true)),
                Some(chunk) if body.len() + chunk.len() > limit => {
                    body.extend_from_slice(&chunk[..limit - body.len()]);
                    return Ok((body.into(), false));
                }
                Some(chunk) => body.extend_from_slice(&chunk),
            }
        }
    }

    /// The answer itself if its status is a success, else the error it stands for.
    pub(crate) async fn success(self, operation: &Operation) -> Result<Self, Error> {
        if self.status().is_success() {
            return Ok(self);
        }
        let (error, _) = self.into_error(operation).await;
        Err(error)
    }

    /// The error that the answer stands for, and the code that the registry gave.
    pub(crate) async fn into_error(self, operation: &Operation) -> (Error, Option<String>) {
        let status = self.status();
        let retry_after = self.retry_after();
        let body = self.error_body(operation).await;
        let error = failure::from_status(operation, status, &body, retry_after);
        (error, failure::registry_code(&body))
    }

    /// Only the form in seconds: a date would need a clock that both sides agree on.
    fn retry_after(&self) -> Option<Duration> {
        let seconds = self.header(RETRY_AFTER.as_str())?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds).min(limits::RETRY_AFTER))
    }
}

/// Where a `Location` points. Relative ones are completed. The scheme never becomes weaker: a registry behind a proxy
/// that ends TLS often names itself `http://`, which is read as `https://` on the same host and refused elsewhere.
pub(crate) fn resolve(
    operation: &Operation,
    registry: &Url,
    from: &Url,
    location: Option<&str>,
) -> Result<Url, Error> {
    let location = location
        .filter(|text| text.len() <= limits::LOCATION)
        .ok_or_else(|| bad(operation, "the answer lacks a usable `Location`"))?;
    let mut url = from
        .join(location)
        .map_err(|_| bad(operation, "the answer's `Location` is not a URL"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad(operation, "the answer's `Location` holds a login"));
    }
    url.set_fragment(None);
    match (registry.scheme(), url.scheme()) {
        (_, "https") | ("http", "http") => Ok(url),
        ("https", "http") if url.host_str() == registry.host_str() => {
            let port = match url.port() {
                None | Some(80) => registry.port(),
                port => port,
            };
            url.set_scheme("https")
                .and_then(|()| url.set_port(port))
                .map_err(|()| bad(operation, "the answer's `Location` has no HTTPS form"))?;
            Ok(url)
        }
        _ => Err(bad(operation, "the answer's `Location` does not use HTTPS")),
    }
}

pub(crate) fn bad(operation: &Operation, reason: &'static str) -> Error {
    Error::BadAnswer {
        operation: Box::new(operation.clone()),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Verb;

    fn resolved(registry: &str, location: &str) -> Result<String, Error> {
        let operation = Operation {
            verb: Verb::Ping,
            host: "r.example".to_owned(),
            repository: None,
        };
        let registry = Url::parse(registry).unwrap();
        let from = registry.join("/v2/app/blobs/uploads/").unwrap();
        resolve(&operation, &registry, &from, Some(location)).map(|url| url.to_string())
    }

    #[test]
    fn locations_never_lose_their_protection() {
        let tls = "https://r.example:5000/";
        assert_eq!(
            resolved(tls, "/v2/x?_state=1").unwrap(),
            "https://r.example:5000/v2/x?_state=1"
        );
        assert_eq!(
            resolved(tls, "u1").unwrap(),
            "https://r.example:5000/v2/app/blobs/uploads/u1"
        );
        assert_eq!(
            resolved(tls, "http://r.example:5000/x").unwrap(),
            "https://r.example:5000/x"
        );
        assert_eq!(
            resolved(tls, "http://r.example/x").unwrap(),
            "https://r.example:5000/x"
        );
        assert_eq!(
            resolved(tls, "https://cdn.example/x").unwrap(),
            "https://cdn.example/x"
        );
        assert_eq!(
            resolved("http://r.example/", "http://other/x").unwrap(),
            "http://other/x"
        );
        for location in [
            "http://cdn.example/x",
            "file:///etc/passwd",
            "https://u:p@r.example/x",
            "https://[",
            &"x".repeat(20_000),
        ] {
            assert!(resolved(tls, location).is_err(), "{location}");
        }
    }
}
