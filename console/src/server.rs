//! The HTTP server of the console: its routes, and the checks that precede every request.
//!
//! A request reaches a page only if it names this console as its host, does not come from another site, and belongs to
//! a session. Only the login, the health check and the files of the program need no session.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tower_http::csrf::CsrfLayer;

use crate::call::{sent, shown};
use crate::connection::{Certificate, accept};
use crate::pages::{change, environments, files, history, plan, proposal, run, session, solutions};
use crate::problem::Problem;
use crate::reply::Visit;
use crate::state::Console;
use crate::texts;

/// The largest body of a form, in bytes.
const FORM: usize = 256 * 1024;
/// The content that pages may load. Nothing comes from another origin, and nothing is in the page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Serves a console until the future is dropped. Running changes are then cancelled. Without a certificate, it speaks
/// plain HTTP: for a loopback address, or behind a proxy that ends TLS.
pub async fn serve(
    listener: TcpListener,
    console: Console,
    certificate: Option<Certificate>,
) -> Infallible {
    let console = Arc::new(console);
    let _ending = console.runs.cancel_on_drop();
    accept(listener, certificate, router(Arc::clone(&console))).await
}

/// Returns the pages, which need a session.
fn pages() -> Router<Arc<Console>> {
    Router::new()
        .route("/", get(session::home))
        .route(
            "/environments",
            shown(environments::list).merge(sent(environments::create)),
        )
        .route("/new-environment", shown(environments::new))
        .route("/environments/{environment}", shown(environments::show))
        .route(
            "/environments/{environment}/delete",
            shown(environments::confirm_deletion).merge(sent(environments::plan_deletion)),
        )
        .route(
            "/environments/{environment}/deploy",
            shown(environments::choose),
        )
        .route(
            "/environments/{environment}/solutions/{solution}/deploy",
            shown(change::deploy_form).merge(sent(change::plan_deployment)),
        )
        .route(
            "/environments/{environment}/solutions/{solution}/rollback",
            shown(change::rollback_form).merge(sent(change::plan_rollback)),
        )
        .route(
            "/environments/{environment}/solutions/{solution}/undeploy",
            shown(change::undeploy_form).merge(sent(change::plan_undeployment)),
        )
        .route("/solutions", shown(solutions::list))
        .route("/solutions/{solution}/{version}", shown(solutions::show))
        .route(
            "/solutions/{solution}/{version}/rights",
            shown(solutions::rights),
        )
        .route("/plans/{plan}", shown(plan::show))
        .route("/plans/{plan}/apply", sent(plan::apply))
        .route("/plans/{plan}/propose", sent(proposal::propose))
        .route(
            "/proposals/{proposal}",
            shown(proposal::show).merge(sent(proposal::plan_again)),
        )
        .route("/runs", shown(run::list))
        .route("/runs/{run}", shown(run::show))
        .route("/runs/{run}/events", shown(run::events))
        .route("/runs/{run}/cancel", sent(run::cancel))
        .route("/history", shown(history::list))
        .route("/history/{revision}", shown(history::show))
        .route("/session", shown(session::show))
        .route("/logout", sent(session::logout))
}

/// Returns the routes with all checks.
pub(crate) fn router(console: Arc<Console>) -> Router {
    let pages = pages().route_layer(middleware::from_fn_with_state(
        Arc::clone(&console),
        check_session,
    ));
    let open = Router::new()
        .route("/login", get(session::login))
        .route("/auth/callback", get(session::callback))
        .route("/assets/{name}", get(files::get));
    pages
        .merge(open)
        .fallback(|| async { Problem::not_found(texts::PAGE) })
        .method_not_allowed_fallback(|| async {
            Problem::with_status(StatusCode::METHOD_NOT_ALLOWED, texts::OTHER_METHOD)
        })
        .with_state(Arc::clone(&console))
        .layer(DefaultBodyLimit::max(FORM))
        .layer(CsrfLayer::new().with_rejection_response(|_| {
            Problem::with_status(StatusCode::FORBIDDEN, texts::OTHER_ORIGIN).into_response()
        }))
        .layer(middleware::from_fn(check_origin))
        .layer(middleware::from_fn_with_state(console, check_host))
        // kubelet checks the health of a pod by its address.
        .route("/healthz", get(|| async { "ok\n" }))
        .layer(middleware::from_fn(finish))
}

/// Renders problems, and adds the headers that every response has.
async fn finish(request: Request, next: Next) -> Response {
    let visit = Visit::of(request.headers());
    let mut response = next.run(request).await;
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let headers = std::mem::take(response.headers_mut());
        response = visit.problem(&problem);
        response.headers_mut().extend(headers);
    }
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Refuses requests by another host name, which a hostile site can point to a loopback address.
async fn check_host(
    State(console): State<Arc<Console>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if !console.is_own_host(request.headers()) {
        let status = StatusCode::MISDIRECTED_REQUEST;
        return Err(Problem::with_status(status, texts::OTHER_HOST));
    }
    Ok(next.run(request).await)
}

/// Refuses changes whose origin is not known. Changes from another site are refused by [`CsrfLayer`].
async fn check_origin(request: Request, next: Next) -> Result<Response, Problem> {
    let headers = request.headers();
    let is_known = headers.contains_key(ORIGIN) || headers.contains_key("sec-fetch-site");
    if !is_known && !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(Problem::with_status(
            StatusCode::FORBIDDEN,
            texts::NO_ORIGIN,
        ));
    }
    Ok(next.run(request).await)
}

/// Finds the user of the session.
async fn check_session(
    State(console): State<Arc<Console>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let id = console.session.value(request.headers());
    let user = id.and_then(|id| console.sessions.user(id, Instant::now()));
    let Some(user) = user else {
        // A form cannot be sent again after the login.
        let is_page = request.method() == Method::GET;
        let page = request.uri().path_and_query().filter(|_| is_page);
        let page = page.map_or("/", |page| page.as_str());
        return Err(console.log_in(texts::NOT_LOGGED_IN, page));
    };
    request.extensions_mut().insert(user);
    Ok(next.run(request).await)
}

#[cfg(test)]
pub(crate) mod tests;
