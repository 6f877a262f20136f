//! The login, the logout, and the user of the console.

use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use maud::html;
use schemas::EnvironmentName;
use serde_json::json;

use super::permissions;
use crate::call::Call;
use crate::forms::Form;
use crate::oidc::{Callback, LoginAttempt};
use crate::page::{Section, facts, lines, link, text};
use crate::problem::Problem;
use crate::reply::see_other;
use crate::state::{Access, Console, ProviderAccess};
use crate::texts;
use crate::user::User;

/// The page after a login that did not begin on another one.
const FIRST: &str = "/environments";
/// The largest path of a page to which a login returns, in bytes.
const LONGEST_PATH: usize = 1024;

/// `GET /`
pub(crate) async fn home() -> Response {
    see_other(FIRST)
}

/// `GET /login?token=` on a loopback address, and `GET /login?next=` with an identity provider. A login begins with GET,
/// because the policy for forms also applies to the redirection after a form.
pub(crate) async fn login(
    State(console): State<Arc<Console>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let query = Form::parse(query.unwrap_or_default().as_bytes())?;
    match &console.access {
        Access::Token(token, user) => {
            if !token.is(query.text("token").unwrap_or_default()) {
                return Err(Problem {
                    hints: vec![console.program.explain.log_in.to_owned()],
                    ..Problem::with_status(StatusCode::UNAUTHORIZED, texts::WRONG_TOKEN)
                });
            }
            // The redirection removes the token from the address bar.
            begin(&console, Arc::clone(user), FIRST)
        }
        Access::Provider(access) => {
            let begun = access.provider.begin().await;
            let begun = begun.map_err(|error| console.login_problem(&error))?;
            let next = query.text("next").filter(|path| is_page(path));
            let value = attempt_text(&begun.attempt, next.unwrap_or(FIRST));
            let mut response = see_other(begun.url.as_str());
            access.attempt.set(&mut response, &value);
            Ok(response)
        }
    }
}

