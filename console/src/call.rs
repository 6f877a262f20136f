//! A request for a page ([`Call`]), and the routes of pages ([`shown`], [`sent`]).

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use axum::RequestPartsExt as _;
use axum::body::Bytes;
use axum::extract::{FromRequest, RawPathParams, Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use tokio::runtime::Handle;

use crate::forms::Form;
use crate::problem::Problem;
use crate::reply::Visit;
use crate::state::Console;
use crate::texts;

/// A request for a page.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) visit: Visit,
    pub(crate) headers: HeaderMap,
    path: BTreeMap<String, String>,
    /// The fields of the query.
    pub(crate) query: Form,
    body: Bytes,
}

impl Call {
    /// Returns a name in the path. A name that cannot exist is reported like one that does not exist.
    pub(crate) fn name<T: FromStr>(
        &self,
        part: &str,
        what: impl Fn(&str) -> String,
    ) -> Result<T, Problem> {
        let text = self.path.get(part).map_or("", String::as_str);
        text.parse().map_err(|_| Problem::not_found(what(text)))
    }

    /// Returns the fields of the form that was sent.
    pub(crate) fn form(&self) -> Result<Form, Problem> {
        Form::parse(&self.body)
    }
}

impl<S: Send + Sync> FromRequest<S> for Call {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let path = parts.extract::<RawPathParams>().await;
        let path = path.map_err(IntoResponse::into_response)?;
        let path = path
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let query = Form::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let query = query.map_err(IntoResponse::into_response)?;
        let headers = parts.headers.clone();
        let body = Bytes::from_request(Request::from_parts(parts, body), state).await;
        Ok(Self {
            visit: Visit::of(&headers),
            headers,
            path,
            query,
            body: body.map_err(IntoResponse::into_response)?,
        })
    }
}

/// Returns the route of a page.
pub(crate) fn shown<F>(page: impl Page<F>) -> MethodRouter<Arc<Console>>
where
    F: Future<Output = Result<Response, Problem>> + 'static,
{
    get(async |State(console): State<Arc<Console>>, call: Call| run(page, console, call).await)
}

/// Returns the route of a form.
pub(crate) fn sent<F>(page: impl Page<F>) -> MethodRouter<Arc<Console>>
where
    F: Future<Output = Result<Response, Problem>> + 'static,
{
    post(async |State(console): State<Arc<Console>>, call: Call| run(page, console, call).await)
}

/// A function that answers a request.
pub(crate) trait Page<F>:
    FnOnce(Arc<Console>, Call) -> F + Clone + Send + Sync + 'static
{
}

impl<F, P> Page<F> for P where P: FnOnce(Arc<Console>, Call) -> F + Clone + Send + Sync + 'static {}

/// Runs a page. The futures of the importer stay on one thread, so each page gets its own.
async fn run<F>(page: impl Page<F>, console: Arc<Console>, call: Call) -> Result<Response, Problem>
where
    F: Future<Output = Result<Response, Problem>> + 'static,
{
    let work = move || Handle::current().block_on(page(console, call));
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Problem::internal(texts::PANICKED)))
}
