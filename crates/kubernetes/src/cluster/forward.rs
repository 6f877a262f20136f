//! Forwarding of requests of other programs over the same connection ([`Cluster::pass`]). A request is sent once and
//! unchanged, and its answer is streamed.

use std::fmt;

use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WARNING};
use http::{HeaderMap, HeaderName, Request};
use http_body_util::BodyExt as _;
use kube::client::Body;
use progress::Exchange;
use tokio::time::Instant;

use super::Cluster;
use crate::error::{Error, Source, bounded};

/// A request of another program.
#[derive(Clone, Debug)]
pub struct ForwardedRequest {
    /// The method of the request.
    pub method: String,
    /// The path and query of the request.
    pub target: String,
    /// The accepted content types of the answer.
    pub accept: String,
    /// The content type of the body.
    pub content_type: Option<String>,
    /// The body of the request.
    pub body: Vec<u8>,
}

/// The server's answer to a forwarded request, with any status. Its body is read in pieces.
pub struct ForwardedResponse {
    /// The status.
    pub status: u16,
    /// The headers that are not specific to the connection.
    pub headers: Vec<(&'static str, String)>,
    body: Body,
}

impl fmt::Debug for ForwardedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passed")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

impl ForwardedResponse {
    /// Returns the next piece of the body, or `None` at its end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Source> {
        while let Some(frame) = self.body.frame().await {
            // Frames without data are trailers, which are skipped.
            if let Ok(data) = frame.map_err(Source::from)?.into_data() {
                return Ok(Some(data.to_vec()));
            }
        }
        Ok(None)
    }
}

impl Cluster {
    /// Forwards a request. A refusal by the server is an answer, not an error. There is no time limit; the caller ends
    /// the request by dropping this future or the answer.
    pub async fn pass(&self, forwarded: ForwardedRequest) -> Result<ForwardedResponse, Error> {
        let doing = format!("forward {} {}", forwarded.method, path(&forwarded.target));
        let invalid = |message: String| Error::Invalid {
            doing: doing.clone(),
            message: bounded(&message),
        };
        let mut request = Request::builder()
            .method(forwarded.method.as_str())
            .uri(&forwarded.target)
            .header(ACCEPT, &forwarded.accept);
        if let Some(content_type) = &forwarded.content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        let request = request.body(Body::from(forwarded.body));
        let request = request.map_err(|error| invalid(error.to_string()))?;
        let asked = Instant::now();
        let answer = self.client.send(request).await;
        self.listener.report(|| Exchange {
            method: forwarded.method.clone(),
            url: format!("{}{}", self.server, forwarded.target),
            status: answer
                .as_ref()
                .ok()
                .map(|response| response.status().as_u16()),
            took: asked.elapsed(),
        });
        let (parts, body) = answer
            .map_err(|error| Error::no_answer(doing, self.server.clone(), &error))?
            .into_parts();
        Ok(ForwardedResponse {
            status: parts.status.as_u16(),
            headers: forwarded_headers(&parts.headers),
            body,
        })
    }
}

fn path(target: &str) -> &str {
    target.split('?').next().unwrap_or_default()
}

fn forwarded_headers(headers: &HeaderMap) -> Vec<(&'static str, String)> {
    let wanted: [(HeaderName, &'static str); 3] = [
        (CONTENT_TYPE, "content-type"),
        (RETRY_AFTER, "retry-after"),
        (WARNING, "warning"),
    ];
    let forwarded = wanted.into_iter().flat_map(|(header, name)| {
        let values = headers.get_all(header).into_iter();
        let values = values.filter_map(|value| value.to_str().ok());
        values.map(move |value| (name, value.to_owned()))
    });
    forwarded.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mock::{Answer, cluster};

    #[tokio::test]
    async fn a_request_is_passed_on_as_it_is_and_a_refusal_is_an_answer() {
        let (cluster, seen) = cluster(|_| Answer::json(403, &json!({"message": "no"}))).await;
        let forwarded = ForwardedRequest {
            method: "PATCH".to_owned(),
            target: "/api/v1/namespaces/a/secrets/b?fieldManager=helm".to_owned(),
            accept: "application/json".to_owned(),
            content_type: Some("application/apply-patch+yaml".to_owned()),
            body: b"{}".to_vec(),
        };
        let mut passed = cluster.pass(forwarded.clone()).await.unwrap();
        assert_eq!(passed.status, 403);
        assert_eq!(
            passed.next().await.unwrap().unwrap(),
            br#"{"message":"no"}"#
        );
        assert_eq!(passed.next().await.unwrap(), None);
        let seen = seen.lock().unwrap();
        assert_eq!(seen[0].path, forwarded.target);
        assert_eq!(seen[0].content_type, "application/apply-patch+yaml");
        assert_eq!(
            (seen[0].method.as_str(), seen[0].body.as_str()),
            ("PATCH", "{}")
        );
    }
}
