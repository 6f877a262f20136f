//! The login by the access token, the logout, and the user of the console.

use std::sync::Arc;
use std::time::Instant;

use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use maud::html;
use serde_json::json;

use crate::call::Call;
use crate::page::{Section, facts, text};
use crate::problem::Problem;
use crate::reply::see_other;
use crate::state::Console;
use crate::texts;

/// `GET /`
pub(crate) async fn home() -> Response {
    see_other("/environments")
}

/// `GET /login?token=`
pub(crate) async fn login(console: Arc<Console>, call: Call) -> Result<Response, Problem> {
    let given = call.query.text("token").unwrap_or_default();
    if !console.is_token(given) {
        return Err(Problem {
            hints: vec![console.site.program.explain.log_in.to_owned()],
            ..Problem::with_status(StatusCode::UNAUTHORIZED, texts::WRONG_TOKEN)
        });
    }
    let id = console
        .sessions
        .begin(Instant::now())
        .map_err(Problem::internal)?;
    // The redirection removes the token from the address bar.
    let response = with_cookie(see_other("/environments"), &console.set_cookie(&id));
    Ok(response)
}

/// `POST /logout`
pub(crate) async fn logout(console: Arc<Console>, call: Call) -> Result<Response, Problem> {
    if let Some(id) = console.session_id(&call.headers) {
        console.sessions.end(id);
    }
    let expired = format!("{}; Max-Age=0", console.set_cookie(""));
    let body = crate::page::page(
        Section::Outside,
        texts::LOG_OUT,
        &html! { p { (texts::LOGGED_OUT) } },
    );
    Ok(with_cookie(body.into_response(), &expired))
}

fn with_cookie(mut response: Response, cookie: &str) -> Response {
    let cookie = HeaderValue::from_str(cookie).expect("the cookie consists of hex digits");
    response.headers_mut().insert(SET_COOKIE, cookie);
    response
}

/// `GET /session`
pub(crate) async fn show(console: Arc<Console>, call: Call) -> Result<Response, Problem> {
    let cluster = console.site.cluster().await?;
    let user = cluster.username().await;
    let kubernetes = &cluster.version().text;
    let body = || {
        html! {
            (facts([
                (texts::YOU, text(user.as_deref().unwrap_or(texts::UNKNOWN_USER))),
                (texts::SERVER, text(cluster.server())),
                (texts::KUBERNETES, text(kubernetes)),
            ]))
            p { (texts::AS_YOU) }
            form method="post" action="/logout" { button { (texts::LOG_OUT) } }
        }
    };
    let json = || {
        json!({
            "user": user,
            "server": cluster.server(),
            "kubernetes": kubernetes,
        })
    };
    Ok(call
        .visit
        .reply(Section::Session, texts::SESSION, body, json))
}
