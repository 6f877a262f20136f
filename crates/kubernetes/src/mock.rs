//! A small server for tests below the HTTP client: a function from requests to answers. Unlike `simulation`, it answers
//! with exactly the responses, errors and delays that a test needs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use progress::Listener;
use serde_json::{Value, json};

use crate::cluster::Cluster;

/// The time of the server's clock.
pub(crate) const NOW: &str = "Sun, 22 Nov 2026 12:00:30 GMT";

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    pub(crate) method: String,
    /// The path and query.
    pub(crate) path: String,
    pub(crate) content_type: String,
    pub(crate) body: String,
}

/// An answer: status, `Retry-After` in seconds, and body.
#[derive(Debug, Clone)]
pub(crate) struct Answer(pub(crate) u16, pub(crate) Option<u64>, pub(crate) Vec<u8>);

impl Answer {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self(status, None, body.to_string().into_bytes())
    }
}

/// Creates a cluster that answers with a function, and returns the requests that it received. Requests for versions and
/// kinds are answered without calling the function.
pub(crate) async fn cluster(
    answer: impl Fn(&RecordedRequest) -> Answer + Send + Sync + 'static,
) -> (Cluster, Arc<Mutex<Vec<RecordedRequest>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, answer) = (seen.clone(), Arc::new(answer));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (log, answer) = (log.clone(), answer.clone());
        async move {
            let request = read(request).await;
            let Answer(status, retry_after, body) = known(&request.path).unwrap_or_else(|| {
                log.lock().unwrap().push(request.clone());
                answer(&request)
            });
            if status == 0 {
                std::future::pending::<()>().await;
            }
            let mut response = Response::builder().status(status).header("date", NOW);
            if let Some(seconds) = retry_after {
                response = response.header("retry-after", seconds);
            }
            Ok::<_, std::io::Error>(response.body(Body::from(body)).unwrap())
        }
    });
    let client = kube::Client::new(service, "default");
    let server = "https://mock.test".to_owned();
    let (timeout, listener) = (Duration::from_secs(10), Listener::default());
    let cluster = Cluster::with_client(client, timeout, listener, None, server).await;
    (cluster.unwrap(), seen)
}

async fn read(request: Request<Body>) -> RecordedRequest {
    let (parts, body) = request.into_parts();
    let content_type = parts
        .headers
        .get("content-type")
        .map(|value| value.to_str().unwrap());
    RecordedRequest {
        method: parts.method.to_string(),
        path: parts.uri.to_string(),
        content_type: content_type.unwrap_or_default().to_owned(),
        body: String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap(),
    }
}

fn known(path: &str) -> Option<Answer> {
    let kinds = |kinds: &[(&str, &str, bool)]| {
        let resource = |(plural, kind, namespaced): &(&str, &str, bool)| json!({"name": plural, "kind": kind, "namespaced": namespaced});
        let resources: Vec<Value> = kinds.iter().map(resource).collect();
        Some(Answer::json(200, &json!({"resources": resources})))
    };
    match path {
        "/version" => Some(Answer::json(
            200,
            &json!({"major": "1", "minor": "36+", "gitVersion": "v1.36.2"}),
        )),
        "/api/v1" => kinds(&[
            ("configmaps", "ConfigMap", true),
            ("secrets", "Secret", true),
            ("pods", "Pod", true),
            ("nodes", "Node", false),
            ("pods/log", "Pod", true),
        ]),
        "/apis/apps/v1" => kinds(&[
            ("deployments", "Deployment", true),
            ("replicasets", "ReplicaSet", true),
            ("statefulsets", "StatefulSet", true),
        ]),
        "/apis/batch/v1" => kinds(&[("jobs", "Job", true)]),
        "/apis/apiextensions.k8s.io/v1" => kinds(&[(
            "customresourcedefinitions",
            "CustomResourceDefinition",
            false,
        )]),
        "/apis/coordination.k8s.io/v1" => kinds(&[("leases", "Lease", true)]),
        _ => None,
    }
}
