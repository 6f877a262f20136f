//! A request for a page ([`Call`]), and the routes of pages ([`shown`], [`sent`]).

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::RequestPartsExt as _;
use axum::body::Bytes;
use axum::extract::{FromRequest, RawPathParams, Request};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::forms::Form;
use crate::problem::Problem;
use crate::reply::Visit;
use crate::state::Console;
use crate::texts;
use crate::user::User;

/// The time for the body of a request.
const BODY: Duration = Duration::from_secs(30);

/// A request for a page.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) console: Arc<Console>,
    /// The user of the session.
    pub(crate) user: Arc<User>,
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

impl FromRequest<Arc<Console>> for Call {
    type Rejection = Response;

    async fn from_request(request: Request, console: &Arc<Console>) -> Result<Self, Response> {
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
        let user = parts.extensions.get().map(Arc::clone);
        let not_logged_in = || Problem::with_status(StatusCode::UNAUTHORIZED, texts::NOT_LOGGED_IN);
        let user = user.ok_or_else(|| not_logged_in().into_response())?;
        let body = Bytes::from_request(Request::from_parts(parts, body), console);
        let late = || Problem::with_status(StatusCode::REQUEST_TIMEOUT, texts::LATE_BODY);
        let body = timeout(BODY, body).await;
        let body = body.map_err(|_| late().into_response())?;
        Ok(Self {
            console: Arc::clone(console),
            user,
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
    get(async |call: Call| run(page, call).await)
}

/// Returns the route of a form.
pub(crate) fn sent<F>(page: impl Page<F>) -> MethodRouter<Arc<Console>>
where
    F: Future<Output = Result<Response, Problem>> + 'static,
{
    post(async |call: Call| run(page, call).await)
}

/// A function that answers a request.
pub(crate) trait Page<F>: FnOnce(Call) -> F + Clone + Send + Sync + 'static {}

impl<F, P> Page<F> for P where P: FnOnce(Call) -> F + Clone + Send + Sync + 'static {}

/// Runs a page with a valid login. The futures of the importer stay on one thread, so each page gets its own.
async fn run<F>(page: impl Page<F>, call: Call) -> Result<Response, Problem>
where
    F: Future<Output = Result<Response, Problem>> + 'static,
{
    let work = async move |call: Call| {
        let renewed = call.user.renew().await;
        renewed.map_err(|error| call.console.renewal_problem(&call.headers, error))?;
        page(call).await
    };
    let work = move || Handle::current().block_on(work(call));
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Problem::internal(texts::PANICKED)))
}
