//! Answers of a registry, whose bodies are read within limits, and the `Location` headers in them. [`resolve`]
//! completes a location and refuses one that would weaken the protection of the connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderName, LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode, Url};
use schemas::Digest;

use crate::activity::{Activity, ActivityPhase};
use crate::error::{Error, Operation};
use crate::failure::{self, from_reqwest};
use crate::identity::ShownIdentity;
use crate::{limits, origin};

/// The head of an answer, and its body on demand.
#[derive(Debug)]
pub(crate) struct RegistryAnswer {
    response: Response,
    activity: Activity,
    shown: Arc<ShownIdentity>,
}

impl RegistryAnswer {
    pub(crate) fn new(response: Response, activity: Activity, shown: Arc<ShownIdentity>) -> Self {
        Self {
            response,
            activity,
            shown,
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    pub(crate) fn header_texts<'a>(
        &'a self,
        name: &'a HeaderName,
    ) -> impl Iterator<Item = &'a str> {
        let values = self.response.headers().get_all(name).iter();
        values.filter_map(|value| value.to_str().ok())
    }

    pub(crate) fn location(&self) -> Option<&str> {
        self.header(LOCATION.as_str())
    }

    /// Returns the length of the body if the registry states it.
    pub(crate) fn length(&self) -> Option<u64> {
        self.header(CONTENT_LENGTH.as_str())?.parse().ok()
    }

    /// Returns the first byte sent and the full size, from the answer to a range request.
    pub(crate) fn part(&self) -> Option<(u64, Option<u64>)> {
        range(self.header(CONTENT_RANGE.as_str())?)
    }

    /// Returns the entire body. Fails if it is longer than `limit` bytes.
    pub(crate) async fn body(self, operation: &Operation, limit: usize) -> Result<Bytes, Error> {
        let (body, complete) = self.read(operation, limit).await?;
        if complete {
            Ok(body)
        } else {
            let operation = Box::new(operation.clone());
            Err(Error::AnswerTooLong(operation, limit))
        }
    }

    /// Returns the beginning of the body of an error answer, at most [`limits::ERROR_BODY`] bytes.
    pub(crate) async fn error_body(self, operation: &Operation) -> Bytes {
        let read = self.read(operation, limits::ERROR_BODY).await;
        read.map(|(body, _)| body).unwrap_or_default()
    }

    /// Reads and discards a body, so that the connection can be reused.
    pub(crate) async fn pass_over(self, operation: &Operation) {
        self.error_body(operation).await;
    }

    /// Returns the next chunk of the body, or `None` at its end.
    pub(crate) async fn piece(&mut self, operation: &Operation) -> Result<Option<Bytes>, Error> {
        self.activity.mark(ActivityPhase::Moving);
        let piece = self.activity.watch(self.response.chunk()).await;
        // The time until the next call belongs to the caller and is not part of the transfer.
        self.activity.mark(ActivityPhase::Asking);
        let piece = piece.map_err(|late| late.error(operation))?;
        let piece = piece.map_err(|error| self.shown.explain(from_reqwest(operation, error)))?;
        let bytes = piece.as_ref().map_or(0, Bytes::len);
        self.activity.count_bytes(bytes as u64);
        Ok(piece)
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

    /// Returns the digest that the registry states for the content that it sent or stored.
    pub(crate) fn stated_digest(&self) -> Option<Digest> {
        self.header("docker-content-digest")?.parse().ok()
    }

    /// Returns the answer as [`RegistryAnswer::success`] does, or `None` if its status is 404.
    pub(crate) async fn found(self, operation: &Operation) -> Result<Option<Self>, Error> {
        if self.status() == StatusCode::NOT_FOUND {
            self.pass_over(operation).await;
            return Ok(None);
        }
        self.success(operation).await.map(Some)
    }

    /// Returns the answer itself if its status is a success, else the corresponding error.
    pub(crate) async fn success(self, operation: &Operation) -> Result<Self, Error> {
        if self.status().is_success() {
            return Ok(self);
        }
        let (error, _) = self.into_error(operation).await;
        Err(error)
    }

    /// Returns the error for the answer, and the error code that the registry gave.
    pub(crate) async fn into_error(self, operation: &Operation) -> (Error, Option<String>) {
        let status = self.status();
        let retry_after = self.retry_after();
        let shown = Arc::clone(&self.shown);
        let body = self.error_body(operation).await;
        let error = failure::from_status(operation, status, &body, retry_after);
        (shown.explain(error), failure::registry_code(&body))
    }

    /// Returns the requested pause. Only the form in seconds is supported: a date would require synchronized clocks.
    fn retry_after(&self) -> Option<Duration> {
        let seconds = self.header(RETRY_AFTER.as_str())?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds).min(limits::RETRY_AFTER))
    }
}

/// The purpose for which a `Location` is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Content is read from the location.
    Read,
    /// Content is sent to the location, which must have the registry's own origin. A different origin would receive the
    /// content of the archive.
    Write,
}