/// Returns true if a path is one of this console. `//host` would be another server.
fn is_page(path: &str) -> bool {
    let is_local = path.starts_with('/') && !path.starts_with("//");
    is_local
        && path.len() <= LONGEST_PATH
        && path
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

/// Begins a session, and shows a page.
fn begin(console: &Console, user: Arc<User>, next: &str) -> Result<Response, Problem> {
    let id = console.sessions.begin(user, Instant::now());
    let id = id.map_err(Problem::internal)?;
    let mut response = see_other(next);
    console.session.set(&mut response, &id);
    Ok(response)
}

/// Returns the value of the cookie for a login that has begun: what the provider's answer is compared with, and the page
/// to return to. The console itself stores nothing before a login is complete, so that nobody can fill its memory.
fn attempt_text(attempt: &LoginAttempt, next: &str) -> String {
    let started = attempt.started.duration_since(UNIX_EPOCH);
    let started = started.unwrap_or_default().as_secs();
    let LoginAttempt {
        state,
        nonce,
        verifier,
        ..
    } = attempt;
    let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
    format!("{state}.{nonce}.{verifier}.{started}.{next}")
}

/// Returns the login and the page of a cookie.
fn parse_attempt(text: &str) -> Option<(LoginAttempt, String)> {
    let mut parts = text.splitn(5, '.');
    let mut part = || parts.next().map(str::to_owned);
    let attempt = LoginAttempt {
        state: part()?,
        nonce: part()?,
        verifier: part()?,
        started: UNIX_EPOCH.checked_add(Duration::from_secs(part()?.parse().ok()?))?,
    };
    let next = part()?;
    let (next, _) = form_urlencoded::parse(next.as_bytes()).next()?;
    is_page(&next).then(|| (attempt, next.into_owned()))
}

/// `GET /auth/callback`: the answer of the identity provider.
pub(crate) async fn callback(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let Access::Provider(access) = &console.access else {
        return Err(Problem::not_found(texts::PAGE));
    };
    let query = Form::parse(query.unwrap_or_default().as_bytes())?;
    let attempt = access.attempt.value(&headers).and_then(parse_attempt);
    let mut response = match attempt {
        Some((attempt, next)) => log_in(&console, access, attempt, &query, &next).await,
        None => Err(console.log_in(texts::NO_LOGIN, FIRST)),
    }
    .unwrap_or_else(IntoResponse::into_response);
    // An answer is accepted once.
    access.attempt.remove(&mut response);
    Ok(response)
}

async fn log_in(
    console: &Console,
    access: &ProviderAccess,
    attempt: LoginAttempt,
    query: &Form,
    next: &str,
) -> Result<Response, Problem> {
    let Ok(_exchange) = access.exchanges.try_acquire() else {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        return Err(Problem::with_status(status, texts::TOO_MANY_LOGINS));
    };
    let text = |name| query.text(name).map(str::to_owned);
    let callback = Callback {
        state: text("state").unwrap_or_default(),
        code: text("code"),
        error: text("error"),
        iss: text("iss"),
    };
    let tokens = access.provider.finish(attempt, &callback).await;
    let tokens = tokens.map_err(|error| console.login_problem(&error))?;
    let user = access.user(&console.program, tokens).await?;
    begin(console, Arc::new(user), next)
}

/// `POST /logout`
pub(crate) async fn logout(call: Call) -> Result<Response, Problem> {
    if let Some(id) = call.console.session.value(&call.headers) {
        call.console.sessions.end(id);
    }
    // A redirection to the provider would be refused by the policy for forms.
    let provider = match &call.console.access {
        Access::Provider(access) => access.provider.end_session_url(&access.home),
        Access::Token(..) => None,
    };
    let body = html! {
        p { (texts::LOGGED_OUT) }
        @if let Some(url) = provider { p { (link(&url, texts::LOG_OUT_PROVIDER)) } }
    };
    let page = crate::page::page(Section::Outside, texts::LOG_OUT, &body);
    let mut response = page.into_response();
    call.console.session.remove(&mut response);
    Ok(response)
}

/// `GET /session?environment=`
pub(crate) async fn show(call: Call) -> Result<Response, Problem> {
    let site = &call.user.site;
    let environment: Option<EnvironmentName> = call.query.parsed("environment")?;
    let cluster = site.cluster().await?;
    let name = cluster.username().await;
    let kubernetes = &cluster.version().text;
    let login = match &call.user.login {
        Some(login) => Some(login.user().await),
        None => None,
    };
    let groups = login.as_ref().map_or(&[][..], |user| &user.groups);
    let permissions = permissions::read(&call, &cluster, environment.as_ref()).await?;
    let body = || {
        html! {
            (facts([
                (texts::YOU, text(name.as_deref().unwrap_or(texts::UNKNOWN_USER))),
                (texts::SERVER, text(cluster.server())),
                (texts::KUBERNETES, text(kubernetes)),
            ]))
            @if let Some(user) = &login {
                (facts([
                    (texts::PROVIDER, text(&user.issuer)),
                    (texts::PROVIDER_NAME, text(&user.name)),
                ]))
                (lines(texts::GROUPS, groups))
            } @else {
                p { (texts::AS_YOU) }
            }
            (permissions::show(&permissions, environment.as_ref()))
            form method="post" action="/logout" { button { (texts::LOG_OUT) } }
        }
    };
    let json = || {
        json!({
            "user": name,
            "groups": groups,
            "server": cluster.server(),
            "kubernetes": kubernetes,
            "permissions": permissions::json(&permissions),
        })
    };
    Ok(call
        .visit
        .reply(Section::Session, texts::SESSION, body, json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_returns_only_to_pages_of_the_console() {
        assert!(is_page("/environments/prod?page=2"));
        for path in [
            "",
            "x",
            "//evil.test",
            "/\\evil.test",
            "https://evil.test",
            "/a b",
        ] {
            assert!(!is_page(path), "{path}");
        }
        assert!(!is_page(&format!("/{}", "x".repeat(LONGEST_PATH))));
    }

    #[test]
    fn a_login_that_has_begun_is_kept_in_a_cookie() {
        let attempt = LoginAttempt {
            state: "s".to_owned(),
            nonce: "n".to_owned(),
            verifier: "v".to_owned(),
            started: UNIX_EPOCH + Duration::from_secs(7),
        };
        let text = attempt_text(&attempt, "/a?b=c;d&e");
        assert_eq!(text, "s.n.v.7.%2Fa%3Fb%3Dc%3Bd%26e");
        let (read, next) = parse_attempt(&text).unwrap();
        assert_eq!(
            (read.state, read.nonce, read.verifier),
            ("s".to_owned(), "n".to_owned(), "v".to_owned())
        );
        assert_eq!(
            (read.started, next.as_str()),
            (attempt.started, "/a?b=c;d&e")
        );
        for text in [
            "",
            "s.n.v.7",
            "s.n.v.x.%2F",
            "s.n.v.7.%2F%2Fevil.test",
            "s.n.v.99999999999999999999.%2F",
        ] {
            assert!(parse_attempt(text).is_none(), "{text}");
        }
    }
}