/// Returns the URL of a `Location`. Relative locations are completed. The scheme never becomes weaker: a registry
/// behind a proxy that terminates TLS often names itself `http://`. On the same host, such a location is read as
/// `https://`; on a different host, it is refused.
pub(crate) fn resolve(
    operation: &Operation,
    registry: &Url,
    from: &Url,
    location: Option<&str>,
    purpose: Purpose,
) -> Result<Url, Error> {
    let location = location
        .filter(|text| text.len() <= limits::LOCATION)
        .ok_or_else(|| bad(operation, "the answer has no usable `Location`"))?;
    let mut url = from
        .join(location)
        .map_err(|_| bad(operation, "the answer's `Location` is not a URL"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad(operation, "the answer's `Location` holds a login"));
    }
    url.set_fragment(None);
    let same_host = url.host_str() == registry.host_str();
    if (registry.scheme(), url.scheme(), same_host) == ("https", "http", true) {
        // A registry that does not know its proxy names the default port of plain HTTP, where the proxy's port is
        // needed.
        let port = match url.port() {
            None | Some(80) => registry.port(),
            port => port,
        };
        url.set_scheme("https")
            .and_then(|()| url.set_port(port))
            .map_err(|()| bad(operation, "the answer's `Location` has no HTTPS form"))?;
    }
    match purpose {
        Purpose::Read if !origin::may_give(&url, registry) => {
            Err(bad(operation, "the answer's `Location` does not use HTTPS"))
        }
        Purpose::Write if !origin::is_same(&url, registry) => Err(bad(
            operation,
            "the answer's `Location` is at a different origin",
        )),
        Purpose::Read | Purpose::Write => Ok(url),
    }
}

/// Reads the first byte and the full size of `Content-Range: bytes FIRST-LAST/SIZE`.
fn range(text: &str) -> Option<(u64, Option<u64>)> {
    let (span, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, _) = span.split_once('-')?;
    let total = match total {
        "*" => None,
        total => Some(total.parse().ok()?),
    };
    Some((first.parse().ok()?, total))
}

pub(crate) fn bad(operation: &Operation, reason: &'static str) -> Error {
    Error::BadAnswer(Box::new(operation.clone()), reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::RegistryVerb;

    fn resolved(registry: &str, location: &str, purpose: Purpose) -> Result<String, Error> {
        let operation = Operation {
            verb: RegistryVerb::Ping,
            host: "r.example".to_owned(),
            repository: None,
        };
        let registry = Url::parse(registry).unwrap();
        let from = registry.join("/v2/app/blobs/uploads/").unwrap();
        let url = resolve(&operation, &registry, &from, Some(location), purpose)?;
        Ok(url.to_string())
    }

    #[test]
    fn locations_never_lose_their_protection() {
        let tls = "https://r.example:5000/";
        for (location, expected) in [
            ("/v2/x?_state=1", "https://r.example:5000/v2/x?_state=1"),
            ("u1", "https://r.example:5000/v2/app/blobs/uploads/u1"),
            ("http://r.example:5000/x", "https://r.example:5000/x"),
            ("http://r.example/x", "https://r.example:5000/x"),
        ] {
            for purpose in [Purpose::Read, Purpose::Write] {
                assert_eq!(resolved(tls, location, purpose).unwrap(), expected);
            }
        }
        let elsewhere = "https://cdn.example/x";
        assert_eq!(resolved(tls, elsewhere, Purpose::Read).unwrap(), elsewhere);
        for location in [
            "http://cdn.example/x",
            "file:///etc/passwd",
            "https://u:p@r.example/x",
            "https://[",
            &"x".repeat(20_000),
        ] {
            for purpose in [Purpose::Read, Purpose::Write] {
                assert!(resolved(tls, location, purpose).is_err(), "{location}");
            }
        }
    }

    #[test]
    fn content_is_sent_to_the_registry_itself_and_read_from_others() {
        for (registry, location) in [
            ("http://r.example/", "http://other.example/x"),
            ("http://r.example/", "https://r.example/x"),
            ("http://127.0.0.1:5000/", "http://127.0.0.1:9000/x"),
            ("http://127.0.0.1:5000/", "https://other.example/x"),
            ("https://r.example/", "https://other.example/x"),
            ("https://r.example/", "https://r.example:5000/x"),
            ("https://r.example/", "//other.example/x"),
            ("https://r.example/", "http://r.example:8080/x"),
        ] {
            assert!(
                resolved(registry, location, Purpose::Read).is_ok(),
                "{location}"
            );
            let refused = resolved(registry, location, Purpose::Write).unwrap_err();
            assert!(
                refused.to_string().contains("different origin"),
                "{refused}"
            );
        }
        let here = "http://127.0.0.1:5000/";
        assert!(resolved(here, "http://other.example/x", Purpose::Read).is_err());
    }

    #[test]
    fn ranges_are_read_strictly() {
        assert_eq!(range("bytes 5-9/10"), Some((5, Some(10))));
        assert_eq!(range("bytes 5-9/*"), Some((5, None)));
        for text in [
            "5-9/10",
            "bytes 5-9",
            "bytes */10",
            "bytes -5/10",
            "bytes 5-9/x",
        ] {
            assert_eq!(range(text), None, "{text}");
        }
    }
}
